//! Envelopes: what belongs into one, and that no damaged or forged byte gets one accepted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_driver::{PayloadKernel, PayloadKey, PayloadProgram, ProfileDigest, TargetPayload};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::wire;
use vyre_megakernel::{Artifact, ArtifactEnvelope, ArtifactError, CompileRequest, EnvelopeError, compile};
use vyre_spec::{CapabilitySet, DeviceProfile};

fn double(name: &str) -> Checked<Program> {
    Kernel::build(name, |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + x.load(i)));
    })
    .unwrap()
}

fn artifact() -> Artifact {
    compile(&CompileRequest::new(&double("double"), &DeviceProfile::reference()).validate().unwrap()).unwrap()
}

fn payload(artifact: &Artifact, backend: &str, format: &str) -> TargetPayload {
    let kernel = PayloadKernel {
        entry_point: "double".to_owned(),
        workgroup_size: [64, 1, 1],
        layout: vec![1, 2, 3],
        code: b"code".to_vec(),
    };
    let program = |program: &Checked<Program>| PayloadProgram {
        program: wire::encode(program),
        kernels: vec![kernel.clone()],
    };
    let programs = artifact.programs().iter().map(program).collect();
    TargetPayload::new(backend, format, &DeviceProfile::reference(), CapabilitySet::EMPTY, programs)
}

fn envelope() -> ArtifactEnvelope {
    let artifact = artifact();
    let payloads = [("b", "text"), ("a", "words"), ("b", "binary")].map(|(b, f)| payload(&artifact, b, f));
    payloads.into_iter().fold(ArtifactEnvelope::new(artifact), |e, p| e.with_payload(p).unwrap())
}

fn key(byte: u8) -> PayloadKey {
    PayloadKey::new([byte; 32])
}

/// The bytes with a digest that fits, as anybody can make them.
fn forged(content: &[u8]) -> Vec<u8> {
    [content, &blake3::derive_key("vyre artifact envelope", content), &[0]].concat()
}

#[test]
fn bytes_are_laid_out_as_documented() {
    let envelope = envelope();
    let mut want = b"VYREENV\0\x01\0\0\0".to_vec();
    let artifact = artifact();
    want.extend((artifact.bytes().len() as u64).to_le_bytes());
    want.extend(artifact.bytes());
    want.extend(3u32.to_le_bytes());
    // Sorted, whatever the order in which they came.
    for (backend, format) in [("a", "words"), ("b", "binary"), ("b", "text")] {
        let payload = payload(&artifact, backend, format).to_bytes();
        want.extend((payload.len() as u64).to_le_bytes());
        want.extend(payload);
    }
    assert_eq!(envelope.to_bytes(), forged(&want));
    let read = ArtifactEnvelope::from_bytes(&envelope.to_bytes()).unwrap();
    assert_eq!(read.payloads(), envelope.payloads());
    assert_eq!(read.artifact().id(), artifact.id());

    let sealed = envelope.sealed(&key(7));
    let bytes = sealed.to_bytes();
    let content = bytes.len() - 32 - 33;
    assert_eq!(bytes[bytes.len() - 33], 1);
    assert_eq!(bytes[bytes.len() - 32..], *blake3::keyed_hash(&[7; 32], &bytes[..content]).as_bytes());
}

#[test]
fn a_key_decides_who_made_it() {
    let sealed = envelope().sealed(&key(1));
    let read = ArtifactEnvelope::from_bytes(&sealed.to_bytes()).unwrap();
    assert!(read.is_sealed());
    assert_eq!(read.verify(&key(1)), Ok(()));
    assert_eq!(read.verify(&key(2)), Err(EnvelopeError::WrongMac));
    assert!(read.payloads().iter().all(|payload| payload.verify(&key(1)).is_ok()));
    assert_eq!(envelope().verify(&key(1)), Err(EnvelopeError::NoMac));
    // A payload that comes later is under no MAC.
    let more = sealed.with_payload(payload(&artifact(), "c", "words")).unwrap();
    assert_eq!(more.verify(&key(1)), Err(EnvelopeError::NoMac));
    // What one key sealed does not pass for another content: payloads exchanged between two artifacts.
    let other =
        compile(&CompileRequest::new(&double("other"), &DeviceProfile::reference()).validate().unwrap())
            .unwrap();
    let refused =
        ArtifactEnvelope::new(other).with_payload(payload(&artifact(), "a", "words").sealed(&key(1)));
    assert!(matches!(refused, Err(EnvelopeError::OtherPrograms { .. })));
}

#[test]
fn what_does_not_belong_is_named() {
    let twice = envelope().with_payload(payload(&artifact(), "b", "text")).unwrap_err();
    assert_eq!(twice, EnvelopeError::Twice { backend: "b".into(), format: "text".into() });
    let mut elsewhere = payload(&artifact(), "a", "text");
    let profile = DeviceProfile { name: "another".into(), ..DeviceProfile::reference() };
    elsewhere.profile = ProfileDigest::of(&profile);
    let refused = envelope().with_payload(elsewhere).unwrap_err();
    assert!(matches!(refused, EnvelopeError::OtherProfile { .. }), "{refused}");
    let mut fewer = payload(&artifact(), "a", "text");
    fewer.programs.clear();
    let refused = envelope().with_payload(fewer).unwrap_err().to_string();
    assert!(refused.contains("it has 0, not 1"), "{refused}");

    let envelope = envelope();
    assert_eq!(envelope.payload("b", &["hex", "text", "binary"]).unwrap().format, "text");
    let none = envelope.payload("c", &["text"]).unwrap_err().to_string();
    assert!(none.contains("`c`; it holds: a (words), b (binary), b (text)"), "{none}");
    let none = envelope.payload("a", &["text"]).unwrap_err();
    assert!(matches!(none, EnvelopeError::NoPayload { .. }));
}

