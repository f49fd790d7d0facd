//! The contract, on the reference backend.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, REFERENCE_BACKEND_ID, ReferenceBackend, Resource, Span, VyreBackend,
    backend_registration, backend_registrations,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::CompileOptions;

use support::{bytes, double, whole};

fn even_only() -> Checked<Program> {
    Kernel::build("even_only", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| k.if_((x.load(i) & 1).eq(0), || y.store(i, x.load(i))));
    })
    .unwrap()
}

fn dispatch(pipeline: &Arc<dyn CompiledPipeline>, buffers: &[Resource]) -> Command<'static> {
    let bindings = buffers.iter().map(|&r| Binding { buffer: BufferRef::Resident(r), len: r.len }).collect();
    Command::Dispatch(DispatchCommand::new(Arc::clone(pipeline), bindings))
}

#[test]
fn the_oracle_is_found_by_name_and_is_never_preferred() {
    let registration = backend_registration(REFERENCE_BACKEND_ID).unwrap();
    assert_eq!(registration.precedence, 0);
    assert!((registration.open)().unwrap().profile().is_software);
    assert_eq!(backend_registrations().last().map(|r| r.id), Some(REFERENCE_BACKEND_ID));
    let Err(BackendError::BackendNotLinked { id, linked }) = backend_registration("cuda") else {
        panic!("found")
    };
    assert_eq!((id.as_str(), linked.as_slice()), ("cuda", &["reference".to_owned()][..]));
}

#[test]
fn a_host_dispatch_takes_inputs_and_gives_outputs_in_declaration_order() {
    let oracle = ReferenceBackend::new();
    let config = DispatchConfig::default();
    let outputs = oracle.dispatch(&double(), &[bytes(&[1, 2, 0x8000_0001])], &config).unwrap();
    assert_eq!(outputs, [bytes(&[2, 4, 2])]);
    assert_eq!(oracle.dispatch(&double(), &[Vec::new()], &config).unwrap(), [Vec::<u8>::new()]);
    let error = oracle.dispatch(&double(), &[], &config).unwrap_err();
    assert_eq!(error.to_string(), "the program takes 1 input (x), but got 0");
    let error = oracle.dispatch(&double(), &[vec![0; 7]], &config).unwrap_err();
    assert!(error.to_string().starts_with("buffer `x` got 7 bytes"), "{error}");
}

#[test]
fn elements_that_are_not_stored_are_zero_for_the_host_and_keep_their_value_when_resident() {
    let oracle = ReferenceBackend::new();
    let program = even_only();
    let input = bytes(&[3, 4, 5, 6]);
    let outputs =
        oracle.dispatch(&program, std::slice::from_ref(&input), &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [bytes(&[0, 4, 0, 6])]);

    let pipeline = oracle.compile_checked(&program, &CompileOptions::default()).unwrap();
    let (x, y) = (oracle.allocate(16).unwrap(), oracle.allocate(16).unwrap());
    let old = bytes(&[70, 71, 72, 73]);
    let mut list = CommandList::new();
    list.upload(BufferRef::Resident(x), 0, &input);
    list.upload(BufferRef::Resident(y), 0, &old);
    list.push(dispatch(&pipeline, &[x, y]));
    list.read(whole(y));
    assert_eq!(oracle.submit(&list).unwrap().wait(None).unwrap(), [bytes(&[70, 4, 72, 6])]);
}

