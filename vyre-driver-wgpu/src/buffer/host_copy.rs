//! Host copies by several threads.
//!
//! One core cannot fill or drain the bus: most of its time goes into touching fresh pages. Large copies
//! are therefore cut into parts, one per thread.

use std::num::NonZero;
use std::sync::OnceLock;

use wgpu::WriteOnly;

/// Below this many bytes a second thread costs more than it brings.
const LEAST_PART: usize = 4 << 20;
/// More threads than this do not copy faster.
const MOST_PARTS: usize = 8;

fn part_len(total: usize) -> usize {
    // Asking the system takes tens of microseconds on Linux: it reads the control group's files.
    static CORES: OnceLock<usize> = OnceLock::new();
    if total < 2 * LEAST_PART {
        return total.max(1);
    }
    let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    let parts = (total / LEAST_PART).clamp(1, cores.min(MOST_PARTS));
    total.div_ceil(parts)
}

/// The unit in which mapped memory is shared out: wgpu hands only views of fixed size to other threads.
const BLOCK: usize = 1 << 20;

/// Copies `source` into `target`, which has the same length.
pub(crate) fn to_mapped(mut target: WriteOnly<'_, [u8]>, source: &[u8]) {
    let part = part_len(source.len()).next_multiple_of(BLOCK);
    if part >= source.len() {
        target.copy_from_slice(source);
        return;
    }
    let (blocks, mut rest) = target.into_chunks::<BLOCK>();
    let (whole, remainder) = source.split_at(source.len() - source.len() % BLOCK);
    let mut blocks = blocks.into_iter();
    std::thread::scope(|scope| {
        for chunk in whole.chunks(part) {
            let share: Vec<_> = blocks.by_ref().take(chunk.len() / BLOCK).collect();
            scope.spawn(move || {
                for (block, bytes) in share.into_iter().zip(chunk.chunks_exact(BLOCK)) {
                    WriteOnly::<[u8]>::from(block).copy_from_slice(bytes);
                }
            });
        }
        rest.copy_from_slice(remainder);
    });
}

/// Replaces the contents of `target` by `source`, without reallocation where the capacity is enough.
pub(crate) fn to_vec(target: &mut Vec<u8>, source: &[u8]) {
    let part = part_len(source.len());
    if part >= source.len() {
        target.clear();
        target.extend_from_slice(source);
        return;
    }
    if target.capacity() < source.len() {
        // Zero pages straight from the system: each is first touched by the thread that fills it.
        *target = vec![0; source.len()];
    } else {
        target.resize(source.len(), 0);
    }
    to_slice(target, source);
}

/// Copies `source` into `target`, which has the same length.
pub(crate) fn to_slice(target: &mut [u8], source: &[u8]) {
    let part = part_len(source.len());
    std::thread::scope(|scope| {
        for (to, from) in target.chunks_mut(part).zip(source.chunks(part)) {
            scope.spawn(move || to.copy_from_slice(from));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
    }

    #[test]
    fn copies_of_every_size_are_exact() {
        for len in [0, 1, 15, LEAST_PART - 1, LEAST_PART, 3 * LEAST_PART + 7] {
            let source = pattern(len);
            let mut mapped = vec![0xAA; len];
            to_mapped(WriteOnly::from_mut(mapped.as_mut_slice()), &source);
            assert!(mapped == source, "to_mapped of {len}");
            for mut target in [Vec::new(), vec![7; 10], vec![7; len + 100]] {
                to_vec(&mut target, &source);
                assert!(target == source, "to_vec of {len}");
            }
        }
    }

    #[test]
    fn enough_capacity_is_kept() {
        let source = pattern(3 * LEAST_PART);
        let mut target = Vec::with_capacity(source.len());
        let before = target.as_ptr();
        to_vec(&mut target, &source);
        assert_eq!(target.as_ptr(), before);
    }
}
