//! The device's own clock around a list.

use std::time::Duration;

use vyre_driver::BackendError;
use wgpu::Features;

use crate::buffer::{Kind, PoolBuffer, Readback, Reads};
use crate::core::Core;

/// Two timestamps of 8 bytes.
const BYTES: u64 = 16;

/// The timestamps of one submission, and where they are read back.
#[derive(Debug)]
pub(super) struct Timer {
    set: wgpu::QuerySet,
    resolved: PoolBuffer,
    /// Whether the encoder itself may write timestamps; otherwise an empty pass does.
    in_encoder: bool,
    /// The readback's piece, and its only part.
    piece: usize,
    part: usize,
}

/// How to read what a timer wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    piece: usize,
    /// Nanoseconds per tick.
    period: f32,
}

impl Timer {
    /// A timer that adds its piece to `reads`; `None` where the device has no timestamps, or they are
    /// switched off.
    pub(super) fn new(core: &Core, reads: &mut Reads) -> Result<Option<Self>, BackendError> {
        if !core.generation.has(Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let set = core.generation.scoped("creating timestamp queries", |device| {
            device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            })
        })?;
        let resolved = core.pool.acquire(&core.generation, Kind::Device, BYTES)?;
        let in_encoder = core.generation.has(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
        let (part, piece) = reads.push([(0, BYTES)]);
        Ok(Some(Self { set, resolved, in_encoder, piece, part }))
    }

    /// Before the first command.
    pub(super) fn start(&self, encoder: &mut wgpu::CommandEncoder) {
        self.write(encoder, 0);
    }

    /// After the last.
    pub(super) fn stop(&self, encoder: &mut wgpu::CommandEncoder, readback: &Readback) {
        self.write(encoder, 1);
        encoder.resolve_query_set(&self.set, 0..2, self.resolved.buffer(), 0);
        readback.copy(encoder, self.part, self.resolved.buffer(), 0);
    }

    fn write(&self, encoder: &mut wgpu::CommandEncoder, query: u32) {
        if self.in_encoder {
            encoder.write_timestamp(&self.set, query);
            return;
        }
        let (first, last) = if query == 0 { (Some(query), None) } else { (None, Some(query)) };
        drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &self.set,
                beginning_of_pass_write_index: first,
                end_of_pass_write_index: last,
            }),
        }));
    }

    pub(super) fn clock(&self, core: &Core) -> Clock {
        Clock { piece: self.piece, period: core.generation.queue().get_timestamp_period() }
    }
}

impl Clock {
    pub(super) fn piece(self) -> usize {
        self.piece
    }

    /// The time between the two timestamps; `None` if the device wrote none, or its clock was set back.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Duration> {
        let (start, end) = bytes.split_first_chunk::<8>()?;
        let start = u64::from_le_bytes(*start);
        let end = u64::from_le_bytes(*end.first_chunk::<8>()?);
        let ticks = end.checked_sub(start)?;
        let nanoseconds = ticks as f64 * f64::from(self.period);
        Duration::try_from_secs_f64(nanoseconds / 1e9).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_time_and_a_clock_set_back_none() {
        let clock = Clock { piece: 0, period: 2.5 };
        let bytes = |start: u64, end: u64| [start.to_le_bytes(), end.to_le_bytes()].concat();
        assert_eq!(clock.read(&bytes(1_000, 1_400)), Some(Duration::from_nanos(1_000)));
        assert_eq!(clock.read(&bytes(7, 7)), Some(Duration::ZERO));
        assert_eq!(clock.read(&bytes(8, 7)), None);
        assert_eq!(clock.read(&[0; 12]), None);
    }
}
