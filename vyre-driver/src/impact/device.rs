//! The same decision as programs on a device.

use vyre_foundation::build::{BuildError, Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::{Impact, RuleChange};
use crate::BackendError;
use crate::optimizer::{DispatchError, OptimizerDispatcher, ResidentDispatchStep};

/// Rounds of one submission. A closure that is complete earlier runs the others for nothing, one that takes
/// longer reads a word back between submissions.
const ROUNDS: u32 = 16;

/// [`RuleChange::impact`] on the dispatcher's device, with the same answer. Cells stay on the device from the
/// first kernel to the last; what the host sees is a count after every few rounds, and one word for each entry.
///
/// # Errors
/// [`DispatchError::Backend`] with [`BackendError::WrongLength`] as there, and everything that a dispatch can
/// fail with.
pub fn impacted_by_program(
    dispatcher: &dyn OptimizerDispatcher,
    change: &RuleChange<'_>,
    lineage: &[u32],
) -> Result<Impact, DispatchError> {
    change
        .check()
        .map_err(|source| DispatchError::Backend { doing: "checking a change of rules", source })?;
    let rules = change.intervention_mask;
    let (set, relation) = (size_of_val(rules), size_of_val(change.rule_adj));
    let lens = [set, set, relation, set, 4, size_of_val(lineage), size_of_val(lineage)];
    let handles = dispatcher.alloc_resident_many(&lens)?;
    let result = match *handles.as_slice() {
        [from, to, cells, hit, added, rule_of, goes] => {
            Device { dispatcher, from, to, cells, hit, added, rule_of, goes }.run(change, lineage)
        }
        _ => {
            let message = format!("{} buffers were given for {}", handles.len(), lens.len());
            let source = BackendError::Driver { doing: "allocating a group of buffers", message };
            Err(DispatchError::Backend { doing: "deciding on an impact", source })
        }
    };
    // All are freed, whatever fails. The first error is the one to report: a free that fails after it fails for
    // the same reason.
    let freed: Vec<_> = handles.into_iter().map(|handle| dispatcher.free_resident(handle)).collect();
    let freed: Result<(), DispatchError> = freed.into_iter().collect();
    let impact = result?;
    freed.map(|()| impact)
}

/// The buffers, each of words.
struct Device<'a> {
    dispatcher: &'a dyn OptimizerDispatcher,
    /// The rules that are reached. Rounds go from one of the two to the other.
    from: u64,
    to: u64,
    /// The relation in use.
    cells: u64,
    /// The impacted rules, then those whose entries go.
    hit: u64,
    /// How many rules the rounds of a submission have added.
    added: u64,
    rule_of: u64,
    goes: u64,
}

impl Device<'_> {
    fn run(&self, change: &RuleChange<'_>, lineage: &[u32]) -> Result<Impact, DispatchError> {
        let (mask, lineage) = (bytes(change.intervention_mask), bytes(lineage));
        self.dispatcher.upload_resident_many(&[(self.from, &mask), (self.rule_of, &lineage)])?;
        let forward = built(round("impact_forward", |i, j, n| i * n + j))?;
        let (impacted, is_forward_closed) = self.close(&forward, self.from, change.rule_adj, change)?;
        let union = built(union())?;
        let keep = [self.hit, impacted];
        self.dispatcher.dispatch_resident(&union, &keep, None)?;
        let backward = built(round("impact_backward", |i, j, n| j * n + i))?;
        let (leading, is_backward_closed) = self.close(&backward, impacted, change.join_rules, change)?;
        let (meet, mark) = (built(meet())?, built(mark())?);
        let state = bytes(change.state);
        let goes = self.dispatcher.upload_resident_many_sequence_read_many(
            &[(self.cells, &state)],
            &[
                step(&meet, &[leading, self.cells, self.hit]),
                step(&mark, &[self.hit, self.rule_of, self.goes]),
            ],
            &[self.goes],
        )?;
        let goes = goes.iter().flat_map(|words| words.chunks_exact(4)).map(|word| word != [0; 4]).collect();
        Ok(Impact { goes, is_closed: is_forward_closed && is_backward_closed })
    }

    /// Closes the set in `start`, one of `from` and `to`, over a relation. Gives the one of the two that has
    /// the result, and whether a further round would add nothing.
    fn close(
        &self,
        round: &Checked<Program>,
        start: u64,
        relation: &[u32],
        change: &RuleChange<'_>,
    ) -> Result<(u64, bool), DispatchError> {
        let mut current = start;
        let relation = bytes(relation);
        // Every round adds its source to its target, so what the target had from before must be in the source:
        // the other of the two starts empty.
        let mut clears = vec![(self.other(start), size_of_val(change.intervention_mask))];
        let mut uploads: Vec<(u64, &[u8])> = vec![(self.cells, &relation)];
        let mut left = change.max_iterations;
        loop {
            // With no rounds left, one more tells whether it would add a rule; its target is not used.
            let rounds = left.clamp(1, ROUNDS);
            let pairs: Vec<[u64; 4]> = (0..rounds)
                .scan(current, |from, _| {
                    let to = self.other(*from);
                    Some([std::mem::replace(from, to), self.cells, to, self.added])
                })
                .collect();
            let steps: Vec<_> = pairs.iter().map(|handles| step(round, handles)).collect();
            clears.push((self.added, 4));
            let mut added = Vec::new();
            self.dispatcher.clear_upload_resident_many_sequence_read_many_into(
                &clears,
                &uploads,
                &steps,
                &[self.added],
                &mut added,
            )?;
            (clears, uploads) = (Vec::new(), Vec::new());
            let is_closed = added.iter().flatten().all(|&byte| byte == 0);
            if left == 0 || is_closed {
                return Ok((current, is_closed));
            }
            current = if rounds.is_multiple_of(2) { current } else { self.other(current) };
            left -= rounds;
        }
    }

    fn other(&self, set: u64) -> u64 {
        if set == self.from { self.to } else { self.from }
    }
}

