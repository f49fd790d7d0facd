//! Payloads of an envelope: from programs to a device's code, and from that to pipelines.

use std::sync::Arc;

use vyre_driver::{
    BackendError, BackendRegistration, CompiledPipeline, PayloadError, PayloadKey, ProfileDigest,
    TargetPayload, VyreBackend,
};
use vyre_spec::{CompileOptions, DeviceProfile};

use super::{ArtifactEnvelope, AttachError, MaterializeError};

/// A payload that a backend took.
#[derive(Debug)]
pub struct Materialized<'e> {
    /// The payload.
    pub payload: &'e TargetPayload,
    /// The pipelines of the artifact's programs, in their order.
    pub pipelines: Vec<Arc<dyn CompiledPipeline>>,
}

impl ArtifactEnvelope {
    /// The same with payloads that the backend's target compiler makes for the device that the artifact is for, one in
    /// each format that the device takes and that can hold the programs. No device is needed.
    ///
    /// # Errors
    /// [`AttachError::Profile`] if `profile` is not the artifact's, [`BackendError::NoFacet`] if the backend has no
    /// target compiler, or why no format can hold the programs.
    pub fn with_target(
        mut self,
        registration: &BackendRegistration,
        profile: &DeviceProfile,
    ) -> Result<Self, AttachError> {
        let compiler = registration.target_compiler()?;
        let (given, artifact) = (ProfileDigest::of(profile), self.artifact.profile());
        if given != artifact {
            return Err(AttachError::Profile { given, artifact });
        }
        let formats = compiler.formats(profile);
        // Sessions hold each launch to the contract that a kernel rests on, or take a guarded one.
        let options = CompileOptions { launch_contract: true, ..self.artifact.options().clone() };
        let mut refusal = None;
        let mut attached = 0;
        for &format in &formats {
            let programs = self.artifact.programs();
            match compiler.compile_as(format, programs, profile, &options) {
                Ok(payload) => {
                    self = self.with_payload(payload)?;
                    attached += 1;
                }
                Err(error) => drop(refusal.get_or_insert(error)),
            }
        }
        match refusal {
            Some(error) if attached == 0 => Err(error.into()),
            None if attached == 0 => {
                let (format, device) = ("none".to_owned(), profile.name.clone());
                Err(BackendError::from(PayloadError::Format { format, device, known: Vec::new() }).into())
            }
            _ => Ok(self),
        }
    }

    /// Makes pipelines of the best payload that the backend takes: of its formats in its own order, then of what else
    /// there is for it. With a key, the envelope and the payload must carry MACs that it verifies. Without one, a payload
    /// that needs trust and has none is passed over, as long as another one needs none.
    ///
    /// # Errors
    /// If the key does not verify the envelope, the backend takes no payloads, or there is none for it that it takes.
    pub fn materialize(
        &self,
        backend: &dyn VyreBackend,
        registration: &BackendRegistration,
        key: Option<&PayloadKey>,
    ) -> Result<Materialized<'_>, MaterializeError> {
        if let Some(key) = key {
            self.verify(key)?;
        }
        let materializer = registration.materializer()?;
        let held = self.payloads.iter().filter(|payload| payload.backend == registration.id);
        let formats = registration.target_compiler.map(|compiler| compiler.formats(backend.profile()));
        let mut formats = formats.unwrap_or_default();
        formats.extend(held.map(|payload| payload.format.as_str()));
        let mut refusal = None;
        for format in formats {
            let Ok(payload) = self.payload(registration.id, &[format]) else { continue };
            match materializer.materialize(backend, payload, key) {
                Ok(pipelines) => return Ok(Materialized { payload, pipelines }),
                // Another format may need no trust.
                Err(error @ BackendError::Payload(PayloadError::Untrusted { .. })) => {
                    refusal.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(match refusal {
            Some(refusal) => refusal.into(),
            None => self.no_payload(registration.id).into(),
        })
    }
}
