//! The ways in which a backend takes a program, all of which give the same bytes.

use vyre_foundation::ir::{Launch, Node};
use vyre_foundation::testing::GeneratedCase;
use vyre_spec::{CompileOptions, MemoryOrdering};

use crate::{BackendError, DispatchConfig, OutputBuffers, VyreBackend, backend_registration};

/// A way in which a program is compiled and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As callers do.
    Optimised,
    /// Without the optimiser.
    Unoptimised,
    /// A domain in workgroups whose size is not the compiler's choice, so that its points are spread otherwise.
    Workgroup,
    /// Compiled to a payload, whose kernels rest on no launch contract, and loaded from it.
    Payload,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 4] = [Self::Optimised, Self::Unoptimised, Self::Workgroup, Self::Payload];

    /// A name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimised => "optimised",
            Self::Unoptimised => "unoptimised",
            Self::Workgroup => "other workgroup size",
            Self::Payload => "payload without contract",
        }
    }

    /// Whether a case has this form: a domain has no workgroups of its own; payloads hold one kernel
    /// and are specialised by nobody.
    pub(super) fn fits(self, backend: &dyn VyreBackend, case: &GeneratedCase) -> bool {
        let program = &case.program;
        match self {
            Self::Optimised | Self::Unoptimised => true,
            Self::Workgroup => matches!(program.launch(), Launch::Domain { .. }),
            Self::Payload => {
                let grid = Node::Barrier { ordering: MemoryOrdering::GridSync };
                !program.nodes().contains(&grid)
                    && !program.params().iter().any(|param| param.specialize)
                    && backend_registration(backend.id()).is_ok_and(|r| r.target_compiler.is_some())
            }
        }
    }

    /// The outputs of a case in this form.
    pub(super) fn run(
        self,
        backend: &dyn VyreBackend,
        case: &GeneratedCase,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        let inputs: Vec<&[u8]> = case.inputs.iter().map(Vec::as_slice).collect();
        let config = DispatchConfig {
            unoptimized: self == Self::Unoptimised,
            workgroup: (self == Self::Workgroup).then(|| workgroup(case)),
            params: case.params.clone(),
            ..DispatchConfig::default()
        };
        match self {
            Self::Payload => payload(backend, case, &inputs),
            _ => backend.dispatch_checked(&case.program, &inputs, &config),
        }
    }
}

/// A size that every device takes, by the case's seed.
fn workgroup(case: &GeneratedCase) -> [u32; 3] {
    const SIZES: [[u32; 3]; 6] = [[1, 1, 1], [3, 1, 1], [7, 2, 1], [64, 1, 1], [4, 4, 4], [1, 16, 1]];
    SIZES[(case.seed % SIZES.len() as u64) as usize]
}

fn payload(
    backend: &dyn VyreBackend,
    case: &GeneratedCase,
    inputs: &[&[u8]],
) -> Result<Vec<Vec<u8>>, BackendError> {
    let registration = backend_registration(backend.id())?;
    let options = CompileOptions::default();
    let payload = registration.target_compiler()?.compile(
        std::slice::from_ref(&case.program),
        backend.profile(),
        &options,
    )?;
    let pipelines = registration.materializer()?.materialize(backend, &payload, None)?;
    let mut outputs = OutputBuffers::new();
    let config = DispatchConfig { params: case.params.clone(), ..DispatchConfig::default() };
    for pipeline in &pipelines {
        backend.dispatch_pipeline_into(pipeline, inputs, &config, &mut outputs)?;
    }
    Ok(outputs)
}
