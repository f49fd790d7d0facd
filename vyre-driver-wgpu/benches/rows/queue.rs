//! The device work queue against the same tasks as a sequence of dispatches, a level of their graph at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, Resource, VyreBackend,
};
use vyre_foundation::build::BuildError;
use vyre_foundation::launch::Params;
use vyre_megakernel::queue::trial::{Trial, mix, mix_level};
use vyre_megakernel::queue::{QueueCompiler, QueueError, QueueLayout, QueueOptions};
use vyre_spec::{CompileOptions, Value};

use super::{Bench, Row, median};

fn failed(error: QueueError) -> BackendError {
    match error {
        QueueError::Backend(error) => error,
        QueueError::Unsupported { device, missing } => BackendError::Unsupported {
            what: format!("a work queue needs the capability `{}`", missing.name()),
            device,
            remedy: "use a device with coherent storage and fences".to_owned(),
        },
        other => BackendError::Driver { doing: "running the work queue", message: other.to_string() },
    }
}

fn built(error: BuildError) -> BackendError {
    failed(QueueError::from(error))
}

impl Bench<'_> {
    /// Both sides are Vyre's. The times are the device's own where it has them: what concerns the host, such as sending the
    /// graph there, is in neither.
    pub(super) fn queue(&self, name: &'static str, tasks: u32, window: u32) -> Result<Row, BackendError> {
        let mut compiler = QueueCompiler::new(QueueLayout::default());
        let opcode = compiler.handler(&mix().map_err(built)?).map_err(failed)?;
        let queue = compiler.compile(self.backend).map_err(failed)?;
        let trial = Trial::random(opcode, tasks, 1, window, 1);
        let checked = queue.check(trial.graph.clone()).map_err(|error| BackendError::Driver {
            doing: "checking the tasks of a bench",
            message: error.to_string(),
        })?;
        let options = QueueOptions { timed: true, ..QueueOptions::default() };
        let mut correct = trial.run(&queue, self.backend, &options).is_ok();

        let bytes = 4 * u64::from(tasks);
        let buffers = Buffers::new(self.backend, [bytes, bytes, bytes, 4 * bytes])?;
        let [values, runs, order, producers] = buffers.resources;
        let (in_order, levels) = trial.levels();
        self.backend.upload_resident_many(&[
            (&order, bytemuck::cast_slice(&in_order)),
            (&producers, bytemuck::cast_slice(&trial.producers)),
        ])?;
        let pipeline =
            self.backend.compile_checked(&mix_level().map_err(built)?, &CompileOptions::default())?;
        let bind = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: resource.len };
        let mut sequence = CommandList::new().timed(true);
        for (start, end) in levels {
            let params =
                Params::new().with("start", Value::new(start)).with("count", Value::new(end - start));
            let bindings = [order, producers, values].map(bind).to_vec();
            sequence.push(Command::Dispatch(DispatchCommand::with(
                Arc::clone(&pipeline),
                bindings,
                params,
                None,
            )));
        }
        let one_by_one = || -> Result<Duration, BackendError> {
            let start = Instant::now();
            let finished = self.backend.submit(&sequence)?.wait_into(None, &mut Vec::new())?;
            Ok(finished.device_time.unwrap_or_else(|| start.elapsed()))
        };
        one_by_one()?;
        let found = self.backend.download_resident(&values)?;
        let found: Vec<u32> = found.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        correct &= trial.verify_values(&found).is_ok();

        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while ours.len() < 3 || (begin.elapsed() < self.effort.per_row && ours.len() < self.effort.max_pairs)
        {
            let start = Instant::now();
            let report = queue
                .run(self.backend, &checked, &[("values", values), ("runs", runs)], &options)
                .map_err(failed)?;
            correct &= report.done() == u64::from(tasks);
            ours.push(report.device_time.unwrap_or_else(|| start.elapsed()));
            theirs.push(one_by_one()?);
        }
        let pairs = ours.len();
        let (vyre, raw) = (median(ours), median(theirs));
        let (asked, predicted) = (f64::INFINITY, None);
        Ok(Row { name, asked, predicted, vyre, raw, pairs, correct, operations: None, error: None })
    }
}

/// Buffers that are freed at the end.
struct Buffers<'b> {
    backend: &'b dyn VyreBackend,
    resources: [Resource; 4],
}

impl<'b> Buffers<'b> {
    fn new(backend: &'b dyn VyreBackend, [a, b, c, d]: [u64; 4]) -> Result<Self, BackendError> {
        let make = |bytes| backend.allocate(bytes);
        Ok(Self { backend, resources: [make(a)?, make(b)?, make(c)?, make(d)?] })
    }
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {
        for resource in self.resources {
            // The device may be lost; there is nothing else to do at the end of a row.
            let _ = self.backend.free(resource);
        }
    }
}
