//! Instances: what they retain from run to run, and runs that are looked in on or awaited.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use vyre_driver::{BackendError, BackendRegistration, REFERENCE_BACKEND_ID, backend_registration};
use vyre_foundation::build::Kernel;
use vyre_foundation::graph::{GraphBuilder, ProgramGraph, SolveError};
use vyre_megakernel::{ArtifactEnvelope, BindingError, BindingSet, CompileRequest, compile};
use vyre_runtime::{ArtifactSession, Lost, Progress, SessionError};

fn reference() -> &'static BackendRegistration {
    backend_registration(REFERENCE_BACKEND_ID).unwrap()
}

/// `total` grows by `x` × 10 in each run; 0 in `x` is a trap, after the store.
fn accumulator() -> ProgramGraph {
    let grow = Kernel::build("grow", |k| {
        let weight = k.read_only::<u32>("weight");
        let x = k.read_only::<u32>("x");
        let total = k.read_write::<u32>("total").with_len(x.len());
        k.domain([x.len()], |[i]| {
            total.store(i, total.load(i) + x.load(i) * weight.load(0u32));
            k.if_(x.load(i).eq(0), || k.trap(3, i));
        });
    })
    .unwrap();
    let g = GraphBuilder::new("accumulator");
    let n = g.dim("n");
    let weight = g.constant("weight", &[10u32]);
    let x = g.input::<u32>("x", [n]);
    let total = g.retained::<u32>("total", [n]);
    let next = g.call(&grow, [weight, x, total]).unwrap();
    g.update(total, next);
    g.output("sum", next);
    g.finish().unwrap()
}

fn session() -> ArtifactSession {
    let profile = (reference().open)().unwrap().profile().clone();
    let request = CompileRequest::graph(&accumulator(), &profile).validate().unwrap();
    ArtifactSession::compile(reference(), &request).unwrap()
}

fn x(values: &[u32]) -> BindingSet<'static> {
    BindingSet::new().values("x", values)
}

#[test]
fn values_are_retained_from_run_to_run_by_each_instance() {
    let session = session();
    let (one, other) = (session.instance(), session.instance());
    let run = |instance: &vyre_runtime::ArtifactInstance, bindings: &BindingSet<'_>| {
        instance.submit(bindings).unwrap().wait(None).unwrap().values::<u32>("sum").unwrap()
    };
    assert_eq!(run(&one, &x(&[1, 2])), [10, 20]);
    assert_eq!(run(&one, &x(&[1, 2])), [20, 40]);
    // Another instance, of another length.
    assert_eq!(run(&other, &x(&[7])), [70]);
    // A clone is the same instance.
    assert_eq!(run(&one.clone(), &x(&[1, 1])), [30, 50]);
    assert_eq!(one.retained().unwrap().values::<u32>("total").unwrap(), [30, 50]);
    assert_eq!(run(&one, &x(&[1, 1]).values("total", &[100u32, 200])), [110, 210]);
    assert_eq!(run(&one, &x(&[1, 1])), [120, 220]);
    // Another length contradicts what is retained, and changes nothing.
    let refused = one.submit(&x(&[1, 1, 1])).unwrap_err();
    assert!(matches!(refused, SessionError::Binding(BindingError::Solve(SolveError::Shape { .. }))));
    assert_eq!(run(&one, &x(&[1, 1])), [130, 230]);
    // Bound anew, it may have another.
    assert_eq!(run(&one, &x(&[1, 1, 1]).values("total", &[1u32, 2, 3])), [11, 12, 13]);
    assert_eq!(run(&one, &x(&[1, 1, 1])), [21, 22, 23]);
    one.reset();
    assert_eq!(run(&one, &x(&[1, 1, 1])), [10, 10, 10]);
    assert_eq!(run(&other, &x(&[7])), [140]);
    // They outlive the session.
    drop(session);
    assert_eq!(run(&other, &x(&[1])), [150]);
}

#[test]
fn nothing_goes_on_from_a_run_that_faulted() {
    let session = session();
    let instance = session.instance();
    instance.submit(&x(&[1, 2])).unwrap().wait(None).unwrap();
    let fault = instance.submit(&x(&[1, 0])).unwrap().wait(None).unwrap_err();
    assert!(matches!(fault, SessionError::Backend(BackendError::Trap { code: 3, address: 1, .. })));
    let lost = SessionError::RetainedLost { name: "total".into(), why: Lost::Fault };
    assert_eq!(instance.submit(&x(&[1, 2])).unwrap_err(), lost);
    assert_eq!(instance.retained().unwrap_err(), lost);
    // Bound, it is known again.
    let bound = x(&[1, 2]).values("total", &[5u32, 5]);
    let outputs = instance.submit(&bound).unwrap().wait(None).unwrap();
    assert_eq!(outputs.values::<u32>("sum").unwrap(), [15, 25]);
    let outputs = instance.submit(&x(&[1, 1])).unwrap().wait(None).unwrap();
    assert_eq!(outputs.values::<u32>("sum").unwrap(), [25, 35]);
    // Other instances have seen nothing of it.
    let other = session.instance();
    instance.submit(&x(&[0])).unwrap_err();
    assert_eq!(other.submit(&x(&[4])).unwrap().wait(None).unwrap().values::<u32>("sum").unwrap(), [40]);
}

