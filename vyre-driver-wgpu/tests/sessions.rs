//! Sessions on this backend: envelopes without compiling, losses at every step, the README document's example.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use vyre_driver::{BackendError, PayloadKey, VyreBackend, backend_registration};
use vyre_driver_wgpu::{Fault, Site, WGPU_BACKEND_ID, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::graph::{GraphBuilder, Inputs, ProgramGraph, Source, evaluate};
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::testing::{GraphConfig, generate_graph};
use vyre_megakernel::{
    ArtifactEnvelope, BindingSet, CompileRequest, EnvelopeError, SearchBudget, compile, samples,
};
use vyre_runtime::{ArtifactInstance, ArtifactSession, Lost, Outputs, SessionError};
use vyre_spec::to_bytes;

/// `total` grows by `x` × 10 + 1 in each run, in two programs, by a constant; `sums` are its prefix sums by pairs.
fn accumulator() -> ProgramGraph {
    let weigh = Kernel::build("weigh", |k| {
        let (weight, x) = (k.read_only::<u32>("weight"), k.read_only::<u32>("x"));
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) * weight.load(0u32) + weight.load(1u32)));
    })
    .unwrap();
    let grow = Kernel::build("grow", |k| {
        let x = k.read_only::<u32>("x");
        let total = k.read_write::<u32>("total").with_len(x.len());
        k.domain([x.len()], |[i]| total.store(i, total.load(i) + x.load(i)));
    })
    .unwrap();
    let pairs = Kernel::build("pairs", |k| {
        let total = k.read_only::<u32>("total");
        let sums = k.write_only::<u32>("sums", total.len());
        k.domain([total.len()], |[i]| sums.store(i, total.load(i) + total.load(i ^ 1u32)));
    })
    .unwrap();
    let g = GraphBuilder::new("accumulator");
    let n = g.dim("n");
    let weight = g.constant("weight", &[10u32, 1]);
    let x = g.input::<u32>("x", [n]);
    let total = g.retained::<u32>("total", [n]);
    let weighed = g.call(&weigh, [weight, x]).unwrap();
    let next = g.call(&grow, [weighed, total]).unwrap();
    g.update(total, next);
    g.output("sum", next);
    g.output("sums", g.call(&pairs, [next]).unwrap());
    g.finish().unwrap()
}

fn key() -> PayloadKey {
    PayloadKey::new([42; 32])
}

/// The envelope, from its bytes; of three kernels, so that there are more places where something can go wrong.
fn envelope(backend: &WgpuBackend) -> ArtifactEnvelope {
    let profile = backend.profile();
    let request = CompileRequest::graph(&accumulator(), profile).with_budget(SearchBudget::none());
    let artifact = compile(&request.validate().unwrap()).unwrap();
    let registration = backend_registration(WGPU_BACKEND_ID).unwrap();
    let envelope = ArtifactEnvelope::new(artifact).with_target(registration, profile).unwrap();
    ArtifactEnvelope::from_bytes(&envelope.sealed(&key()).to_bytes()).unwrap()
}

fn x(values: &[u32]) -> BindingSet<'static> {
    BindingSet::new().values("x", values)
}

fn sums(outputs: &Outputs) -> [Vec<u32>; 2] {
    ["sum", "sums"].map(|name| outputs.values::<u32>(name).unwrap())
}

fn run(instance: &ArtifactInstance, bindings: &BindingSet<'_>) -> Result<[Vec<u32>; 2], SessionError> {
    Ok(sums(&instance.submit(bindings)?.wait(None)?))
}

