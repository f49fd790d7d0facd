//! One opened device and its queue, from opening to loss: a *generation*.
//!
//! Everything that lives on a device belongs to one generation. When the device is lost, the backend opens
//! the next one; what belongs to the old one answers with typed errors.
//!
//! Every call into wgpu that can fail goes through [`Generation::scoped`], which turns wgpu's errors into
//! values, and every look at the device through [`Generation::poll_once`] or [`Generation::wait`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use vyre_driver::BackendError;
use wgpu::{Adapter, Device, ErrorFilter, Features, Queue};

use crate::acquire::Candidate;
use crate::seam::{Fault, Seam, Site};
use crate::trusted;

/// How long the end of a generation waits for work in flight before the device is leaked instead.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Why a device was lost in a test.
const INJECTED: &str = "injected by a test";

/// The next generation's number; the first is 1.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A device, its queue, and whether it is lost.
pub(crate) struct Generation {
    /// Distinguishes this generation from all others of the process.
    pub(crate) number: u64,
    pub(crate) info: wgpu::AdapterInfo,
    pub(crate) limits: wgpu::Limits,
    pub(crate) features: Features,
    /// Where faults can be injected.
    pub(crate) seam: Arc<Seam>,
    live: Arc<(Device, Queue)>,
    loss: Arc<Loss>,
    /// Whether a wait for work of this generation has timed out.
    overdue: AtomicBool,
    /// Where a test had the device hang: how often faults had been forgotten by then, and one. Else 0.
    hangs: AtomicU64,
}

/// Why a generation counts as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The driver says so.
    #[default]
    Driver,
    /// A test or the backend's user says so: the device itself may be well.
    Declared,
    /// Its work does not end.
    Abandoned,
}

/// The lost state, shared with wgpu's callbacks.
#[derive(Default)]
struct Loss {
    lost: AtomicBool,
    reason: Mutex<(Cause, String)>,
    /// Errors that wgpu reported outside every scope.
    uncaptured: AtomicU64,
}

impl Loss {
    fn mark(&self, cause: Cause, reason: String) {
        let mut slot = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.lost.swap(true, Ordering::AcqRel) {
            *slot = (cause, reason);
        }
    }
}

/// The features that lowering or the runtime can use.
fn useful_features(api: wgpu::Backend) -> Features {
    let passthrough =
        if api == wgpu::Backend::Vulkan { Features::PASSTHROUGH_SHADERS } else { Features::empty() };
    passthrough
        | Features::IMMEDIATES
        | Features::SUBGROUP
        | Features::SUBGROUP_BARRIER
        | Features::SHADER_F16
        | Features::SHADER_I16
        | Features::SHADER_F64
        | Features::SHADER_INT64
        | Features::SHADER_INT64_ATOMIC_MIN_MAX
        | Features::SHADER_INT64_ATOMIC_ALL_OPS
        | Features::SHADER_FLOAT32_ATOMIC
        | Features::TIMESTAMP_QUERY
        | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
        | Features::MEMORY_DECORATION_COHERENT
        | Features::MEMORY_DECORATION_VOLATILE
        | Features::PIPELINE_CACHE
}

/// The bytes that a device is opened with for a buffer and for a storage binding, where its adapter has more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimits {
    pub(crate) buffer: u64,
    pub(crate) binding: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { buffer: u64::MAX, binding: u64::MAX }
    }
}

impl MemoryLimits {
    fn lower(self, limits: wgpu::Limits) -> wgpu::Limits {
        wgpu::Limits {
            max_buffer_size: limits.max_buffer_size.min(self.buffer),
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size.min(self.binding),
            ..limits
        }
    }
}

impl Generation {
    /// Opens the adapter with every limit and every useful feature that it has and those found right by a probe,
    /// but for those withheld.
    pub(crate) fn open(
        candidate: &Candidate,
        probed: Features,
        withheld: Features,
        limits: MemoryLimits,
        seam: Arc<Seam>,
    ) -> Result<Arc<Self>, BackendError> {
        let useful = useful_features(candidate.adapter.get_info().backend) | probed;
        Self::open_with(candidate, useful - withheld, limits, seam)
    }

