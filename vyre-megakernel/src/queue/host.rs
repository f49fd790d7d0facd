//! Running task graphs on a compiled queue.

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{
    Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand, Resource, Span, VyreBackend,
};
use vyre_foundation::launch::Params;
use vyre_spec::Value;

use super::handler::SharedBuffer;
use super::kernel::{Shape, own};
use super::layout::{MAX_TASKS, state, status};
use super::report::{QueueReport, Record, TaskGraphError, at, counts, words};
use super::{CheckedTasks, QueueError, QueueLayout, TaskGraph, TaskId, check};

/// How a graph is run.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Room for tasks that other tasks add.
    pub extra_tasks: u32,
    /// Invocations of a pass, and no more than there may be tasks; by default what suits the device.
    pub invocations: Option<u32>,
    /// Steps that an invocation looks for work in vain before it ends.
    pub patience: u32,
    /// Passes, at most.
    pub max_passes: u32,
    /// Whether the device's time is asked for.
    pub timed: bool,
    /// How long one submission may take.
    pub timeout: Option<Duration>,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            extra_tasks: 0,
            invocations: None,
            patience: 256,
            max_passes: 1 << 14,
            timed: false,
            timeout: None,
        }
    }
}

/// A compiled queue. It runs any number of graphs, one at a time or from several threads.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    pub(super) fill: Arc<dyn CompiledPipeline>,
    pub(super) run: Arc<dyn CompiledPipeline>,
    pub(super) shape: Shape,
    pub(super) arguments: Vec<u32>,
    pub(super) shared: Vec<SharedBuffer>,
    pub(super) invocations: u32,
}

impl WorkQueue {
    /// The buffers that its tasks share, in the order of the kernel.
    pub fn buffers(&self) -> &[SharedBuffer] {
        &self.shared
    }

    /// What its tasks have in common.
    pub fn layout(&self) -> QueueLayout {
        self.shape.layout
    }

    /// How many arguments each opcode's tasks have.
    pub fn arguments(&self) -> &[u32] {
        &self.arguments
    }

    /// Steps that an invocation makes in a pass, at most.
    pub fn budget(&self) -> u32 {
        self.shape.budget
    }

    /// Proves that every task of a graph can run.
    ///
    /// # Errors
    /// Everything that is in the way, each finding with its task.
    pub fn check(&self, graph: TaskGraph) -> Result<CheckedTasks, TaskGraphError> {
        check::check(graph, &self.arguments, &self.shape.layout).map_err(TaskGraphError)
    }

    /// Runs a graph to its end, and waits. `buffers` are the handlers', by name.
    ///
    /// Faults of tasks are no errors: the report names them, and those that wait for them.
    ///
    /// # Errors
    /// If something is not bound, tasks requeue themselves without end, or the device fails.
    pub fn run(
        &self,
        backend: &dyn VyreBackend,
        tasks: &CheckedTasks,
        buffers: &[(&str, Resource)],
        options: &QueueOptions,
    ) -> Result<QueueReport, QueueError> {
        if tasks.handlers != self.arguments || tasks.lanes != self.shape.layout.lanes {
            return Err(QueueError::OtherQueue);
        }
        let (count, extra) = (tasks.len() as u64, u64::from(options.extra_tasks));
        if count + extra > u64::from(MAX_TASKS) {
            return Err(QueueError::Capacity { tasks: count, extra, limit: u64::from(MAX_TASKS) });
        }
        let shared = self.bind(buffers)?;
        let capacity = (count + extra) as u32;
        // More would find nothing, and their slots would take memory.
        let invocations = options.invocations.unwrap_or(self.invocations).min(capacity);
        let group = self.shape.group;
        let groups = invocations.div_ceil(group).max(1);
        // Each invocation may give up a slot.
        let ring = capacity + groups * group;
        let job = Job { queue: self, backend, options, capacity, groups, ring, shared };
        job.run(tasks)
    }

