//! Graphs: the plan that fusion finds, against the program by hand, or against one kernel for each node.
//!
//! Both sides are Vyre's. Against single kernels, what is predicted is the ratio of the bytes that the kernels of the two plans
//! read and write, each buffer once; what is asked is at most 15 % more. A row says if it measures over 15 % less. That is
//! not the fused kernel's merit alone: the single kernels that compute elements run slower than their bytes say, as their
//! index `row * columns + column` proves no alignment, so that they get no vectors.

use std::sync::Arc;

use vyre_driver::{BackendError, BufferRef, CommandList, CompiledPipeline, Resource, Span, VyreBackend};
use vyre_foundation::graph::{Bindings, ProgramGraph, Solved, solve};
use vyre_foundation::launch::Params;
use vyre_megakernel::fuse::Step;
use vyre_megakernel::{
    Artifact, BindingSet, CompileRequest, Held, Pipelines, SearchBudget, compile, samples, schedule,
};

use super::{Bench, LEEWAY, Resident, Row, small_floats};

/// What goes wrong with a sample is a fault of the sample's.
fn sample<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, BackendError> {
    result.map_err(|error| BackendError::Config { field: "graph", why: error.to_string() })
}

/// A graph's inputs and output on the device, with the sizes of its dimensions.
struct Sample<'b> {
    bench: &'b Bench<'b>,
    graph: ProgramGraph,
    dims: Vec<(&'static str, u64)>,
    solved: Solved,
    /// By name; the output `y` is the last.
    buffers: Vec<(String, Resource)>,
}

/// A plan that can be run.
struct Planned {
    artifact: Artifact,
    pipelines: Pipelines,
}

impl<'b> Sample<'b> {
    fn new(
        bench: &'b Bench<'b>,
        graph: ProgramGraph,
        dims: Vec<(&'static str, u64)>,
        inputs: &[(&str, &[f32])],
    ) -> Result<Self, BackendError> {
        let mut bindings = Bindings::new();
        for &(name, value) in &dims {
            bindings = bindings.dim(name, value);
        }
        let solved = sample(solve(&graph, &bindings))?;
        let mut buffers = Vec::new();
        let mut list = CommandList::new();
        for &(name, elements) in inputs {
            let bytes: &[u8] = bytemuck::cast_slice(elements);
            let resource = bench.backend.allocate(bytes.len() as u64)?;
            list.upload(BufferRef::Resident(resource), 0, bytes);
            buffers.push((name.to_owned(), resource));
        }
        bench.backend.submit(&list)?.wait(None)?;
        for output in graph.outputs() {
            let resource = bench.backend.allocate(solved.bytes(&graph, output.value))?;
            buffers.push((output.name.clone(), resource));
        }
        Ok(Self { bench, graph, dims, solved, buffers })
    }

    fn plan(&self, budget: SearchBudget) -> Result<Planned, BackendError> {
        let request = CompileRequest::graph(&self.graph, self.bench.backend.profile()).with_budget(budget);
        let artifact = sample(compile(&sample(request.validate())?))?;
        let mut pipelines: Vec<Arc<dyn CompiledPipeline>> = Vec::new();
        for program in artifact.programs() {
            pipelines.push(self.bench.backend.compile_checked(program, artifact.options())?);
        }
        let pipelines = sample(Pipelines::new(&artifact, pipelines))?;
        Ok(Planned { artifact, pipelines })
    }

    fn bindings(&self) -> BindingSet<'static> {
        let mut bindings = BindingSet::new();
        for (name, resource) in &self.buffers {
            bindings = bindings.resident(name.as_str(), *resource);
        }
        for &(name, value) in &self.dims {
            bindings = bindings.dim(name, value);
        }
        bindings
    }

    /// Bytes that the kernels of a plan read and write, each buffer once.
    fn bytes(&self, plan: &Planned) -> u64 {
        let runs = plan.artifact.plan().steps.iter().filter_map(|step| match step {
            Step::Run(run) => Some(run),
            Step::Copy { .. } => None,
        });
        let values =
            runs.flat_map(|run| run.buffers.iter().flat_map(|one| [one.input, one.output])).flatten();
        values.map(|value| self.solved.bytes(&self.graph, value)).sum()
    }

    fn run(&self, list: &CommandList<'_>) -> Result<(), BackendError> {
        self.bench.backend.submit(list)?.wait(None).map(drop)
    }

