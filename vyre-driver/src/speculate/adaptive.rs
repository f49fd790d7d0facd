//! Whether speculation pays, from what earlier dispatches committed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::SpeculationPath;
use crate::{BackendError, SpeculationMode};

/// When an [`AdaptiveSpeculator`] speculates. A *commit rate* is a fraction from 0 to 1: of the candidates that
/// a dispatch confirmed on the device, those that were committed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeculationPolicy {
    /// The weight of the newest dispatch's commit rate in the exponential average; above 0, at most 1. At 0.25, a
    /// rate is half forgotten after about 2.4 dispatches.
    pub smoothing: f64,
    /// Speculation stops when the average falls below this commit rate.
    pub stop_below: f64,
    /// Stopped speculation resumes when the average is at least this commit rate; not below
    /// [`SpeculationPolicy::stop_below`]. The gap between the two keeps it from switching to and fro.
    pub resume_at: f64,
    /// While speculation is stopped, this many serial dispatches are followed by one that speculates, to measure;
    /// at least 1.
    pub probe_interval: u32,
}

impl Default for SpeculationPolicy {
    fn default() -> Self {
        Self { smoothing: 0.25, stop_below: 0.25, resume_at: 0.5, probe_interval: 16 }
    }
}

/// The average is taken to have arrived at a commit rate that it is this near to. By its arithmetic it would only
/// approach the rate, and a threshold of 1 could never be met again.
const ARRIVED: f64 = 1e-6;

/// Decides for one kind of scan, dispatch by dispatch, whether to speculate.
///
/// It starts by speculating. Each speculative dispatch feeds its commit rate to an exponential average, the
/// first one being the average; a dispatch without candidates says nothing and changes nothing. Below one
/// threshold of the average speculation stops, at another one it resumes; meanwhile a probe now and then keeps
/// the average up to date, so that speculation comes back when the data are favourable again.
///
/// It may be shared between threads: every decision and observation is one step. Dispatches that run side by
/// side are decided on what has been observed by then.
#[derive(Debug)]
pub struct AdaptiveSpeculator {
    policy: SpeculationPolicy,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    average: Option<f64>,
    is_speculating: bool,
    /// Serial dispatches since speculation stopped or the last probe.
    serial: u32,
}

impl Default for AdaptiveSpeculator {
    fn default() -> Self {
        Self::new()
    }
}

impl AdaptiveSpeculator {
    /// With the default policy.
    pub fn new() -> Self {
        Self::of(SpeculationPolicy::default())
    }

    fn of(policy: SpeculationPolicy) -> Self {
        let state = State { average: None, is_speculating: true, serial: 0 };
        Self { policy, state: Mutex::new(state) }
    }

    /// With a policy of the caller's.
    ///
    /// # Errors
    /// [`BackendError::Config`] with the field that is out of its range.
    pub fn with_policy(policy: SpeculationPolicy) -> Result<Self, BackendError> {
        let SpeculationPolicy { smoothing, stop_below, resume_at, probe_interval } = policy;
        let refuse = |field, why: String| Err(BackendError::Config { field, why });
        if !(smoothing > 0.0 && smoothing <= 1.0) {
            return refuse("smoothing", format!("it is {smoothing}, and must be above 0 and at most 1"));
        }
        if !(0.0..=1.0).contains(&stop_below) {
            return refuse("stop_below", format!("it is {stop_below}, which is no fraction from 0 to 1"));
        }
        if !(stop_below..=1.0).contains(&resume_at) {
            return refuse("resume_at", format!("it is {resume_at}, and must be from {stop_below} to 1"));
        }
        if probe_interval == 0 {
            return refuse("probe_interval", "it is 0, and must be at least 1".into());
        }
        Ok(Self::of(policy))
    }

    /// When it speculates.
    pub fn policy(&self) -> SpeculationPolicy {
        self.policy
    }

    /// The average commit rate, from 0 to 1; `None` before the first observation.
    pub fn commit_rate(&self) -> Option<f64> {
        self.lock().average
    }

    /// Whether the next dispatch of [`SpeculationMode::Auto`] speculates by the average, probes aside.
    pub fn is_speculating(&self) -> bool {
        self.lock().is_speculating
    }

    /// Decides on the next dispatch. A decision for a probe or a serial dispatch counts as that dispatch.
    pub fn choose(&self, mode: SpeculationMode) -> SpeculationPath {
        match mode {
            SpeculationMode::Disable => return SpeculationPath::Serial,
            SpeculationMode::Force => return SpeculationPath::Fused,
            SpeculationMode::Auto => {}
        }
        let mut state = self.lock();
        if state.is_speculating {
            return SpeculationPath::Fused;
        }
        if state.serial >= self.policy.probe_interval {
            state.serial = 0;
            return SpeculationPath::Probe;
        }
        state.serial += 1;
        SpeculationPath::Serial
    }

