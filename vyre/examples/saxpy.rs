//! y = a x + y on a million elements, checked against the same arithmetic on the CPU. The program is also
//! `examples/saxpy.vyre`.
//!
//! `cargo run -p vyre --example saxpy`
use vyre::prelude::*;

/// y = a x + y for each element.
pub fn program() -> Result<Checked<Program>, BuildError> {
    Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| {
            y.store(i, a * x.load(i) + y.load(i));
        });
    })
}

/// Runs it on a million elements.
pub fn main() -> Result<(), vyre::Error> {
    let a = 2.5f32;
    let x: Vec<f32> = (0..1_000_000).map(|i| i as f32 * 0.25).collect();
    let y: Vec<f32> = (0..1_000_000).map(|i| 1e6 - i as f32).collect();

    let config = DispatchConfig::default().param("a", a);
    let program = program()?;
    let outputs = vyre::backend()?.dispatch(&program, &[to_bytes(&x), to_bytes(&y)], &config)?;

    let got = from_bytes::<f32>(&outputs[0])?;
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
    assert_eq!(got, want);
    println!("saxpy: {} elements, the last is {}", got.len(), got[got.len() - 1]);
    Ok(())
}
