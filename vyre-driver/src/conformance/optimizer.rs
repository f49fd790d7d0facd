//! The optimizer interface: handles, sequences, static buffers, and what each refuses.

use std::fmt::Debug;

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::Report;
use super::case::{Outcome, report, same, words};
use crate::BackendError;
use crate::optimizer::{DispatchError, OptimizerDispatcher, ResidentDispatchStep, ResidentReadRange};

type Case = fn(&dyn OptimizerDispatcher, &dyn OptimizerDispatcher) -> Outcome;

const CASES: &[(&str, Case)] = &[
    ("a dispatch takes and gives buffers in declaration order", host_dispatch),
    ("buffers are zero at first and keep what an upload leaves out", bytes_stay),
    ("a group of buffers is allocated whole or not at all", groups),
    ("fills, uploads, steps and reads run in this order", sequence),
    ("a step binds the leading bytes that its program declares", leading_bytes),
    ("vectors of the caller are used again", reuse),
    ("a sequence that is refused has no effect", refused),
    ("a fault is the error of the call that ran it", fault),
    ("foreign and freed handles are named", bad_handles),
    ("ranges stay inside their buffers", ranges),
    ("equal static payloads are one buffer in a domain", statics),
    ("static buffers do not change", immutable),
    ("nothing to do is nothing done", nothing),
];

/// Runs the cases on a dispatcher. `other` is another one, whose handles are foreign.
pub fn optimizer(dispatcher: &dyn OptimizerDispatcher, other: &dyn OptimizerDispatcher) -> Report {
    report(CASES.iter().map(|(name, case)| (*name, case(dispatcher, other))))
}

/// What a call must be refused with.
fn refusal<T: Debug>(what: &str, got: Result<T, DispatchError>, is: fn(&DispatchError) -> bool) -> Outcome {
    match got {
        Err(error) if is(&error) => Ok(()),
        other => Err(format!("{what}: {other:?}").into()),
    }
}

/// `out[i] = x[i] * 3 + 1`.
fn triple() -> Result<Checked<Program>, BuildError> {
    Kernel::build("triple", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.domain([x.len()], |[i]| out.store(i, x.load(i) * 3 + 1));
    })
}

/// Adds 1 to every element, in place.
fn increment() -> Result<Checked<Program>, BuildError> {
    Kernel::build("increment", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + 1));
    })
}

fn range(handle: u64, byte_offset: usize, byte_len: usize) -> ResidentReadRange {
    ResidentReadRange { handle, byte_offset, byte_len }
}

fn host_dispatch(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let triple = triple()?;
    same("outputs", d.dispatch(&triple, &[words(&[0, 1, 5])], None)?, vec![words(&[1, 4, 16])])?;
    let count = Kernel::build("count_workgroups", |k| {
        let out = k.read_write::<u32>("out").with_len(1_u64);
        k.workgroups([1], [1_u64], |_| {
            out.atomic_add(0_u32, 1_u32);
        });
    })?;
    same("three by two workgroups", d.dispatch(&count, &[vec![0; 4]], Some([3, 2, 1]))?, vec![words(&[6])])?;
    let on_a_domain = d.dispatch(&triple, &[vec![0; 4]], Some([1; 3]));
    refusal("a grid for a domain", on_a_domain, |e| matches!(e, DispatchError::Backend { .. }))?;
    let few = d.dispatch(&triple, &[], None);
    refusal("an input left out", few, |e| matches!(e.backend(), Some(BackendError::Launch(_))))
}

fn bytes_stay(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let x = d.alloc_resident(11)?;
    same("at first", d.read_resident(x)?, vec![0; 11])?;
    d.upload_resident(x, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])?;
    d.upload_resident(x, &[21, 22, 23])?;
    same("after two uploads", d.read_resident(x)?, vec![21, 22, 23, 4, 5, 6, 7, 8, 9, 10, 11])?;
    let empty = d.alloc_resident(0)?;
    d.upload_resident_many(&[(empty, &[]), (x, &[31])])?;
    same(
        "many",
        d.read_resident_many(&[empty, x])?,
        vec![vec![], vec![31, 22, 23, 4, 5, 6, 7, 8, 9, 10, 11]],
    )?;
    let odd = d.read_resident_ranges(&[range(x, 1, 3), range(x, 11, 0), range(x, 0, 1)])?;
    same("ranges", odd, vec![vec![22, 23, 4], vec![], vec![31]])?;
    d.free_resident(empty)?;
    Ok(d.free_resident(x)?)
}

