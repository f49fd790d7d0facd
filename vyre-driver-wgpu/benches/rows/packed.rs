//! Scalar domain programs over 8- and 16-bit elements, against hand-written kernels over whole words.

use vyre_driver::{BackendError, VyreBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{Value, f16};

use super::{Bench, Resident, Row, folded, kernels, raw};

/// Bytes of the pattern that the buffers repeat.
const PATTERN: usize = 1 << 20;

impl Bench<'_> {
    pub(super) fn saxpy_u8(&self) -> Result<Row, BackendError> {
        let program = kernels::built(Kernel::build("saxpy_u8", |k| {
            let a = k.param::<u8>("a");
            let x = k.read_only::<u8>("x");
            let y = k.read_write::<u8>("y").with_len(x.len());
            k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
        }))?;
        let [x, y] = patterns(|word| word.wrapping_mul(0x9E37_79B1).to_le_bytes());
        let want = x.iter().zip(&y).map(|(x, y)| x.wrapping_mul(3).wrapping_add(*y)).collect();
        let name = "scalar domain saxpy of u8 (raw: sums of packed bytes)";
        self.packed(name, &program, Value::new(3u8), &raw::packed::saxpy_u8(), [x, y, want])
    }

    pub(super) fn saxpy_u16(&self) -> Result<Row, BackendError> {
        let program = kernels::built(Kernel::build("saxpy_u16", |k| {
            let a = k.param::<u16>("a");
            let x = k.read_only::<u16>("x");
            let y = k.read_write::<u16>("y").with_len(x.len());
            k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
        }))?;
        let [x, y] = patterns(|word| word.wrapping_mul(0x9E37_79B1).to_le_bytes());
        let numbers = |bytes: &[u8]| bytemuck::pod_collect_to_vec::<u8, u16>(bytes);
        let sums = numbers(&x).into_iter().zip(numbers(&y)).map(|(x, y)| x.wrapping_mul(3).wrapping_add(y));
        let want = sums.flat_map(u16::to_le_bytes).collect();
        let name = "scalar domain saxpy of u16 (raw: whole words)";
        self.packed(name, &program, Value::new(3u16), &raw::packed::saxpy_u16(), [x, y, want])
    }

    pub(super) fn saxpy_f16(&self) -> Result<Row, BackendError> {
        let program = kernels::built(Kernel::build("saxpy_f16", |k| {
            let a = k.param::<f16>("a");
            let x = k.read_only::<f16>("x");
            let y = k.read_write::<f16>("y").with_len(x.len());
            k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
        }))?;
        // Small integers, of which every order of rounding is exact.
        let small = |word: u32| {
            let [low, high] = [word & 63, word >> 8 & 63].map(|n| f16::from_f32(n as f32).to_bits());
            (u32::from(high) << 16 | u32::from(low)).to_le_bytes()
        };
        let [x, y] = patterns(small);
        let numbers = |bytes: &[u8]| bytemuck::pod_collect_to_vec::<u8, u16>(bytes);
        let sums = numbers(&x).into_iter().zip(numbers(&y)).map(|(x, y)| {
            let [x, y] = [x, y].map(|bits| f16::from_bits(bits).to_f32());
            f16::from_f32(3.0 * x + y).to_bits()
        });
        let want = sums.flat_map(u16::to_le_bytes).collect();
        let name = "scalar domain saxpy of f16 (raw: pairs unpacked and packed)";
        self.packed(name, &program, Value::new(f16::from_f32(3.0)), &raw::packed::saxpy_f16(), [x, y, want])
    }

    /// A saxpy over buffers of 1 GiB, or of 128 MiB on a software device, that repeat a pattern.
    fn packed(
        &self,
        name: &'static str,
        program: &Checked<Program>,
        a: Value,
        source: &str,
        [x, y, want]: [Vec<u8>; 3],
    ) -> Result<Row, BackendError> {
        let bytes: usize = if self.backend.profile().is_software { 128 << 20 } else { 1 << 30 };
        let times = bytes / PATTERN;
        let (x, y) = (x.repeat(times), y.repeat(times));
        let ours = Resident::new(self, program, Params::new().with("a", a), &[&x, &y], &[])?;
        let len = bytes as u64;
        let job = self.job(source, &[len, len], folded(len / 16), len);
        job.upload(0, &x);
        job.upload(1, &y);
        drop((x, y));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        let once = ours.list(1);
        ours.run(&once)?;
        let all = |got: &[u8]| got.len() == bytes && got.chunks(PATTERN).all(|chunk| chunk == want);
        let correct = all(&out) && all(&ours.read(1)?);
        // 97 % of the raw kernel's bytes per second.
        self.time(name, 1.0 / 0.97, correct, &mut || ours.run(&once), &mut || job.run(1))
    }
}

/// Two patterns, of words that are made into others.
fn patterns(of: impl Fn(u32) -> [u8; 4]) -> [Vec<u8>; 2] {
    let words = super::words(PATTERN / 2);
    let mut halves = words.chunks(PATTERN / 4).map(|half| half.iter().flat_map(|&word| of(word)).collect());
    [halves.next().unwrap_or_default(), halves.next().unwrap_or_default()]
}
