//! Random graphs whose result no device may give otherwise.
//!
//! Programs of a dozen patterns, each drawn a few times, are applied over and over to what is there: inputs,
//! constants, retained values and what was computed. Each node is run when it is drawn, so lengths are known, and nodes
//! that meet subnormals, which devices may flush, are drawn again.

mod patterns;
#[cfg(test)]
mod tests;

use fastrand::Rng;
use vyre_spec::{DataType, TypeSet, Value};

use self::patterns::{Need, Template};
use super::super::values::random_bytes;
use crate::graph::{Arg, EvaluateError, Evaluation, GraphBuilder, Handle, Inputs, ProgramGraph, evaluate};
use crate::launch::Params;
use crate::machine::{MachineOptions, run};

/// What graphs are generated.
#[derive(Clone, Debug)]
pub struct GraphConfig {
    /// Nodes, at least.
    pub min_nodes: u32,
    /// Nodes, at most.
    pub max_nodes: u32,
    /// The element types of values, of those that have ops; u32 always is one.
    pub types: TypeSet,
    /// Elements of a value, at most.
    pub max_elements: usize,
    /// How deep an expression nests.
    pub depth: u32,
}

impl Default for GraphConfig {
    fn default() -> Self {
        let types = TypeSet::of(&[DataType::U32, DataType::I32, DataType::F32]);
        Self { min_nodes: 20, max_nodes: 200, types, max_elements: 600, depth: 3 }
    }
}

/// A graph with what a first run is given.
#[derive(Clone, Debug)]
pub struct GeneratedGraph {
    /// The seed that it was generated from.
    pub seed: u64,
    /// The graph.
    pub graph: ProgramGraph,
    /// The parameters' values.
    pub params: Params,
    /// The bytes of inputs and of some retained values, by name.
    pub inputs: Vec<(String, Vec<u8>)>,
    /// The numbers of all symbols.
    pub dims: Vec<(String, u64)>,
}

impl GeneratedGraph {
    /// What a first run is given.
    pub fn bindings(&self) -> Inputs<'_> {
        let mut inputs = Inputs::new().params(self.params.clone());
        for (name, bytes) in &self.inputs {
            inputs = inputs.value(name, bytes);
        }
        for (name, value) in &self.dims {
            inputs = inputs.dim(name, *value);
        }
        inputs
    }

    /// A first run on the reference machine.
    ///
    /// # Errors
    /// As [`evaluate`].
    pub fn evaluate(&self, options: &MachineOptions) -> Result<Evaluation, EvaluateError> {
        evaluate(&self.graph, &self.bindings(), options)
    }
}

/// A graph and what it is given. The same for the same seed and configuration.
pub fn generate_graph(seed: u64, config: &GraphConfig) -> GeneratedGraph {
    let mut rng = Rng::with_seed(seed);
    let g = GraphBuilder::new(format!("random_{seed}"));
    let drawn = Drawing::new(&g, config, &mut rng).draw();
    let (params, inputs, dims) = drawn;
    match g.finish() {
        Ok(graph) => GeneratedGraph { seed, graph, params, inputs, dims },
        // A fault of the generator, which its test looks for.
        Err(error) => {
            debug_assert!(false, "seed {seed}: {error}");
            generate_graph(seed.wrapping_add(1), config)
        }
    }
}

/// A value of the graph, with what it is in the first run.
#[derive(Clone)]
struct Known<'g> {
    handle: Handle<'g>,
    ty: DataType,
    bytes: Vec<u8>,
    read: bool,
    /// A retained value that has no update yet.
    retained: bool,
    computed: bool,
}

impl Known<'_> {
    fn len(&self) -> usize {
        self.bytes.len() / self.ty.size() as usize
    }
}

struct Drawing<'g, 'r> {
    g: &'g GraphBuilder,
    config: &'r GraphConfig,
    rng: &'r mut Rng,
    types: Vec<DataType>,
    templates: Vec<Template>,
    values: Vec<Known<'g>>,
    params: Vec<(Handle<'g>, Value)>,
    given: Params,
    inputs: Vec<(String, Vec<u8>)>,
    dims: Vec<(String, u64)>,
}

type Drawn = (Params, Vec<(String, Vec<u8>)>, Vec<(String, u64)>);

/// Draws of a node that may fail, until another program is drawn.
const ATTEMPTS: u32 = 20;

impl<'g, 'r> Drawing<'g, 'r> {
    fn new(g: &'g GraphBuilder, config: &'r GraphConfig, rng: &'r mut Rng) -> Self {
        let always = DataType::U32;
        let types: Vec<_> =
            DataType::ALL.into_iter().filter(|ty| *ty == always || config.types.contains(*ty)).collect();
        let mut drawing = Self {
            g,
            config,
            rng,
            types,
            templates: Vec::new(),
            values: Vec::new(),
            params: Vec::new(),
            given: Params::new(),
            inputs: Vec::new(),
            dims: Vec::new(),
        };
        for _ in 0..drawing.rng.usize(4..24) {
            drawing.template();
        }
        drawing
    }

