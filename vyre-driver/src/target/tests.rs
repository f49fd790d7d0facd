use vyre_foundation::build::Kernel;
use vyre_foundation::wire;
use vyre_spec::{Capability, CapabilitySet, DeviceProfile};

use super::*;
use crate::codec::CodecError;

fn payload() -> TargetPayload {
    let program = Kernel::build("double", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + x.load(i)));
    })
    .unwrap();
    let kernel = |code: &[u8]| PayloadKernel {
        entry_point: "double".to_owned(),
        workgroup_size: [256, 1, 1],
        layout: vec![7, 8],
        code: code.to_vec(),
    };
    let programs =
        vec![PayloadProgram { program: wire::encode(&program), kernels: vec![kernel(b"abc"), kernel(b"")] }];
    let needs = CapabilitySet::EMPTY.with(Capability::Immediates);
    TargetPayload::new("test", "code", &DeviceProfile::reference(), needs, programs)
}

#[test]
fn bytes_round_trip_with_and_without_a_mac() {
    let key = PayloadKey::new([9; 32]);
    for payload in [payload(), payload().sealed(&key)] {
        let bytes = payload.to_bytes();
        let read = TargetPayload::from_bytes(&bytes).unwrap();
        assert_eq!(read, payload);
        assert_eq!(read.to_bytes(), bytes);
    }
    // The digest is of the content: sealing leaves it.
    assert_eq!(payload().digest(), payload().sealed(&key).digest());
}

#[test]
fn a_mac_verifies_under_its_key_alone() {
    let (key, other) = (PayloadKey::new([1; 32]), PayloadKey::new([2; 32]));
    assert_eq!(payload().verify(&key), Err(PayloadError::NoMac));
    let mut sealed = payload().sealed(&key);
    assert_eq!(sealed.verify(&key), Ok(()));
    assert_eq!(sealed.verify(&other), Err(PayloadError::WrongMac));
    sealed.programs[0].kernels[0].code[0] ^= 1;
    assert_eq!(sealed.verify(&key), Err(PayloadError::WrongMac));
    assert!(!format!("{key:?}").contains('1'), "a key does not print itself");
}

#[test]
fn every_flip_truncation_and_insertion_is_refused() {
    let key = PayloadKey::new([3; 32]);
    let sealed = payload().sealed(&key);
    let good = sealed.to_bytes();
    for at in 0..good.len() {
        for change in [0x01_u8, 0x80, 0xFF] {
            let mut flipped = good.clone();
            flipped[at] ^= change;
            // Only a change of the MAC itself leaves a payload that can be read, and then it does not verify.
            if let Ok(read) = TargetPayload::from_bytes(&flipped) {
                assert!(at >= good.len() - 32, "byte {at}");
                assert_eq!(read.verify(&key), Err(PayloadError::WrongMac));
            }
        }
        assert!(TargetPayload::from_bytes(&good[..at]).is_err(), "cut at {at}");
        let mut longer = good.clone();
        longer.insert(at, 0x5A);
        assert!(TargetPayload::from_bytes(&longer).is_err(), "insertion at {at}");
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(matches!(
        TargetPayload::from_bytes(&longer),
        Err(PayloadError::Codec(CodecError::Malformed { what: "bytes after its end", .. }))
    ));
}

#[test]
fn forged_lengths_do_not_allocate_and_forged_content_is_canonical() {
    let plain = payload();
    let good = plain.content();
    for at in 0..good.len() {
        for change in [0x01_u8, 0x80, 0xFF] {
            let mut forged = good.clone();
            forged[at] ^= change;
            let digest = digest(&forged);
            forged.extend(digest);
            forged.push(0);
            if let Ok(read) = TargetPayload::from_bytes(&forged) {
                assert_eq!(read.to_bytes(), forged, "byte {at}");
            }
        }
    }
}

#[test]
fn what_the_bytes_are_not_is_said() {
    assert_eq!(TargetPayload::from_bytes(b"VYREART\0"), Err(PayloadError::NotAPayload));
    assert_eq!(TargetPayload::from_bytes(&[]), Err(PayloadError::NotAPayload));
    let mut newer = payload().to_bytes();
    newer[8] = 2;
    assert_eq!(TargetPayload::from_bytes(&newer), Err(PayloadError::Version { got: 2, known: 1 }));
    let mut damaged = payload().to_bytes();
    let last = damaged.len() - 2;
    damaged[last] ^= 1;
    assert_eq!(TargetPayload::from_bytes(&damaged), Err(PayloadError::Damaged));
}

#[test]
fn a_backend_without_the_facets_says_so() {
    let reference = crate::backend_registration(crate::REFERENCE_BACKEND_ID).unwrap();
    let error = reference.target_compiler().unwrap_err();
    assert_eq!(error.to_string(), "the backend `reference` has no target compiler");
    assert_eq!(reference.materializer().unwrap_err().code(), "B004");
    let error = crate::backend_registration("cuda").unwrap_err();
    assert_eq!(error.to_string(), "no backend `cuda` is linked; linked are: reference");
    assert!(error.help().contains("`use` its crate"), "{}", error.help());
}
