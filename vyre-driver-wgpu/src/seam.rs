//! The one place where device faults can be injected: where a device is opened, at allocations and at submissions.
//!
//! Real out-of-memory and real device loss cannot be produced at will, so tests arm a fault here and the
//! next matching call fails exactly as it would with a failing driver. Unarmed, it costs one relaxed load.
//! A backend has one seam for all its generations. What is to strike while it is first opened is planned by the
//! thread that opens it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Site {
    /// The driver's opening of a device, which fails with whatever fault.
    Open,
    /// The creation of a buffer.
    Allocate,
    /// A queue submission.
    Submit,
    /// The look for the adapter in a recovery.
    Reopen,
    /// Reading an entry of the cache on disk.
    CacheRead,
    /// Writing one.
    CacheWrite,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The device has no memory.
    OutOfMemory,
    /// The device is lost.
    Lost,
    /// At [`Site::Submit`]: the device takes the work, and is lost while it is under way.
    LostLater,
    /// At [`Site::Submit`]: the device takes the work, and hangs. No work of it is seen to end until the faults
    /// are forgotten; a wait without limit then ends as if the driver had given up.
    Hang,
    /// At [`Site::Reopen`]: the adapter has another driver than before.
    OtherDriver,
    /// At the cache on disk: the file system fails.
    Io,
}

/// The faults that are armed, in the order in which they strike.
#[derive(Debug, Default)]
pub(crate) struct Seam {
    armed: AtomicUsize,
    plan: Mutex<VecDeque<Planned>>,
    /// How often the faults were forgotten: what hangs from before does so no more.
    forgotten: AtomicU64,
    /// Whether faults were planned for its opening.
    from_opening: bool,
}

thread_local! {
    /// What strikes the next backend that this thread opens.
    static NEXT: RefCell<VecDeque<Planned>> = const { RefCell::new(VecDeque::new()) };
}

/// Arms `fault` for the next backend that this thread opens.
pub(crate) fn arm_next(site: Site, skip: u32, fault: Fault) {
    NEXT.with_borrow_mut(|plan| plan.push_back(Planned { site, skip, fault }));
}

#[derive(Debug)]
struct Planned {
    site: Site,
    /// How many matching calls still pass before it strikes.
    skip: u32,
    fault: Fault,
}

impl Seam {
    /// For a backend that this thread opens.
    pub(crate) fn of_opening() -> Self {
        let plan = NEXT.take();
        Self {
            armed: AtomicUsize::new(plan.len()),
            from_opening: !plan.is_empty(),
            plan: Mutex::new(plan),
            forgotten: AtomicU64::new(0),
        }
    }

    /// Whether what is known of an adapter is to be found out again: faults were planned to strike there.
    pub(crate) fn wants_probes(&self) -> bool {
        self.from_opening
    }

    /// Arms `fault` for the call at `site` that comes after `skip` others.
    pub(crate) fn arm(&self, site: Site, skip: u32, fault: Fault) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.push_back(Planned { site, skip, fault });
        self.armed.store(plan.len(), Ordering::Release);
    }

    /// Forgets every armed fault; says how many there were.
    pub(crate) fn disarm(&self) -> usize {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let unspent = plan.len();
        plan.clear();
        self.armed.store(0, Ordering::Release);
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        unspent
    }

    /// How often the faults were forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }

    /// The fault that strikes this call, if one does.
    pub(crate) fn take(&self, site: Site) -> Option<Fault> {
        if self.armed.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let position = plan.iter().position(|planned| planned.site == site)?;
        let planned = plan.get_mut(position)?;
        if planned.skip > 0 {
            planned.skip -= 1;
            return None;
        }
        let fault = planned.fault;
        plan.remove(position);
        self.armed.store(plan.len(), Ordering::Release);
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_once_at_its_site_after_the_skipped_calls() {
        let seam = Seam::default();
        assert_eq!(seam.take(Site::Allocate), None);
        seam.arm(Site::Allocate, 1, Fault::OutOfMemory);
        assert_eq!(seam.take(Site::Submit), None);
        assert_eq!(seam.take(Site::Allocate), None);
        assert_eq!(seam.take(Site::Allocate), Some(Fault::OutOfMemory));
        assert_eq!(seam.take(Site::Allocate), None);
    }

    #[test]
    fn what_is_planned_for_an_opening_strikes_the_next_one_of_this_thread() {
        arm_next(Site::Open, 0, Fault::Lost);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(Seam::of_opening().take(Site::Open), None));
        });
        let seam = Seam::of_opening();
        assert!(seam.wants_probes());
        assert_eq!(seam.take(Site::Open), Some(Fault::Lost));
        assert!(!Seam::of_opening().wants_probes());
    }
}