    /// Draws one more program.
    fn template(&mut self) {
        let template = patterns::draw(self.templates.len(), &self.types, self.config.depth, self.rng);
        self.templates.extend(template);
    }

    fn draw(mut self) -> Drawn {
        self.sources();
        let nodes = self.rng.u32(self.config.min_nodes..=self.config.max_nodes.max(self.config.min_nodes));
        for _ in 0..nodes {
            // Where no program fits, there are others.
            for _ in 0..ATTEMPTS {
                if (0..ATTEMPTS).any(|_| self.node().is_some()) {
                    break;
                }
                self.template();
            }
        }
        self.ends();
        (self.given, self.inputs, self.dims)
    }

    fn any_type(&mut self) -> DataType {
        self.types[self.rng.usize(0..self.types.len())]
    }

    fn bytes(&mut self, ty: DataType, count: u64) -> Vec<u8> {
        random_bytes(ty, count, self.rng, |rng| super::super::random_value(ty, false, rng))
    }

    /// Declares what no node computes.
    fn sources(&mut self) {
        let g = self.g;
        let mut symbols = Vec::new();
        for name in ["n", "m"] {
            let sizes = [1, 2, 3, 7, 31, 32, 33, 64, 65, 100];
            let value = sizes[self.rng.usize(0..sizes.len())];
            self.dims.push((name.to_owned(), value));
            symbols.push((g.dim(name), value));
        }
        for (name, value) in [("k", Value::new(self.rng.u32(1..4))), ("j", Value::new(self.rng.u32(0..100)))]
        {
            self.params.push((g.param_of(name, value.ty()), value));
            self.given = std::mem::take(&mut self.given).with(name, value);
        }
        for ty in self.types.clone() {
            let value = super::super::random_value(ty, false, self.rng);
            let name = format!("a_{ty}");
            self.params.push((g.param_of(&name, ty), value));
            self.given = std::mem::take(&mut self.given).with(name, value);
        }
        for i in 0..self.rng.usize(2..6) {
            let ty = if i == 0 { DataType::U32 } else { self.any_type() };
            let (symbol, n) = symbols[if i < 2 { i } else { self.rng.usize(0..2) }];
            let name = format!("in_{i}");
            let (handle, count) = match self.rng.u8(0..6) {
                0 if i >= 2 => (g.input_of(&name, ty, (symbol, 3)), 3 * n),
                1 if i >= 2 => (g.input_of(&name, ty, [symbol + 1]), n + 1),
                _ => (g.input_of(&name, ty, [symbol]), n),
            };
            let bytes = self.bytes(ty, count);
            self.inputs.push((name, bytes.clone()));
            self.source(handle, ty, bytes, false);
        }
        for i in 0..self.rng.usize(0..3) {
            let (ty, n) = (self.any_type(), self.rng.u64(1..40));
            let bytes = self.bytes(ty, n);
            let handle = g.constant_of(format!("const_{i}"), ty, [n], bytes.clone());
            self.source(handle, ty, bytes, false);
        }
        for i in 0..self.rng.usize(0..3) {
            let ty = self.any_type();
            let (symbol, n) = symbols[self.rng.usize(0..2)];
            let name = format!("kept_{i}");
            let handle = g.retained_of(&name, ty, [symbol]);
            let bytes = match self.rng.bool() {
                true => {
                    let bytes = self.bytes(ty, n);
                    self.inputs.push((name, bytes.clone()));
                    bytes
                }
                false => vec![0; n as usize * ty.size() as usize],
            };
            self.source(handle, ty, bytes, true);
        }
    }

    fn source(&mut self, handle: Handle<'g>, ty: DataType, bytes: Vec<u8>, retained: bool) {
        self.values.push(Known { handle, ty, bytes, read: false, retained, computed: false });
    }

