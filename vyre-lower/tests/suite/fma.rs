//! The emulated fused multiply-add against the host's, which rounds once.

use vyre_foundation::build::Kernel;
use vyre_foundation::launch::Params;
use vyre_lower::kernel::Op;
use vyre_lower::lower;
use vyre_spec::ops::TernaryOp;
use vyre_spec::{CompileOptions, DeviceProfile, Quirks};

use crate::interpreter::{execute, profile};

/// Floats of all kinds, near each other often enough that sums cancel.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u32 {
        // Constants of Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn float(&mut self) -> u32 {
        let bits = self.next();
        let sign = bits & 0x8000_0000;
        match self.next() % 8 {
            0 => bits,
            1 => sign | self.next() & 0x007F_FFFF,
            2 => sign | (0x0080_0000 + (self.next() & 0x00FF_FFFF)),
            3 => sign | (0x7F00_0000 + (self.next() & 0x00FF_FFFF)),
            4 => sign | 1 << (self.next() % 23),
            // A few significant bits, so that products tie.
            5 => sign | (100 + self.next() % 56) << 23 | (self.next() & 0x0070_0001),
            _ => sign | (120 + self.next() % 14) << 23 | self.next() & 0x007F_FFFF,
        }
    }

    fn triple(&mut self) -> [u32; 3] {
        let (a, b, c) = (self.float(), self.float(), self.float());
        let product = f32::from_bits(a) * f32::from_bits(b);
        match self.next() % 4 {
            // The addend nearly cancels the product, or is half a unit of it.
            0 => [a, b, (-product).to_bits().wrapping_add(self.next() % 3).wrapping_sub(1)],
            1 => [a, b, (product * 2f32.powi(-24 + (self.next() % 3) as i32 - 1)).to_bits()],
            _ => [a, b, c],
        }
    }
}

#[test]
fn emulation_rounds_once() {
    let program = Kernel::build("fma", |k| {
        let [a, b, c] = ["a", "b", "c"].map(|name| k.read_only::<f32>(name));
        let out = k.read_write::<f32>("out");
        k.domain([out.len()], |[i]| out.store(i, a.load(i).fma(b.load(i), c.load(i))));
    })
    .unwrap();
    let quirks = Quirks { splits_fma: true, ..Quirks::default() };
    let profile = DeviceProfile { quirks, ..profile() };
    let kernel = lower(&program, &profile, &CompileOptions::default()).unwrap();
    assert!(!kernel.insts.iter().any(|inst| matches!(inst.op, Op::Ternary(TernaryOp::Fma, ..))));

    let mut source = Source(2024);
    let triples: Vec<[u32; 3]> = (0..40_000).map(|_| source.triple()).collect();
    let mut buffers: Vec<Vec<u32>> = (0..3).map(|i| triples.iter().map(|t| t[i]).collect()).collect();
    buffers.push(vec![0; triples.len()]);
    let outcome = execute(&kernel, &program, &Params::new(), &buffers, &profile);
    for (&triple, &got) in triples.iter().zip(&outcome.buffers[3]) {
        let [a, b, c] = triple.map(f32::from_bits);
        let want = a.mul_add(b, c);
        let agree = want.to_bits() == got || want.is_nan() && f32::from_bits(got).is_nan();
        assert!(agree, "fma({a:e}, {b:e}, {c:e}) = {want:e}, not {:e} ({triple:08x?})", f32::from_bits(got));
    }
}
