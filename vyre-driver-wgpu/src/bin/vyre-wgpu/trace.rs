//! `--trace FILE`: the spans of a run in the Chrome trace format, which `chrome://tracing` and Perfetto show.
//!
//! The file is a JSON object whose `traceEvents` are complete events (`"ph": "X"`) with times in microseconds
//! since the start. An event is written when its span is left, so memory does not grow with the run.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber, subscriber};

use crate::error::CliError;

/// Runs `work`, writing its spans to `path` if there is one. The file is completed even if the work fails.
pub(crate) fn with<T>(
    path: Option<&Path>,
    work: impl FnOnce() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let Some(path) = path else { return work() };
    let trace = Trace::create(path)?;
    // Threads that the driver starts report to it as well. Nothing else in this process sets one.
    let set = subscriber::set_global_default(trace.clone());
    let done = work();
    let finished = match set {
        Ok(()) => trace.finish(),
        Err(error) => Err(CliError::Write { path: path.to_owned(), source: io::Error::other(error) }),
    };
    let done = done?;
    finished.map(|()| done)
}

#[derive(Clone)]
struct Trace {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    out: BufWriter<File>,
    /// The first failure to write; nothing is written after it.
    failed: Option<io::Error>,
    written: bool,
    start: Instant,
    last_id: u64,
    spans: HashMap<u64, Open>,
    /// When a thread entered a span that it has not left.
    entered: HashMap<(u64, ThreadId), Instant>,
    /// Threads are numbered in the order in which they are seen.
    threads: HashMap<ThreadId, usize>,
}

struct Open {
    name: &'static str,
    target: &'static str,
    fields: Map<String, Value>,
    handles: usize,
}

impl Trace {
    fn create(path: &Path) -> Result<Self, CliError> {
        let file = |source| CliError::Write { path: path.to_owned(), source };
        let mut out = BufWriter::new(File::create(path).map_err(file)?);
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[").map_err(file)?;
        let state = State {
            out,
            failed: None,
            written: false,
            start: Instant::now(),
            last_id: 0,
            spans: HashMap::new(),
            entered: HashMap::new(),
            threads: HashMap::new(),
        };
        Ok(Self { path: path.to_owned(), state: Arc::new(Mutex::new(state)) })
    }

    fn locked<R>(&self, look: impl FnOnce(&mut State) -> R) -> R {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the file. What comes later is dropped.
    fn finish(&self) -> Result<(), CliError> {
        self.locked(|state| {
            state.write(b"\n]}\n");
            let flushed = state.out.flush();
            match state.failed.replace(io::Error::other("the trace has ended")) {
                Some(error) => Err(error),
                None => flushed,
            }
        })
        .map_err(|source| CliError::Write { path: self.path.clone(), source })
    }
}

impl State {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }

    fn left(&mut self, id: u64) {
        let thread = std::thread::current().id();
        let Some(since) = self.entered.remove(&(id, thread)) else { return };
        let Some(open) = self.spans.get(&id) else { return };
        let next = self.threads.len();
        let thread = *self.threads.entry(thread).or_insert(next);
        let event = json!({
            "name": open.name,
            "cat": open.target,
            "ph": "X",
            "ts": since.duration_since(self.start).as_secs_f64() * 1e6,
            "dur": since.elapsed().as_secs_f64() * 1e6,
            "pid": std::process::id(),
            "tid": thread,
            "args": open.fields,
        });
        let separator: &[u8] = if self.written { b",\n" } else { b"\n" };
        self.written = true;
        self.write(separator);
        self.write(event.to_string().as_bytes());
    }
}

impl Subscriber for Trace {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Map::new();
        attributes.record(&mut Fields(&mut fields));
        let metadata = attributes.metadata();
        let open = Open { name: metadata.name(), target: metadata.target(), fields, handles: 1 };
        self.locked(|state| {
            state.last_id += 1;
            state.spans.insert(state.last_id, open);
            Id::from_u64(state.last_id)
        })
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.locked(|state| {
            if let Some(open) = state.spans.get_mut(&span.into_u64()) {
                values.record(&mut Fields(&mut open.fields));
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        let key = (span.into_u64(), std::thread::current().id());
        self.locked(|state| state.entered.insert(key, Instant::now()));
    }

    fn exit(&self, span: &Id) {
        self.locked(|state| state.left(span.into_u64()));
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.locked(|state| {
            if let Some(open) = state.spans.get_mut(&span.into_u64()) {
                open.handles += 1;
            }
        });
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        self.locked(|state| {
            let Some(open) = state.spans.get_mut(&span.into_u64()) else { return false };
            open.handles -= 1;
            let closed = open.handles == 0;
            if closed {
                state.spans.remove(&span.into_u64());
            }
            closed
        })
    }
}

/// Takes fields as JSON values.
struct Fields<'a>(&'a mut Map<String, Value>);

impl Fields<'_> {
    fn set(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}").into());
    }
}
