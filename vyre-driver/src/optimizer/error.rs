//! What can go wrong in an [`OptimizerDispatcher`](super::OptimizerDispatcher).

use std::sync::{Arc, Mutex, PoisonError};

use super::ResidentStaticBufferSet;
use crate::BackendError;

/// Why a dispatcher could not do what was asked, with the handle or step that it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// A handle is not of this dispatcher, or its buffer is gone.
    #[error("the resident handle {handle:#x} is {problem}")]
    Handle {
        /// The handle.
        handle: u64,
        /// `foreign`, `freed` or `stale`.
        problem: &'static str,
    },
    /// Bytes of a buffer were named that it does not have.
    #[error("{doing}: bytes {offset}..{} reach beyond the {len} bytes of the resident handle {handle:#x}", offset.saturating_add(*bytes))]
    Range {
        /// What was being done.
        doing: &'static str,
        /// The handle.
        handle: u64,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The buffer's bytes.
        len: u64,
    },
    /// A static buffer, which its users share, would have been changed or freed.
    #[error("{doing}: the resident handle {handle:#x} is a shared static buffer")]
    Immutable {
        /// What was being done.
        doing: &'static str,
        /// The handle.
        handle: u64,
    },
    /// A buffer that is not static was released as one.
    #[error("the resident handle {handle:#x} is no static buffer of cache domain {cache_domain}")]
    NotStatic {
        /// The handle.
        handle: u64,
        /// The domain that it was released from.
        cache_domain: u64,
    },
    /// A set of static buffers was released with another dispatcher than the one that gave it.
    #[error("the set of static buffers is of another dispatcher")]
    ForeignSet {
        /// The set, which was not released.
        set: ReturnedSet,
    },
    /// A buffer of a group could not be allocated; those before it were freed again.
    #[error("buffer {index} of the group ({bytes} bytes) could not be allocated: {source}")]
    Allocation {
        /// Its position in the group.
        index: usize,
        /// Its bytes.
        bytes: u64,
        /// Why.
        source: BackendError,
    },
    /// A step cannot run. Nothing of its sequence did.
    #[error("step {step} (`{program}`): {source}")]
    Step {
        /// Its position in the sequence.
        step: usize,
        /// The program's name.
        program: String,
        /// Why.
        source: BackendError,
    },
    /// The backend failed in something that no single handle or step is to blame for.
    #[error("{doing}: {source}")]
    Backend {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: BackendError,
    },
}

impl DispatchError {
    /// A stable code for scripts: the backend's own where it is the source.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Handle { .. } => "D001",
            Self::Range { .. } => "D002",
            Self::Immutable { .. } => "D003",
            Self::NotStatic { .. } => "D004",
            Self::ForeignSet { .. } => "D005",
            Self::Allocation { source, .. } | Self::Step { source, .. } | Self::Backend { source, .. } => {
                source.code()
            }
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Handle { .. } => "allocate the buffer with this dispatcher, and do not use it after it is freed or the device is recovered".into(),
            Self::Range { .. } => "keep the range inside the buffer, or allocate a longer one".into(),
            Self::Immutable { .. } => "copy it into a buffer of `alloc_resident` first; static buffers end by `release_resident_static_uploads`".into(),
            Self::NotStatic { .. } => "release each set once, with the dispatcher that gave it".into(),
            Self::ForeignSet { .. } => "take the set out of the error, and release it with the dispatcher that gave it".into(),
            Self::Allocation { source, .. } | Self::Step { source, .. } | Self::Backend { source, .. } => {
                source.help()
            }
        }
    }

    /// The backend's error, if it is the source.
    pub const fn backend(&self) -> Option<&BackendError> {
        match self {
            Self::Handle { .. }
            | Self::Range { .. }
            | Self::Immutable { .. }
            | Self::NotStatic { .. }
            | Self::ForeignSet { .. } => None,
            Self::Allocation { source, .. } | Self::Step { source, .. } | Self::Backend { source, .. } => {
                Some(source)
            }
        }
    }
}

/// A set that was not released, for whoever takes it first out of the error or one of its clones.
#[derive(Clone, Debug)]
pub struct ReturnedSet(Arc<Mutex<Option<ResidentStaticBufferSet>>>);

impl ReturnedSet {
    pub(super) fn new(set: ResidentStaticBufferSet) -> Self {
        Self(Arc::new(Mutex::new(Some(set))))
    }

    /// The set; `None` if it has been taken.
    #[must_use = "the set's buffers live until it is released"]
    pub fn take(&self) -> Option<ResidentStaticBufferSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Clones of one are equal.
impl PartialEq for ReturnedSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ReturnedSet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_on_its_page_and_sources_keep_theirs() {
        let (handle, doing) = (1, "a test");
        let own = [
            ("Handle", DispatchError::Handle { handle, problem: "freed" }),
            ("Range", DispatchError::Range { doing, handle, offset: 0, bytes: 2, len: 1 }),
            ("Immutable", DispatchError::Immutable { doing, handle }),
            ("NotStatic", DispatchError::NotStatic { handle, cache_domain: 0 }),
            ("ForeignSet", DispatchError::ForeignSet { set: ReturnedSet(Arc::default()) }),
        ];
        let page = include_str!("../../../docs/BACKEND_ERRORS.md");
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| D")).collect();
        assert_eq!(rows.len(), own.len());
        for ((name, error), row) in own.iter().zip(rows) {
            let start = format!("| {} | `{name}` | ", error.code());
            assert!(row.starts_with(&start), "{row}, not {start}");
            assert!(error.backend().is_none());
        }
        let source = BackendError::Limit { what: "a limit".into(), value: 2, limit: 1 };
        let inside = [
            DispatchError::Allocation { index: 0, bytes: 2, source: source.clone() },
            DispatchError::Step { step: 0, program: "p".into(), source: source.clone() },
            DispatchError::Backend { doing, source: source.clone() },
        ];
        for error in inside {
            assert_eq!((error.code(), error.backend()), ("B110", Some(&source)));
            assert_eq!(error.help(), source.help());
        }
    }
}