    /// Opens the adapter with every limit and those of the features that it has. Experimental ones are for
    /// probes that use nothing else of the device, and for what they found right.
    pub(crate) fn open_with(
        candidate: &Candidate,
        features: Features,
        limits: MemoryLimits,
        seam: Arc<Seam>,
    ) -> Result<Arc<Self>, BackendError> {
        let adapter: &Adapter = &candidate.adapter;
        let info = adapter.get_info();
        let experimental = features.intersects(Features::all_experimental_mask());
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("vyre"),
            required_features: adapter.features() & features,
            required_limits: limits.lower(adapter.limits()),
            experimental_features: if experimental {
                trusted::experimental()
            } else {
                wgpu::ExperimentalFeatures::disabled()
            },
            ..Default::default()
        };
        let opened = match seam.take(Site::Open) {
            Some(_) => Err(INJECTED.to_owned()),
            None => pollster::block_on(adapter.request_device(&descriptor)).map_err(|e| e.to_string()),
        };
        let (device, queue) = opened.map_err(|error| BackendError::NoDevice {
            probed: vec![format!("{}, but it could not be opened: {error}", candidate.report)],
            remedy: "update the GPU driver, or pick another adapter with VYRE_ADAPTER_INDEX".to_owned(),
        })?;

        let loss = Arc::new(Loss::default());
        let on_lost = Arc::clone(&loss);
        device.set_device_lost_callback(move |reason, message| {
            // Dropping the device reports its destruction here too, which is no loss; nobody asks then.
            on_lost.mark(Cause::Driver, format!("{reason:?}: {message}"));
        });
        let on_error = Arc::clone(&loss);
        // Without a handler wgpu panics. What arrives here came outside our scopes: from a user of the
        // shared device, or from wgpu itself. It is counted, and `stats` shows it.
        device.on_uncaptured_error(Arc::new(move |_error| {
            on_error.uncaptured.fetch_add(1, Ordering::Relaxed);
        }));