    /// Takes note of a speculative dispatch's candidates: how many were committed, and how many rolled back.
    pub fn observe(&self, committed: u32, rolled_back: u32) {
        let (committed, candidates) = (f64::from(committed), f64::from(committed) + f64::from(rolled_back));
        if candidates == 0.0 {
            return;
        }
        let (rate, SpeculationPolicy { smoothing, stop_below, resume_at, .. }) =
            (committed / candidates, self.policy);
        let mut state = self.lock();
        let average = state.average.map_or(rate, |average| average + smoothing * (rate - average));
        let average = if (rate - average).abs() <= ARRIVED { rate } else { average };
        state.average = Some(average);
        if state.is_speculating && average < stop_below {
            (state.is_speculating, state.serial) = (false, 0);
        } else if !state.is_speculating && average >= resume_at {
            state.is_speculating = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SpeculationPath::{Fused, Probe, Serial};

    fn speculator(probe_interval: u32) -> AdaptiveSpeculator {
        let policy = SpeculationPolicy { smoothing: 0.5, stop_below: 0.25, resume_at: 0.5, probe_interval };
        AdaptiveSpeculator::with_policy(policy).unwrap()
    }

    #[test]
    fn it_stops_and_resumes_with_a_gap_between() {
        let speculator = speculator(1);
        assert_eq!((speculator.commit_rate(), speculator.choose(SpeculationMode::Auto)), (None, Fused));
        speculator.observe(1, 1);
        assert_eq!(speculator.commit_rate(), Some(0.5));
        // 0.5 → 0.25 → 0.125: only the last is below the threshold.
        speculator.observe(0, 9);
        assert!(speculator.is_speculating());
        speculator.observe(0, 1);
        assert!(!speculator.is_speculating());
        // 0.125 → 0.3125, above the lower threshold and below the upper one → 0.65625.
        speculator.observe(2, 2);
        assert_eq!(speculator.commit_rate(), Some(0.3125));
        assert!(!speculator.is_speculating());
        speculator.observe(7, 0);
        assert!(speculator.is_speculating());
        assert_eq!(speculator.choose(SpeculationMode::Auto), Fused);
    }

    #[test]
    fn probes_come_at_their_interval_and_bring_it_back() {
        let speculator = speculator(3);
        speculator.observe(0, 1);
        let paths: Vec<_> = (0..9).map(|_| speculator.choose(SpeculationMode::Auto)).collect();
        assert_eq!(paths, [Serial, Serial, Serial, Probe, Serial, Serial, Serial, Probe, Serial]);
        speculator.observe(1, 0);
        assert_eq!(speculator.choose(SpeculationMode::Auto), Fused);
    }

    #[test]
    fn a_mode_of_the_caller_overrules_the_average_and_counts_for_no_probe() {
        let speculator = speculator(1);
        speculator.observe(0, 1);
        assert_eq!(speculator.choose(SpeculationMode::Force), Fused);
        assert_eq!(speculator.choose(SpeculationMode::Disable), Serial);
        let paths: Vec<_> = (0..3).map(|_| speculator.choose(SpeculationMode::Auto)).collect();
        assert_eq!(paths, [Serial, Probe, Serial]);
    }

    #[test]
    fn no_candidates_say_nothing_and_the_largest_counts_do_not_overflow() {
        let speculator = speculator(1);
        speculator.observe(0, 0);
        assert_eq!(speculator.commit_rate(), None);
        speculator.observe(u32::MAX, u32::MAX);
        assert_eq!(speculator.commit_rate(), Some(0.5));
        speculator.observe(0, 0);
        assert_eq!(speculator.commit_rate(), Some(0.5));
    }

    #[test]
    fn a_threshold_of_one_is_met_again_when_everything_commits() {
        let policy =
            SpeculationPolicy { smoothing: 0.25, stop_below: 1.0, resume_at: 1.0, probe_interval: 1 };
        let speculator = AdaptiveSpeculator::with_policy(policy).unwrap();
        speculator.observe(3, 1);
        assert!(!speculator.is_speculating());
        // What is missing to 1 is 1/4 × (3/4)^n after n more: below 10^-6 from n = 44 on.
        for n in 0..44 {
            assert!(!speculator.is_speculating(), "after {n}");
            speculator.observe(5, 0);
        }
        assert!(speculator.is_speculating());
        // And it stays so.
        speculator.observe(1, 0);
        assert_eq!((speculator.is_speculating(), speculator.commit_rate()), (true, Some(1.0)));
        speculator.observe(99, 1);
        assert!(!speculator.is_speculating());
    }

    #[test]
    fn a_policy_out_of_range_is_refused_by_field() {
        let good = SpeculationPolicy::default();
        let refused = |policy| match AdaptiveSpeculator::with_policy(policy) {
            Err(BackendError::Config { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(SpeculationPolicy { smoothing: 0.0, ..good }), "smoothing");
        assert_eq!(refused(SpeculationPolicy { smoothing: f64::NAN, ..good }), "smoothing");
        assert_eq!(refused(SpeculationPolicy { stop_below: -0.1, ..good }), "stop_below");
        assert_eq!(refused(SpeculationPolicy { resume_at: 0.2, ..good }), "resume_at");
        assert_eq!(refused(SpeculationPolicy { resume_at: 1.5, ..good }), "resume_at");
        assert_eq!(refused(SpeculationPolicy { probe_interval: 0, ..good }), "probe_interval");
        assert_eq!(AdaptiveSpeculator::new().policy(), good);
    }
}
