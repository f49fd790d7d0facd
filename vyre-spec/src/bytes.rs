//! Rust values to a buffer's bytes and back.

use std::fmt;

use crate::{DataType, Element};

/// Bytes that are no whole number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialElement {
    /// The bytes.
    pub bytes: usize,
    /// The element type.
    pub element: DataType,
}

impl fmt::Display for PartialElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, element } = self;
        write!(f, "{bytes} bytes are no whole number of {element} elements of {} bytes", element.size())
    }
}

impl std::error::Error for PartialElement {}

/// The bytes of a buffer with these elements: C layout, the machine's byte order; a bool is one word.
///
/// ```
/// assert_eq!(vyre_spec::to_bytes(&[1u32, 2]).len(), 8);
/// assert_eq!(vyre_spec::to_bytes(&[true]).len(), 4);
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
/// If the bytes are no whole number of elements.
///
/// ```
/// let bytes = vyre_spec::to_bytes(&[1.5f32, -2.0]);
/// assert_eq!(vyre_spec::from_bytes::<f32>(&bytes)?, [1.5, -2.0]);
/// assert!(vyre_spec::from_bytes::<f32>(&bytes[1..]).is_err());
/// # Ok::<(), vyre_spec::PartialElement>(())
/// ```
pub fn from_bytes<T: Element>(bytes: &[u8]) -> Result<Vec<T>, PartialElement> {
    let chunks = bytes.chunks_exact(T::TYPE.size() as usize);
    if !chunks.remainder().is_empty() {
        return Err(PartialElement { bytes: bytes.len(), element: T::TYPE });
    }
    let word = |chunk: &[u8]| {
        let mut word = [0u8; 8];
        // The low bytes of a `u64` are its first or its last.
        let skip = if cfg!(target_endian = "big") { 8 - chunk.len() } else { 0 };
        for (to, from) in word.iter_mut().skip(skip).zip(chunk) {
            *to = *from;
        }
        u64::from_ne_bytes(word)
    };
    Ok(chunks.map(|chunk| T::from_bits64(word(chunk))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_machine() {
        assert_eq!(to_bytes(&[-1i32, 2]), [(-1i32).to_ne_bytes(), 2i32.to_ne_bytes()].concat());
        assert_eq!(to_bytes(&[f32::NAN]), f32::NAN.to_ne_bytes());
        assert_eq!(to_bytes(&[true, false]), [1u32.to_ne_bytes(), [0; 4]].concat());
        assert_eq!(from_bytes::<bool>(&7u32.to_ne_bytes()), Ok(vec![true]));
        assert_eq!(from_bytes::<u32>(&[]), Ok(vec![]));
        let error = from_bytes::<u32>(&[0; 6]).unwrap_err();
        assert_eq!(error.to_string(), "6 bytes are no whole number of u32 elements of 4 bytes");
    }
}