        Ok(Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            info,
            limits: device.limits(),
            features: device.features(),
            seam,
            live: Arc::new((device, queue)),
            loss,
            overdue: AtomicBool::new(false),
            hangs: AtomicU64::new(0),
        }))
    }

    /// The device and its queue.
    ///
    /// Whoever keeps the pair must not drop it last with work in flight: wgpu then waits without limit.
    pub(crate) fn device_queue(&self) -> &Arc<(Device, Queue)> {
        &self.live
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device_queue().0
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.device_queue().1
    }

    pub(crate) fn has(&self, features: Features) -> bool {
        self.features.contains(features)
    }

    /// Whether the device is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.loss.lost.load(Ordering::Acquire)
    }

    /// Marks the device as lost. The first cause stays.
    pub(crate) fn mark_lost(&self, cause: Cause, reason: &str) {
        self.loss.mark(cause, reason.to_owned());
    }

    /// Notes that a wait for work of this generation timed out.
    pub(crate) fn note_overdue(&self) {
        self.overdue.store(true, Ordering::Release);
    }

    /// Gives this generation up if work that timed out has not even ended after the grace period. Says
    /// whether the generation is lost.
    pub(crate) fn give_up_if_stuck(&self) -> bool {
        if self.is_lost() || !self.overdue.load(Ordering::Acquire) {
            return self.is_lost();
        }
        match self.wait_idle(GRACE) {
            Ok(true) => self.overdue.store(false, Ordering::Release),
            Ok(false) => self.mark_lost(Cause::Abandoned, "its work did not end, and it was abandoned"),
            Err(_) => {}
        }
        self.is_lost()
    }

    /// Errors that wgpu reported outside this crate's own calls.
    pub(crate) fn uncaptured_errors(&self) -> u64 {
        self.loss.uncaptured.load(Ordering::Relaxed)
    }

    /// The error of a lost device, `Ok` while it lives.
    pub(crate) fn check(&self) -> Result<(), BackendError> {
        if !self.is_lost() {
            return Ok(());
        }
        let reason = self.loss.reason.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        Err(BackendError::DeviceLost { generation: self.number, reason })
    }

    /// Runs `call` and returns what wgpu reported about it; `doing` names it in errors.
    ///
    /// wgpu drops errors of a lost device silently, so that is looked at as well.
    pub(crate) fn scoped<T>(
        &self,
        doing: &'static str,
        call: impl FnOnce(&Device) -> T,
    ) -> Result<T, BackendError> {
        self.scoped_of(doing, None, call)
    }

    fn scoped_of<T>(
        &self,
        doing: &'static str,
        bytes: Option<u64>,
        call: impl FnOnce(&Device) -> T,
    ) -> Result<T, BackendError> {
        // Scopes are per thread, and an error goes to the innermost scope of its own kind.
        let internal = self.device().push_error_scope(ErrorFilter::Internal);
        let value = self.scoped_but_for_internal(doing, bytes, call);
        match ready(internal.pop()).flatten() {
            Some(error) if value.is_ok() => Err(backend_error(error, doing, bytes)),
            _ => value,
        }
    }

    /// The same for calls that make no pipeline: nothing else in wgpu 30 has internal errors.
    fn scoped_but_for_internal<T>(
        &self,
        doing: &'static str,
        bytes: Option<u64>,
        call: impl FnOnce(&Device) -> T,
    ) -> Result<T, BackendError> {
        self.check()?;
        let device = self.device();
        let memory = device.push_error_scope(ErrorFilter::OutOfMemory);
        let validation = device.push_error_scope(ErrorFilter::Validation);
        let value = call(device);
        let errors = [ready(validation.pop()).flatten(), ready(memory.pop()).flatten()];
        if let Some(error) = errors.into_iter().flatten().next() {
            return Err(backend_error(error, doing, bytes));
        }
        self.check()?;
        Ok(value)
    }

    /// [`Self::scoped`] for a call that allocates device memory: one of the two places where faults can be
    /// injected.
    pub(crate) fn allocate<T>(
        &self,
        doing: &'static str,
        bytes: u64,
        call: impl FnOnce(&Device) -> T,
    ) -> Result<T, BackendError> {
        self.strike(Site::Allocate, doing, Some(bytes))?;
        self.scoped_of(doing, Some(bytes), call)
    }

    /// Submits what `encode` recorded: the only submission of the product, and the other place where faults
    /// can be injected.
    pub(crate) fn submit(
        &self,
        label: Option<&str>,
        encode: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<wgpu::SubmissionIndex, BackendError> {
        let doing = "submitting work";
        let afterwards = self.strike(Site::Submit, doing, None)?;
        let submission = self.scoped_but_for_internal(doing, None, |device| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            encode(&mut encoder);
            self.queue().submit([encoder.finish()])
        })?;
        match afterwards {
            Some(Fault::LostLater) => self.mark_lost(Cause::Declared, INJECTED),
            Some(Fault::Hang) => self.hangs.store(self.seam.forgotten() + 1, Ordering::Release),
            _ => {}
        }
        Ok(submission)
    }

    /// Fails if a fault is armed for this site that strikes at once; gives one that strikes afterwards.
    fn strike(
        &self,
        site: Site,
        doing: &'static str,
        bytes: Option<u64>,
    ) -> Result<Option<Fault>, BackendError> {
        match self.seam.take(site) {
            Some(Fault::OutOfMemory) => Err(BackendError::OutOfMemory { doing, bytes }),
            Some(Fault::Lost) => {
                self.mark_lost(Cause::Declared, INJECTED);
                self.check().map(|()| None)
            }
            other => Ok(other),
        }
    }

    /// Whether a test has the device hang.
    pub(crate) fn hangs(&self) -> bool {
        let hangs = self.hangs.load(Ordering::Acquire);
        hangs != 0 && hangs == self.seam.forgotten() + 1
    }

    /// Waits until `submission` has ended. Any number of threads may wait while others submit.
    ///
    /// There is no form with a timeout: in wgpu 30, a wait that times out panics if another thread has just
    /// seen the submission end. [`until`] with [`Self::poll_once`] does that.
    pub(crate) fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<(), BackendError> {
        self.wait_for(Some(submission))
    }

    /// Waits until everything has ended that was submitted before.
    pub(crate) fn wait_all(&self) -> Result<(), BackendError> {
        self.wait_for(None)
    }

    fn wait_for(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<(), BackendError> {
        let started = Instant::now();
        // wgpu ends such a wait early if the driver does.
        let ended = if self.hangs() {
            self.check().map(|()| None)
        } else {
            self.poll(wgpu::PollType::Wait { submission_index, timeout: None })
        };
        if ended?.is_none() {
            self.note_overdue();
            return Err(BackendError::Timeout { timeout: started.elapsed() });
        }
        Ok(())
    }

    /// Waits until nothing is under way, at most `timeout`; says whether that is so.
    pub(crate) fn wait_idle(&self, timeout: Duration) -> Result<bool, BackendError> {
        until(Instant::now() + timeout, || self.poll_once())
    }

    /// One look at the device: runs the callbacks of what has ended, never blocks. Says whether nothing is
    /// under way.
    pub(crate) fn poll_once(&self) -> Result<bool, BackendError> {
        let status = self.poll(wgpu::PollType::Poll)?;
        Ok(status == Some(wgpu::PollStatus::QueueEmpty) && !self.hangs())
    }

    /// What wgpu says of the device; `None` if a wait ended before the work.
    fn poll(&self, kind: wgpu::PollType) -> Result<Option<wgpu::PollStatus>, BackendError> {
        self.check()?;
        match self.look(kind) {
            Some(Ok(status)) => self.check().map(|()| Some(status)),
            Some(Err(wgpu::PollError::Timeout)) => self.check().map(|()| None),
            Some(Err(error)) => {
                let message = error.to_string();
                Err(BackendError::Driver { doing: "waiting for the device", message })
            }
            None => {
                self.mark_lost(Cause::Driver, "the driver reported the loss while it was waited for");
                self.check().map(|()| None)
            }
        }
    }

    /// Polls the device, lost or not; `None` if it turned out to be lost meanwhile.
    fn look(&self, kind: wgpu::PollType) -> Option<Result<wgpu::PollStatus, wgpu::PollError>> {
        // wgpu 30 panics in `poll` when the device turns out to be lost while it waits. It holds none of
        // its locks at that point; the loss has been recorded by the callback or is recorded by the caller.
        catch_unwind(AssertUnwindSafe(|| self.device().poll(kind))).ok()
    }

    /// Whether the device can be closed: that needs a device that the driver has not lost, and no work
    /// under way, for which this waits a little.
    fn can_be_closed(&self) -> bool {
        let cause = self.loss.reason.lock().unwrap_or_else(PoisonError::into_inner).0;
        if self.is_lost() && cause != Cause::Declared {
            return false;
        }
        let idle = || match self.look(wgpu::PollType::Poll) {
            Some(Ok(status)) => Ok(status == wgpu::PollStatus::QueueEmpty),
            Some(Err(error)) => {
                let message = error.to_string();
                Err(BackendError::Driver { doing: "closing the device", message })
            }
            None => Ok(false),
        };
        matches!(until(Instant::now() + GRACE, idle), Ok(true))
    }
}