    fn bind(&self, buffers: &[(&str, Resource)]) -> Result<Vec<Resource>, QueueError> {
        let known = || self.shared.iter().map(|buffer| buffer.name.clone()).collect();
        for (i, (name, _)) in buffers.iter().enumerate() {
            if self.shared.iter().all(|buffer| buffer.name != *name) {
                return Err(QueueError::UnknownBuffer { name: (*name).to_owned(), known: known() });
            }
            if buffers.iter().take(i).any(|(other, _)| other == name) {
                return Err(QueueError::Twice { name: (*name).to_owned() });
            }
        }
        let bound = self.shared.iter().map(|buffer| {
            let found = buffers.iter().find(|(name, _)| *name == buffer.name);
            found
                .map(|&(_, resource)| resource)
                .ok_or_else(|| QueueError::Unbound { name: buffer.name.clone() })
        });
        bound.collect()
    }
}

/// A resident that is freed at the end.
struct Owned<'b> {
    backend: &'b dyn VyreBackend,
    resource: Resource,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // A lost device has freed it already.
        let _ = self.backend.free(self.resource);
    }
}

/// One run of a graph.
struct Job<'q> {
    queue: &'q WorkQueue,
    backend: &'q dyn VyreBackend,
    options: &'q QueueOptions,
    capacity: u32,
    groups: u32,
    ring: u32,
    shared: Vec<Resource>,
}

/// The queue's buffers.
struct Buffers<'b> {
    state: Owned<'b>,
    tasks: Owned<'b>,
    edges: Owned<'b>,
}

