//! The optimiser: passes from checked programs to checked programs of the same meaning.
//!
//! [`PASSES`] is the table; each pass is a file of its own that says what it does and why that is sound.
//! Passes rewrite through `rewrite::Rewriter` into a fresh arena, so what comes out is in normal form, and
//! it is checked again after each pass. All are linear and none recurses.

mod cse;
mod dce;
mod fold;
mod identities;
mod rewrite;
mod specialize;

#[cfg(test)]
mod tests;

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
        name: "cse",
        reason: "one read serves every use of a value that cannot have changed",
        after: &[("identities", "indices that are equal by a law are then one expression")],
        run: cse::run,
    },
    Pass {
        name: "dce",
        reason: "what nothing observes is not run",
        after: &[
            ("fold", "constant conditions decide which regions are dead"),
            ("cse", "reads that another read replaced are then unused"),
        ],
        run: dce::run,
    },
];

/// How often the table is run at most: each round can expose work for the next, and nearly all programs
/// settle in two.
const ROUNDS: usize = 4;

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
