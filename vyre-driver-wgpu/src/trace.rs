//! The `tracing` spans of this backend, all of target `vyre`, at level INFO:
//!
//! | span | covers | fields |
//! | --- | --- | --- |
//! | `compile` | finding or making a pipeline | `program`; `cache`: where it was found, or `miss` |
//! | `submit` | checking, staging, encoding and submitting a command list | `label`, `commands`, `upload_bytes`, `read_bytes` |
//! | `wait` | waiting for submitted work | |
//! | `readback` | handing over what was read back | `reads`, `read_bytes` |
//!
//! Without a subscriber that wants them, a span costs one relaxed load, and no field is computed.

use tracing::field::Empty;
use tracing::{Span, info_span};
use vyre_driver::{Command, CommandList};

const TARGET: &str = "vyre";

/// Finding or making the pipeline of a program. [`found`] says where.
pub(crate) fn compile(program: &str) -> Span {
    info_span!(target: TARGET, "compile", program, cache = Empty)
}

/// Says where a pipeline was found: `memory`; `disk`, if the driver had every kernel of it from there; or `miss`.
pub(crate) fn found(span: &Span, place: &'static str) {
    span.record("cache", place);
}

/// Submitting a command list.
pub(crate) fn submit(list: &CommandList<'_>) -> Span {
    let span = info_span!(
        target: TARGET,
        "submit",
        label = list.label(),
        commands = Empty,
        upload_bytes = Empty,
        read_bytes = Empty
    );
    if !span.is_disabled() {
        let (mut uploads, mut reads) = (0_u64, 0_u64);
        for command in list.commands() {
            match command {
                Command::Upload { bytes, .. } => uploads += bytes.len() as u64,
                Command::Read { from } => reads = reads.saturating_add(from.len),
                _ => {}
            }
        }
        span.record("commands", list.commands().len() as u64);
        span.record("upload_bytes", uploads);
        span.record("read_bytes", reads);
    }
    span
}

/// Waiting for submitted work.
pub(crate) fn wait() -> Span {
    info_span!(target: TARGET, "wait")
}

/// Handing over the bytes of `reads` reads. [`handed`] says how many there were.
pub(crate) fn readback(reads: usize) -> Span {
    info_span!(target: TARGET, "readback", reads = reads as u64, read_bytes = Empty)
}

/// Says how many bytes a readback handed over.
pub(crate) fn handed(span: &Span, bytes: usize) {
    span.record("read_bytes", bytes as u64);
}
