//! How arrays are used, and constructs that belong to one kind of launch.
//!
//! * A `writeonly` buffer is not loaded; `readonly` and `uniform` buffers are not stored.
//! * Atomics, which read and write, work on `readwrite` buffers and shared arrays; tile ops on buffers and shared
//!   arrays.
//! * Domain launches offer `point` and `extent` and no barriers, fences for shared memory or subgroup ops; workgroup launches offer
//!   every other built-in value.

use vyre_spec::{Access, MemoryOrdering};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{BufferId, Expr, Launch, Node, NodeId, Place, Program, TileAction};

use super::Facts;
use super::facts::Usage;
use super::tree::{expr_ids, ids};

/// Checks access and launch kinds; notes how each array is used.
pub(crate) fn check(program: &Program, facts: &mut Facts, findings: &mut Vec<Diagnostic>) {
    facts.buffer_usage = vec![Usage::default(); program.buffers().len()];
    facts.shared_usage = vec![Usage::default(); program.shared().len()];
    facts.private_usage = vec![Usage::default(); program.privates().len()];
    let domain = matches!(program.launch(), Launch::Domain { .. });
    for (id, expr) in expr_ids(program) {
        let Expr::BuiltIn(built_in) = *expr else { continue };
        if built_in.name().0.starts_with("subgroup") {
            facts.has_subgroup = true;
        }
        if built_in.in_domain() != domain {
            let (kind, help) = if domain {
                ("a domain", "a domain has no workgroups: use `point`, or launch workgroups")
            } else {
                ("a workgroup", "use `global_id` and `workgroup_count`, or launch a domain")
            };
            findings.push(
                Diagnostic::new(
                    Code::LaunchKind,
                    Site::Expr(id),
                    format!("`{built_in}` does not exist in {kind} launch"),
                )
                .with_help(help),
            );
        }
    }
    for (id, node) in ids(program) {
        let what = match node {
            Node::Barrier { .. } => {
                facts.has_barrier = true;
                "a barrier"
            }
            Node::Subgroup { .. } => {
                facts.has_subgroup = true;
                "a subgroup op"
            }
            Node::Fence { ordering: MemoryOrdering::Storage, .. } => continue,
            Node::Fence { .. } => "a fence for shared memory",
            Node::Trap { .. } => {
                facts.has_trap = true;
                continue;
            }
            Node::Tile { .. } => {
                (facts.has_subgroup, facts.has_tiles) = (true, true);
                access(program, id, node, facts, findings);
                "a tile op"
            }
            _ => {
                access(program, id, node, facts, findings);
                continue;
            }
        };
        if domain {
            findings.push(
                Diagnostic::new(Code::LaunchKind, Site::Node(id), format!("{what} in a domain launch"))
                    .with_help("the points of a domain do not work together: launch workgroups"),
            );
        }
    }
}

fn access(program: &Program, id: NodeId, node: &Node, facts: &mut Facts, findings: &mut Vec<Diagnostic>) {
    let Some(place) = node.place() else { return };
    let usage = match place {
        Place::Buffer(buffer) => {
            buffer_access(program, id, node, buffer, findings);
            &mut facts.buffer_usage[buffer.index()]
        }
        Place::Shared(shared) => &mut facts.shared_usage[shared.index()],
        Place::Private(private) => {
            let odd = match node {
                Node::Atomic { .. } => Some("an atomic on"),
                Node::Tile { .. } => Some("a tile op on"),
                _ => None,
            };
            if let Some(odd) = odd {
                let name = &program.private_array(private).name;
                let message = format!("{odd} private array `{name}`");
                findings.push(
                    Diagnostic::new(Code::Access, Site::Node(id), message)
                        .with_related(Site::Private(private), "declared here")
                        .with_help(if matches!(node, Node::Atomic { .. }) {
                            "no other invocation sees it: load, change and store it"
                        } else {
                            "a subgroup does not share it: use a shared array"
                        }),
                );
            }
            &mut facts.private_usage[private.index()]
        }
    };
    match node {
        Node::Load { .. } | Node::Tile { action: TileAction::Load { .. }, .. } => usage.loaded = true,
        Node::Store { .. } | Node::Tile { .. } => usage.stored = true,
        _ => usage.atomic = true,
    }
}

fn buffer_access(
    program: &Program,
    id: NodeId,
    node: &Node,
    buffer: BufferId,
    findings: &mut Vec<Diagnostic>,
) {
    let declaration = program.buffer(buffer);
    let access = declaration.access;
    let (verb, allowed) = match node {
        Node::Load { .. } | Node::Tile { action: TileAction::Load { .. }, .. } => {
            ("loaded", access != Access::WriteOnly)
        }
        Node::Store { .. } | Node::Tile { .. } => ("stored", access.is_output()),
        _ => ("used atomically", access == Access::ReadWrite),
    };
    if !allowed {
        let message = format!("`{}` is {verb}, but it is `{}`", declaration.name, access.name());
        findings.push(
            Diagnostic::new(Code::Access, Site::Node(id), message)
                .with_related(Site::Buffer(buffer), "declared here")
                .with_help("declare it `readwrite`"),
        );
    }
}