#[test]
fn no_flip_cut_or_insertion_is_taken_for_the_sealed_envelope() {
    let good = envelope().sealed(&key(3)).to_bytes();
    // Accepted bytes are canonical, and those that are not the good ones do not verify.
    let judge = |bytes: &[u8], what: &str| {
        if let Ok(read) = ArtifactEnvelope::from_bytes(bytes) {
            assert_eq!(read.to_bytes(), bytes, "{what}");
            assert!(read.verify(&key(3)).is_err(), "{what}");
        }
    };
    for at in 0..good.len() {
        for change in [1u8, 0x80, 0xFF] {
            let mut flipped = good.clone();
            flipped[at] ^= change;
            judge(&flipped, &format!("a flip at {at}"));
        }
        assert!(ArtifactEnvelope::from_bytes(&good[..at]).is_err(), "cut at {at}");
        for byte in [0, good[at], 0xFF] {
            let mut longer = good.clone();
            longer.insert(at, byte);
            assert!(ArtifactEnvelope::from_bytes(&longer).is_err(), "a byte more at {at}");
        }
    }
}

#[test]
fn forged_digests_do_not_help() {
    let good = envelope().to_bytes();
    let content = &good[..good.len() - 33];
    for at in 0..content.len() {
        for change in [1u8, 0x80, 0xFF] {
            let mut changed = content.to_vec();
            changed[at] ^= change;
            // What is inside has digests of its own.
            assert!(ArtifactEnvelope::from_bytes(&forged(&changed)).is_err(), "a flip at {at}");
        }
        assert!(ArtifactEnvelope::from_bytes(&forged(&content[..at])).is_err(), "cut at {at}");
        let mut longer = content.to_vec();
        longer.insert(at, content[at]);
        assert!(ArtifactEnvelope::from_bytes(&forged(&longer)).is_err(), "a byte more at {at}");
    }
    // Lengths and counts that promise more than there is allocate nothing.
    for at in [12, 20 + artifact().bytes().len()] {
        let mut huge = content.to_vec();
        huge[at..at + 4].copy_from_slice(&[0xFF; 4]);
        assert!(matches!(ArtifactEnvelope::from_bytes(&forged(&huge)), Err(EnvelopeError::Codec(_))));
    }
}

#[test]
fn payloads_with_forged_digests_are_refused_or_are_of_the_artifacts_programs() {
    let artifact = artifact();
    let good = payload(&artifact, "a", "words").to_bytes();
    let content = &good[..good.len() - 33];
    let mut accepted = 0;
    for at in 0..content.len() {
        let mut changed = content.to_vec();
        changed[at] ^= 0x41;
        let digest = blake3::derive_key("vyre target payload", &changed);
        let Ok(read) = TargetPayload::from_bytes(&[&changed[..], &digest, &[0]].concat()) else { continue };
        let Ok(envelope) = ArtifactEnvelope::new(artifact.clone()).with_payload(read) else { continue };
        accepted += 1;
        let held = &envelope.payloads()[0];
        assert_eq!(held.programs[0].program, wire::encode(&artifact.programs()[0]));
        assert_eq!(held.profile, artifact.profile());
        // Other code may be in it: it is not sealed, and so not trusted.
        assert!(held.verify(&key(1)).is_err() && envelope.verify(&key(1)).is_err());
    }
    // The code and the texts.
    assert!(accepted >= 4);
}

#[test]
fn other_versions_are_refused_by_version() {
    let mut newer = envelope().to_bytes();
    newer[8] = 2;
    let refused = ArtifactEnvelope::from_bytes(&newer).unwrap_err();
    assert_eq!(refused, EnvelopeError::Version { got: 2, known: 1 });
    assert_eq!(ArtifactEnvelope::from_bytes(b"").unwrap_err(), EnvelopeError::NotAnEnvelope);
    assert_eq!(ArtifactEnvelope::from_bytes(artifact().bytes()).unwrap_err(), EnvelopeError::NotAnEnvelope);
}

#[test]
fn files_of_this_version_are_read() {
    // The first of version 1 held an artifact of version 1.
    let old = ArtifactEnvelope::from_bytes(include_bytes!("fixtures/envelope-v1.bin")).unwrap_err();
    let version = ArtifactError::Version { got: 1, known: 2 };
    assert!(matches!(&old, EnvelopeError::Artifact { source, .. } if *source == version), "{old}");

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/envelope-v1-artifact-v2.bin");
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(path, envelope().sealed(&key(1)).to_bytes()).unwrap();
    }
    let kept = ArtifactEnvelope::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(kept.verify(&key(1)), Ok(()));
    assert_eq!(kept.payloads().len(), 3);
    assert_eq!(kept.artifact().graph().name(), "double");
}