#[test]
fn a_list_runs_in_order_and_a_refused_one_has_no_effect() {
    let oracle = ReferenceBackend::new();
    let pipeline = oracle.compile_checked(&double(), &CompileOptions::default()).unwrap();
    let x = oracle.allocate(8).unwrap();
    let one = bytes(&[1]);
    let mut list = CommandList::new();
    list.push(Command::Fill { to: whole(x), byte: 1 });
    list.upload(BufferRef::Resident(x), 4, &one);
    list.push(dispatch(&pipeline, &[x]));
    let scratch = list.transient(4);
    let last = Span { buffer: BufferRef::Resident(x), offset: 4, len: 4 };
    list.push(Command::Copy { from: last, to: Span { buffer: scratch, offset: 0, len: 4 } });
    list.push(dispatch(&pipeline, &[x]));
    list.read(Span { buffer: scratch, offset: 0, len: 4 });
    list.read(whole(x));
    let reads = oracle.submit(&list).unwrap().wait(None).unwrap();
    assert_eq!(reads, [bytes(&[2]), bytes(&[0x0404_0404, 4])]);

    let mut list = CommandList::new();
    list.push(Command::Fill { to: whole(x), byte: 9 });
    list.read(Span { buffer: BufferRef::Resident(x), offset: 5, len: 4 });
    let error = oracle.submit(&list).unwrap_err();
    assert_eq!(error, BackendError::OutOfRange { what: "a read", offset: 5, bytes: 4, len: 8 });
    let mut list = CommandList::new();
    list.read(whole(x));
    assert_eq!(oracle.submit(&list).unwrap().wait(None).unwrap(), [bytes(&[0x0404_0404, 4])]);
}

#[test]
fn handles_say_what_is_wrong_with_them() {
    let (oracle, other) = (ReferenceBackend::new(), ReferenceBackend::new());
    let x = oracle.allocate(4).unwrap();
    let problem = |error| match error {
        BackendError::BadHandle { problem, .. } => problem,
        error => panic!("{error}"),
    };
    assert_eq!(problem(other.free(x).unwrap_err()), "foreign");
    oracle.free(x).unwrap();
    assert_eq!(problem(oracle.free(x).unwrap_err()), "freed");
    let mut list = CommandList::new();
    list.read(whole(x));
    assert_eq!(problem(oracle.submit(&list).unwrap_err()), "freed");
}

#[test]
fn what_a_command_says_twice_or_names_wrongly_is_refused() {
    let backend = ReferenceBackend::new();
    let pipeline = backend.compile_checked(&double(), &CompileOptions::default()).unwrap();
    let a = backend.allocate(16).unwrap();
    let refused = |command: Command<'static>| {
        let mut list = CommandList::new();
        list.transient(16);
        list.push(Command::Fill { to: whole(a), byte: 9 });
        list.push(command);
        backend.submit(&list).map(|_| ()).unwrap_err()
    };
    let short = Span { len: 8, ..whole(a) };
    let error = refused(Command::Copy { from: whole(a), to: short });
    assert!(matches!(&error, BackendError::Config { why, .. } if why.contains("8 bytes")), "{error}");
    let error = refused(Command::Upload { to: short, bytes: &[0; 12] });
    assert!(matches!(&error, BackendError::Config { why, .. } if why.contains("12")), "{error}");
    let bindings = vec![Binding { buffer: BufferRef::Resident(a), len: 16 }];
    let counted = DispatchCommand::with(Arc::clone(&pipeline), bindings, Params::new(), Some([1; 3]));
    let error = refused(Command::Dispatch(counted));
    assert!(matches!(error, BackendError::Config { field: "counts", .. }), "{error}");
    let unknown = Span { buffer: BufferRef::Transient(1), offset: 0, len: 0 };
    let error = refused(Command::Read { from: unknown });
    assert!(matches!(error, BackendError::BadHandle { problem: "foreign", .. }), "{error}");
    for (forged, problem) in
        [(Resource { len: 8, ..a }, "foreign"), (Resource { generation: 7, ..a }, "stale")]
    {
        let error = refused(Command::Read { from: whole(forged) });
        assert!(matches!(error, BackendError::BadHandle { problem: p, .. } if p == problem), "{error}");
    }
    let mut list = CommandList::new();
    list.read(whole(a));
    assert_eq!(backend.submit(&list).unwrap().wait(None).unwrap(), [[0; 16]]);
}

