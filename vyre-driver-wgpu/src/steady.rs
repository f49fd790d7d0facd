//! Launch data in device memory, for a pipeline that is launched with the same over and over.
//!
//! Immediates cost nothing to change, but drivers send them to the device again with each dispatch: half a
//! microsecond of the three and a half that a small dispatch takes on an NVIDIA H200. A uniform buffer costs
//! a transfer once, and nothing after. So a pipeline whose launch data have stayed the same for [`OFTEN`]
//! dispatches is compiled a second time, with its launch data in memory.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vyre_driver::BackendError;

use crate::buffer::{Kind, PoolBuffer};
use crate::core::Core;
use crate::pipeline::Form;

/// Dispatches with the same launch data that make up for compiling once more.
const OFTEN: u64 = 256;

/// The launch data that a pipeline was last launched with.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    form: OnceLock<Form>,
    latest: Mutex<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    words: Vec<u32>,
    /// Dispatches with these words, one after the other.
    runs: u64,
    /// The words on the device.
    buffer: Option<Arc<PoolBuffer>>,
}

impl Steady {
    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes dispatches with these words; says whether the next one finds them in device memory.
    pub(crate) fn note(&self, words: &[u32], runs: u64) -> bool {
        let mut latest = self.lock();
        if latest.words != words {
            *latest = Latest { words: words.to_vec(), runs: 0, buffer: None };
        }
        latest.runs = latest.runs.saturating_add(runs);
        latest.runs >= OFTEN
    }

    /// The words in device memory and the form that reads them there, which `compile` makes if need be; `None`
    /// if they are not old enough.
    pub(crate) fn get(
        &self,
        core: &Core,
        words: &[u32],
        compile: impl FnOnce() -> Result<Form, BackendError>,
    ) -> Result<Option<(&Form, Arc<PoolBuffer>)>, BackendError> {
        let buffer = {
            let mut latest = self.lock();
            if latest.runs < OFTEN || latest.words != words {
                return Ok(None);
            }
            match &latest.buffer {
                Some(buffer) => Arc::clone(buffer),
                None => Arc::clone(latest.buffer.insert(upload(core, words)?)),
            }
        };
        if let Some(form) = self.form.get() {
            return Ok(Some((form, buffer)));
        }
        let made = compile()?;
        // Of two threads that compiled it, both use the first.
        Ok(Some((self.form.get_or_init(|| made), buffer)))
    }
}

/// The words in a buffer of their own. They are there before whatever is submitted next.
fn upload(core: &Core, words: &[u32]) -> Result<Arc<PoolBuffer>, BackendError> {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let buffer = core.pool.acquire(&core.generation, Kind::Device, bytes.len() as u64)?;
    core.generation.scoped("writing launch data", |_| {
        core.generation.queue().write_buffer(buffer.buffer(), 0, bytes);
    })?;
    Ok(Arc::new(buffer))
}
