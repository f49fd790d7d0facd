//! Buffers of the caller's, of any size: one device buffer, or several where one would be too large.

use super::padded;
use super::pool::{Kind, Pool, PoolBuffer};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// The most bytes of a buffer: no launch has more elements, and none is larger.
const MOST: u64 = 8 * (u32::MAX as u64);

/// A buffer of the caller's. Its segments have a power of two of bytes each, the last what is left, so that no window
/// of it lies in two.
#[derive(Debug)]
pub(crate) struct Segments {
    parts: Vec<PoolBuffer>,
    layout: Layout,
}

/// Where the bytes of a buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// All its bytes.
    pub(crate) len: u64,
    /// Those of each segment but the last; more than `len` where there is one.
    segment: u64,
}

impl Layout {
    /// The layout of `len` bytes in device buffers of at most `limit`.
    pub(crate) fn new(len: u64, limit: u64) -> Self {
        let whole = padded(len) <= limit;
        Self { len, segment: if whole { u64::MAX } else { 1 << limit.max(1).ilog2() } }
    }

    /// The segment of a byte, and the byte's place there.
    pub(crate) fn locate(self, offset: u64) -> (usize, u64) {
        ((offset / self.segment) as usize, offset % self.segment)
    }

    /// The bytes from a byte on to the end of its segment, were the last as long as the others.
    pub(crate) fn left(self, offset: u64) -> u64 {
        self.segment - offset % self.segment
    }

    /// The bytes of each segment, in order; there is at least one.
    pub(crate) fn lens(self) -> impl Iterator<Item = u64> {
        let count = self.len.div_ceil(self.segment).max(1);
        (0..count).map(move |i| self.segment.min(self.len - i * self.segment))
    }

    /// The range of `len` bytes from `offset` on, by segment: its number, the offset there, and the bytes.
    pub(crate) fn pieces(self, offset: u64, len: u64) -> impl Iterator<Item = (usize, u64, u64)> + Clone {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done;
            let bytes = self.left(at).min(len - done);
            if bytes == 0 {
                return None;
            }
            done += bytes;
            let (segment, start) = self.locate(at);
            Some((segment, start, bytes))
        })
    }
}

impl Segments {
    /// Takes `len` bytes of device memory from the pool. Their contents are whatever was there before.
    pub(crate) fn acquire(generation: &Generation, pool: &Pool, len: u64) -> Result<Self, BackendError> {
        let limit = generation.limits.max_buffer_size;
        if len > MOST.max(limit) {
            let what = "the size of a buffer in bytes".to_owned();
            return Err(BackendError::Limit { what, value: len, limit: MOST.max(limit) });
        }
        let layout = Layout::new(len, limit);
        let parts = layout.lens().map(|len| pool.acquire(generation, Kind::Device, len));
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, layout })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn parts(&self) -> &[PoolBuffer] {
        &self.parts
    }

    pub(crate) fn into_parts(self) -> Vec<PoolBuffer> {
        self.parts
    }

    /// Whether all bytes are known to be 0: nobody has had them before.
    pub(crate) fn is_fresh(&self) -> bool {
        self.parts.iter().all(PoolBuffer::is_fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_above_the_limit_are_segments_of_a_power_of_two() {
        let lens = |len, limit| Layout::new(len, limit).lens().collect::<Vec<_>>();
        assert_eq!(lens(0, 100), [0]);
        assert_eq!(lens(96, 100), [96]);
        // Padded, they pass the limit.
        assert_eq!(lens(97, 100), [64, 33]);
        assert_eq!(lens(128, 100), [64, 64]);
        assert_eq!(lens(6 << 30, 0xFFE0_0000), [1 << 31; 3]);
        assert_eq!(lens((1 << 32) + 4, 0xFFE0_0000), [1 << 31, 1 << 31, 4]);
        assert_eq!(lens(0xFFE0_0000, 0xFFE0_0000), [0xFFE0_0000]);
    }

    #[test]
    fn ranges_are_cut_where_segments_end() {
        let layout = Layout::new(200, 100);
        let pieces = |offset, len| layout.pieces(offset, len).collect::<Vec<_>>();
        assert_eq!(pieces(0, 200), [(0, 0, 64), (1, 0, 64), (2, 0, 64), (3, 0, 8)]);
        assert_eq!(pieces(60, 5), [(0, 60, 4), (1, 0, 1)]);
        assert_eq!(pieces(64, 64), [(1, 0, 64)]);
        assert_eq!(pieces(70, 0), []);
        assert_eq!(Layout::new(90, 100).pieces(80, 10).collect::<Vec<_>>(), [(0, 80, 10)]);
    }
}
