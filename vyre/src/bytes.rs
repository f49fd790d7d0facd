//! Host values to a buffer's bytes and back.

use vyre_spec::Element;

use crate::Error;

/// The bytes of a buffer with these elements: C layout, the machine's byte order; a bool is one word.
///
/// ```
/// assert_eq!(vyre::to_bytes(&[1u32, 2]).len(), 8);
/// assert_eq!(vyre::to_bytes(&[true]).len(), 4);
/// ```
pub fn to_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let size = T::TYPE.size() as usize;
    let mut bytes = Vec::with_capacity(elements.len() * size);
    for element in elements {
        let word = element.to_bits64();
        match size {
            1 => bytes.push(word as u8),
            2 => bytes.extend_from_slice(&(word as u16).to_ne_bytes()),
            4 => bytes.extend_from_slice(&(word as u32).to_ne_bytes()),
            _ => bytes.extend_from_slice(&word.to_ne_bytes()),
        }
    }
    bytes
}

/// The elements that a buffer's bytes hold.
///
/// # Errors
/// [`Error::PartialElement`] if the bytes are no whole number of elements.
///
/// ```
/// let bytes = vyre::to_bytes(&[1.5f32, -2.0]);
/// assert_eq!(vyre::from_bytes::<f32>(&bytes)?, [1.5, -2.0]);
/// assert!(vyre::from_bytes::<f32>(&bytes[1..]).is_err());
/// # Ok::<(), vyre::Error>(())
/// ```
pub fn from_bytes<T: Element>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    let size = T::TYPE.size() as usize;
    let chunks = bytes.chunks_exact(size);
    if !chunks.remainder().is_empty() {
        return Err(Error::PartialElement { bytes: bytes.len(), element: T::TYPE });
    }
    let word = |chunk: &[u8]| {
        let mut word = [0u8; 8];
        // The low bytes of a `u64` are its first or its last.
        let at = if cfg!(target_endian = "big") { 8 - chunk.len() } else { 0 };
        for (to, from) in word.iter_mut().skip(at).zip(chunk) {
            *to = *from;
        }
        u64::from_ne_bytes(word)
    };
    Ok(chunks.map(|chunk| T::from_bits64(word(chunk))).collect())
}
