//! What a session has on a device: pipelines and constants of one generation of it.

use std::fmt;
use std::sync::Arc;

use vyre_driver::{
    BackendError, BackendRegistration, BufferRef, CommandList, CompiledPipeline, Materializer, PayloadKey,
    Resource, TargetPayload, VyreBackend,
};
use vyre_megakernel::{Artifact, ArtifactEnvelope, Held, Materialized, Pipelines};

use crate::SessionError;

/// What pipelines are made of.
pub(crate) enum Source {
    /// The artifact's programs, by the backend's compiler.
    Programs,
    /// A payload, by the backend's materializer.
    Payload { materializer: &'static dyn Materializer, payload: Box<TargetPayload>, key: Option<PayloadKey> },
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Programs => f.write_str("Programs"),
            Self::Payload { payload, .. } => write!(f, "Payload({})", payload.format),
        }
    }
}

impl Source {
    /// The best payload of an envelope that the backend takes, and its pipelines.
    pub(crate) fn payload(
        backend: &dyn VyreBackend,
        registration: &BackendRegistration,
        envelope: &ArtifactEnvelope,
        key: Option<&PayloadKey>,
    ) -> Result<(Self, Vec<Arc<dyn CompiledPipeline>>), SessionError> {
        let Materialized { payload, pipelines } = envelope.materialize(backend, registration, key)?;
        let (payload, key) = (Box::new(payload.clone()), key.cloned());
        Ok((Self::Payload { materializer: registration.materializer()?, payload, key }, pipelines))
    }

    /// The pipelines of the artifact's programs.
    pub(crate) fn pipelines(
        &self,
        backend: &dyn VyreBackend,
        artifact: &Artifact,
    ) -> Result<Vec<Arc<dyn CompiledPipeline>>, BackendError> {
        match self {
            Self::Programs => artifact
                .programs()
                .iter()
                .map(|program| backend.compile_checked(program, artifact.options()))
                .collect(),
            Self::Payload { materializer, payload, key } => {
                materializer.materialize(backend, payload, key.as_ref())
            }
        }
    }
}

/// Pipelines and constants on one generation of a device.
pub(crate) struct Ready {
    pub(crate) pipelines: Pipelines,
    memory: Memory,
}

/// Buffers that are freed when it is dropped.
struct Memory {
    backend: Arc<dyn VyreBackend>,
    constants: Held,
    /// No bytes; it tells the generation.
    marker: Resource,
}

impl Ready {
    pub(crate) fn new(
        backend: &Arc<dyn VyreBackend>,
        artifact: &Artifact,
        pipelines: Vec<Arc<dyn CompiledPipeline>>,
    ) -> Result<Self, SessionError> {
        let pipelines = Pipelines::new(artifact, pipelines)?;
        let (backend, marker) = (Arc::clone(backend), backend.allocate(0)?);
        let mut memory = Memory { backend, constants: Held::new(), marker };
        let mut list = CommandList::new().labeled(Some("constants".to_owned()));
        for (value, bytes) in artifact.constants() {
            let resource = memory.backend.allocate(bytes.len() as u64)?;
            memory.constants.insert(value, resource);
            list.upload(BufferRef::Resident(resource), 0, bytes);
        }
        if !list.commands().is_empty() {
            drop(memory.backend.submit(&list)?);
        }
        Ok(Self { pipelines, memory })
    }

    /// The constants of the graph.
    pub(crate) fn constants(&self) -> &Held {
        &self.memory.constants
    }

    /// Whether the device is of the generation that this was made for.
    pub(crate) fn is_current(&self) -> Result<bool, BackendError> {
        let backend = &self.memory.backend;
        let probe = backend.allocate(0)?;
        let same = probe.generation == self.generation();
        backend.free(probe)?;
        Ok(same)
    }

    /// The generation of the device, as its handles have it.
    pub(crate) fn generation(&self) -> u64 {
        self.memory.marker.generation
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for &resource in self.constants.values().chain([&self.marker]) {
            // What a loss has taken is free already.
            let _ = self.backend.free(resource);
        }
    }
}
