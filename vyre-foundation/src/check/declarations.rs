//! Declarations and the launch.
//!
//! * A buffer that the program only writes has a count known before the launch, not its bound bytes.
//! * A coherent buffer is one that the program may write.
//! * Counts that refer to other buffers' lengths do so without a cycle.
//! * Extents read integer parameters only.
//! * Arrays have at least one element, and all arrays of a kind together less than 4 GiB.
//! * Workgroup sizes are at least 1 and their product fits a `u32`; a domain has 1 to 3 axes, and the
//!   extents of axes that it does not name are 1.
//! * Workgroup counts come from a buffer of `u32` that the program does not write.
//! * Shared arrays belong to workgroup launches.

use vyre_spec::{Access, Axis, DataType};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Array, BufferId, Count, Extent, ExtentId, Launch, ParamId, PrivateId, Program, SharedId};

pub(crate) fn check(program: &Program, findings: &mut Vec<Diagnostic>) {
    let float_params = float_params(program);
    launch(program, &float_params, findings);
    counts(program, &float_params, findings);
    coherent(program, findings);
    let shared = (0..).zip(program.shared()).map(|(i, x)| (Site::Shared(SharedId::new(i)), x));
    arrays("shared", shared, findings);
    let privates = (0..).zip(program.privates()).map(|(i, x)| (Site::Private(PrivateId::new(i)), x));
    arrays("private", privates, findings);
}

fn launch(program: &Program, float_params: &[Option<ParamId>], findings: &mut Vec<Diagnostic>) {
    let mut report = |message: String, help: &str| {
        findings.push(Diagnostic::new(Code::BadLaunch, Site::Program, message).with_help(help));
    };
    match program.launch() {
        Launch::Domain { extent, axes } => {
            if !(1..=3).contains(&axes) {
                report(format!("a domain of {axes} axes"), "give it one to three axes");
            }
            for axis in Axis::ALL.into_iter().skip(usize::from(axes)) {
                if *program.extent(extent[axis.index()]) != Extent::Literal(1) {
                    let message = format!("the domain's {} axis has an extent but is not named", axis.name());
                    report(message, "name the axis, or make its extent 1");
                }
            }
        }
        Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } => {
            for axis in Axis::ALL {
                if size[axis.index()] == 0 {
                    let message = format!("the workgroup size is 0 on the {} axis", axis.name());
                    report(message, "give every axis a size of at least 1");
                }
            }
            if workgroup_invocations(size).is_none() {
                report("a workgroup has more than 2^32 - 1 invocations".into(), "make it smaller");
            }
        }
    }
    if let Launch::Indirect { counts, .. } = program.launch() {
        let buffer = program.buffer(counts);
        if buffer.element != DataType::U32 || buffer.access.is_output() {
            let message = format!(
                "the workgroup counts come from buffer `{}`, {} {}",
                buffer.name,
                Access::name(buffer.access),
                buffer.element
            );
            findings.push(Diagnostic::new(Code::BadLaunch, Site::Buffer(counts), message).with_help(
                "take them from a readonly or uniform buffer of u32, whose first three elements they are",
            ));
        }
    }
    let mut wrong: Vec<_> =
        program.launch().extents().iter().flatten().filter_map(|x| float_params[x.index()]).collect();
    wrong.dedup();
    for param in wrong {
        findings.push(not_integer(program, param, Site::Program, Code::BadLaunch));
    }
    if let Launch::Domain { .. } = program.launch() {
        for (i, array) in (0..).zip(program.shared()) {
            let message = format!("shared array `{}` in a domain launch", array.name);
            findings.push(
                Diagnostic::new(Code::LaunchKind, Site::Shared(SharedId::new(i)), message)
                    .with_help("a domain has no workgroups: launch workgroups, or use a private array"),
            );
        }
    }
}

/// The invocations of a workgroup, if a `u32` holds them.
pub(crate) fn workgroup_invocations(size: [u32; 3]) -> Option<u32> {
    size.into_iter().try_fold(1u32, u32::checked_mul)
}

/// For each extent, a parameter among its operands, direct or not, that is no integer.
fn float_params(program: &Program) -> Vec<Option<ParamId>> {
    let mut found: Vec<Option<ParamId>> = Vec::with_capacity(program.extents().len());
    for extent in program.extents() {
        let own = match *extent {
            Extent::Param(id) if !program.param(id).ty.is_int() => Some(id),
            _ => None,
        };
        let operands = extent.operands().into_iter().flatten();
        found.push(own.or_else(|| operands.into_iter().find_map(|x| found[x.index()])));
    }
    found
}

