//! Speculative scans: a search for a pattern, whose prefilter compares first symbols.

use vyre_foundation::build::{BuildError, Kernel, ReadOnly, Val, Var};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::Report;
use super::case::{Outcome, report, same, words};
use crate::speculate::{
    AdaptiveSpeculator, CounterTail, SpeculationCounters, SpeculationPath, SpeculationPolicy,
    SpeculativeDispatchOutcome, SpeculativeDispatchPlan, TailProblem, dispatch_speculative,
};
use crate::{BackendError, DispatchConfig, OutputBuffers, SpeculationMode, VyreBackend};

type Case = fn(&dyn VyreBackend) -> Outcome;

const CASES: &[(&str, Case)] = &[
    ("all paths find the same", same_bytes),
    ("speculation stops where little commits, and comes back", adapts),
    ("a tail that cannot be is refused", bad_tails),
    ("the rest of the configuration holds on both paths", configured),
    ("threads share a speculator", threads),
];

/// Runs the cases on a backend.
pub fn speculation(backend: &dyn VyreBackend) -> Report {
    report(CASES.iter().map(|(name, case)| (*name, case(backend))))
}

/// The programs of the search.
struct Scan {
    prefilter: Checked<Program>,
    /// With its counts in a buffer of their own.
    fused: Checked<Program>,
    /// In one invocation, with its counts behind the positions.
    serial: Checked<Program>,
}

impl Scan {
    fn new() -> Result<Self, BuildError> {
        // 1 where the first symbol is the pattern's.
        let prefilter = Kernel::build("scan_prefilter", |k| {
            let (text, pattern) = (k.read_only::<u32>("text"), k.read_only::<u32>("pattern"));
            let found = k.write_only::<u32>("found", text.len());
            k.domain([text.len()], |[i]| {
                k.if_(text.load(i).eq(pattern.load(0_u32)), || found.store(i, 1));
            });
        })?;
        // 1 where all of the pattern is.
        let fused = Kernel::build("scan_fused", |k| {
            let (text, pattern) = (k.read_only::<u32>("text"), k.read_only::<u32>("pattern"));
            let found = k.write_only::<u32>("found", text.len());
            let counts = k.read_write::<u32>("counts").with_len(2_u64);
            k.domain([text.len()], |[i]| {
                k.if_(text.load(i).eq(pattern.load(0_u32)), || {
                    let hit = matches(k, text, pattern, i).get();
                    found.store(i, hit);
                    counts.atomic_add(1 - hit, 1);
                });
            });
        })?;
        let serial = Kernel::build("scan_serial", |k| {
            let (text, pattern) = (k.read_only::<u32>("text"), k.read_only::<u32>("pattern"));
            let found = k.write_only::<u32>("found", text.len().extent() + 2_u64);
            k.domain([1_u64], |_| {
                let (committed, rolled_back) = (k.var("committed", 0_u32), k.var("rolled_back", 0_u32));
                k.for_(0_u32, text.len(), |i| {
                    k.if_(text.load(i).eq(pattern.load(0_u32)), || {
                        let hit = matches(k, text, pattern, i).get();
                        found.store(i, hit);
                        committed.set(committed.get() + hit);
                        rolled_back.set(rolled_back.get() + 1 - hit);
                    });
                });
                found.store(text.len(), committed.get());
                found.store(text.len() + 1, rolled_back.get());
            });
        })?;
        Ok(Self { prefilter, fused, serial })
    }

    fn plans(&self) -> [SpeculativeDispatchPlan<'_>; 2] {
        let own = SpeculativeDispatchPlan::new(&self.fused, &self.prefilter).tail(CounterTail::Buffer);
        [own, SpeculativeDispatchPlan::new(&self.serial, &self.prefilter)]
    }
}

/// 1 if the pattern is at `i`, else 0.
fn matches<'k>(
    k: &'k Kernel,
    text: ReadOnly<'k, u32>,
    pattern: ReadOnly<'k, u32>,
    i: Val<'k, u32>,
) -> Var<'k, u32> {
    let hit = k.var("hit", (i + pattern.len()).le(text.len()).select(1_u32, 0_u32));
    k.for_(0_u32, pattern.len(), |j| {
        k.if_(text.load(i + j).ne(pattern.load(j)), || hit.set(0));
    });
    hit
}

/// A text, a pattern, and what a search of the host finds.
struct Search {
    text: Vec<u32>,
    pattern: Vec<u32>,
}

impl Search {
    fn is_at(&self, i: usize) -> bool {
        self.text.get(i..).is_some_and(|rest| rest.starts_with(&self.pattern))
    }

    /// The positions as the scan gives them.
    fn found(&self) -> OutputBuffers {
        let found = (0..self.text.len()).map(|i| u32::from(self.is_at(i)));
        vec![words(&found.collect::<Vec<_>>())]
    }