    /// A value that fits, late ones more often.
    fn pick(&mut self, fits: impl Fn(&Known<'g>) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.values.len()).filter(|&at| fits(&self.values[at])).collect();
        let last = fitting.len().checked_sub(1)?;
        let (a, b) = (self.rng.usize(0..=last), self.rng.usize(0..=last));
        fitting.get(a.max(b)).copied()
    }

    /// Draws a node; nothing if there are no values for its program, or it may not be.
    fn node(&mut self) -> Option<()> {
        let template = self.templates.get(self.rng.usize(0..self.templates.len().max(1)))?.clone();
        let mut inputs: Vec<usize> = Vec::new();
        for &(ty, need) in &template.inputs {
            let first = inputs.first().map(|&at| self.values[at].len());
            let at = self.pick(|value| {
                value.ty == ty
                    && match need {
                        Need::Any => true,
                        Need::AsFirst => first.is_none_or(|len| len == value.len()),
                    }
            })?;
            inputs.push(at);
        }
        let (mut args, mut params) = (Vec::new(), Params::new());
        for (param, &below) in template.program.params().iter().zip(&template.params) {
            let (arg, value) = self.argument(param.ty, below);
            args.push(arg);
            params = params.with(&param.name, value);
        }
        let bytes: Vec<&[u8]> = inputs.iter().map(|&at| self.values[at].bytes.as_slice()).collect();
        let options = MachineOptions { watch_subnormals: true, ..MachineOptions::default() };
        let outcome = run(&template.program, &params, &bytes, &options).ok()?;
        let most = self.config.max_elements;
        let types: Vec<_> =
            template.program.outputs().map(|id| template.program.buffer(id).element).collect();
        let long = |(bytes, ty): (&Vec<u8>, &DataType)| bytes.len() > most * ty.size() as usize;
        if outcome.subnormals || outcome.trap.is_some() || outcome.outputs.iter().zip(&types).any(long) {
            return None;
        }
        args.extend(inputs.iter().map(|&at| Arg::Handle(self.values[at].handle)));
        let handles = self.g.node(&template.program).call_all(args).ok()?;
        inputs.iter().for_each(|&at| self.values[at].read = true);
        for ((handle, bytes), ty) in handles.into_iter().zip(outcome.outputs).zip(types) {
            self.values.push(Known { handle, ty, bytes, read: false, retained: false, computed: true });
        }
        Some(())
    }

    /// A constant, a parameter or a dimension; below a limit if there is one.
    fn argument(&mut self, ty: DataType, below: Option<u32>) -> (Arg<'g>, Value) {
        if let Some(below) = below {
            let fitting =
                self.params.iter().find(|(_, v)| v.ty() == ty && v.bits() < u64::from(below) && v.bits() > 0);
            if let (Some(&(handle, value)), true) = (fitting, self.rng.bool()) {
                return (handle.into(), value);
            }
            let value = Value::from_bits(ty, self.rng.u64(1..u64::from(below.max(2))));
            return (value.into(), value);
        }
        match self.rng.u8(0..4) {
            0 if ty == DataType::U32 => {
                let at = self.rng.usize(0..self.dims.len());
                let (name, value) = self.dims[at].clone();
                (self.g.dim(name).into(), Value::from_bits(ty, value))
            }
            0 | 1 => {
                let fitting: Vec<_> = self.params.iter().filter(|(_, v)| v.ty() == ty).copied().collect();
                match fitting.get(self.rng.usize(0..fitting.len().max(1))) {
                    Some(&(handle, value)) => (handle.into(), value),
                    None => (Value::zero(ty).into(), Value::zero(ty)),
                }
            }
            _ => {
                let value = super::super::random_value(ty, false, self.rng);
                (value.into(), value)
            }
        }
    }

    /// Declares outputs, and what retained values become.
    fn ends(&mut self) {
        let g = self.g;
        let mut names = 0..;
        let mut output = |handle| g.output(format!("out_{}", names.next().unwrap_or(0)), handle);
        let leaves: Vec<usize> =
            (0..self.values.len()).filter(|&at| self.values[at].computed && !self.values[at].read).collect();
        for &at in &leaves {
            if leaves.len() <= 4 || self.rng.bool() {
                output(self.values[at].handle);
            }
        }
        for _ in 0..self.rng.usize(1..4) {
            // Any: also one that is read, or is an output already, or an input.
            let below = if self.rng.u8(0..3) == 0 { 3 } else { self.values.len() };
            let at = self.rng.usize(0..below.min(self.values.len()));
            output(self.values[at].handle);
            if self.rng.bool() {
                output(self.values[at].handle);
            }
        }
        for at in 0..self.values.len() {
            let value = self.values[at].clone();
            if value.retained && self.rng.u8(0..4) > 0 {
                let next = self.pick(|other| other.ty == value.ty && other.len() == value.len());
                if let Some(next) = next {
                    g.update(value.handle, self.values[next].handle);
                }
            }
        }
    }
}