fn groups(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let group = d.alloc_resident_many(&[4, 0, 12])?;
    let lengths: Vec<usize> = d.read_resident_many(&group)?.iter().map(Vec::len).collect();
    same("lengths", lengths, vec![4, 0, 12])?;
    let before = d.alloc_resident(4)?;
    let too_much = d.alloc_resident_many(&[4, 8, usize::MAX / 2, 4]);
    refusal("too much", too_much, |e| matches!(e, DispatchError::Allocation { index: 2, .. }))?;
    // Handles are given out in order: these two are those of the group that failed.
    for handle in [before + 1, before + 2] {
        let gone = d.read_resident(handle);
        refusal("of the failed group", gone, |e| {
            matches!(e, DispatchError::Handle { problem: "freed", .. })
        })?;
    }
    for handle in group.into_iter().chain([before]) {
        d.free_resident(handle)?;
    }
    Ok(())
}

fn sequence(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let (triple, increment) = (triple()?, increment()?);
    let (a, b) = (d.alloc_resident(16)?, d.alloc_resident(16)?);
    let (both, only) = ([a, b], [a]);
    let steps = [
        ResidentDispatchStep { program: &increment, handles: &only, grid_override: None },
        ResidentDispatchStep { program: &triple, handles: &both, grid_override: None },
        ResidentDispatchStep { program: &increment, handles: &only, grid_override: None },
    ];
    let one = words(&[9]);
    let mut outputs = Vec::new();
    // The fill reaches 12 bytes of `a`; the upload then replaces the first 4.
    d.upload_resident(a, &words(&[7, 7, 7, 7]))?;
    d.fill_upload_resident_many_sequence_read_many_into(
        &[(a, 12, 1), (b, 16, 0xFF)],
        &[(a, &one)],
        &steps,
        &[b, a],
        &mut outputs,
    )?;
    let ones = 0x0101_0101;
    let x = [10, ones + 1, ones + 1, 8];
    same("filled", outputs, vec![words(&x.map(|v| v * 3 + 1)), words(&x.map(|v| v + 1))])?;

    let mut outputs = vec![vec![1; 3]; 5];
    d.clear_upload_resident_many_sequence_read_many_into(&[(a, 16)], &[], &steps, &[b], &mut outputs)?;
    same("cleared", outputs, vec![words(&[4; 4])])?;
    let part = [range(b, 4, 4), range(a, 1, 3)];
    same("ranges", d.dispatch_resident_sequence_read_ranges(&steps, &part)?, vec![words(&[10]), vec![0; 3]])?;
    let whole = d.dispatch_resident_sequence_read_many(&steps, &[a])?;
    same("whole", whole, vec![words(&[6; 4])])?;
    let uploads = [(a, one.as_slice())];
    let whole = d.upload_resident_many_sequence_read_many(&uploads, &steps, &[a])?;
    same("uploaded", whole, vec![words(&[11, 8, 8, 8])])?;
    let part = [range(a, 0, 8)];
    let read = d.upload_resident_many_sequence_read_ranges(&uploads, &steps, &part)?;
    same("uploaded, ranges", read, vec![words(&[11, 10])])?;
    let mut outputs = Vec::new();
    d.fill_upload_resident_many_sequence_read_ranges_into(&[(a, 3, 2)], &[], &[], &part, &mut outputs)?;
    same("filled, ranges", outputs, vec![words(&[0x0002_0202, 10])])?;
    d.dispatch_resident(&increment, &only, None)?;
    d.dispatch_resident_sequence(&steps[..1])?;
    same("stepped", d.read_resident(a)?, words(&[0x0002_0204, 12, 12, 12]))?;
    d.free_resident(a)?;
    Ok(d.free_resident(b)?)
}

fn leading_bytes(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let (x, large, small) = (d.alloc_resident(8)?, d.alloc_resident(20)?, d.alloc_resident(4)?);
    d.upload_resident(large, &[9; 20])?;
    let triple = triple()?;
    d.dispatch_resident(&triple, &[x, large], None)?;
    same(
        "beyond the declared",
        d.read_resident(large)?,
        words(&[1, 1, 0x0909_0909, 0x0909_0909, 0x0909_0909]),
    )?;
    let short = d.dispatch_resident(&triple, &[x, small], None);
    refusal("too short", short, |e| {
        matches!(e, DispatchError::Step { step: 0, source: BackendError::Launch(_), .. })
    })?;
    for handle in [x, large, small] {
        d.free_resident(handle)?;
    }
    Ok(())
}