impl Job<'_> {
    fn run(&self, tasks: &CheckedTasks) -> Result<QueueReport, QueueError> {
        let buffers = self.upload(tasks)?;
        let mut report = QueueReport::default();
        let mut passes = 1;
        let words = loop {
            let words = self.submit(&buffers, passes, &mut report)?;
            let ready = at(&words, self.queue.shape.layout.pending(self.queue.shape.opcodes));
            if ready == 0 {
                break words;
            }
            if report.passes >= self.options.max_passes {
                let task = self
                    .find(&buffers, |record| matches!(record.status(), status::READY | status::RELEASING))?;
                let task = task.first().copied().unwrap_or(TaskId(0));
                return Err(QueueError::Passes { passes: report.passes, ready, task });
            }
            passes = (passes * 2).min(16).min(self.options.max_passes - report.passes);
        };
        (report.counts, report.unknown) = counts(&words, self.queue.shape.opcodes);
        let allocated = at(&words, state::ALLOCATED);
        report.added = allocated.saturating_sub(tasks.len() as u32);
        if at(&words, state::FAULTED) > 0 || allocated > self.capacity {
            self.describe(&buffers, tasks, &mut report)?;
        }
        Ok(report)
    }

    fn owned(&self, words: u64) -> Result<Owned<'_>, QueueError> {
        let resource = self.backend.allocate(4 * words.max(1))?;
        Ok(Owned { backend: self.backend, resource })
    }

    fn upload(&self, tasks: &CheckedTasks) -> Result<Buffers<'_>, QueueError> {
        let Shape { layout, opcodes, .. } = self.queue.shape;
        let rings = u64::from(layout.lanes) * u64::from(self.ring);
        let buffers = Buffers {
            state: self.owned(u64::from(layout.ring_start(opcodes)) + rings)?,
            tasks: self.owned(u64::from(self.capacity) * u64::from(layout.stride()))?,
            edges: self.owned(tasks.dependants.len() as u64)?,
        };
        let mut records = Vec::with_capacity(tasks.len() * layout.stride() as usize * 4);
        for (row, range) in tasks.rows.iter().zip(tasks.starts.windows(2)) {
            let status = if row.joins == 0 { status::READY } else { status::WAITING };
            let (first, count) = row.arguments;
            let arguments = tasks.words.get(first as usize..).unwrap_or(&[]);
            let arguments = arguments.iter().take(count as usize).copied();
            let head = [row.joins, status, row.opcode.0, row.lane, at(range, 0), at(range, 1), 0, 0, 0, 0];
            let all = head.into_iter().chain(arguments).chain(std::iter::repeat(0));
            for word in all.take(layout.stride() as usize) {
                records.extend(word.to_le_bytes());
            }
        }
        let edges: Vec<u8> = tasks.dependants.iter().flat_map(|word| word.to_le_bytes()).collect();
        let allocated = (tasks.len() as u32).to_le_bytes();
        self.backend.upload_resident_many(&[
            (&buffers.state.resource, &allocated[..]),
            (&buffers.tasks.resource, &records),
            (&buffers.edges.resource, &edges),
        ])?;
        Ok(buffers)
    }

    /// Some passes in one submission, and how it stands after them.
    fn submit(
        &self,
        buffers: &Buffers<'_>,
        passes: u32,
        report: &mut QueueReport,
    ) -> Result<Vec<u32>, QueueError> {
        let Shape { layout, opcodes, .. } = self.queue.shape;
        let word = |value: u32| Value::new(value);
        let whole = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: resource.len };
        let state = BufferRef::Resident(buffers.state.resource);
        let start = 4 * u64::from(layout.pass_start(opcodes));
        let fresh = || Command::Fill {
            to: Span { buffer: state, offset: start, len: buffers.state.resource.len - start },
            byte: 0,
        };
        let own = [&buffers.state, &buffers.tasks, &buffers.edges].map(|owned| whole(owned.resource));
        let params = Params::new().with(own::CAPACITY, word(self.capacity)).with(own::RING, word(self.ring));
        let fill = DispatchCommand::with(
            Arc::clone(&self.queue.fill),
            own.iter().take(2).copied().collect(),
            params.clone(),
            None,
        );
        let params =
            params.with(own::GROUPS, word(self.groups)).with(own::PATIENCE, word(self.options.patience));
        let bound = own.into_iter().chain(self.shared.iter().copied().map(whole)).collect();
        let run = DispatchCommand::with(Arc::clone(&self.queue.run), bound, params, None);

        let mut list = CommandList::new().labeled(Some("work queue".to_owned())).timed(self.options.timed);
        let pass = vec![fresh(), Command::Dispatch(fill.clone()), Command::Dispatch(run)];
        list.push(Command::repeat(pass, passes));
        // What is ready then is what the next pass would begin with.
        list.push(fresh());
        list.push(Command::Dispatch(fill));
        list.read(Span { buffer: state, offset: 0, len: 4 * u64::from(layout.ring_start(opcodes)) });
        let mut outputs = Vec::new();
        let finished = self.backend.submit(&list)?.wait_into(self.options.timeout, &mut outputs)?;
        report.passes += passes;
        report.submissions += 1;
        if let Some(time) = finished.device_time {
            report.device_time = Some(report.device_time.unwrap_or_default() + time);
        }
        Ok(words(outputs.first().map_or(&[][..], Vec::as_slice)))
    }

    fn find(
        &self,
        buffers: &Buffers<'_>,
        is: impl Fn(&Record<'_>) -> bool,
    ) -> Result<Vec<TaskId>, QueueError> {
        let words = words(&self.backend.download_resident(&buffers.tasks.resource)?);
        let all = Record::all(&words, &self.queue.shape.layout);
        Ok(all.filter(|(_, record)| is(record)).map(|(task, _)| task).collect())
    }

    /// Names the tasks that faulted and those that wait for them.
    fn describe(
        &self,
        buffers: &Buffers<'_>,
        tasks: &CheckedTasks,
        report: &mut QueueReport,
    ) -> Result<(), QueueError> {
        let words = words(&self.backend.download_resident(&buffers.tasks.resource)?);
        let mut records = 0u32;
        for (task, record) in Record::all(&words, &self.queue.shape.layout) {
            records += u32::from(record.is_task());
            report.faults.extend(record.fault(task));
            if record.status() == status::WAITING {
                report.blocked.push(task);
            }
        }
        report.added = records.saturating_sub(tasks.len() as u32);
        Ok(())
    }
}