    /// Candidates that are confirmed, and those that are not.
    fn counts(&self) -> (u32, u32) {
        let candidates = self.text.iter().filter(|&symbol| Some(symbol) == self.pattern.first()).count();
        let confirmed = (0..self.text.len()).filter(|&i| self.is_at(i)).count();
        (confirmed as u32, (candidates - confirmed) as u32)
    }

    fn run(
        &self,
        backend: &dyn VyreBackend,
        speculator: &AdaptiveSpeculator,
        counters: &SpeculationCounters,
        plan: SpeculativeDispatchPlan<'_>,
        mode: SpeculationMode,
    ) -> Result<SpeculativeDispatchOutcome, BackendError> {
        let (text, pattern) = (words(&self.text), words(&self.pattern));
        let config = DispatchConfig { speculation: Some(mode), ..DispatchConfig::default() };
        dispatch_speculative(backend, counters, speculator, plan, &[&text, &pattern], &config, |mut found| {
            for bytes in &mut found {
                for (i, word) in bytes.chunks_exact_mut(4).enumerate() {
                    // The prefilter's candidates alone are looked at.
                    if word != [0; 4] && !self.is_at(i) {
                        word.fill(0);
                    }
                }
            }
            Ok(found)
        })
    }

    /// A text where every candidate is confirmed, or none.
    fn all_or_none(all: bool) -> Self {
        let next = if all { 2 } else { 3 };
        Self { text: [1, next].repeat(50), pattern: vec![1, 2] }
    }
}

fn same_bytes(backend: &dyn VyreBackend) -> Outcome {
    let scan = Scan::new()?;
    let (speculator, counters) = (AdaptiveSpeculator::new(), SpeculationCounters::default());
    let mut random = fastrand::Rng::with_seed(7);
    for case in 0..12 {
        let symbols = random.u32(2..5);
        let mut text = |len: usize| (0..len).map(|_| random.u32(0..symbols)).collect::<Vec<_>>();
        let search = Search { pattern: text(1 + case % 4), text: text([0, 1, 3, 200][case % 4]) };
        for plan in scan.plans() {
            let run = |mode| search.run(backend, &speculator, &counters, plan, mode);
            let (forced, disabled) = (run(SpeculationMode::Force)?, run(SpeculationMode::Disable)?);
            let what = format!("case {case}, {:?}", plan.tail);
            same(&what, &forced.outputs, &search.found())?;
            same(&what, &disabled.outputs, &forced.outputs)?;
            same(&what, (forced.committed, forced.rolled_back), search.counts())?;
            same(&what, (forced.path, disabled.path), (SpeculationPath::Fused, SpeculationPath::Serial))?;
            same(&what, run(SpeculationMode::Auto)?.outputs, forced.outputs)?;
        }
    }
    let stats = counters.stats();
    same("dispatches", stats.fused + stats.probes + stats.serial, 12 * 2 * 3)
}

fn adapts(backend: &dyn VyreBackend) -> Outcome {
    let scan = Scan::new()?;
    let policy = SpeculationPolicy { smoothing: 0.5, stop_below: 0.3, resume_at: 0.6, probe_interval: 2 };
    let (speculator, counters) = (AdaptiveSpeculator::with_policy(policy)?, SpeculationCounters::default());
    let mut paths = Vec::new();
    // 0 at first: stops at once. Then 1 at each probe: 0.5, 0.75, and on.
    for (all, times) in [(false, 3), (true, 6)] {
        let search = Search::all_or_none(all);
        for _ in 0..times {
            let [plan, _] = scan.plans();
            let outcome = search.run(backend, &speculator, &counters, plan, SpeculationMode::Auto)?;
            same("outputs", &outcome.outputs, &search.found())?;
            paths.push(outcome.path);
        }
    }
    let (fused, probe, serial) = (SpeculationPath::Fused, SpeculationPath::Probe, SpeculationPath::Serial);
    same("paths", paths, vec![fused, serial, serial, probe, serial, serial, probe, fused, fused])?;
    let stats = counters.stats();
    same("by path", (stats.fused, stats.probes, stats.serial), (3, 2, 4))?;
    same("candidates", (stats.committed, stats.rolled_back, stats.bad_tails), (4 * 50, 50, 0))
}

/// A program that stores these words, whatever its inputs.
fn constant(tail: &[u32]) -> Result<Checked<Program>, BuildError> {
    Kernel::build("constant", |k| {
        let (text, _) = (k.read_only::<u32>("text"), k.read_only::<u32>("pattern"));
        let out = k.write_only::<u32>("out", tail.len() as u64);
        k.domain([text.len()], |[i]| {
            k.if_(i.eq(0), || (0_u32..).zip(tail).for_each(|(at, &word)| out.store(at, word)));
        });
    })
}

