//! A request becomes an artifact, whose bytes can be kept and read again.
use vyre_foundation::build::Kernel;
use vyre_megakernel::{Artifact, CompileRequest, compile};
use vyre_spec::DeviceProfile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let square = Kernel::build("square", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * x.load(i)));
    })?;
    let request = CompileRequest::new(&square, &DeviceProfile::reference()).validate()?;
    let artifact = compile(&request)?;
    println!("artifact {}, {} bytes", artifact.id(), artifact.bytes().len());

    let read = Artifact::from_bytes(artifact.bytes())?;
    assert_eq!(read.id(), artifact.id());
    let mut damaged = artifact.bytes().to_vec();
    damaged[60] ^= 1;
    if let Err(error) = Artifact::from_bytes(&damaged) {
        println!("{error}");
    }
    Ok(())
}
