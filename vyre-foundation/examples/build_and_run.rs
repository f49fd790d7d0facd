//! y = a x + y: built in Rust, checked, and run on the reference machine with its sanitizer.
use std::error::Error;

use vyre_foundation::build::Kernel;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run};
use vyre_spec::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let saxpy = Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    })?;
    let bytes = |values: [f32; 3]| values.map(f32::to_le_bytes).concat();
    let (x, y) = (bytes([1.0, 2.0, 3.0]), bytes([10.0, 20.0, 30.0]));
    let params = Params::new().with("a", Value::new(2.0f32));
    let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
    let outcome = run(&saxpy, &params, &[&x, &y], &options)?;
    assert_eq!(outcome.outputs, [bytes([12.0, 24.0, 36.0])]);
    println!("{} findings; y = {:?}", outcome.reports.len(), outcome.outputs);
    Ok(())
}
