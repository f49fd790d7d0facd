//! The example kernels: the same program as Rust and as text, clean under the sanitizer, right on the reference
//! machine and on the device.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use std::fs;
use std::path::{Path, PathBuf};

use vyre::foundation::check::check;
use vyre::foundation::launch::Params;
use vyre::foundation::machine::{self, MachineOptions};
use vyre::foundation::text;
use vyre::prelude::*;

#[allow(dead_code, reason = "its main reads a command line")]
#[path = "../examples/byte_histogram.rs"]
pub mod byte_histogram;
#[path = "../examples/matmul.rs"]
pub mod matmul;
#[path = "../examples/reduction.rs"]
pub mod reduction;
#[path = "../examples/saxpy.rs"]
pub mod saxpy;

type Example = fn() -> Result<Checked<Program>, BuildError>;

const EXAMPLES: [(&str, Example); 4] = [
    ("saxpy", saxpy::program),
    ("byte_histogram", byte_histogram::program),
    ("reduction", reduction::program),
    ("matmul", matmul::program),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a program on the sanitizing reference machine, which has nothing to report.
fn on_machine(program: &Checked<Program>, params: &Params, inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
    let outcome = machine::run(program, params, inputs, &options).unwrap();
    assert_eq!((outcome.reports, outcome.trap), (Vec::new(), None), "{}", program.name());
    outcome.outputs
}

/// Pseudo-random small integers: their sums and products are exact in f32.
fn small(len: u32, seed: u32) -> Vec<f32> {
    (0..len)
        .map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) % 9)
        .map(|v| v as f32 - 4.0)
        .collect()
}

#[test]
fn text_and_rust_give_one_program() {
    for (name, build) in EXAMPLES {
        let text = fs::read_to_string(root().join(format!("examples/{name}.vyre"))).unwrap();
        let (parsed, _) = text::parse(&text).unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
        let built = build().unwrap();
        assert_eq!(parsed, *built, "{name}");
        let (printed, _) = text::parse(&text::print(&built)).unwrap();
        assert_eq!(printed, *built, "{name}, printed");
        assert!(check(parsed).is_ok());
    }
}

#[test]
fn every_text_example_has_its_rust() {
    let files = fs::read_dir(root().join("examples")).unwrap();
    for path in files.map(|file| file.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "vyre"))
    {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(EXAMPLES.iter().any(|(known, _)| *known == name), "{name} is not compared");
    }
}

#[test]
fn saxpy_scales_and_adds() {
    let params = Params::new().with("a", Value::new(0.5f32));
    let inputs = [to_bytes(&[1.0f32, -2.0, 8.0]), to_bytes(&[10.0f32, 1.0, 0.0])];
    let outputs = on_machine(&saxpy::program().unwrap(), &params, &[&inputs[0], &inputs[1]]);
    assert_eq!(from_bytes::<f32>(&outputs[0]).unwrap(), [10.5, 0.0, 4.0]);
}

#[test]
fn histogram_counts_files_of_any_length() {
    let program = byte_histogram::program().unwrap();
    let license = fs::read(root().join("LICENSE-APACHE")).unwrap();
    // Above one workgroup's 16,384 bytes, and each remainder modulo 4.
    let large: Vec<u8> = license.iter().copied().cycle().take(40_001).collect();
    for file in [&license[..], &large, &[], &[255], &[0, 0], &[0, 1, 0], &[7; 4], &[7; 5]] {
        let mut data = file.to_vec();
        data.resize(file.len().next_multiple_of(4), 0);
        let start: Vec<u32> = (0..256).collect();
        let mut want = start.clone();
        file.iter().for_each(|&byte| want[usize::from(byte)] += 1);
        let params = Params::new().with("bytes", Value::new(file.len() as u32));
        let outputs = on_machine(&program, &params, &[&data, &to_bytes(&start)]);
        assert_eq!(from_bytes::<u32>(&outputs[0]).unwrap(), want, "{} bytes", file.len());
    }
}

#[test]
fn reduction_sums_each_thousand() {
    let program = reduction::program().unwrap();
    for len in [0, 1, 255, 1023, 1024, 1025, 5000] {
        let x = small(len, 1);
        let want: Vec<f32> = x.chunks(1024).map(|chunk| chunk.iter().sum()).collect();
        let outputs = on_machine(&program, &Params::new(), &[&to_bytes(&x)]);
        assert_eq!(from_bytes::<f32>(&outputs[0]).unwrap(), want, "{len} elements");
    }
}

#[test]
fn matmul_multiplies_any_shape() {
    let program = matmul::program().unwrap();
    for [m, n, k] in [[1, 1, 1], [16, 16, 16], [17, 5, 33], [3, 40, 16], [2, 2, 0], [0, 3, 2]] {
        let (a, b) = (small(m * k, 2), small(k * n, 3));
        let mut want = Vec::new();
        for i in 0..m {
            for j in 0..n {
                want.push((0..k).map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize]).sum::<f32>());
            }
        }
        let params = [("m", m), ("n", n), ("k", k)].map(|(name, v)| (name, Value::new(v)));
        let params = Params::from_iter(params);
        let outputs = on_machine(&program, &params, &[&to_bytes(&a), &to_bytes(&b)]);
        assert_eq!(from_bytes::<f32>(&outputs[0]).unwrap(), want, "{m} × {n} × {k}");
    }
}

/// Each example's own run on the device compares with the CPU.
#[cfg(feature = "wgpu")]
mod device {
    use super::*;

    #[test]
    fn examples_run() {
        saxpy::main().unwrap();
        reduction::main().unwrap();
        matmul::main().unwrap();
    }

    #[test]
    fn histogram_counts_a_file() {
        let file = fs::read(root().join("LICENSE-APACHE")).unwrap();
        let mut want = [0u32; 256];
        file.iter().for_each(|&byte| want[usize::from(byte)] += 1);
        let gpu = vyre::backend().unwrap();
        assert_eq!(byte_histogram::histogram(&*gpu, &file).unwrap(), want);
    }

    #[test]
    fn reduction_of_nothing_is_zero() {
        assert_eq!(reduction::sum(&*vyre::backend().unwrap(), &[]).unwrap(), 0.0);
    }
}