#[test]
fn one_buffer_cannot_be_input_and_output_of_a_dispatch() {
    let oracle = ReferenceBackend::new();
    let pipeline = oracle.compile_checked(&even_only(), &CompileOptions::default()).unwrap();
    let x = oracle.allocate(16).unwrap();
    let mut list = CommandList::new();
    list.push(dispatch(&pipeline, &[x, x]));
    let error = oracle.submit(&list).unwrap_err();
    assert_eq!(error, BackendError::Aliasing { first: "x".into(), second: "y".into() });
    let mut list = CommandList::new();
    list.push(dispatch(&pipeline, &[x]));
    assert_eq!(oracle.submit(&list).unwrap_err(), BackendError::BindingCount { needs: 2, got: 1 });
}

#[test]
fn a_trap_gives_an_error_and_no_bytes() {
    let program = Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| k.if_(x.load(i).gt(10), || k.trap(7, i)));
    })
    .unwrap();
    let oracle = ReferenceBackend::new();
    let config = DispatchConfig::default();
    assert_eq!(oracle.dispatch(&program, &[bytes(&[1, 10])], &config).unwrap(), [bytes(&[1, 10])]);
    let error = oracle.dispatch(&program, &[bytes(&[1, 11, 12])], &config).unwrap_err();
    assert_eq!(error, BackendError::Trap { code: 7, invocation: 1, address: 1 });
}

