//! A kernel built in Rust, checked, and lowered to the descriptor that emitters read.
use std::error::Error;

use vyre_foundation::build::Kernel;
use vyre_spec::{CompileOptions, DeviceProfile};

fn main() -> Result<(), Box<dyn Error>> {
    let checked = Kernel::build("triple", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * 3));
    })?;
    let kernel = vyre_lower::lower(&checked, &DeviceProfile::reference(), &CompileOptions::default())?;
    println!(
        "{}: {} instructions, workgroups of {:?}",
        kernel.name,
        kernel.insts.len(),
        kernel.workgroup_size
    );
    for binding in &kernel.bindings {
        println!("{binding:?}");
    }
    Ok(())
}
