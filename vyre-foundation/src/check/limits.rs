//! Limits.
//!
//! * Control nests at most [`MAX_NESTING`] deep: shader compilers recurse over it.
//! * No table has more than [`MAX_TABLE`] entries, so that what later stages derive from them fits a `u32`.
//! * A trap's code is below the one that loop limits use.

use vyre_spec::TRAP_LOOP_LIMIT;

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Node, Program};

use super::tree::{Tree, ids};

/// How deep control may nest; the body itself is at depth 0.
pub const MAX_NESTING: u32 = 256;

/// How many expressions, nodes, regions, extents or declarations of one kind a program may have.
pub const MAX_TABLE: usize = 1 << 24;

pub(crate) fn check(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let tables = [
        ("buffers", program.buffers().len()),
        ("parameters", program.params().len()),
        ("shared arrays", program.shared().len()),
        ("private arrays", program.privates().len()),
        ("tiles", program.tiles().len()),
        ("variables", program.vars().len()),
        ("extents", program.extents().len()),
        ("expressions", program.exprs().len()),
        ("nodes", program.nodes().len()),
        ("regions", program.regions().len()),
    ];
    for (what, count) in tables.into_iter().filter(|&(_, count)| count > MAX_TABLE) {
        let message = format!("the program has {count} {what}, above the limit of {MAX_TABLE}");
        findings.push(
            Diagnostic::new(Code::Limit, Site::Program, message).with_help("split it into several programs"),
        );
    }
    for (id, node) in ids(program) {
        let depth = tree.depths[tree.node_regions[id.index()].index()];
        let (message, help) = match node {
            // Once, where the limit is passed, and not again for what is inside.
            Node::If { .. } | Node::For { .. } | Node::While { .. } if depth == MAX_NESTING => {
                let message = format!("control nests more than {MAX_NESTING} deep");
                (message, "combine conditions with `&`, or split the program")
            }
            Node::Trap { code: TRAP_LOOP_LIMIT, .. } => {
                let message = format!("trap code {TRAP_LOOP_LIMIT} is the one that loop limits use");
                (message, "use a smaller code")
            }
            _ => continue,
        };
        findings.push(Diagnostic::new(Code::Limit, Site::Node(id), message).with_help(help));
    }
}