#[test]
fn the_readme_example_works_as_printed() -> Result<(), Box<dyn std::error::Error>> {
    use vyre_driver::backend::backend_registration;

    let graph = samples::chain(3)?;
    let request = CompileRequest::graph(&graph, WgpuBackend::shared()?.profile()).validate()?;

    let registration = backend_registration(WGPU_BACKEND_ID)?;
    let session = ArtifactSession::compile(registration, &request)?;

    let values: Vec<f32> = (0..1000).map(|i| i as f32 * 0.25 - 50.0).collect();
    let bindings = BindingSet::new().values("x", &values);
    let outputs = session.instance().submit(&bindings)?.wait(None)?;
    let bytes = to_bytes(&values);
    let want = evaluate(&graph, &Inputs::new().value("x", &bytes), &MachineOptions::default())?;
    assert_eq!(outputs.bytes("y")?, want.outputs[0]);
    Ok(())
}

#[test]
fn an_envelope_runs_without_compiling() {
    let backend = Arc::new(WgpuBackend::acquire().unwrap());
    let envelope = envelope(&backend);
    let compiled = || backend.pipeline_cache_snapshot().unwrap().misses;
    let session = ArtifactSession::from_envelope_on(backend.clone(), &envelope, Some(&key())).unwrap();
    let instance = session.instance();
    assert_eq!(run(&instance, &x(&[1, 2])).unwrap(), [vec![11, 21], vec![32, 32]]);
    assert_eq!(run(&instance, &x(&[1, 2])).unwrap(), [vec![22, 42], vec![64, 64]]);
    let kept = instance.retained().unwrap();
    assert_eq!(kept.values::<u32>("total").unwrap(), [22, 42]);

    backend.force_device_lost().unwrap();
    assert!(run(&instance, &x(&[1, 2])).unwrap_err().is_loss());
    session.rematerialize().unwrap();
    let lost = SessionError::RetainedLost { name: "total".into(), why: Lost::Device };
    assert_eq!(run(&instance, &x(&[1, 2])).unwrap_err(), lost);
    // From what was read before the loss.
    let total = kept.values::<u32>("total").unwrap();
    assert_eq!(run(&instance, &x(&[1, 2]).values("total", &total)).unwrap()[0], [33, 63]);
    assert_eq!(run(&instance, &x(&[0, 0])).unwrap()[0], [34, 64]);
    // A session that finds the device as it is leaves everything alone.
    session.rematerialize().unwrap();
    assert_eq!(run(&instance, &x(&[0, 0])).unwrap()[0], [35, 65]);
    assert_eq!(compiled(), 0);

    // Another session of the backend has to be told as well, and has values of its own.
    let other = ArtifactSession::from_envelope_on(backend.clone(), &envelope, Some(&key())).unwrap();
    let theirs = other.instance();
    assert_eq!(run(&theirs, &x(&[5])).unwrap()[0], [51]);
    backend.force_device_lost().unwrap();
    session.rematerialize().unwrap();
    instance.reset();
    assert_eq!(run(&instance, &x(&[1, 2])).unwrap()[0], [11, 21]);
    assert!(run(&theirs, &x(&[5])).unwrap_err().is_loss());
    other.rematerialize().unwrap();
    theirs.reset();
    assert_eq!(run(&theirs, &x(&[5])).unwrap()[0], [51]);
    assert_eq!(compiled(), 0);
}

#[test]
fn a_key_decides_which_envelope_is_believed() {
    let backend = Arc::new(WgpuBackend::acquire().unwrap());
    let envelope = envelope(&backend);
    let open = |key: Option<&PayloadKey>| {
        ArtifactSession::from_envelope_on(backend.clone(), &envelope, key).map(|session| session.instance())
    };
    let other = open(Some(&PayloadKey::new([1; 32]))).unwrap_err();
    assert_eq!(other, SessionError::Envelope(EnvelopeError::WrongMac));
    assert_eq!(run(&open(None).unwrap(), &x(&[1])).unwrap()[0], [11]);

    // What was compiled for another device is refused before anything of it is looked at.
    let mut profile = backend.device_profile();
    profile.driver.push_str(" of yesterday");
    let request = CompileRequest::graph(&accumulator(), &profile).validate().unwrap();
    let elsewhere = ArtifactEnvelope::new(compile(&request).unwrap());
    let refused = ArtifactSession::from_envelope_on(backend.clone(), &elsewhere, None).unwrap_err();
    assert!(matches!(refused, SessionError::OtherDevice { .. }), "{refused}");
    // And what holds no payload for the backend says what it holds.
    let bare = ArtifactEnvelope::new(envelope.artifact().clone());
    let refused = ArtifactSession::from_envelope_on(backend.clone(), &bare, None).unwrap_err();
    assert!(matches!(refused, SessionError::Envelope(EnvelopeError::NoPayload { .. })), "{refused}");
}

