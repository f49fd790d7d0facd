//! Commands that only a list has: repetition, counts from a buffer, and what they refuse.

use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{Axis, CompileOptions};

use super::{Case, Check, Problem, bytes, kernels};
use crate::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, DispatchConfig, Feature,
    MAX_REPEAT_DEPTH, Span, VyreBackend,
};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("repeated commands", repeat),
    ("counts from a buffer", indirect),
    ("what a repetition refuses", refused_repeat),
    ("what counts from a buffer refuse", refused_indirect),
    ("counts from a buffer of the program", found),
    ("counts above the limit", too_many),
    ("a timed list", timed),
];

fn run(
    backend: &dyn VyreBackend,
    program: &Checked<Program>,
    bindings: Vec<Binding>,
) -> Result<DispatchCommand, BackendError> {
    let pipeline = backend.compile_checked(program, &CompileOptions::default())?;
    Ok(DispatchCommand::new(pipeline, bindings))
}

fn whole(buffer: BufferRef, len: u64) -> Span {
    Span { buffer, offset: 0, len }
}

fn repeat(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let mut list = CommandList::new();
    let (x, log) = (list.transient(4), list.transient(12));
    list.upload(x, 0, &[1, 0, 0, 0]);
    list.push(Command::Fill { to: whole(log, 12), byte: 0 });
    let step = Command::Dispatch(run(backend, &kernels::step(1)?, vec![Binding { buffer: x, len: 4 }])?);
    let inner = Command::repeat(vec![step.clone()], 2);
    let keep = |offset| Command::Copy { from: whole(x, 4), to: Span { buffer: log, offset, len: 4 } };
    // Two rounds of: x twice stepped, kept; x stepped, kept. The second round overwrites what is kept.
    let commands = vec![inner, keep(0), step, keep(4)];
    list.push(Command::repeat(commands, 2));
    let never = vec![Command::Fill { to: whole(log, 12), byte: 9 }];
    list.push(Command::repeat(never, 0));
    list.read(whole(log, 12));
    list.read(whole(x, 4));
    let steps: Vec<u32> = std::iter::successors(Some(1), |x| Some(x * 3 + 1)).take(7).collect();
    let want = [bytes(&[steps[5], steps[6], 0]), bytes(&[steps[6]])];
    case.equal("nested", &backend.submit(&list)?.wait(None)?[..], &want)?;
    // An upload gives the same bytes each time.
    let mut list = CommandList::new();
    let x = list.transient(4);
    let step = Command::Dispatch(run(backend, &kernels::step(1)?, vec![Binding { buffer: x, len: 4 }])?);
    let set = Command::Upload { to: whole(x, 4), bytes: &[7, 0, 0, 0] };
    list.push(Command::repeat(vec![set, step], 3));
    list.read(whole(x, 4));
    case.equal("with an upload", &backend.submit(&list)?.wait(None)?[..], &[bytes(&[22])])
}

fn indirect(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let counts = backend.allocate(24)?;
    // At 8: two by three by one. At 4, and so beginning with a zero: none at all.
    backend.upload_resident(&counts, &bytes(&[9, 0, 2, 3, 1, 9]))?;
    let n = backend.allocate(4)?;
    let binding = Binding { buffer: BufferRef::Resident(n), len: 4 };
    let count = run(backend, &kernels::count()?, vec![binding])?;
    let at = |offset| Span { buffer: BufferRef::Resident(counts), offset, len: 12 };
    let indirect = |offset| Command::DispatchIndirect { dispatch: count.clone(), counts: at(offset) };
    let mut list = CommandList::new();
    list.push(indirect(8));
    list.push(indirect(4));
    list.read(whole(binding.buffer, 4));
    // The device's own product: a count that a dispatch has just written.
    let (one, width) = (kernels::step(1)?, Binding { buffer: BufferRef::Resident(counts), len: 24 });
    list.push(Command::Dispatch(run(backend, &one, vec![width])?));
    list.push(Command::repeat(vec![indirect(4)], 2));
    list.read(whole(binding.buffer, 4));
    // 2 × 3 workgroups of 4; then the counts are 28 1 7 10 4 28, of which 1 × 7 × 10 twice.
    let want = [bytes(&[24]), bytes(&[24 + 2 * 4 * 70])];
    case.equal("counts", &backend.submit(&list)?.wait(None)?[..], &want)?;
    backend.free(counts)?;
    Ok(backend.free(n)?)
}

fn found(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let program = kernels::found()?;
    for (counts, want) in [([2u32, 3, 5], 120u32), ([1, 1, 1], 4), ([7, 0, 1], 0)] {
        let inputs: [&[u8]; 2] = [&bytes(&counts), &[0; 4]];
        let got = backend.dispatch_checked(&program, &inputs, &DispatchConfig::default())?;
        case.equal("invocations", &got[..], &[bytes(&[want])])?;
    }
    let short: [&[u8]; 2] = [&[1; 8], &[0; 4]];
    let refused = backend.dispatch_checked(&program, &short, &DispatchConfig::default());
    case.refused("two counts", refused, |error| matches!(error, BackendError::Launch(_)))
}

