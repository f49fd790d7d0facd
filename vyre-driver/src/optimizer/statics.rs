//! Immutable payloads that are uploaded once and shared by content.

use std::sync::PoisonError;

use super::handles::Content;
use super::work::{ResidentHost, Work};
use super::{DispatchError, ResidentReadRange, ResidentStaticBufferSet, ReturnedSet};
use crate::{BackendError, BufferRef, CommandList};

impl ResidentHost<'_> {
    /// Handles of buffers with these bytes: those of an earlier call where domain and bytes are equal, else
    /// new ones, all uploaded in one submission.
    pub(super) fn acquire_statics(
        &self,
        cache_domain: u64,
        payloads: &[&[u8]],
    ) -> Result<ResidentStaticBufferSet, DispatchError> {
        let contents: Vec<Content> =
            payloads.iter().map(|bytes| (cache_domain, *blake3::hash(bytes).as_bytes())).collect();
        let _sharing = self.handles.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        self.retire_dead(&contents)?;
        let mut handles = Vec::with_capacity(payloads.len());
        let mut made: Vec<(Content, u64)> = Vec::new();
        let mut list = CommandList::new();
        let mut fill = || -> Result<(), DispatchError> {
            for (&content, &bytes) in contents.iter().zip(payloads) {
                let known = made.iter().find(|(other, _)| *other == content).map(|&(_, handle)| handle);
                let handle = match known.or_else(|| self.handles.find(&content)) {
                    Some(handle) => handle,
                    None => {
                        let handle = self.allocate(bytes.len())?;
                        made.push((content, handle));
                        let buffer = BufferRef::Resident(self.handles.get(handle)?.resource);
                        list.upload(buffer, 0, bytes);
                        handle
                    }
                };
                handles.push(handle);
            }
            let failed = |source| DispatchError::Backend { doing: "uploading static buffers", source };
            if !list.commands().is_empty() {
                self.backend.submit(&list).and_then(|work| work.wait(None)).map_err(failed)?;
            }
            Ok(())
        };
        if let Err(error) = fill() {
            self.roll_back(made.into_iter().map(|(_, handle)| handle));
            return Err(error);
        }
        for (&handle, content) in handles.iter().zip(contents) {
            self.handles.share(handle, content);
        }
        Ok(ResidentStaticBufferSet { owner: self.handles.tag(), cache_domain, handles })
    }

    /// Lets go of buffers that were lost with a device: who looks for their content finds none.
    fn retire_dead(&self, contents: &[Content]) -> Result<(), DispatchError> {
        for handle in contents.iter().filter_map(|content| self.handles.find(content)) {
            // A read of no bytes: the backend looks at the handle, and nothing is moved.
            let read = [ResidentReadRange { handle, byte_offset: 0, byte_len: 0 }];
            match self.read(Work { reads: &read, ..Work::default() }) {
                Ok(_) => {}
                Err(DispatchError::Handle { .. }) => self.handles.retire(handle),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Counts each buffer of a set down, and frees those that nobody uses. All are tried; the first error is
    /// given. A set of another dispatcher is given back.
    pub(super) fn release_statics(&self, set: ResidentStaticBufferSet) -> Result<(), DispatchError> {
        if set.owner != self.handles.tag() {
            return Err(DispatchError::ForeignSet { set: ReturnedSet::new(set) });
        }
        let ResidentStaticBufferSet { owner: _, cache_domain, handles } = set;
        let _sharing = self.handles.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        let release = |&handle: &u64| {
            let Some(resource) = self.handles.unshare(handle, cache_domain)? else { return Ok(()) };
            match self.backend.free(resource) {
                // Lost with its device: there is nothing left to free.
                Ok(()) | Err(BackendError::BadHandle { problem: "stale", .. }) => Ok(()),
                Err(source) => Err(DispatchError::Backend { doing: "freeing a static buffer", source }),
            }
        };
        let results: Vec<Result<(), DispatchError>> = handles.iter().map(release).collect();
        results.into_iter().collect()
    }

    /// Allocates a buffer and gives it a handle.
    pub(super) fn allocate(&self, byte_len: usize) -> Result<u64, DispatchError> {
        let failed = |source| DispatchError::Backend { doing: "allocating a resident buffer", source };
        let resource = self.backend.allocate(byte_len as u64).map_err(failed)?;
        self.handles.insert(resource).inspect_err(|_| drop(self.backend.free(resource)))
    }

    /// Frees a buffer that is no static one.
    pub(super) fn free(&self, handle: u64) -> Result<(), DispatchError> {
        match self.backend.free(self.handles.remove(handle)?) {
            Ok(()) => Ok(()),
            Err(BackendError::BadHandle { problem, .. }) => Err(DispatchError::Handle { handle, problem }),
            Err(source) => Err(DispatchError::Backend { doing: "freeing a resident buffer", source }),
        }
    }

    /// Frees what a failed call has allocated; its own error is the one to report.
    pub(super) fn roll_back(&self, handles: impl IntoIterator<Item = u64>) {
        for handle in handles {
            drop(self.free(handle));
        }
    }
}