/// Opens a session and runs it twice, with a loss wherever one strikes: what is lost is made ready again, and the
/// runs begin anew.
fn through_losses(backend: &Arc<WgpuBackend>, envelope: &ArtifactEnvelope) -> [[Vec<u32>; 2]; 2] {
    let recovered = |error: SessionError, session: Option<&ArtifactSession>| {
        let memory = matches!(error, SessionError::Backend(BackendError::OutOfMemory { .. }));
        let retained = matches!(error, SessionError::RetainedLost { .. });
        assert!(error.is_loss() || memory || retained, "{error}");
        // A fault may strike the recovery as well.
        for _ in 0..3 {
            let recovered = match session {
                Some(session) => session.rematerialize(),
                None => backend.try_recover().map_err(SessionError::from),
            };
            match recovered {
                Ok(()) => return,
                Err(error) => assert!(error.is_loss() || error.to_string().contains("memory"), "{error}"),
            }
        }
        panic!("no recovery");
    };
    let session = (0..4).find_map(|_| {
        let opened = ArtifactSession::from_envelope_on(backend.clone(), envelope, Some(&key()));
        opened.map_err(|error| recovered(error, None)).ok()
    });
    let session = session.unwrap();
    let instance = session.instance();
    for _ in 0..4 {
        let first = run(&instance, &x(&[1, 2, 3]));
        let both = first.and_then(|first| Ok([first, run(&instance, &x(&[4, 5, 6]))?]));
        match both {
            Ok(both) => return both,
            Err(error) => recovered(error, Some(&session)),
        }
        instance.reset();
    }
    panic!("no result");
}

/// A loss at every submission and allocation of a session's life, one after the other, until none strikes any more.
fn losses_at(site: Site, fault: Fault) -> u32 {
    let backend = Arc::new(WgpuBackend::acquire().unwrap());
    let envelope = envelope(&backend);
    let want = [[vec![11, 21, 31], vec![32, 32, 31]], [vec![52, 72, 92], vec![124, 124, 92]]];
    assert_eq!(through_losses(&backend, &envelope), want);
    for skip in 0..200 {
        // Nothing is there for reuse.
        backend.trim();
        backend.arm_fault(site, skip, fault);
        assert_eq!(through_losses(&backend, &envelope), want, "{fault:?} at {site:?} after {skip}");
        if backend.disarm_faults() > 0 {
            return skip;
        }
    }
    panic!("a session has no end");
}

#[test]
fn a_session_survives_a_loss_at_every_submission() {
    // Constants, and a list for each run, at least.
    assert!(losses_at(Site::Submit, Fault::Lost) >= 3);
    assert!(losses_at(Site::Submit, Fault::LostLater) >= 3);
}

#[test]
fn a_session_survives_a_loss_at_every_allocation() {
    assert!(losses_at(Site::Allocate, Fault::Lost) >= 3);
    assert!(losses_at(Site::Allocate, Fault::OutOfMemory) >= 3);
}