fn too_many(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let most = backend.profile().max_workgroups_per_axis;
    let Some(count) = most.checked_add(1) else { return Ok(()) };
    let is_y = |error: &BackendError| *error == BackendError::IndirectCounts { axis: Axis::Y, count };
    let counts = bytes(&[1, count, count]);
    let own = backend.dispatch_checked(&kernels::found()?, &[&counts, &[0; 4]], &DispatchConfig::default());
    case.refused("of the program", own, is_y)?;
    let n = backend.allocate(4)?;
    let binding = Binding { buffer: BufferRef::Resident(n), len: 4 };
    let mut list = CommandList::new();
    let found = list.transient(12);
    list.upload(found, 0, &counts);
    let dispatch = run(backend, &kernels::count()?, vec![binding])?;
    list.push(Command::DispatchIndirect { dispatch: dispatch.clone(), counts: whole(found, 12) });
    case.refused("of a command", backend.submit(&list)?.wait(None), is_y)?;
    case.equal("nothing has run", &backend.download_resident(&n)?[..], &[0; 4])?;
    // Of three runs of one command only the first finds them: what it found is still said.
    let mut list = CommandList::new();
    let (found, few, ones) = (list.transient(12), list.transient(12), bytes(&[1, 1, 1]));
    list.upload(found, 0, &counts);
    list.upload(few, 0, &ones);
    let (counts, few) = (whole(found, 12), whole(few, 12));
    let once = vec![Command::DispatchIndirect { dispatch, counts }, Command::Copy { from: few, to: counts }];
    list.push(Command::repeat(once, 3));
    case.refused("of a repeated command", backend.submit(&list)?.wait(None), is_y)?;
    Ok(backend.free(n)?)
}

fn refused_repeat(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let x = backend.allocate(4)?;
    let span = whole(BufferRef::Resident(x), 4);
    let fill = Command::Fill { to: span, byte: 1 };
    let nest = |inner: Command<'static>, depth: usize| {
        (0..depth).fold(inner, |inner, _| Command::repeat(vec![inner], 1))
    };
    let submit = |command| {
        let mut list = CommandList::new();
        list.push(command);
        backend.submit(&list)?.wait(None)
    };
    let config = |error: &BackendError| matches!(error, BackendError::Config { .. });
    case.refused("a read", submit(nest(Command::Read { from: span }, 1)), config)?;
    case.refused("too deep", submit(nest(fill.clone(), MAX_REPEAT_DEPTH + 1)), config)?;
    let beyond = Command::Fill { to: Span { offset: 2, ..span }, byte: 1 };
    case.refused("beyond", submit(nest(beyond, 2)), |e| matches!(e, BackendError::OutOfRange { .. }))?;
    case.equal("nothing has run", &backend.download_resident(&x)?[..], &[0; 4])?;
    submit(nest(fill, MAX_REPEAT_DEPTH))?;
    case.equal("as deep as allowed", &backend.download_resident(&x)?[..], &[1; 4])?;
    Ok(backend.free(x)?)
}

fn refused_indirect(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (n, counts) = (backend.allocate(16)?, backend.allocate(16)?);
    let binding = Binding { buffer: BufferRef::Resident(n), len: 4 };
    let count = run(backend, &kernels::count()?, vec![binding])?;
    let submit = |dispatch: &DispatchCommand, counts| {
        let mut list = CommandList::new();
        list.push(Command::DispatchIndirect { dispatch: dispatch.clone(), counts });
        backend.submit(&list)?.wait(None)
    };
    let span = |offset, len| Span { buffer: BufferRef::Resident(counts), offset, len };
    let config = |error: &BackendError| matches!(error, BackendError::Config { field: "counts", .. });
    case.refused("two words", submit(&count, span(0, 8)), config)?;
    case.refused("unaligned", submit(&count, span(2, 12)), config)?;
    case.refused("beyond", submit(&count, span(8, 12)), |e| matches!(e, BackendError::OutOfRange { .. }))?;
    let own = Span { buffer: binding.buffer, ..span(4, 12) };
    case.refused("written meanwhile", submit(&count, own), |e| matches!(e, BackendError::Aliasing { .. }))?;
    let domain = run(backend, &kernels::step(1)?, vec![binding])?;
    case.refused("a domain", submit(&domain, span(0, 12)), config)?;
    let fixed = DispatchCommand::with(
        Arc::clone(count.pipeline()),
        vec![binding],
        count.params().clone(),
        Some([1, 1, 1]),
    );
    case.refused("two sets of counts", submit(&fixed, span(0, 12)), config)?;
    case.equal("nothing has run", &backend.download_resident(&n)?[..], &[0; 16])?;
    backend.free(n)?;
    Ok(backend.free(counts)?)
}

fn timed(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let has_clock = backend.missing(Feature::Timestamps).is_none();
    for timed in [false, true] {
        let mut list = CommandList::new().timed(timed).labeled(Some("timed".to_owned()));
        let x = list.transient(1024);
        list.push(Command::Fill { to: whole(x, 1024), byte: 3 });
        let step = run(backend, &kernels::step(1)?, vec![Binding { buffer: x, len: 1024 }])?;
        list.push(Command::Dispatch(step));
        list.read(whole(x, 4));
        let mut got = Vec::new();
        let finished = backend.submit(&list)?.wait_into(None, &mut got)?;
        case.equal("value", &got[..], &[bytes(&[0x0303_0303 * 3 + 1])])?;
        case.equal(("time", timed), &finished.device_time.is_some(), &(timed && has_clock))?;
    }
    Ok(())
}