fn not_integer(program: &Program, param: ParamId, site: Site, code: Code) -> Diagnostic {
    let declaration = program.param(param);
    let message = format!("an extent reads parameter `{}`, of type {}", declaration.name, declaration.ty);
    Diagnostic::new(code, site, message)
        .with_related(Site::Param(param), "declared here")
        .with_help("extents are integers: make the parameter a u32")
}

fn counts(program: &Program, float_params: &[Option<ParamId>], findings: &mut Vec<Diagnostic>) {
    for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
        match buffer.count {
            Count::Bytes if buffer.access == Access::WriteOnly => {
                let message =
                    format!("the count of write-only buffer `{}` is unknown at launch", buffer.name);
                findings.push(Diagnostic::new(Code::BadCount, Site::Buffer(id), message).with_help(
                    "nothing is bound to it: give its count as an extent, such as `[len(input)]`",
                ));
            }
            Count::Bytes => {}
            Count::Extent(root) => {
                if let Some(param) = float_params[root.index()] {
                    findings.push(not_integer(program, param, Site::Buffer(id), Code::BadCount));
                }
            }
        }
    }
    cycles(program, findings);
}

fn coherent(program: &Program, findings: &mut Vec<Diagnostic>) {
    for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
        if buffer.coherent && !buffer.access.is_output() {
            let message = format!("`{}` is coherent, but it is `{}`", buffer.name, buffer.access.name());
            findings.push(
                Diagnostic::new(Code::Access, Site::Buffer(id), message)
                    .with_help("nobody writes it while the program runs: leave `coherent` out"),
            );
        }
    }
}

/// A step of the search for cycles: what a count is made of.
#[derive(Clone, Copy)]
enum Step {
    Enter(BufferId),
    Leave(BufferId),
    EnterExtent(ExtentId),
    LeaveExtent(ExtentId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Reports each buffer whose count comes back to itself. Depth first over buffers and extents; what is open when it is
/// met again is on a cycle, which goes through the last buffer that was entered.
fn cycles(program: &Program, findings: &mut Vec<Diagnostic>) {
    let mut buffers = vec![Mark::New; program.buffers().len()];
    let mut extents = vec![Mark::New; program.extents().len()];
    let mut entered = Vec::new();
    let mut report = |id: BufferId| {
        let message = format!("the count of buffer `{}` depends on itself", program.buffer(id).name);
        findings.push(
            Diagnostic::new(Code::BadCount, Site::Buffer(id), message)
                .with_help("take one count of the cycle from the bound bytes or a parameter"),
        );
    };
    for start in program.buffer_ids() {
        let mut stack = vec![Step::Enter(start)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(id) => {
                    buffers[id.index()] = Mark::Done;
                    entered.pop();
                }
                Step::Enter(id) => match buffers[id.index()] {
                    Mark::Done => {}
                    Mark::Open => report(id),
                    Mark::New => {
                        buffers[id.index()] = Mark::Open;
                        entered.push(id);
                        stack.push(Step::Leave(id));
                        if let Count::Extent(root) = program.buffer(id).count {
                            stack.push(Step::EnterExtent(root));
                        }
                    }
                },
                Step::LeaveExtent(id) => extents[id.index()] = Mark::Done,
                Step::EnterExtent(id) => match extents[id.index()] {
                    Mark::Done => {}
                    Mark::Open => entered.last().copied().into_iter().for_each(&mut report),
                    Mark::New => {
                        extents[id.index()] = Mark::Open;
                        stack.push(Step::LeaveExtent(id));
                        let extent = program.extent(id);
                        stack.extend(extent.operands().into_iter().flatten().map(Step::EnterExtent));
                        if let Extent::Length(buffer) = *extent {
                            stack.push(Step::Enter(buffer));
                        }
                    }
                },
            }
        }
    }
}

fn arrays<'a>(kind: &str, arrays: impl Iterator<Item = (Site, &'a Array)>, findings: &mut Vec<Diagnostic>) {
    let mut total = 0u64;
    for (site, array) in arrays {
        if array.len == 0 {
            let message = format!("{kind} array `{}` has no element", array.name);
            findings.push(
                Diagnostic::new(Code::BadArray, site, message).with_help("give it a length of at least 1"),
            );
        }
        let before = total;
        total += u64::from(array.len) * u64::from(array.element.size().max(4));
        if before <= u64::from(u32::MAX) && total > u64::from(u32::MAX) {
            let message = format!("the {kind} arrays take {total} bytes up to `{}`", array.name);
            findings
                .push(Diagnostic::new(Code::Limit, site, message).with_help("keep them below 4 GiB in all"));
        }
    }
}
