//! The registry of linked backends.

use std::fmt;
use std::sync::Arc;

use crate::{BackendError, Materializer, TargetCompiler, VyreBackend};

/// What a backend submits to the registry, with `inventory::submit!`.
pub struct BackendRegistration {
    /// Its id, unique among linked backends.
    pub id: &'static str,
    /// The version of its implementation.
    pub version: &'static str,
    /// One sentence on what it is.
    pub description: &'static str,
    /// Backends of higher precedence are preferred where a caller names none; 0 is never chosen so.
    pub precedence: u32,
    /// Opens the backend, or gives the process-wide handle of it.
    pub open: fn() -> Result<Arc<dyn VyreBackend>, BackendError>,
    /// What compiles programs to target payloads, if the backend has such forms.
    pub target_compiler: Option<&'static dyn TargetCompiler>,
    /// What makes pipelines of target payloads, if the backend takes them.
    pub materializer: Option<&'static dyn Materializer>,
}

impl BackendRegistration {
    /// The backend's target compiler.
    ///
    /// # Errors
    /// [`BackendError::NoFacet`] if it has none.
    pub fn target_compiler(&self) -> Result<&'static dyn TargetCompiler, BackendError> {
        self.target_compiler.ok_or_else(|| self.lacks("target compiler"))
    }

    /// The backend's materializer.
    ///
    /// # Errors
    /// [`BackendError::NoFacet`] if it has none.
    pub fn materializer(&self) -> Result<&'static dyn Materializer, BackendError> {
        self.materializer.ok_or_else(|| self.lacks("materializer"))
    }

    fn lacks(&self, facet: &'static str) -> BackendError {
        BackendError::NoFacet { backend: self.id.to_owned(), facet }
    }
}

impl fmt::Debug for BackendRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendRegistration")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("precedence", &self.precedence)
            .field("target_compiler", &self.target_compiler)
            .field("materializer", &self.materializer)
            .finish_non_exhaustive()
    }
}

inventory::collect!(BackendRegistration);

/// Every linked backend, highest precedence first, then by id.
pub fn backend_registrations() -> Vec<&'static BackendRegistration> {
    let mut all: Vec<_> = inventory::iter::<BackendRegistration>.into_iter().collect();
    all.sort_by_key(|r| (std::cmp::Reverse(r.precedence), r.id));
    all
}

/// The linked backend with this id.
///
/// # Errors
/// [`BackendError::BackendNotLinked`] with the ids that are.
pub fn backend_registration(id: &str) -> Result<&'static BackendRegistration, BackendError> {
    let all = backend_registrations();
    all.iter().copied().find(|r| r.id == id).ok_or_else(|| BackendError::BackendNotLinked {
        id: id.into(),
        linked: all.iter().map(|r| r.id.to_owned()).collect(),
    })
}