fn reuse(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let x = d.alloc_resident(64)?;
    let mut outputs = vec![Vec::with_capacity(100), Vec::with_capacity(100)];
    let before: Vec<*const u8> = outputs.iter().map(Vec::as_ptr).collect();
    let whole = [range(x, 0, 64), range(x, 3, 5)];
    d.read_resident_ranges_into(&whole, &mut outputs)?;
    d.upload_resident_many_sequence_read_ranges_into(&[(x, &[1])], &[], &whole, &mut outputs)?;
    d.upload_resident_many_sequence_read_many_into(&[(x, &[2; 3])], &[], &[x, x], &mut outputs)?;
    let after: Vec<*const u8> = outputs.iter().map(Vec::as_ptr).collect();
    same("memory", after, before)?;
    same(
        "bytes",
        outputs.iter().map(|o| (o.len(), o.iter().map(|&b| u32::from(b)).sum())).collect(),
        vec![(64, 6_u32), (64, 6)],
    )?;
    Ok(d.free_resident(x)?)
}

fn refused(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let (increment, triple) = (increment()?, triple()?);
    let x = d.alloc_resident(8)?;
    let (once, twice) = ([x], [x, x]);
    let good = ResidentDispatchStep { program: &increment, handles: &once, grid_override: None };
    let mut outputs = Vec::new();
    let mut run = |bad| {
        let (steps, fill) = ([good, bad], [(x, 8, 9)]);
        d.fill_upload_resident_many_sequence_read_many_into(&fill, &[], &steps, &[x], &mut outputs)
    };
    let unbound = ResidentDispatchStep { handles: &twice, ..good };
    refusal("two handles for one buffer", run(unbound), |e| {
        matches!(
            e,
            DispatchError::Step { step: 1, source: BackendError::BindingCount { needs: 1, got: 2 }, .. }
        )
    })?;
    let aliased = ResidentDispatchStep { program: &triple, handles: &twice, grid_override: None };
    refusal("one buffer read and written", run(aliased), |e| {
        matches!(e, DispatchError::Step { step: 1, source: BackendError::Aliasing { .. }, .. })
    })?;
    let grid = ResidentDispatchStep { grid_override: Some([1; 3]), ..good };
    refusal("a grid for a domain", run(grid), |e| matches!(e, DispatchError::Step { step: 1, .. }))?;
    same("untouched", d.read_resident(x)?, vec![0; 8])?;
    Ok(d.free_resident(x)?)
}

fn fault(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let trap = Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| k.if_(x.load(i).eq(5), || k.trap(77, i)));
    })?;
    let x = d.alloc_resident(12)?;
    d.upload_resident(x, &words(&[1, 5, 2]))?;
    refusal("a trap", d.dispatch_resident(&trap, &[x], None), |e| {
        matches!(e.backend(), Some(BackendError::Trap { code: 77, address: 1, .. }))
    })?;
    same("the buffer after it", d.read_resident(x)?, words(&[1, 5, 2]))?;
    Ok(d.free_resident(x)?)
}

fn bad_handles(d: &dyn OptimizerDispatcher, other: &dyn OptimizerDispatcher) -> Outcome {
    let increment = increment()?;
    let (theirs, gone, x) = (other.alloc_resident(4)?, d.alloc_resident(4)?, d.alloc_resident(4)?);
    d.free_resident(gone)?;
    for (handle, problem) in
        [(theirs, "foreign"), (gone, "freed"), (x + 1, "foreign"), (0, "foreign"), (u64::MAX, "foreign")]
    {
        let named = Err(DispatchError::Handle { handle, problem });
        same("read", d.read_resident(handle).map(drop), named.clone())?;
        same("range", d.read_resident_ranges(&[range(handle, 0, 0)]).map(drop), named.clone())?;
        same("upload", d.upload_resident_many(&[(x, &[1]), (handle, &[1])]), named.clone())?;
        same("step", d.dispatch_resident(&increment, &[handle], None), named.clone())?;
        same("free", d.free_resident(handle), named)?;
    }
    same("untouched", d.read_resident(x)?, vec![0; 4])?;
    other.free_resident(theirs)?;
    Ok(d.free_resident(x)?)
}

