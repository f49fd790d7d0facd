//! What a list comes to: steps to encode, in order.

use super::plan::BufferIndex;
use crate::builtin;
use vyre_driver::BackendError;

/// Commands that one list may encode, repetitions counted as often as they run: above it, the recording
/// alone would take gigabytes of host memory.
const MOST: u64 = 1 << 23;

/// One thing to encode.
#[derive(Debug)]
pub(super) enum Step {
    /// Copies a staged part.
    Upload { part: usize, to: BufferIndex, offset: u64 },
    /// Writes zeros; offset and length are multiples of 4.
    Clear { to: BufferIndex, offset: u64, len: u64 },
    /// Copies between two different buffers; offsets and length are multiples of 4.
    Copy { from: BufferIndex, from_offset: u64, to: BufferIndex, offset: u64, len: u64 },
    /// Runs a planned launch several times.
    Dispatch { launch: usize, times: u64 },
    /// Runs a planned launch, with workgroup counts from the beginning of a buffer.
    Indirect { launch: usize, counts: BufferIndex },
    /// Runs one of the backend's own kernels.
    Builtin(Box<builtin::Step>),
    /// Copies into a part of the readback.
    Read { part: usize, from: BufferIndex, offset: u64 },
    /// Encodes the next `len` steps `times` times.
    Repeat { len: usize, times: u32 },
}

/// The steps of a list.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    /// Up to here nothing is merged with what follows: repetitions end there.
    sealed: usize,
}

/// Where a repetition began, and what was sealed then.
#[derive(Debug)]
pub(super) struct Mark {
    start: usize,
    sealed: usize,
}

impl Steps {
    pub(super) fn with_capacity(steps: usize) -> Self {
        Self { steps: Vec::with_capacity(steps), sealed: 0 }
    }

