//! Sessions, and the instances that submit runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{BackendRegistration, CompiledPipeline, Completion, VyreBackend};
use vyre_foundation::ir::BufferId;
use vyre_megakernel::{Artifact, BindingSet, ProfileDigest, ValidRequest, compile, schedule};

use crate::SessionError;
use crate::outputs::{Output, Outputs};

/// An artifact that was admitted to a device and compiled there.
#[derive(Clone)]
pub struct ArtifactSession {
    backend: Arc<dyn VyreBackend>,
    artifact: Arc<Artifact>,
    pipeline: Arc<dyn CompiledPipeline>,
}

impl fmt::Debug for ArtifactSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactSession")
            .field("backend", &self.backend.id())
            .field("artifact", &self.artifact.id())
            .finish_non_exhaustive()
    }
}

impl ArtifactSession {
    /// Opens the backend, compiles the request and admits the artifact.
    ///
    /// # Errors
    /// Those of [`Self::from_artifact`].
    pub fn compile(registration: &BackendRegistration, request: &ValidRequest) -> Result<Self, SessionError> {
        Self::from_artifact(registration, compile(request))
    }

    /// Opens the backend and admits an artifact's bytes.
    ///
    /// # Errors
    /// If the bytes are no artifact, and those of [`Self::from_artifact`].
    pub fn from_bytes(registration: &BackendRegistration, bytes: &[u8]) -> Result<Self, SessionError> {
        Self::from_artifact(registration, Artifact::from_bytes(bytes)?)
    }

    /// Opens the backend and admits an artifact: the device has the profile that the artifact is for.
    ///
    /// # Errors
    /// [`SessionError::OtherDevice`], or why the backend cannot be opened or compile the program.
    pub fn from_artifact(
        registration: &BackendRegistration,
        artifact: Artifact,
    ) -> Result<Self, SessionError> {
        let backend = (registration.open)()?;
        let profile = ProfileDigest::of(backend.profile());
        if artifact.profile() != profile {
            return Err(SessionError::OtherDevice {
                artifact: artifact.profile(),
                backend: backend.id().to_owned(),
                device: backend.profile().name.clone(),
                profile,
            });
        }
        let pipeline = backend.compile_checked(artifact.program(), artifact.options())?;
        Ok(Self { backend, artifact: Arc::new(artifact), pipeline })
    }

    /// The artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// The backend, for resident buffers.
    pub fn backend(&self) -> &Arc<dyn VyreBackend> {
        &self.backend
    }

    /// Something to submit runs with; it outlives the session.
    pub fn instance(&self) -> ArtifactInstance {
        ArtifactInstance { session: self.clone() }
    }
}

/// Submits runs of an artifact.
#[derive(Clone, Debug)]
pub struct ArtifactInstance {
    session: ArtifactSession,
}

impl ArtifactInstance {
    /// Submits a run as one piece of work and returns at once. Host values are taken before it returns.
    ///
    /// # Errors
    /// If the bindings do not fit the program, or the backend refuses the work. A run that is refused has no
    /// effect.
    pub fn submit(&self, bindings: &BindingSet<'_>) -> Result<Submission, SessionError> {
        let ArtifactSession { backend, artifact, pipeline } = &self.session;
        let schedule = schedule(artifact, pipeline, bindings)?;
        let completion = backend.submit(&schedule.list)?;
        Ok(Submission { completion, artifact: Arc::clone(artifact), reads: schedule.reads })
    }
}

/// A run that was submitted.
#[derive(Debug)]
pub struct Submission {
    completion: Box<dyn Completion>,
    artifact: Arc<Artifact>,
    reads: Vec<BufferId>,
}

impl Submission {
    /// Whether the run has ended. Does not block.
    pub fn is_finished(&self) -> bool {
        self.completion.is_finished()
    }

    /// Waits for the run and gives its outputs. `timeout` counts from submission.
    ///
    /// # Errors
    /// A fault of the program, a timeout, or the device's own failure.
    pub fn wait(self, timeout: Option<Duration>) -> Result<Outputs, SessionError> {
        let program = self.artifact.program();
        let bytes = self.completion.wait(timeout)?;
        let output = |(id, bytes): (BufferId, _)| {
            let buffer = program.buffer(id);
            Output { name: buffer.name.clone(), element: buffer.element, bytes }
        };
        Ok(Outputs { buffers: self.reads.into_iter().zip(bytes).map(output).collect() })
    }
}
