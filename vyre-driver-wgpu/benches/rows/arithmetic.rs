//! Rows whose time is arithmetic rather than memory.

use vyre_driver::{BackendError, VyreBackend};
use vyre_foundation::launch::Params;

use super::raw::wgsl;
use super::{Bench, Resident, Row, kernels, small_floats};

impl Bench<'_> {
    /// A product of matrices in registers: see [`kernels::blocked_matmul`].
    pub(super) fn blocked_matmul(&self) -> Result<Row, BackendError> {
        let rows = 2 * self.effort.matmul_rows;
        let n = rows as usize;
        let (a, b) = (small_floats(n * n), small_floats(n * n));
        let bytes = (n * n * 4) as u64;
        let ours = Resident::new(
            self,
            &kernels::blocked_matmul(rows)?,
            Params::new(),
            &[bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)],
            &[bytes],
        )?;
        let blocks = rows / kernels::BLOCK;
        let job = self.job(&wgsl::blocked_matmul(rows), &[bytes; 3], [blocks, blocks, 1], bytes);
        job.upload(0, bytemuck::cast_slice(&a));
        job.upload(1, bytemuck::cast_slice(&b));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        ours.run(&ours.list(1))?;
        let result = ours.read(2)?;
        let correct = out == result && product_is_right(&a, &b, bytemuck::cast_slice(&result), n);
        let name = "matmul, f32, 8 × 8 per invocation, resident";
        let row = self.time_products(name, 1.05, correct, &ours, &job)?;
        Ok(Row { operations: Some(2.0 * f64::from(rows).powi(3)), ..row })
    }

    /// A counted loop of 4,096 fused multiply-adds in each invocation; the raw loop has no guard.
    pub(super) fn fused_loop(&self) -> Result<Row, BackendError> {
        let n = if self.backend.profile().is_software { 1usize << 10 } else { 1 << 20 };
        let (by, x) = ([1.0f32], small_floats(n));
        // x + 4,096 x: whole numbers below 2^24, so every step is exact.
        let expected: Vec<f32> = x.iter().map(|x| 4_097.0 * x).collect();
        let bytes = n as u64 * 4;
        let ours = Resident::new(
            self,
            &kernels::fused_loop()?,
            Params::new(),
            &[bytemuck::cast_slice(&by), bytemuck::cast_slice(&x)],
            &[bytes],
        )?;
        let job = self.job(wgsl::FUSED_LOOP, &[4, bytes, bytes], [n as u32 / 256, 1, 1], bytes);
        job.upload(0, bytemuck::cast_slice(&by));
        job.upload(1, bytemuck::cast_slice(&x));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        let once = ours.list(1);
        ours.run(&once)?;
        let correct = out == bytemuck::cast_slice::<_, u8>(&expected) && ours.read(2)? == out;
        let row = self.time(
            "loop of 4,096 fused multiply-adds (raw: unguarded)",
            1.02,
            correct,
            &mut || ours.run(&once),
            &mut || job.run(1),
        )?;
        Ok(Row { operations: Some(2.0 * 4_096.0 * n as f64), ..row })
    }
}

/// Whether some rows of a product are right. Of small whole numbers every order of summation is exact.
pub(super) fn product_is_right(a: &[f32], b: &[f32], got: &[f32], n: usize) -> bool {
    [0, 1, n / 2 + 3, n - 1].into_iter().all(|row| {
        let mut want = vec![0.0f32; n];
        for (k, b) in b.chunks_exact(n).enumerate() {
            want.iter_mut().zip(b).for_each(|(sum, b)| *sum += a[row * n + k] * b);
        }
        got[row * n..][..n] == want
    })
}
