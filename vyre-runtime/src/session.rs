//! Sessions: an artifact on a device, through losses of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use vyre_driver::{BackendRegistration, CompiledPipeline, PayloadKey, VyreBackend, backend_registration};
use vyre_megakernel::{Artifact, ArtifactEnvelope, ProfileDigest, ValidRequest, compile};

use crate::ready::{Ready, Source};
use crate::{ArtifactInstance, SessionError};

/// An artifact that was admitted to a device and is ready to run there.
///
/// Clones are the same session. Sessions share nothing but the backend: what one does, also what it recovers, does
/// not change another's values.
#[derive(Clone)]
pub struct ArtifactSession {
    inner: Arc<Inner>,
}

/// Pipelines of an artifact's programs.
type Made = Vec<Arc<dyn CompiledPipeline>>;

struct Inner {
    backend: Arc<dyn VyreBackend>,
    artifact: Arc<Artifact>,
    source: Source,
    ready: RwLock<Arc<Ready>>,
    /// Held by the one rematerialisation at a time.
    turn: Mutex<()>,
}

impl fmt::Debug for ArtifactSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactSession")
            .field("backend", &self.inner.backend.id())
            .field("artifact", &self.inner.artifact.id())
            .field("source", &self.inner.source)
            .finish_non_exhaustive()
    }
}

impl ArtifactSession {
    /// Opens the backend, compiles the request and admits the artifact.
    ///
    /// # Errors
    /// Why the request cannot be compiled, and those of [`Self::from_artifact`].
    pub fn compile(registration: &BackendRegistration, request: &ValidRequest) -> Result<Self, SessionError> {
        Self::from_artifact(registration, compile(request)?)
    }

    /// Opens the backend and admits an artifact's bytes.
    ///
    /// # Errors
    /// If the bytes are no artifact, and those of [`Self::from_artifact`].
    pub fn from_bytes(registration: &BackendRegistration, bytes: &[u8]) -> Result<Self, SessionError> {
        Self::from_artifact(registration, Artifact::from_bytes(bytes)?)
    }

    /// Opens the backend and admits an artifact: the device has the profile that the artifact is for. The backend
    /// compiles its programs, or has them in its cache.
    ///
    /// # Errors
    /// [`SessionError::OtherDevice`], or why the backend cannot be opened or compile a program.
    pub fn from_artifact(
        registration: &BackendRegistration,
        artifact: Artifact,
    ) -> Result<Self, SessionError> {
        Self::on((registration.open)()?, artifact)
    }

    /// Opens the backend and admits an envelope. The device's code is in the envelope: nothing is compiled, now or
    /// by [`Self::rematerialize`].
    ///
    /// With a key, the envelope and its payload must carry MACs that it verifies, and run as trusted. Without one,
    /// only a payload that this process compiled is trusted; another is taken in a format that the backend
    /// validates, and runs with every run-time check on.
    ///
    /// # Errors
    /// [`SessionError::OtherDevice`], [`SessionError::Envelope`] if the key does not verify it or it holds no
    /// payload for the backend, or why the backend refuses the payload.
    pub fn from_envelope(
        registration: &BackendRegistration,
        envelope: &ArtifactEnvelope,
        key: Option<&PayloadKey>,
    ) -> Result<Self, SessionError> {
        Self::envelope_on((registration.open)()?, registration, envelope, key)
    }

    /// As [`Self::from_artifact`], on a backend that is open.
    ///
    /// # Errors
    /// As [`Self::from_artifact`].
    pub fn on(backend: Arc<dyn VyreBackend>, artifact: Artifact) -> Result<Self, SessionError> {
        let programs = artifact.clone();
        Self::open(backend, artifact, |backend| {
            Ok((Source::Programs, Source::Programs.pipelines(backend, &programs)?))
        })
    }

    /// As [`Self::from_envelope`], on a backend that is open and registered.
    ///
    /// # Errors
    /// As [`Self::from_envelope`].
    pub fn from_envelope_on(
        backend: Arc<dyn VyreBackend>,
        envelope: &ArtifactEnvelope,
        key: Option<&PayloadKey>,
    ) -> Result<Self, SessionError> {
        let registration = backend_registration(backend.id())?;
        Self::envelope_on(backend, registration, envelope, key)
    }

    fn envelope_on(
        backend: Arc<dyn VyreBackend>,
        registration: &BackendRegistration,
        envelope: &ArtifactEnvelope,
        key: Option<&PayloadKey>,
    ) -> Result<Self, SessionError> {
        Self::open(backend, envelope.artifact().clone(), |backend| {
            Source::payload(backend, registration, envelope, key)
        })
    }

    fn open(
        backend: Arc<dyn VyreBackend>,
        artifact: Artifact,
        source: impl FnOnce(&dyn VyreBackend) -> Result<(Source, Made), SessionError>,
    ) -> Result<Self, SessionError> {
        let profile = ProfileDigest::of(backend.profile());
        if artifact.profile() != profile {
            return Err(SessionError::OtherDevice {
                artifact: artifact.profile(),
                backend: backend.id().to_owned(),
                device: backend.profile().name.clone(),
                profile,
            });
        }
        // A device that was lost before has nothing of this session.
        if backend.device_lost() {
            backend.try_recover()?;
        }
        let (source, pipelines) = source(&*backend)?;
        let ready = Ready::new(&backend, &artifact, pipelines)?;
        let (artifact, ready) = (Arc::new(artifact), RwLock::new(Arc::new(ready)));
        Ok(Self { inner: Arc::new(Inner { backend, artifact, source, ready, turn: Mutex::new(()) }) })
    }

    /// Makes the session run again after the device was lost: recovers the device, unless somebody else has, admits the
    /// same payload to it and uploads the constants. The artifact is not compiled again. A session that was not
    /// opened from an envelope has the backend make its kernels again, from its cache where it has one.
    ///
    /// Runs that were under way have failed; submit them again. What instances retained between runs is gone:
    /// see [`ArtifactInstance`]. If the device is as it was, this does nothing.
    ///
    /// # Errors
    /// Why the device cannot be recovered, or the loss of the recovered one; this can then be called again.
    pub fn rematerialize(&self) -> Result<(), SessionError> {
        let Inner { backend, artifact, source, ready, turn } = &*self.inner;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        backend.try_recover()?;
        if self.ready().is_current()? {
            return Ok(());
        }
        let pipelines = source.pipelines(&**backend, artifact)?;
        let made = Arc::new(Ready::new(backend, artifact, pipelines)?);
        *ready.write().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(())
    }

    /// The artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.inner.artifact
    }

    /// The backend, for resident buffers.
    pub fn backend(&self) -> &Arc<dyn VyreBackend> {
        &self.inner.backend
    }

    /// What is on the device now.
    pub(crate) fn ready(&self) -> Arc<Ready> {
        Arc::clone(&self.inner.ready.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something to submit runs with, which retains values of its own between them; it outlives the session.
    pub fn instance(&self) -> ArtifactInstance {
        ArtifactInstance::new(self.clone())
    }
}