    fn output(&self) -> Result<Vec<u8>, BackendError> {
        let Some(&(_, resource)) = self.buffers.last() else { return Ok(Vec::new()) };
        let mut list = CommandList::new();
        list.read(Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len });
        Ok(self.bench.backend.submit(&list)?.wait(None)?.into_iter().next().unwrap_or_default())
    }

    /// The fused plan against one kernel for each node.
    fn against_unfused(&self, name: &'static str) -> Result<Row, BackendError> {
        let (fused, plain) = (self.plan(SearchBudget::default())?, self.plan(SearchBudget::none())?);
        let (bindings, held) = (self.bindings(), Held::default());
        let ours = sample(schedule(&fused.artifact, &fused.pipelines, &bindings, &held))?.list;
        let theirs = sample(schedule(&plain.artifact, &plain.pipelines, &bindings, &held))?.list;
        self.run(&theirs)?;
        let want = self.output()?;
        self.run(&ours)?;
        let correct = self.output()? == want && want.iter().any(|&byte| byte != 0);
        let predicted = self.bytes(&fused) as f64 / self.bytes(&plain) as f64;
        let asked = predicted * (1.0 + LEEWAY);
        let mut failed = None;
        let row = self.bench.time(name, asked, correct, &mut || self.run(&ours), &mut || {
            failed = self.run(&theirs).err();
        })?;
        failed.map_or(Ok(Row { predicted: Some(predicted), ..row }), Err)
    }
}

impl Drop for Sample<'_> {
    fn drop(&mut self) {
        for (_, resource) in &self.buffers {
            // The device may be lost; there is nothing else to do at the end of a row.
            let _ = self.bench.backend.free(*resource);
        }
    }
}

impl Bench<'_> {
    /// Less on a software device, which would take minutes.
    fn scaled(&self, n: usize) -> usize {
        if self.backend.profile().is_software { n / 64 } else { n }
    }

    /// A chain of eight elementwise programs against the one program that does the same.
    pub(crate) fn chain(&self) -> Result<Row, BackendError> {
        const STEPS: u32 = 8;
        let n = self.scaled(1 << 26);
        let x = small_floats(n);
        let graph = sample(samples::chain(STEPS))?;
        let chain = Sample::new(self, graph, vec![("n", n as u64)], &[("x", &x)])?;
        let fused = chain.plan(SearchBudget::default())?;
        let (bindings, held) = (chain.bindings(), Held::default());
        let ours = sample(schedule(&fused.artifact, &fused.pipelines, &bindings, &held))?.list;
        let by_hand = Resident::new(
            self,
            &sample(samples::fused_chain(STEPS))?,
            Params::new(),
            &[bytemuck::cast_slice(&x)],
            &[n as u64 * 4],
        )?;
        let theirs = by_hand.list(1);
        chain.run(&ours)?;
        by_hand.run(&theirs)?;
        let correct = chain.output()? == by_hand.read(1)?;
        let mut failed = None;
        let row = self.time(
            "chain of 8 programs over f32, fused (raw: one program, by Vyre)",
            1.05,
            correct,
            &mut || chain.run(&ours),
            &mut || failed = by_hand.run(&theirs).err(),
        )?;
        failed.map_or(Ok(row), Err)
    }

    /// The softmax of rows, fused against its four kernels.
    pub(crate) fn softmax(&self) -> Result<Row, BackendError> {
        let (rows, columns) = (self.scaled(1 << 14), 4096);
        let x: Vec<f32> = small_floats(rows * columns).into_iter().map(|x| x / 8.0).collect();
        let dims = vec![("rows", rows as u64), ("columns", columns as u64)];
        let graph = sample(samples::softmax())?;
        Sample::new(self, graph, dims, &[("x", &x)])?
            .against_unfused("softmax of rows of 4,096, fused (raw: its 4 kernels, by Vyre)")
    }

    /// The layer normalisation of rows, fused against its four kernels.
    pub(crate) fn layer_norm(&self) -> Result<Row, BackendError> {
        let (rows, columns) = (self.scaled(1 << 14), 4096);
        let (x, of_columns) = (small_floats(rows * columns), small_floats(columns));
        let dims = vec![("rows", rows as u64), ("columns", columns as u64)];
        let graph = sample(samples::layer_norm())?;
        Sample::new(self, graph, dims, &[("x", &x), ("gamma", &of_columns), ("beta", &of_columns)])?
            .against_unfused("layer normalisation of rows of 4,096, fused (raw: its 4 kernels)")
    }
}
