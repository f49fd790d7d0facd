//! The interface of an optimizer that keeps its data on the device: buffers by `u64` handle, and sequences of
//! programs over them.
//!
//! Whatever a method does on the device is one submission: fills, then uploads, then steps, then reads, in
//! the order given. A call that runs programs or reads waits for the end, so that a program's fault is the error
//! of the call that ran it; one that only sets bytes does not wait. A call that is refused has no effect.
//!
//! A handle stands for one buffer of one dispatcher, and is never given out twice. A foreign, freed or stale
//! one is [`DispatchError::Handle`].

mod error;
mod handles;
mod key;
mod statics;
mod work;

pub use error::{DispatchError, ReturnedSet};
pub use handles::ResidentHandles;
pub use work::ResidentHost;

use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

use crate::{DispatchConfig, ReferenceBackend};
use work::Work;

#[doc(hidden)]
pub mod sealed {
    /// Keeps [`super::OptimizerDispatcher`] to the crates of this project, which may add methods to it.
    pub trait Sealed {}
}

/// One program of a resident sequence.
#[derive(Clone, Copy, Debug)]
pub struct ResidentDispatchStep<'a> {
    /// What is run. It takes no parameters.
    pub program: &'a Program,
    /// A handle for each of the program's buffers, in declaration order. A buffer whose count comes from its
    /// bytes has all of the resident's; any other has as many leading bytes as the program declares.
    pub handles: &'a [u64],
    /// Workgroup counts, x y z, that replace those of a workgroup launch; refused for a domain.
    pub grid_override: Option<[u32; 3]>,
}

/// Bytes of a resident buffer that are read back. Any offset and length inside the buffer will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResidentReadRange {
    /// The buffer.
    pub handle: u64,
    /// The first byte.
    pub byte_offset: usize,
    /// How many bytes.
    pub byte_len: usize,
}

/// Resident buffers of immutable payloads, shared with whoever acquired equal bytes in the same cache domain.
/// They may be read and bound where a program only reads, and live until every set that has them is released
/// by [`OptimizerDispatcher::release_resident_static_uploads`]; dropping a set does not release it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the buffers live until the set is released"]
pub struct ResidentStaticBufferSet {
    /// Of which table of handles it is.
    owner: u64,
    cache_domain: u64,
    handles: Vec<u64>,
}

impl ResidentStaticBufferSet {
    /// The domain in which the buffers are shared.
    pub fn cache_domain(&self) -> u64 {
        self.cache_domain
    }

    /// A handle for each payload, in their order. Equal payloads have one buffer.
    pub fn handles(&self) -> &[u64] {
        &self.handles
    }
}

/// A backend as an optimizer uses it. See the [module's documentation](self) for what all methods share.
///
/// Some methods have the names of [`VyreBackend`](crate::VyreBackend) methods. Where both traits are in scope, call them
/// on a `&dyn OptimizerDispatcher`.
///
/// Only [`OptimizerDispatcher::resident_host`] is to be implemented.
pub trait OptimizerDispatcher: sealed::Sealed + Send + Sync {
    /// The backend and its handles.
    #[doc(hidden)]
    fn resident_host(&self) -> ResidentHost<'_>;

    /// Runs a program on input bytes, one vector for each input buffer in declaration order, and gives one for
    /// each output buffer, in declaration order.
    ///
    /// # Errors
    /// [`DispatchError::Backend`] with everything that a dispatch can fail with.
    fn dispatch(
        &self,
        program: &Program,
        inputs: &[Vec<u8>],
        grid_override: Option<[u32; 3]>,
    ) -> Result<Vec<Vec<u8>>, DispatchError> {
        let config = DispatchConfig { grid: grid_override, ..DispatchConfig::default() };
        let failed = |source| DispatchError::Backend { doing: "dispatching a program", source };
        self.resident_host().backend.dispatch(program, inputs, &config).map_err(failed)
    }

    /// Whether buffers stay on the device between calls, so that data is worth keeping there.
    fn supports_persistent(&self) -> bool {
        true
    }

    /// A key for plans that depend on the device and its code: it differs wherever generated code may, by
    /// backend, versions, device profile or compile options, and is the same in every run of one build.
    fn device_feature_cache_key(&self) -> u64 {
        let backend = self.resident_host().backend;
        key::feature_key(backend.id(), backend.version(), backend.profile(), &CompileOptions::default())
    }

    /// Allocates a buffer of `byte_len` bytes, all 0. It lives until [`OptimizerDispatcher::free_resident`].
    ///
    /// # Errors
    /// [`DispatchError::Backend`] if the device has no memory, or no buffer of this size.
    fn alloc_resident(&self, byte_len: usize) -> Result<u64, DispatchError> {
        self.resident_host().allocate(byte_len)
    }