#[test]
fn configuration_that_a_launch_cannot_honour_is_refused() {
    let oracle = ReferenceBackend::new();
    let refused = |config: DispatchConfig| match oracle.dispatch(&double(), &[bytes(&[1])], &config) {
        Err(BackendError::Config { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    let config = DispatchConfig { grid: Some([1, 1, 1]), ..DispatchConfig::default() };
    let error = oracle.dispatch(&double(), &[bytes(&[1])], &config).unwrap_err();
    assert!(matches!(&error, BackendError::Unsupported { what, .. } if what.contains("grid")), "{error}");
    let short = Some(Duration::from_micros(10));
    assert_eq!(refused(DispatchConfig { timeout: short, ..DispatchConfig::default() }), "timeout");
    let config = DispatchConfig { max_output_bytes: Some(3), ..DispatchConfig::default() };
    let error = oracle.dispatch(&double(), &[bytes(&[1])], &config).unwrap_err();
    assert_eq!(error, BackendError::OutputTooLarge { needs: 4, limit: 3 });
}

#[test]
fn a_specialised_parameter_is_substituted_with_each_dispatchs_own_value() {
    let program = Kernel::build("scale", |k| {
        let factor = k.specialize::<u32>("factor");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * factor));
    })
    .unwrap();
    let oracle = ReferenceBackend::new();
    for factor in [3u32, 5, 3] {
        let config = DispatchConfig::default().param("factor", factor);
        assert_eq!(oracle.dispatch(&program, &[bytes(&[7])], &config).unwrap(), [bytes(&[7 * factor])]);
    }
    let error = oracle.dispatch(&program, &[bytes(&[7])], &DispatchConfig::default()).unwrap_err();
    assert_eq!(error.to_string(), "parameter `factor` has no value: pass one of type u32");
}

#[cfg(feature = "conformance")]
mod suite {
    use super::*;
    use vyre_driver::{BackendInstance, Completion, Finished, Visitor, conformance};
    use vyre_spec::DeviceProfile;

    #[test]
    fn the_suite_accepts_the_oracle() {
        let report = conformance::ops(&ReferenceBackend::new(), conformance::Depth::Full);
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        assert!(report.compared > 10_000, "{}", report.compared);
    }

    #[test]
    fn the_suite_runs_atomics_and_subgroup_ops_and_notices_a_wrong_bit() {
        for part in [conformance::atomics, conformance::subgroups] {
            let report = part(&ReferenceBackend::new());
            assert!(report.failures.is_empty() && report.refused.is_empty(), "{:#?}", report.failures);
            assert!(report.compared > 5_000, "{}", report.compared);
            // Each output is off, but in a bit that a bool does not show.
            let noticed = part(&Off(ReferenceBackend::new())).failures.len() as u64;
            assert!(noticed * 10 >= report.programs * 9, "{noticed} of {}", report.programs);
        }
    }

    #[test]
    fn tile_products() {
        let report = conformance::tiles(&ReferenceBackend::new());
        assert!(report.failures.is_empty() && report.refused.is_empty(), "{:#?}", report.failures);
    }

    #[test]
    fn the_oracle_computes_floats_as_worked_out_by_hand() {
        let report = conformance::floats(&ReferenceBackend::new());
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        assert_eq!(report.compared, report.programs);
    }

    #[test]
    fn the_oracle_agrees_with_itself_on_random_programs() {
        let report = conformance::programs(&ReferenceBackend::new(), 0..60);
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        assert!(report.compared > 1_000, "{}", report.compared);
    }

    #[test]
    fn the_oracle_keeps_the_whole_contract() {
        let report = conformance::contract(&ReferenceBackend::new());
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        assert!(report.refused.is_empty(), "{:#?}", report.refused);
        assert!(report.compared > 1_000, "{}", report.compared);
    }

    #[test]
    fn an_oracle_that_was_shut_down_says_so() {
        let report = conformance::shutdown(&ReferenceBackend::new());
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
    }

    #[test]
    fn the_contract_suite_notices_a_wrong_bit_wherever_bytes_come_back() {
        let report = conformance::contract(&Off(ReferenceBackend::new()));
        let failed: Vec<_> = report.failures.iter().map(|failure| failure.case.as_str()).collect();
        for part in ["dispatch on host bytes", "timed dispatch", "downloads at any offset", "a sequence"] {
            assert!(failed.contains(&part), "{part} is not among {failed:?}");
        }
    }

    #[test]
    fn a_wrong_bit_fails_a_random_program_and_its_text_is_shown() {
        let report = conformance::programs(&Off(ReferenceBackend::new()), 1..2);
        assert_eq!(report.failures.len(), 2);
        assert!(report.failures[0].message.contains("program "), "{}", report.failures[0]);
    }

    /// An oracle whose first result of each dispatch is off by one bit.
    struct Off(ReferenceBackend);

    #[derive(Debug)]
    struct OffCompletion(Box<dyn Completion>);

    impl Completion for OffCompletion {
        fn is_finished(&self) -> bool {
            self.0.is_finished()
        }

        fn visit(
            self: Box<Self>,
            timeout: Option<Duration>,
            visitor: &mut Visitor<'_>,
        ) -> Result<Finished, BackendError> {
            self.0.visit(timeout, &mut |i, bytes| {
                let mut bytes = bytes.to_vec();
                bytes.iter_mut().skip(2).take(1).for_each(|byte| *byte ^= 0x40);
                visitor(i, &bytes)
            })
        }
    }

    impl VyreBackend for Off {
        fn id(&self) -> &'static str {
            "off"
        }
        fn version(&self) -> &'static str {
            "0"
        }
        fn instance(&self) -> BackendInstance {
            self.0.instance()
        }
        fn profile(&self) -> &DeviceProfile {
            self.0.profile()
        }
        fn compile_checked(
            &self,
            program: &Checked<Program>,
            options: &CompileOptions,
        ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
            self.0.compile_checked(program, options)
        }
        fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
            self.0.allocate(len)
        }
        fn free(&self, resource: Resource) -> Result<(), BackendError> {
            self.0.free(resource)
        }
        fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
            Ok(Box::new(OffCompletion(self.0.submit(list)?)))
        }
    }

    #[test]
    fn the_suite_notices_one_wrong_bit_in_every_program_but_those_of_bool() {
        let report = conformance::ops(&Off(ReferenceBackend::new()), conformance::Depth::Spaced);
        let programs = report.programs as usize;
        assert!(
            report.failures.len() * 2 > programs,
            "{} failures of {programs} programs",
            report.failures.len()
        );
    }
}