fn bad_tails(backend: &dyn VyreBackend) -> Outcome {
    let scan = Scan::new()?;
    let (speculator, counters) = (AdaptiveSpeculator::new(), SpeculationCounters::default());
    let search = Search::all_or_none(true);
    let too_many = |committed, rolled_back, limit| TailProblem::TooMany { committed, rolled_back, limit };
    let cases: [(&[u32], CounterTail, Option<u32>, TailProblem); 5] = [
        (&[1], CounterTail::Words, None, TailProblem::Short { bytes: 4 }),
        (&[1], CounterTail::Buffer, None, TailProblem::Short { bytes: 4 }),
        (&[1, 2, 3], CounterTail::Buffer, None, TailProblem::Long { bytes: 12 }),
        (&[9, 60, 41], CounterTail::Words, Some(100), too_many(60, 41, 100)),
        (&[u32::MAX, 1], CounterTail::Words, None, too_many(u32::MAX, 1, u32::MAX)),
    ];
    for (tail, place, max_candidates, problem) in cases {
        let program = constant(tail)?;
        let plan = SpeculativeDispatchPlan {
            max_candidates,
            ..SpeculativeDispatchPlan::new(&program, &scan.prefilter).tail(place)
        };
        let refused = search.run(backend, &speculator, &counters, plan, SpeculationMode::Force);
        let want = BackendError::SpeculationTail { program: "constant".into(), problem };
        same("refused", refused.map(|outcome| outcome.outputs), Err(want))?;
    }
    same("observed nothing", speculator.commit_rate(), None)?;
    same("counted", (counters.stats().bad_tails, counters.stats().fused), (5, 0))?;
    let program = constant(&[9, 60, 40])?;
    let plan = SpeculativeDispatchPlan::new(&program, &scan.prefilter).max_candidates(100);
    let outcome = search.run(backend, &speculator, &counters, plan, SpeculationMode::Force)?;
    same("taken off", outcome.outputs, vec![words(&[9])])?;
    let no_output = SpeculativeDispatchPlan::new(&scan.fused, &scan.prefilter).tail(CounterTail::Buffer);
    let read_only_last = Kernel::build("no_output", |k| {
        let out = k.write_only::<u32>("out", 1_u64);
        let _ = k.read_only::<u32>("text");
        k.domain([1_u64], |[i]| out.store(i, 1));
    })?;
    let plan = SpeculativeDispatchPlan { fused: &read_only_last, ..no_output };
    let refused = search.run(backend, &speculator, &counters, plan, SpeculationMode::Force);
    let problem = TailProblem::Short { bytes: 0 };
    let want = BackendError::SpeculationTail { program: "no_output".into(), problem };
    same("no buffer for counts", refused.map(|outcome| outcome.outputs), Err(want))
}

fn configured(backend: &dyn VyreBackend) -> Outcome {
    let scan = Scan::new()?;
    let [plan, _] = scan.plans();
    let (speculator, counters) = (AdaptiveSpeculator::new(), SpeculationCounters::default());
    let (text, pattern) = (words(&[1; 10]), words(&[1]));
    let run = |mode, limit, confirmed: Result<OutputBuffers, BackendError>| {
        let config = DispatchConfig {
            speculation: Some(mode),
            max_output_bytes: Some(limit),
            ..DispatchConfig::default()
        };
        let inputs: [&[u8]; 2] = [&text, &pattern];
        let outcome =
            dispatch_speculative(backend, &counters, &speculator, plan, &inputs, &config, |_| confirmed);
        outcome.map(|outcome| outcome.outputs)
    };
    let unused = || Err(BackendError::OutputTooLarge { needs: 0, limit: 0 });
    let too_large = |needs, limit| Err(BackendError::OutputTooLarge { needs, limit });
    same("fused", run(SpeculationMode::Force, 47, unused()), too_large(48, 47))?;
    same("fused", run(SpeculationMode::Force, 48, unused()), Ok(vec![words(&[1; 10])]))?;
    same("serial", run(SpeculationMode::Disable, 39, unused()), too_large(40, 39))?;
    same("serial", run(SpeculationMode::Disable, 40, Ok(vec![vec![5]])), Ok(vec![vec![5]]))?;
    same("the confirmation's own error", run(SpeculationMode::Disable, 40, unused()), too_large(0, 0))
}

fn threads(backend: &dyn VyreBackend) -> Outcome {
    let scan = Scan::new()?;
    let (speculator, counters) = (AdaptiveSpeculator::new(), SpeculationCounters::default());
    let failures: Vec<String> = std::thread::scope(|scope| {
        let scan_some = |thread: usize| {
            for round in 0..10 {
                let search = Search::all_or_none((thread + round).is_multiple_of(3));
                let plan = scan.plans()[0];
                match search.run(backend, &speculator, &counters, plan, SpeculationMode::Auto) {
                    Ok(outcome) if outcome.outputs == search.found() => {}
                    other => return Some(format!("thread {thread}, round {round}: {other:?}")),
                }
            }
            None
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || scan_some(thread))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    });
    same("failures", failures, Vec::new())?;
    let stats = counters.stats();
    same("dispatches", stats.fused + stats.probes + stats.serial, 40)?;
    same("candidates", stats.committed + stats.rolled_back, 50 * (stats.fused + stats.probes))
}