#[test]
fn a_session_survives_a_loss_during_its_recovery() {
    let backend = Arc::new(WgpuBackend::acquire().unwrap());
    let envelope = envelope(&backend);
    let session = ArtifactSession::from_envelope_on(backend.clone(), &envelope, Some(&key())).unwrap();
    let instance = session.instance();
    for (site, fault) in [
        (Site::Reopen, Fault::OtherDriver),
        (Site::Submit, Fault::Lost),
        (Site::Allocate, Fault::OutOfMemory),
    ] {
        assert_eq!(run(&instance, &x(&[1])).unwrap()[0], [11]);
        backend.force_device_lost().unwrap();
        backend.arm_fault(site, 0, fault);
        session.rematerialize().unwrap_err();
        assert_eq!(backend.disarm_faults(), 0);
        session.rematerialize().unwrap();
        instance.reset();
    }
    assert_eq!(run(&instance, &x(&[1])).unwrap()[0], [11]);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn runs_under_way_wake_who_awaits_them() {
    let backend = Arc::new(WgpuBackend::acquire().unwrap());
    let artifact = envelope(&backend).artifact().clone();
    let session = ArtifactSession::on(backend.clone(), artifact).unwrap();
    let instance = session.instance();
    let values: Vec<u32> = (0..1 << 20).collect();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    for runs in 1..=3u32 {
        let mut future = pin!(instance.submit(&x(&values)).unwrap().into_future());
        let outputs = loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(outputs) => break outputs.unwrap(),
                Poll::Pending => thread::park(),
            }
        };
        let got = outputs.values::<u32>("sum").unwrap();
        assert!(got.iter().zip(0u32..).all(|(&got, i)| got == (i * 10 + 1) * runs));
    }
    // A loss ends the wait with its error.
    backend.arm_fault(Site::Submit, 0, Fault::LostLater);
    let mut future = pin!(instance.submit(&x(&values)).unwrap().into_future());
    let error = loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(outputs) => break outputs.unwrap_err(),
            Poll::Pending => thread::park(),
        }
    };
    assert!(error.is_loss(), "{error}");
    session.rematerialize().unwrap();
    instance.reset();
    assert_eq!(run(&instance, &x(&[1])).unwrap()[0], [11]);
}

#[test]
fn random_graphs_give_the_bytes_that_they_mean_fused_and_not() {
    let registration = backend_registration(WGPU_BACKEND_ID).unwrap();
    let backend = WgpuBackend::shared().unwrap();
    let config = GraphConfig { min_nodes: 20, max_nodes: 30, max_elements: 100, ..GraphConfig::default() };
    for seed in 70..76 {
        let case = generate_graph(seed, &config);
        let first = case.evaluate(&MachineOptions::default()).unwrap();
        let mut again = case.bindings();
        for (name, bytes) in &first.retained {
            again = again.value(name, bytes);
        }
        let second = evaluate(&case.graph, &again, &MachineOptions::default()).unwrap();
        for budget in [SearchBudget::none(), SearchBudget::default()] {
            let request = CompileRequest::graph(&case.graph, backend.profile()).with_budget(budget);
            let session = ArtifactSession::compile(registration, &request.validate().unwrap()).unwrap();
            let instance = session.instance();
            for (is_first, want) in [(true, &first), (false, &second)] {
                let mut bindings = BindingSet::new();
                for (name, bytes) in &case.inputs {
                    let value = case.graph.value_named(name).unwrap();
                    // The second run finds what the first retained.
                    if is_first || case.graph.value(value).source == Source::Input {
                        bindings = bindings.bytes(name.as_str(), bytes);
                    }
                }
                for param in case.graph.params() {
                    bindings =
                        bindings.param_value(param.name.as_str(), case.params.get(&param.name).unwrap());
                }
                for (name, number) in &case.dims {
                    bindings = bindings.dim(name, *number);
                }
                let outputs = instance.submit(&bindings).unwrap().wait(None).unwrap();
                for (output, want) in case.graph.outputs().iter().zip(&want.outputs) {
                    let got = outputs.bytes(&output.name).unwrap();
                    assert!(got == want, "seed {seed}, {budget:?}, output {}", output.name);
                }
            }
        }
    }
}
