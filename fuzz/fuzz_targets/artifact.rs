//! Any bytes are an artifact, a payload, or an error; and so are any bytes that somebody has sealed with a right digest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vyre_driver::TargetPayload;
use vyre_megakernel::Artifact;

/// What digests of artifacts and payloads are derived under.
const CONTEXTS: [&str; 2] = ["vyre artifact", "vyre target payload"];

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    for context in CONTEXTS {
        read(&[bytes, &blake3::derive_key(context, bytes)].concat());
    }
});

fn read(bytes: &[u8]) {
    if let Ok(artifact) = Artifact::from_bytes(bytes) {
        assert!(artifact.bytes() == bytes, "an artifact is its bytes");
    }
    if let Ok(payload) = TargetPayload::from_bytes(bytes) {
        assert!(payload.to_bytes() == bytes, "a payload has one form");
    }
}