    /// Allocates a group of buffers, or none.
    ///
    /// # Errors
    /// [`DispatchError::Allocation`] names the one that failed; those before it are freed again.
    fn alloc_resident_many(&self, byte_lens: &[usize]) -> Result<Vec<u64>, DispatchError> {
        let host = self.resident_host();
        let mut handles = Vec::with_capacity(byte_lens.len());
        for (index, &byte_len) in byte_lens.iter().enumerate() {
            match host.allocate(byte_len) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    host.roll_back(handles);
                    let DispatchError::Backend { source, .. } = error else { return Err(error) };
                    return Err(DispatchError::Allocation { index, bytes: byte_len as u64, source });
                }
            }
        }
        Ok(handles)
    }

    /// Writes bytes from the start of a buffer on; bytes beyond them stay.
    ///
    /// # Errors
    /// [`DispatchError::Range`] if there are more than the buffer has.
    fn upload_resident(&self, handle: u64, bytes: &[u8]) -> Result<(), DispatchError> {
        self.upload_resident_many(&[(handle, bytes)])
    }

    /// As [`OptimizerDispatcher::upload_resident`] for several buffers.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::upload_resident`].
    fn upload_resident_many(&self, uploads: &[(u64, &[u8])]) -> Result<(), DispatchError> {
        self.resident_host().run(Work { uploads, ..Work::default() }, &mut Vec::new())
    }

    /// Gives buffers with these bytes: existing ones where equal bytes were acquired in the same domain and
    /// not released since, else new ones.
    ///
    /// # Errors
    /// [`DispatchError::Backend`]; nothing stays allocated then that was not before.
    fn acquire_resident_static_uploads(
        &self,
        cache_domain: u64,
        payloads: &[&[u8]],
    ) -> Result<ResidentStaticBufferSet, DispatchError> {
        self.resident_host().acquire_statics(cache_domain, payloads)
    }

    /// Ends the use of a set. Buffers that no other set has are freed.
    ///
    /// # Errors
    /// [`DispatchError::ForeignSet`] for a set of another dispatcher, which is given back with the error.
    fn release_resident_static_uploads(&self, set: ResidentStaticBufferSet) -> Result<(), DispatchError> {
        self.resident_host().release_statics(set)
    }

    /// Reads a whole buffer.
    ///
    /// # Errors
    /// [`DispatchError::Handle`].
    fn read_resident(&self, handle: u64) -> Result<Vec<u8>, DispatchError> {
        Ok(self.read_resident_many(&[handle])?.pop().unwrap_or_default())
    }

    /// Reads whole buffers.
    ///
    /// # Errors
    /// [`DispatchError::Handle`].
    fn read_resident_many(&self, handles: &[u64]) -> Result<Vec<Vec<u8>>, DispatchError> {
        self.dispatch_resident_sequence_read_many(&[], handles)
    }

    /// Reads ranges of buffers.
    ///
    /// # Errors
    /// [`DispatchError::Range`] for one that reaches beyond its buffer.
    fn read_resident_ranges(&self, ranges: &[ResidentReadRange]) -> Result<Vec<Vec<u8>>, DispatchError> {
        self.resident_host().read(Work { reads: ranges, ..Work::default() })
    }

    /// As [`OptimizerDispatcher::read_resident_ranges`]. `outputs` gets as many vectors as there are ranges;
    /// those that it has are used again. With an error their content is unspecified.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::read_resident_ranges`].
    fn read_resident_ranges_into(
        &self,
        ranges: &[ResidentReadRange],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        self.resident_host().run(Work { reads: ranges, ..Work::default() }, outputs)
    }

    /// Frees a buffer of [`OptimizerDispatcher::alloc_resident`].
    ///
    /// # Errors
    /// [`DispatchError::Handle`], or [`DispatchError::Immutable`] for a static one.
    fn free_resident(&self, handle: u64) -> Result<(), DispatchError> {
        self.resident_host().free(handle)
    }

    /// Runs a program on resident buffers, a handle for each of its buffers in declaration order. Nothing is
    /// read back.
    ///
    /// # Errors
    /// [`DispatchError::Step`] if the program cannot run, [`DispatchError::Backend`] with its fault.
    fn dispatch_resident(
        &self,
        program: &Program,
        handles: &[u64],
        grid_override: Option<[u32; 3]>,
    ) -> Result<(), DispatchError> {
        self.dispatch_resident_sequence(&[ResidentDispatchStep { program, handles, grid_override }])
    }

    /// Runs programs in order, each seeing what those before it stored.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::dispatch_resident`]; no step has run if one of them cannot.
    fn dispatch_resident_sequence(&self, steps: &[ResidentDispatchStep<'_>]) -> Result<(), DispatchError> {
        self.resident_host().run(Work { steps, ..Work::default() }, &mut Vec::new())
    }

    /// As [`OptimizerDispatcher::dispatch_resident_sequence`], then reads whole buffers.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::dispatch_resident_sequence`].
    fn dispatch_resident_sequence_read_many(
        &self,
        steps: &[ResidentDispatchStep<'_>],
        read_handles: &[u64],
    ) -> Result<Vec<Vec<u8>>, DispatchError> {
        self.upload_resident_many_sequence_read_many(&[], steps, read_handles)
    }

    /// As [`OptimizerDispatcher::dispatch_resident_sequence`], then reads ranges.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::dispatch_resident_sequence`].
    fn dispatch_resident_sequence_read_ranges(
        &self,
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange],
    ) -> Result<Vec<Vec<u8>>, DispatchError> {
        self.upload_resident_many_sequence_read_ranges(&[], steps, read_ranges)
    }

    /// Uploads as [`OptimizerDispatcher::upload_resident_many`], runs the steps, then reads whole buffers.
    ///
    /// # Errors
    /// As those methods.
    fn upload_resident_many_sequence_read_many(
        &self,
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_handles: &[u64],
    ) -> Result<Vec<Vec<u8>>, DispatchError> {
        let host = self.resident_host();
        host.read(Work { fills: &[], uploads, steps, reads: &host.whole(read_handles)? })
    }

    /// Uploads as [`OptimizerDispatcher::upload_resident_many`], runs the steps, then reads ranges.
    ///
    /// # Errors
    /// As those methods.
    fn upload_resident_many_sequence_read_ranges(
        &self,
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange],
    ) -> Result<Vec<Vec<u8>>, DispatchError> {
        self.resident_host().read(Work { fills: &[], uploads, steps, reads: read_ranges })
    }

    /// As [`OptimizerDispatcher::upload_resident_many_sequence_read_many`]. `outputs` gets as many vectors as
    /// there are reads; those that it has are used again. With an error their content is unspecified.
    ///
    /// # Errors
    /// As [`OptimizerDispatcher::upload_resident_many_sequence_read_many`].
    fn upload_resident_many_sequence_read_many_into(
        &self,
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_handles: &[u64],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        self.fill_upload_resident_many_sequence_read_many_into(&[], uploads, steps, read_handles, outputs)
    }

    /// As [`OptimizerDispatcher::upload_resident_many_sequence_read_many_into`], but first sets the leading
    /// bytes of buffers to 0: each pair has a handle and how many bytes.
    ///
    /// # Errors
    /// As there, and [`DispatchError::Range`] if a buffer has fewer bytes.
    fn clear_upload_resident_many_sequence_read_many_into(
        &self,
        clears: &[(u64, usize)],
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_handles: &[u64],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        let fills: Vec<_> = clears.iter().map(|&(handle, byte_len)| (handle, byte_len, 0)).collect();
        self.fill_upload_resident_many_sequence_read_many_into(&fills, uploads, steps, read_handles, outputs)
    }

    /// As [`OptimizerDispatcher::clear_upload_resident_many_sequence_read_many_into`] with a byte of choice:
    /// each triple has a handle, how many leading bytes, and what each is set to.
    ///
    /// # Errors
    /// As there.
    fn fill_upload_resident_many_sequence_read_many_into(
        &self,
        fills: &[(u64, usize, u8)],
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_handles: &[u64],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        let host = self.resident_host();
        host.run(Work { fills, uploads, steps, reads: &host.whole(read_handles)? }, outputs)
    }

    /// As [`OptimizerDispatcher::fill_upload_resident_many_sequence_read_many_into`], reading ranges.
    ///
    /// # Errors
    /// As there.
    fn fill_upload_resident_many_sequence_read_ranges_into(
        &self,
        fills: &[(u64, usize, u8)],
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        self.resident_host().run(Work { fills, uploads, steps, reads: read_ranges }, outputs)
    }

    /// As [`OptimizerDispatcher::upload_resident_many_sequence_read_ranges`]. `outputs` gets as many vectors
    /// as there are ranges; those that it has are used again. With an error their content is unspecified.
    ///
    /// # Errors
    /// As there.
    fn upload_resident_many_sequence_read_ranges_into(
        &self,
        uploads: &[(u64, &[u8])],
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange],
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), DispatchError> {
        self.fill_upload_resident_many_sequence_read_ranges_into(&[], uploads, steps, read_ranges, outputs)
    }
}

impl sealed::Sealed for ReferenceBackend {}

impl OptimizerDispatcher for ReferenceBackend {
    fn resident_host(&self) -> ResidentHost<'_> {
        ResidentHost { backend: self, handles: self.handles() }
    }
}
