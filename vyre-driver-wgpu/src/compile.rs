//! From a checked program to a kernel on the device: the one place.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vyre_driver::BackendError;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

use crate::core::Core;
use crate::pipeline::{Compiled, WgpuPipeline};

/// The pipeline of a program, from the cache if it was made before.
pub(crate) fn pipeline(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Arc<WgpuPipeline>, BackendError> {
    let key = core.keys.of(program, options, || key(core, program, options));
    if let Some(pipeline) = core.pipelines.get(&key) {
        return Ok(pipeline);
    }
    let pipeline = WgpuPipeline {
        owner: core.owner,
        generation: core.generation.number,
        program: program.clone(),
        options: Some(options.clone()),
        plain: build(core, program, options)?,
        folded: OnceLock::new(),
        stores_all: Vec::new(),
    };
    Ok(core.pipelines.insert(key, Arc::new(pipeline)))
}

/// Compiles a program.
pub(crate) fn build(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Compiled, BackendError> {
    let _ = (program, options);
    Err(BackendError::Unsupported {
        what: "compiling programs".to_owned(),
        device: core.profile.name.clone(),
        remedy: "use raw WGSL until lowering is connected".to_owned(),
    })
}

/// What a pipeline is cached under: the program's content, the options and the device.
fn key(core: &Core, program: &Program, options: &CompileOptions) -> [u8; 32] {
    let mut digest = Digest(blake3::Hasher::new_derive_key("vyre-driver-wgpu pipeline"));
    program.hash(&mut digest);
    options.hash(&mut digest);
    core.profile.hash(&mut digest);
    *digest.0.finalize().as_bytes()
}

/// Feeds everything that is hashed to BLAKE3.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the digest is taken from the hasher itself.
    fn finish(&self) -> u64 {
        0
    }
}

/// The keys of the latest programs, found by identity: a repeated dispatch does not hash its program.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    latest: Mutex<VecDeque<Known>>,
}

#[derive(Debug)]
struct Known {
    program: Checked<Program>,
    options: CompileOptions,
    key: [u8; 32],
}

/// How many keys are remembered. They are searched one by one.
const REMEMBERED: usize = 32;

impl Keys {
    fn of(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
        compute: impl FnOnce() -> [u8; 32],
    ) -> [u8; 32] {
        let known = {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.iter().find(|k| k.program.same(program) && k.options == *options).map(|known| known.key)
        };
        known.unwrap_or_else(|| {
            let key = compute();
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.truncate(REMEMBERED - 1);
            latest.push_front(Known { program: program.clone(), options: options.clone(), key });
            key
        })
    }
}