fn step<'a>(program: &'a Checked<Program>, handles: &'a [u64]) -> ResidentDispatchStep<'a> {
    ResidentDispatchStep { program, handles, grid_override: None }
}

/// One round of a closure: to the rules of `to`, adds those of `from` and all that one edge reaches from them.
/// `cell` places the edge from i to j of n rules. `added` counts the rules that are in `to` now and not in
/// `from`, provided that `to` was a part of `from` before.
fn round(
    name: &str,
    cell: for<'k> fn(Val<'k, u32>, Val<'k, u32>, Val<'k, u32>) -> Val<'k, u32>,
) -> Result<Checked<Program>, BuildError> {
    Kernel::build(name, |k| {
        let from = k.read_only::<u32>("from");
        let n = from.len();
        let cells = k.read_only::<u32>("cells").with_len(n.extent() * n.extent());
        let to = k.read_write::<u32>("to").with_len(n);
        let added = k.read_write::<u32>("added").with_len(1_u64);
        k.domain([n, n], |[j, i]| {
            k.if_(from.load(i).ne(0), || {
                k.if_(i.eq(j) | cells.load(cell(i, j, n)).ne(0), || {
                    let before = to.atomic_or(j, 1);
                    k.if_(before.eq(0) & from.load(j).eq(0), || {
                        added.atomic_add(0_u32, 1);
                    });
                });
            });
        });
    })
}

/// Adds the rules of `more` to those of `set`.
fn union() -> Result<Checked<Program>, BuildError> {
    Kernel::build("impact_union", |k| {
        let set = k.read_write::<u32>("rules");
        let more = k.read_only::<u32>("more").with_len(set.len());
        k.domain([set.len()], |[r]| set.store(r, set.load(r) | more.load(r)));
    })
}

/// Adds to `hit` the rules whose row of `state` has a rule of `leading`.
fn meet() -> Result<Checked<Program>, BuildError> {
    Kernel::build("impact_meet", |k| {
        let leading = k.read_only::<u32>("leading");
        let n = leading.len();
        let state = k.read_only::<u32>("state").with_len(n.extent() * n.extent());
        let hit = k.read_write::<u32>("hit").with_len(n);
        k.domain([n, n], |[d, r]| {
            k.if_(leading.load(d).ne(0), || {
                k.if_(state.load(r * n + d).ne(0), || {
                    hit.atomic_or(r, 1);
                });
            });
        });
    })
}

/// Looks each entry's rule up; out of bounds there is 0, which is what an untracked entry gets.
fn mark() -> Result<Checked<Program>, BuildError> {
    Kernel::build("impact_mark", |k| {
        let hit = k.read_only::<u32>("hit");
        let rule_of = k.read_only::<u32>("rule_of");
        let goes = k.write_only::<u32>("goes", rule_of.len());
        k.domain([rule_of.len()], |[entry]| goes.store(entry, hit.load(rule_of.load(entry))));
    })
}

/// A program of this module; that one does not build is a fault of this module or of the checker.
fn built(program: Result<Checked<Program>, BuildError>) -> Result<Checked<Program>, DispatchError> {
    program.map_err(|error| {
        let diagnostics = error.findings().iter().map(|finding| finding.diagnostic.clone()).collect();
        let source = BackendError::InvalidProgram { diagnostics };
        DispatchError::Backend { doing: "building a program of the impact analysis", source }
    })
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