    pub(super) fn as_slice(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Adds a run of a launch, to the last step if that runs it, too.
    pub(super) fn dispatch(&mut self, launch: usize) {
        self.dispatches(launch, 1);
    }

    fn dispatches(&mut self, launch: usize, runs: u64) {
        let open = self.steps.len() > self.sealed;
        match self.steps.last_mut() {
            Some(Step::Dispatch { launch: last, times }) if open && *last == launch => *times += runs,
            _ => self.steps.push(Step::Dispatch { launch, times: runs }),
        }
    }

    /// Begins a repetition.
    pub(super) fn begin(&mut self) -> Mark {
        let mark = Mark { start: self.steps.len(), sealed: self.sealed };
        self.steps.push(Step::Repeat { len: 0, times: 0 });
        self.sealed = self.steps.len();
        mark
    }

    /// Ends the repetition that began at `mark`: what has been added since runs `times` times.
    pub(super) fn end(&mut self, mark: Mark, times: u32) {
        let Mark { start, sealed } = mark;
        let len = self.steps.len().saturating_sub(start + 1);
        if times == 0 || len == 0 {
            self.steps.truncate(start);
            self.sealed = sealed;
            return;
        }
        match self.steps.last() {
            // One launch over and over is no more than more runs of it.
            Some(&Step::Dispatch { launch, times: runs }) if len == 1 => {
                self.steps.truncate(start);
                self.sealed = sealed;
                self.dispatches(launch, runs.saturating_mul(u64::from(times)));
            }
            _ => {
                if let Some(step) = self.steps.get_mut(start) {
                    *step = Step::Repeat { len, times };
                }
                self.sealed = self.steps.len();
            }
        }
    }

    /// How often each of `launches` planned launches runs.
    pub(super) fn runs(&self, launches: usize) -> Vec<u64> {
        let mut runs = vec![0; launches];
        add_runs(&self.steps, 1, &mut runs);
        runs
    }

    /// Refuses a list that would take too much memory to record.
    ///
    /// # Errors
    /// [`BackendError::Limit`].
    pub(super) fn check(&self) -> Result<(), BackendError> {
        let value = count(&self.steps);
        if value <= MOST {
            return Ok(());
        }
        let what = "the number of commands of a list, repetitions counted".to_owned();
        Err(BackendError::Limit { what, value, limit: MOST })
    }
}

/// Adds how often the steps run each launch. Repetitions nest as deep as the contract allows, and no deeper.
fn add_runs(mut steps: &[Step], by: u64, runs: &mut [u64]) {
    while let Some((step, rest)) = steps.split_first() {
        steps = rest;
        match *step {
            Step::Repeat { len, times } => {
                let (body, after) = rest.split_at(len.min(rest.len()));
                steps = after;
                add_runs(body, by.saturating_mul(u64::from(times)), runs);
            }
            Step::Dispatch { launch, times } => {
                if let Some(runs) = runs.get_mut(launch) {
                    *runs = runs.saturating_add(times.saturating_mul(by));
                }
            }
            _ => {}
        }
    }
}

/// How many commands the steps encode. Repetitions nest as deep as the contract allows, and no deeper.
fn count(mut steps: &[Step]) -> u64 {
    let mut total = 0_u64;
    while let Some((step, rest)) = steps.split_first() {
        let commands = match *step {
            Step::Repeat { len, times } => {
                let (body, after) = rest.split_at(len.min(rest.len()));
                steps = after;
                total = total.saturating_add(count(body).saturating_mul(u64::from(times)));
                continue;
            }
            Step::Dispatch { times, .. } => times,
            _ => 1,
        };
        total = total.saturating_add(commands);
        steps = rest;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short form: `d0*3` is three runs of launch 0, `c` a clear, `(…)*n` a repetition.
    fn show(steps: &[Step]) -> String {
        let mut out = Vec::new();
        let mut rest = steps;
        while let Some((step, after)) = rest.split_first() {
            rest = after;
            out.push(match *step {
                Step::Dispatch { launch, times } => format!("d{launch}*{times}"),
                Step::Clear { .. } => "c".to_owned(),
                Step::Repeat { len, times } => {
                    let (body, after) = after.split_at(len);
                    rest = after;
                    format!("({})*{times}", show(body))
                }
                _ => "?".to_owned(),
            });
        }
        out.join(" ")
    }

    const CLEAR: Step = Step::Clear { to: 0, offset: 0, len: 4 };

    #[test]
    fn runs_of_one_launch_are_one_step() {
        let mut steps = Steps::default();
        for launch in [0, 0, 1, 1, 1, 0] {
            steps.dispatch(launch);
        }
        steps.push(CLEAR);
        steps.dispatch(0);
        assert_eq!(show(steps.as_slice()), "d0*2 d1*3 d0*1 c d0*1");
    }

    #[test]
    fn a_repeated_launch_joins_its_neighbours_and_other_repetitions_do_not() {
        let mut steps = Steps::default();
        steps.dispatch(0);
        let outer = steps.begin();
        let inner = steps.begin();
        steps.dispatch(0);
        steps.dispatch(0);
        steps.end(inner, 5);
        steps.dispatch(0);
        steps.end(outer, 3);
        steps.dispatch(0);
        assert_eq!(show(steps.as_slice()), "d0*35");

        let mut steps = Steps::default();
        let outer = steps.begin();
        steps.push(CLEAR);
        steps.dispatch(0);
        let inner = steps.begin();
        steps.dispatch(1);
        steps.push(CLEAR);
        steps.end(inner, 2);
        steps.end(outer, 4);
        steps.dispatch(0);
        assert_eq!(show(steps.as_slice()), "(c d0*1 (d1*1 c)*2)*4 d0*1");
        assert_eq!(count(steps.as_slice()), 4 * (2 + 2 * 2) + 1);
        assert_eq!(steps.runs(3), [5, 8, 0]);
    }

    #[test]
    fn nothing_is_left_of_what_never_runs() {
        let mut steps = Steps::default();
        let outer = steps.begin();
        steps.push(CLEAR);
        steps.end(outer, 0);
        let empty = steps.begin();
        steps.end(empty, 7);
        assert_eq!(show(steps.as_slice()), "");
    }

    #[test]
    fn too_many_commands_are_refused() {
        let mut steps = Steps::default();
        let outer = steps.begin();
        steps.push(CLEAR);
        steps.dispatch(0);
        steps.end(outer, u32::MAX);
        let refused = steps.check().unwrap_err();
        assert!(matches!(refused, BackendError::Limit { value, .. } if value == 2 * u64::from(u32::MAX)));
    }
}
