//! A kernel built in Rust, checked, lowered, and emitted as WGSL.
use std::error::Error;

use vyre_foundation::build::Kernel;
use vyre_spec::{CompileOptions, DeviceProfile};

fn main() -> Result<(), Box<dyn Error>> {
    let checked = Kernel::build("triple", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * 3));
    })?;
    let kernel = vyre_lower::lower(&checked, &DeviceProfile::reference(), &CompileOptions::default())?;
    println!("{}", vyre_emit_naga::to_wgsl(&vyre_emit_naga::emit(&kernel)?)?);
    Ok(())
}
