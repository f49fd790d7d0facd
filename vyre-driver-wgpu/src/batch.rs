//! Many dispatches in one submission.

use vyre_driver::{BackendError, Completion, DispatchConfig, OutputBuffers, checked, host_list};
use vyre_foundation::ir::Program;

use crate::backend::WgpuBackend;
use crate::exec;

impl WgpuBackend {
    /// Runs several dispatches as one submission, and gives each one's outputs or its error: a job that is
    /// refused, traps or times out leaves the others alone. The jobs run in order; each has its own buffers.
    ///
    /// # Errors
    /// Of the whole batch: loss of the device. Of a job: as `dispatch_borrowed`; if the submission itself
    /// fails, every job that was not refused says so.
    pub fn dispatch_borrowed_batch(
        &self,
        jobs: &[(&Program, &[&[u8]], &DispatchConfig)],
    ) -> Result<Vec<Result<OutputBuffers, BackendError>>, BackendError> {
        let mut outputs = vec![OutputBuffers::new(); jobs.len()];
        let results = self.dispatch_borrowed_batch_into(jobs, &mut outputs)?;
        Ok(results.into_iter().zip(outputs).map(|(result, outputs)| result.map(|()| outputs)).collect())
    }

    /// As [`Self::dispatch_borrowed_batch`], with the outputs of job `i` in `outputs[i]`, whose vectors are not
    /// allocated anew where they are large enough. What a failed job leaves in its own is of no use.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed_batch`], and [`BackendError::Config`] if there are more or fewer outputs
    /// than jobs.
    pub fn dispatch_borrowed_batch_into(
        &self,
        jobs: &[(&Program, &[&[u8]], &DispatchConfig)],
        outputs: &mut [OutputBuffers],
    ) -> Result<Vec<Result<(), BackendError>>, BackendError> {
        if jobs.len() != outputs.len() {
            let why = format!("there are {} jobs, but {} outputs", jobs.len(), outputs.len());
            return Err(BackendError::Config { field: "outputs", why });
        }
        let core = self.core()?;
        core.generation.check()?;
        let (mut lists, mut refused) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
        for (program, inputs, config) in jobs {
            let list = checked(program).and_then(|program| host_list(self, &program, inputs, config));
            refused.push(list.map(|list| lists.push(list)).err());
        }
        let label = lists.iter().find_map(|list| list.label());
        let mut works = exec::submit_each(&core, label, &lists).into_iter();
        let each = refused.into_iter().zip(jobs).zip(outputs).map(|((refused, (.., config)), outputs)| {
            match refused {
                Some(error) => Err(error),
                // As many as were not refused.
                None => works.next().map_or(Ok(()), |work| {
                    let done = work.and_then(|work| Box::new(work).wait_into(config.timeout, outputs));
                    done.map(drop).map_err(|error| error.labeled(config.label.as_deref()))
                }),
            }
        });
        Ok(each.collect())
    }

    /// As [`Self::dispatch_borrowed_batch`], with owned jobs.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed_batch`].
    pub fn dispatch_batch(
        &self,
        jobs: &[(Program, Vec<Vec<u8>>, DispatchConfig)],
    ) -> Result<Vec<Result<OutputBuffers, BackendError>>, BackendError> {
        let inputs: Vec<Vec<&[u8]>> =
            jobs.iter().map(|(_, inputs, _)| inputs.iter().map(Vec::as_slice).collect()).collect();
        let jobs: Vec<_> = jobs
            .iter()
            .zip(&inputs)
            .map(|((program, _, config), inputs)| (program, inputs.as_slice(), config))
            .collect();
        self.dispatch_borrowed_batch(&jobs)
    }
}
