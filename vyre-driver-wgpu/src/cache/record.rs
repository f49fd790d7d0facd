//! The bytes of one entry on disk.
//!
//! ```text
//! magic, 8 bytes
//! BLAKE3 of the rest, 32 bytes, keyed with the entry's key
//! digest of the kernel's code, 32 bytes
//! length of the blob, u64 little-endian
//! the blob
//! ```
//!
//! The hash is keyed, so that a whole entry under another entry's name is damage as well.

/// Changes with the layout.
const MAGIC: [u8; 8] = *b"VYREBLB1";
const HEAD: usize = MAGIC.len() + 32;
const FIXED: usize = HEAD + 32 + 8;

/// The entry of a kernel whose code has this digest.
pub(super) fn encode(key: &[u8; 32], code: &[u8; 32], blob: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FIXED + blob.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[0; 32]);
    bytes.extend_from_slice(code);
    bytes.extend_from_slice(&(blob.len() as u64).to_le_bytes());
    bytes.extend_from_slice(blob);
    let hash = blake3::keyed_hash(key, bytes.get(HEAD..).unwrap_or_default());
    if let Some(slot) = bytes.get_mut(MAGIC.len()..HEAD) {
        slot.copy_from_slice(hash.as_bytes());
    }
    bytes
}

/// The blob of an entry, if it is whole and of this kernel.
pub(super) fn decode(key: &[u8; 32], code: &[u8; 32], bytes: &[u8]) -> Option<Vec<u8>> {
    let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
    let (hash, body) = rest.split_at_checked(32)?;
    // The comparison takes the same time wherever they differ; nothing depends on that here.
    if magic != MAGIC || blake3::keyed_hash(key, body) != *<&[u8; 32]>::try_from(hash).ok()? {
        return None;
    }
    let (found, rest) = body.split_at_checked(32)?;
    let (len, blob) = rest.split_at_checked(8)?;
    let len = u64::from_le_bytes(len.try_into().ok()?);
    (found == code && len == blob.len() as u64).then(|| blob.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const CODE: [u8; 32] = [9; 32];

    #[test]
    fn an_entry_gives_its_blob_back() {
        for blob in [&b""[..], b"x", &[0xAB; 1000]] {
            assert_eq!(decode(&KEY, &CODE, &encode(&KEY, &CODE, blob)).as_deref(), Some(blob));
        }
    }

    #[test]
    fn any_flipped_bit_any_cut_and_any_addition_is_damage() {
        let entry = encode(&KEY, &CODE, b"some blob of the driver's");
        for bit in 0..8 * entry.len() {
            let mut damaged = entry.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&KEY, &CODE, &damaged), None, "bit {bit}");
        }
        for len in 0..entry.len() {
            assert_eq!(decode(&KEY, &CODE, &entry[..len]), None, "cut to {len}");
        }
        assert_eq!(decode(&KEY, &CODE, &[&entry[..], b"!"].concat()), None);
    }

    #[test]
    fn an_entry_of_another_key_or_kernel_is_not_taken() {
        let entry = encode(&KEY, &CODE, b"blob");
        assert_eq!(decode(&[8; 32], &CODE, &entry), None);
        assert_eq!(decode(&KEY, &[8; 32], &entry), None);
    }
}
