//! Stack for naga, which recurses over nested blocks in its validator and its writers.

use std::{io, panic, thread};

/// Nesting that any thread has the stack for.
const SHALLOW: usize = 8;

/// What one level may take of the stack: four times what the walks of naga 30.0.2 were seen to take where
/// it is built without optimisation, which is between 32 and 64 KiB. Untouched stack costs no memory.
const BYTES_PER_LEVEL: usize = 256 << 10;

/// Runs `f`, which lets naga or a driver's compiler walk blocks that nest `depth` deep, where there is stack
/// enough for that: on a thread of its own if they nest deep.
///
/// # Errors
/// If the system does not give the thread.
pub fn with_stack<T: Send>(depth: usize, f: impl FnOnce() -> T + Send) -> io::Result<T> {
    if depth <= SHALLOW {
        return Ok(f());
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(depth.saturating_mul(BYTES_PER_LEVEL));
        let done = builder.spawn_scoped(scope, f)?.join();
        // naga promises not to panic on a valid module; if it does, it is as if it had happened here.
        Ok(done.unwrap_or_else(|payload| panic::resume_unwind(payload)))
    })
}
