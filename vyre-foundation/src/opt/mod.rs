//! The optimiser: passes from checked programs to checked programs of the same meaning.
//!
//! [`PASSES`] is the table; each pass is a file of its own that says what it does and why that is sound.
//! Passes rewrite through `rewrite::Rewriter` into a fresh arena, so what comes out is in normal form, and
//! it is checked again after each pass. All are linear and none recurses.

mod barriers;
mod cse;
mod dce;
mod dead_stores;
mod fold;
mod forward;
mod identities;
mod if_convert;
mod licm;
mod rewrite;
mod scoped;
mod specialize;
mod strength;
mod unroll;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod validate;

use crate::check::{Checked, check_rewritten};
use crate::ir::{ArenaError, Program};

pub use specialize::specialize;

/// One pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// Why it is there.
    pub reason: &'static str,
    /// Passes that come earlier in a round, and why.
    pub after: &'static [(&'static str, &'static str)],
    run: fn(&Checked<Program>) -> Outcome,
}

/// What a pass makes of a program: nothing, if there was nothing for it to do.
type Outcome = Result<Option<Program>, ArenaError>;

impl Pass {
    /// Runs this pass alone.
    pub fn run(&self, program: &Checked<Program>) -> Checked<Program> {
        self.change(program).unwrap_or_else(|| program.clone())
    }

    /// The program as this pass changes it; `None` if it does not.
    fn change(&self, program: &Checked<Program>) -> Option<Checked<Program>> {
        let result = match (self.run)(program) {
            Ok(None) => return None,
            Ok(Some(same)) if same == **program => return None,
            Ok(Some(output)) => check_rewritten(output).ok(),
            Err(_) => None,
        };
        debug_assert!(result.is_some(), "pass `{}` made an unsound program of {:?}", self.name, **program);
        // A pass that fails is a defect, and the program as it was is still right.
        result
    }
}

const DCE: Pass = Pass {
    name: "dce",
    reason: "what nothing observes is not run",
    after: &[
        ("fold", "constant conditions decide which regions are dead"),
        ("cse", "reads that another read replaced are then unused"),
        ("licm", "a loop that lost its reads may be empty"),
        ("dead_stores", "what only dead stores used is then unused"),
    ],
    run: dce::run,
};

/// The passes, in the order in which a round runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "fold",
        reason: "what has only constants for operands is computed once, here",
        after: &[],
        run: fold::run,
    },
    Pass {
        name: "identities",
        reason: "the laws of the op rows make work vanish",
        after: &[("fold", "laws match constant operands, which folding makes")],
        run: identities::run,
    },
    Pass {
        name: "strength",
        reason: "a shift, mask or product is cheaper than a division",
        after: &[("fold", "divisors that are constants are found once they are computed")],
        run: strength::run,
    },
    Pass {
        name: "unroll",
        reason: "in a loop of few trips each trip has its own constants",
        after: &[
            ("fold", "bounds are constants once they are computed"),
            ("identities", "what a law shortens counts as short"),
        ],
        run: unroll::run,
    },
    Pass {
        name: "if_convert",
        reason: "a selection costs less than a short branch, and does not stop what follows",
        after: &[("fold", "a branch on a constant is no branch, so it is not converted")],
        run: if_convert::run,
    },
    Pass {
        name: "cse",
        reason: "one read serves every use of a value that cannot have changed",
        after: &[
            ("identities", "indices that are equal by a law are then one expression"),
            ("unroll", "in a row, each trip sees what the one before wrote"),
            ("if_convert", "what a branch writes is unknown after it, what a selection gives is not"),
        ],
        run: cse::run,
    },
    Pass {
        name: "forward",
        reason: "what was just stored need not be loaded",
        after: &[("cse", "indices that read the same variable are then one expression")],
        run: forward::run,
    },
    Pass {
        name: "licm",
        reason: "a read that gives the same in each trip is made once",
        after: &[("forward", "a load that is forwarded need not be moved")],
        run: licm::run,
    },
    Pass {
        name: "dead_stores",
        reason: "what is overwritten before a read was never needed",
        after: &[
            ("cse", "reads that another read replaced no longer keep a write alive"),
            ("forward", "loads that a store replaced no longer keep it alive"),
        ],
        run: dead_stores::run,
    },
    Pass {
        name: "barriers",
        reason: "a barrier that orders nothing makes a workgroup wait",
        after: &[
            ("forward", "with the loads between two barriers the second may go"),
            ("dead_stores", "with the stores between two barriers the second may go"),
        ],
        run: barriers::run,
    },
    DCE,
];

/// How often the table is run at most: each round can expose work for the next, and nearly all programs
/// settle in two.
const ROUNDS: usize = 4;

/// The program without what nothing observes, and as it is otherwise.
pub fn remove_dead_code(program: &Checked<Program>) -> Checked<Program> {
    DCE.run(program)
}

/// The program with every pass applied until nothing changes.
pub fn optimize(program: &Checked<Program>) -> Checked<Program> {
    let mut current = program.clone();
    // How many passes in turn had nothing to do; when all had, none would have.
    let mut idle = 0;
    for pass in PASSES.iter().cycle().take(ROUNDS * PASSES.len()) {
        match pass.change(&current) {
            Some(changed) => (current, idle) = (changed, 0),
            None => idle += 1,
        }
        if idle == PASSES.len() {
            break;
        }
    }
    current
}
