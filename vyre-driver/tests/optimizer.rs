//! The optimizer interface, on the reference backend and on one that notes what it is given.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::{Arc, Mutex};

use vyre_driver::optimizer::{
    DispatchError, OptimizerDispatcher, ResidentDispatchStep, ResidentHandles, ResidentHost,
    ResidentReadRange, sealed,
};
use vyre_driver::{
    BackendError, BackendInstance, Command, CommandList, CompiledPipeline, Completion, ReferenceBackend,
    Resource, VyreBackend,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DeviceProfile};

#[cfg(feature = "conformance")]
#[test]
fn the_reference_backend_is_an_optimizer_dispatcher() {
    let report = vyre_driver::conformance::optimizer(&ReferenceBackend::new(), &ReferenceBackend::new());
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {} cases fail", report.failures.len(), report.programs);
}

/// The reference backend, noting each submission's commands, with losses of its device on demand.
#[derive(Default)]
struct Noting {
    inner: ReferenceBackend,
    handles: ResidentHandles,
    submissions: Mutex<Vec<Vec<&'static str>>>,
    /// Buffers whose device is gone.
    lost: Mutex<Vec<Resource>>,
}

impl Noting {
    fn taken(&self) -> Vec<Vec<&'static str>> {
        std::mem::take(&mut self.submissions.lock().unwrap())
    }

    fn stale(&self, resource: Resource) -> Result<(), BackendError> {
        if self.lost.lock().unwrap().contains(&resource) {
            let handle = resource.to_string();
            return Err(BackendError::BadHandle { handle, problem: "stale" });
        }
        Ok(())
    }
}

impl VyreBackend for Noting {
    fn id(&self) -> &'static str {
        "noting"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    fn instance(&self) -> BackendInstance {
        self.inner.instance()
    }

    fn profile(&self) -> &DeviceProfile {
        self.inner.profile()
    }

    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
        self.inner.compile_checked(program, options)
    }

    fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
        self.inner.allocate(len)
    }

    fn free(&self, resource: Resource) -> Result<(), BackendError> {
        self.stale(resource)?;
        self.inner.free(resource)
    }

    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
        for command in list.commands() {
            if let Command::Read { from } | Command::Upload { to: from, .. } = command {
                if let vyre_driver::BufferRef::Resident(resource) = from.buffer {
                    self.stale(resource)?;
                }
            }
        }
        let name = |command: &Command<'_>| match command {
            Command::Fill { .. } => "fill",
            Command::Upload { .. } => "upload",
            Command::Dispatch(_) => "dispatch",
            Command::Read { .. } => "read",
            _ => "other",
        };
        self.submissions.lock().unwrap().push(list.commands().iter().map(name).collect());
        self.inner.submit(list)
    }
}

impl sealed::Sealed for Noting {}

impl OptimizerDispatcher for Noting {
    fn resident_host(&self) -> ResidentHost<'_> {
        ResidentHost { backend: self, handles: &self.handles }
    }
}

fn increment() -> Checked<Program> {
    Kernel::build("increment", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + 1));
    })
    .unwrap()
}

#[test]
fn whatever_a_call_does_is_one_submission() {
    let backend = Noting::default();
    let dispatcher: &dyn OptimizerDispatcher = &backend;
    let handles = dispatcher.alloc_resident_many(&[8, 8]).unwrap();
    let [a, b] = handles[..] else { panic!("{handles:?}") };
    assert_eq!(backend.taken(), Vec::<Vec<&str>>::new());
    dispatcher.upload_resident_many(&[(a, &[1; 8]), (b, &[2; 8])]).unwrap();
    assert_eq!(backend.taken(), [["upload", "upload"]]);

    let program = increment();
    let (on_a, on_b) = ([a], [b]);
    let step = |handles| ResidentDispatchStep { program: &program, handles, grid_override: None };
    let ranges = [ResidentReadRange { handle: b, byte_offset: 3, byte_len: 2 }];
    let mut outputs = Vec::new();
    dispatcher
        .fill_upload_resident_many_sequence_read_ranges_into(
            &[(a, 8, 9), (b, 4, 8)],
            &[(b, &[0; 4])],
            &[step(&on_a), step(&on_b), step(&on_a)],
            &ranges,
            &mut outputs,
        )
        .unwrap();
    assert_eq!(backend.taken(), [["fill", "fill", "upload", "dispatch", "dispatch", "dispatch", "read"]]);
    assert_eq!(outputs, [[0, 3]]);
    assert_eq!(dispatcher.read_resident_many(&[a, b, a]).unwrap()[0], [11, 9, 9, 9, 11, 9, 9, 9]);
    assert_eq!(backend.taken(), [["read", "read", "read"]]);

    let set = dispatcher.acquire_resident_static_uploads(0, &[&[1], &[2], &[1]]).unwrap();
    assert_eq!(backend.taken(), [["upload", "upload"]]);
    dispatcher.release_resident_static_uploads(set).unwrap();
    dispatcher.dispatch_resident_sequence(&[]).unwrap();
    assert_eq!(backend.taken(), Vec::<Vec<&str>>::new());
}

#[test]
fn what_was_lost_with_its_device_is_stale_and_static_payloads_are_uploaded_anew() {
    let backend = Noting::default();
    let dispatcher: &dyn OptimizerDispatcher = &backend;
    let x = dispatcher.alloc_resident(4).unwrap();
    let first = dispatcher.acquire_resident_static_uploads(1, &[&[5; 4], &[6; 4]]).unwrap();
    let kept = dispatcher.acquire_resident_static_uploads(1, &[&[7; 4]]).unwrap();
    // Slots are given out in order: those of `x` and of the first set are gone.
    let mut lost = backend.inner.allocate(4).unwrap();
    let last = lost.slot;
    for slot in last - 4..last - 1 {
        lost.slot = slot;
        backend.lost.lock().unwrap().push(lost);
    }
    let stale = |handle| Err(DispatchError::Handle { handle, problem: "stale" });
    assert_eq!(dispatcher.read_resident(x), stale(x));
    assert_eq!(dispatcher.read_resident(first.handles()[1]), stale(first.handles()[1]));

    let second = dispatcher.acquire_resident_static_uploads(1, &[&[7; 4], &[6; 4], &[5; 4]]).unwrap();
    assert_eq!(second.handles()[0], kept.handles()[0]);
    assert!(!first.handles().iter().any(|handle| second.handles().contains(handle)));
    assert_eq!(dispatcher.read_resident_many(second.handles()).unwrap(), [[7; 4], [6; 4], [5; 4]]);
    // There is nothing to free of the first set, and the second does not notice.
    dispatcher.release_resident_static_uploads(first).unwrap();
    let third = dispatcher.acquire_resident_static_uploads(1, &[&[5; 4]]).unwrap();
    assert_eq!(third.handles()[0], second.handles()[2]);
    assert_eq!(dispatcher.free_resident(x).map(|()| Vec::<u8>::new()), stale(x));
    for set in [second, third, kept] {
        dispatcher.release_resident_static_uploads(set).unwrap();
    }
}