#[test]
fn faults_reach_runs_that_were_submitted_before_they_were_known() {
    let lost = SessionError::RetainedLost { name: "total".into(), why: Lost::Fault };
    let instance = session().instance();
    instance.submit(&x(&[1, 2])).unwrap().wait(None).unwrap();
    // The second goes on with what the first left half-way; the third begins anew, the fourth goes on with that.
    let first = instance.submit(&x(&[1, 0])).unwrap();
    let second = instance.submit(&x(&[1, 1])).unwrap();
    let third = instance.submit(&x(&[1, 2]).values("total", &[5u32, 5])).unwrap();
    let fourth = instance.submit(&x(&[1, 1])).unwrap();
    assert!(matches!(first.wait(None).unwrap_err(), SessionError::Backend(BackendError::Trap { .. })));
    assert_eq!(second.wait(None).unwrap_err(), lost);
    assert_eq!(third.wait(None).unwrap().values::<u32>("sum").unwrap(), [15, 25]);
    assert_eq!(fourth.wait(None).unwrap().values::<u32>("sum").unwrap(), [25, 35]);
    // A run before the fault is right, whenever it is waited for.
    let before = instance.submit(&x(&[1, 1])).unwrap();
    instance.submit(&x(&[1, 0])).unwrap().wait(None).unwrap_err();
    assert_eq!(before.wait(None).unwrap().values::<u32>("sum").unwrap(), [35, 45]);
    instance.reset();
    // Nobody waits for the run that faults.
    drop(instance.submit(&x(&[1, 0])).unwrap());
    let next = instance.submit(&x(&[1, 1])).and_then(|run| run.wait(None));
    assert_eq!(next.unwrap_err(), lost);
    assert_eq!(instance.retained().unwrap_err(), lost);
    instance.reset();
    let outputs = instance.submit(&x(&[1, 2])).unwrap().wait(None).unwrap();
    assert_eq!(outputs.values::<u32>("sum").unwrap(), [10, 20]);
}

#[test]
fn a_run_can_be_looked_in_on() {
    let mut run = session().instance().submit(&x(&[1])).unwrap();
    let outputs = loop {
        match run.try_wait(Some(Duration::from_secs(60))).unwrap() {
            Progress::Ready(outputs) => break outputs,
            Progress::Pending(again) => run = again,
        }
    };
    assert_eq!(outputs.values::<u32>("sum").unwrap(), [10]);
}

struct Woken(thread::Thread, AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// The simplest executor.
fn block_on<F: Future>(future: F) -> F::Output {
    let woken = Arc::new(Woken(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while woken.1.swap(0, Ordering::SeqCst) == 0 {
            thread::park();
        }
    }
}

#[test]
fn runs_are_futures() {
    let instance = session().instance();
    let sums = block_on(async {
        let first = instance.submit(&x(&[1, 2]))?.await?.values::<u32>("sum")?;
        let (second, third) = (instance.submit(&x(&[1, 1]))?, instance.submit(&x(&[1, 1]))?);
        // In whatever order they are awaited.
        let third = third.await?.values::<u32>("sum")?;
        let second = second.into_future().await?.values::<u32>("sum")?;
        Ok::<_, SessionError>([first, second, third])
    });
    assert_eq!(sums.unwrap(), [vec![10, 20], vec![20, 30], vec![30, 40]]);
}

#[test]
fn sessions_share_nothing() {
    thread::scope(|scope| {
        for n in 1..=6u32 {
            scope.spawn(move || {
                let instance = session().instance();
                for run in 1..=5 {
                    let outputs = instance.submit(&x(&[n])).unwrap().wait(None).unwrap();
                    assert_eq!(outputs.values::<u32>("sum").unwrap(), [run * n * 10]);
                }
            });
        }
    });
}

#[test]
fn a_backend_without_payloads_says_so() {
    let profile = (reference().open)().unwrap().profile().clone();
    let request = CompileRequest::graph(&accumulator(), &profile).validate().unwrap();
    let envelope = ArtifactEnvelope::new(compile(&request).unwrap());
    let refused = ArtifactSession::from_envelope(reference(), &envelope, None).unwrap_err();
    assert!(matches!(refused, SessionError::Backend(BackendError::NoFacet { .. })), "{refused}");
    // There is no loss to recover from: nothing changes.
    let session = session();
    let instance = session.instance();
    instance.submit(&x(&[1])).unwrap().wait(None).unwrap();
    session.rematerialize().unwrap();
    let outputs = instance.submit(&x(&[1])).unwrap().wait(None).unwrap();
    assert_eq!(outputs.values::<u32>("sum").unwrap(), [20]);
}