/// Asks `done` until it says yes or `deadline` has passed: often at first, then at growing intervals.
pub(crate) fn until(
    deadline: Instant,
    mut done: impl FnMut() -> Result<bool, BackendError>,
) -> Result<bool, BackendError> {
    const SPIN: Duration = Duration::from_micros(100);
    const LONGEST_PAUSE: Duration = Duration::from_micros(500);
    let started = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        if done()? {
            return Ok(true);
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        else {
            return Ok(false);
        };
        if started.elapsed() < SPIN {
            std::thread::yield_now();
        } else {
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // Dropping wgpu's queue waits without limit for work in flight, and panics when that fails. So it
        // is dropped only when it is known to be idle, and leaked otherwise: kernels cannot be stopped.
        if !self.can_be_closed() {
            std::mem::forget(Arc::clone(&self.live));
        }
    }
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation")
            .field("number", &self.number)
            .field("adapter", &self.info.name)
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}

/// What wgpu reported of a call.
fn backend_error(error: wgpu::Error, doing: &'static str, bytes: Option<u64>) -> BackendError {
    match error {
        wgpu::Error::OutOfMemory { .. } => BackendError::OutOfMemory { doing, bytes },
        wgpu::Error::Validation { description: message, .. }
        | wgpu::Error::Internal { description: message, .. } => BackendError::Driver { doing, message },
    }
}

/// The value of a future that is ready at once, as wgpu's are on every native platform.
fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
