//! Instances: what submits runs, and retains values between them.

use std::fmt;
use std::sync::{Arc, Mutex};

use vyre_driver::{BufferRef, CommandList, Span};
use vyre_megakernel::{BindingSet, Held, Prepared};

use crate::outputs::{Output, Outputs};
use crate::retained::{Place, State, Ticket, lock, no_fault};
use crate::{ArtifactSession, SessionError, Submission};

/// Submits runs of an artifact, and keeps its retained values on the device from one run to the next.
///
/// Each instance has retained values of its own; a clone shares them, and runs of both follow one another in the order of
/// their submission. At the first run a retained value is what that run binds, else zeros. A run may bind it at
/// any time, which replaces it.
///
/// A loss of the device loses them, and so does a run that faults half-way. Every run after that which does not bind
/// them is refused, with [`SessionError::RetainedLost`], until [`Self::reset`] makes them zeros again:
/// nothing goes on with values that were not meant. [`Self::retained`] reads them, to bind them again after a loss.
///
/// A fault is found out when its run is waited for, or, if the run was dropped, by later runs once it has ended. A run
/// that was submitted before that and goes on with the values gives the same error in place of outputs when it is waited
/// for; so wait in the order of submission, or it may be too early to tell. A run whose wait timed out is not looked at again.
#[derive(Clone)]
pub struct ArtifactInstance {
    session: ArtifactSession,
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for ArtifactInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactInstance").field("session", &self.session).finish_non_exhaustive()
    }
}

impl ArtifactInstance {
    pub(crate) fn new(session: ArtifactSession) -> Self {
        let state = State {
            backend: Arc::clone(session.backend()),
            held: Held::new(),
            generation: session.ready().generation(),
            lost: None,
            faulted: no_fault(),
            runs: 0,
            unseen: Vec::new(),
        };
        Self { session, state: Arc::new(Mutex::new(state)) }
    }

    /// The session.
    pub fn session(&self) -> &ArtifactSession {
        &self.session
    }

    /// Submits a run as one piece of work and returns at once. Host values are taken before it returns.
    ///
    /// # Errors
    /// If the bindings do not fit the artifact, retained values are lost, or the backend refuses the work. A run that is
    /// refused has no effect.
    pub fn submit(&self, bindings: &BindingSet<'_>) -> Result<Submission, SessionError> {
        let (artifact, backend) = (self.session.artifact(), self.session.backend());
        let mut state = lock(&self.state);
        let ready = self.session.ready();
        state.meet(&ready);
        state.look();
        let run = Prepared::new(artifact, bindings, &state.held)?;
        let retained: Vec<_> = artifact.retained().collect();
        // What a run binds may have another length than what is there.
        let fits = |id| state.held.get(id).is_some_and(|held| held.len == run.bytes_of(*id));
        let missing: Vec<_> = retained.iter().filter(|id| !fits(id)).collect();
        if let Some(why) = state.lost {
            if let Some(&&id) = missing.iter().find(|&&&id| !run.binds(id)) {
                return Err(SessionError::RetainedLost {
                    name: artifact.graph().value(id).name.clone(),
                    why,
                });
            }
        }
        let mut made = Held::new();
        let submitted = (|| {
            for &&id in &missing {
                made.insert(id, backend.allocate(run.bytes_of(id))?);
            }
            let mut held = ready.constants().clone();
            held.extend(state.held.iter().chain(&made).map(|(&id, &resource)| (id, resource)));
            let schedule = run.schedule(&ready.pipelines, &held)?;
            let completion = backend.submit(&schedule.list)?;
            Ok::<_, SessionError>((completion, schedule.reads))
        })();
        let (completion, reads) = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                for resource in made.into_values() {
                    let _ = backend.free(resource);
                }
                return Err(error);
            }
        };
        for (id, resource) in made {
            if let Some(old) = state.held.insert(id, resource) {
                let _ = backend.free(old);
            }
        }
        state.lost = None;
        let takes = retained.iter().find(|id| !run.binds(**id));
        let takes = takes.map(|&id| artifact.graph().value(id).name.clone());
        if takes.is_none() {
            // No fault of a run before reaches what is bound now.
            state.faulted = no_fault();
        }
        state.runs += 1;
        let place = Place { number: state.runs, faulted: Arc::clone(&state.faulted) };
        let ticket = (!retained.is_empty()).then(|| Ticket { state: Arc::clone(&self.state), place, takes });
        Ok(Submission::new(completion, reads, ticket))
    }

    /// Reads the retained values as the last submitted run leaves them, and waits for it. Values that no run has
    /// used yet are left out.
    ///
    /// # Errors
    /// [`SessionError::RetainedLost`], or the device's own failure.
    pub fn retained(&self) -> Result<Outputs, SessionError> {
        let artifact = self.session.artifact();
        let mut state = lock(&self.state);
        state.meet(&self.session.ready());
        state.look();
        if let (Some(why), Some(id)) = (state.lost, artifact.retained().next()) {
            return Err(SessionError::RetainedLost { name: artifact.graph().value(id).name.clone(), why });
        }
        let mut list = CommandList::new().labeled(Some("retained".to_owned()));
        for resource in state.held.values() {
            list.read(Span { buffer: BufferRef::Resident(*resource), offset: 0, len: resource.len });
        }
        let completion = self.session.backend().submit(&list)?;
        let ids: Vec<_> = state.held.keys().copied().collect();
        drop(state);
        let output = |(id, bytes)| {
            let value = artifact.graph().value(id);
            Output { name: value.name.clone(), element: value.element, bytes }
        };
        Ok(Outputs { buffers: ids.into_iter().zip(completion.wait(None)?).map(output).collect() })
    }

    /// Forgets the retained values: the next run is as the first.
    pub fn reset(&self) {
        let mut state = lock(&self.state);
        state.free();
        state.lost = None;
    }
}