fn ranges(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let x = d.alloc_resident(10)?;
    let out_of = |e: &DispatchError| matches!(e, DispatchError::Range { len: 10, .. });
    refusal("upload", d.upload_resident(x, &[0; 11]), out_of)?;
    refusal("read", d.read_resident_ranges(&[range(x, 0, 10), range(x, 6, 5)]), out_of)?;
    refusal("overflow", d.read_resident_ranges(&[range(x, usize::MAX, 2)]), out_of)?;
    let mut outputs = Vec::new();
    let clears = [(x, 11)];
    let cleared = d.clear_upload_resident_many_sequence_read_many_into(&clears, &[], &[], &[x], &mut outputs);
    refusal("clear", cleared, out_of)?;
    Ok(d.free_resident(x)?)
}

fn statics(d: &dyn OptimizerDispatcher, other: &dyn OptimizerDispatcher) -> Outcome {
    let (one, two): (&[u8], &[u8]) = (&[1, 2, 3, 4, 5], &[9; 8]);
    let first = d.acquire_resident_static_uploads(1, &[one, two, one])?;
    let second = d.acquire_resident_static_uploads(1, &[two, &[]])?;
    let apart = d.acquire_resident_static_uploads(2, &[two])?;
    let [a, b, c] = *first.handles() else { return Err("not three handles".into()) };
    same("equal payloads", (a == c, a == b, second.handles().first() == Some(&b)), (true, false, true))?;
    same("another domain", apart.handles() == [b], false)?;
    same("bytes", d.read_resident_many(&[a, b])?, vec![one.to_vec(), two.to_vec()])?;
    same("no bytes", d.read_resident_many(&second.handles()[1..])?, vec![Vec::new()])?;
    d.release_resident_static_uploads(first)?;
    let gone = d.read_resident(a);
    refusal("nobody has it", gone, |e| matches!(e, DispatchError::Handle { problem: "freed", .. }))?;
    same("the second set has it", d.read_resident(b)?, two.to_vec())?;
    let foreign = other.acquire_resident_static_uploads(1, &[one])?;
    let by_name = foreign.handles().to_vec();
    let Err(DispatchError::ForeignSet { set }) = d.release_resident_static_uploads(foreign) else {
        return Err("a foreign set was released, or refused as something else".into());
    };
    same("still theirs", other.read_resident_many(&by_name)?, vec![one.to_vec()])?;
    let Some(back) = set.take() else { return Err("the foreign set is gone".into()) };
    same("given back once", set.clone().take().is_none(), true)?;
    other.release_resident_static_uploads(back)?;
    let gone = other.read_resident_many(&by_name);
    refusal("released at home", gone, |e| matches!(e, DispatchError::Handle { problem: "freed", .. }))?;
    d.release_resident_static_uploads(second)?;
    let gone = d.read_resident(b);
    refusal("nor this", gone, |e| matches!(e, DispatchError::Handle { problem: "freed", .. }))?;
    let again = d.acquire_resident_static_uploads(1, &[one, two])?;
    same("uploaded anew", d.read_resident_many(again.handles())?, vec![one.to_vec(), two.to_vec()])?;
    d.release_resident_static_uploads(again)?;
    Ok(d.release_resident_static_uploads(apart)?)
}

fn immutable(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    let (triple, increment) = (triple()?, increment()?);
    let payload = words(&[1, 2]);
    let set = d.acquire_resident_static_uploads(7, &[&payload])?;
    let [x] = *set.handles() else { return Err("not one handle".into()) };
    let out = d.alloc_resident(8)?;
    let kept = |e: &DispatchError| matches!(e, DispatchError::Immutable { .. });
    refusal("upload", d.upload_resident(x, &[0]), kept)?;
    refusal("free", d.free_resident(x), kept)?;
    refusal("bound writable", d.dispatch_resident(&increment, &[x], None), kept)?;
    let mut outputs = Vec::new();
    let clear = d.clear_upload_resident_many_sequence_read_many_into(&[(x, 1)], &[], &[], &[x], &mut outputs);
    refusal("clear", clear, kept)?;
    d.dispatch_resident(&triple, &[x, out], None)?;
    same("bound to be read", d.read_resident_many(&[x, out])?, vec![payload, words(&[4, 7])])?;
    d.free_resident(out)?;
    Ok(d.release_resident_static_uploads(set)?)
}

fn nothing(d: &dyn OptimizerDispatcher, _: &dyn OptimizerDispatcher) -> Outcome {
    same("reads", d.read_resident_many(&[])?, vec![])?;
    same("buffers", d.alloc_resident_many(&[])?, vec![])?;
    d.dispatch_resident_sequence(&[])?;
    let set = d.acquire_resident_static_uploads(0, &[])?;
    same("handles", set.handles().len(), 0)?;
    Ok(d.release_resident_static_uploads(set)?)
}
