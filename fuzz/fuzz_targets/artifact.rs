//! Any bytes are an artifact, a payload, an envelope, or an error; and so are any bytes that somebody has sealed with a right digest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vyre_driver::TargetPayload;
use vyre_megakernel::{Artifact, ArtifactEnvelope};

/// What digests of artifacts, payloads and envelopes are derived under.
const CONTEXTS: [&str; 3] = ["vyre artifact", "vyre target payload", "vyre artifact envelope"];

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    for context in CONTEXTS {
        let digest = blake3::derive_key(context, bytes);
        read(&[bytes, &digest].concat());
        // Payloads and envelopes end with whether they are sealed.
        read(&[bytes, &digest, &[0]].concat());
    }
});

fn read(bytes: &[u8]) {
    if let Ok(artifact) = Artifact::from_bytes(bytes) {
        assert!(artifact.bytes() == bytes, "an artifact is its bytes");
    }
    if let Ok(envelope) = ArtifactEnvelope::from_bytes(bytes) {
        assert!(envelope.to_bytes() == bytes, "an envelope has one form");
    }
    if let Ok(payload) = TargetPayload::from_bytes(bytes) {
        assert!(payload.to_bytes() == bytes, "a payload has one form");
    }
}
