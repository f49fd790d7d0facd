//! What a run of an artifact works on, by name or id.

use std::borrow::Cow;
use std::fmt;

use vyre_driver::Resource;
use vyre_foundation::graph::{GraphParamId, GraphValueId, SolveError};
use vyre_foundation::launch::LaunchError;
use vyre_spec::{DataType, Element, Value, to_bytes};

/// The values, parameters and dimensions of a run. Outputs that are not bound are made by the run and read back.
///
/// A value or parameter is named by its name, or by its id in the artifact's graph.
#[derive(Clone, Debug, Default)]
pub struct BindingSet<'a> {
    pub(crate) values: Vec<(Key<GraphValueId>, Bound<'a>)>,
    pub(crate) params: Vec<(Key<GraphParamId>, Value)>,
    pub(crate) dims: Vec<(String, u64)>,
    pub(crate) counts: Option<[u32; 3]>,
    pub(crate) label: Option<String>,
}

/// A name or an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key<Id> {
    /// By name.
    Name(String),
    /// By id.
    Id(Id),
}

impl<Id> From<&str> for Key<Id> {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl<Id> From<String> for Key<Id> {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<GraphValueId> for Key<GraphValueId> {
    fn from(id: GraphValueId) -> Self {
        Self::Id(id)
    }
}

impl From<GraphParamId> for Key<GraphParamId> {
    fn from(id: GraphParamId) -> Self {
        Self::Id(id)
    }
}

impl<Id: fmt::Debug> fmt::Display for Key<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Id(id) => write!(f, "{id:?}"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Bound<'a> {
    /// Host bytes, of a known element type if they came as values.
    Host { bytes: Cow<'a, [u8]>, element: Option<DataType> },
    /// A buffer that stays on the device.
    Resident(Resource),
}

/// Why bindings do not fit an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindingError {
    /// A name or id is none of the graph's inputs, retained values and outputs.
    #[error("the graph takes and gives no value `{key}`; it has: {}", known.join(", "))]
    UnknownValue {
        /// The name or id.
        key: String,
        /// The names of its inputs, retained values and outputs.
        known: Vec<String>,
    },
    /// A name or id is none of the graph's parameters.
    #[error("the graph has no parameter `{key}`; it has: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownParam {
        /// The name or id.
        key: String,
        /// The graph's parameters.
        known: Vec<String>,
    },
    /// A value or parameter is bound twice.
    #[error("`{0}` is bound twice: bind it once")]
    Twice(String),
    /// An input is not bound.
    #[error("input `{name}` is not bound: bind {element} elements")]
    Unbound {
        /// Its name.
        name: String,
        /// Its element type.
        element: DataType,
    },
    /// Values of another type are bound.
    #[error("`{name}` has {needs} elements, but {got} values are bound: convert them")]
    ElementType {
        /// Its name.
        name: String,
        /// Its element type.
        needs: DataType,
        /// The values' type.
        got: DataType,
    },
    /// Host bytes are bound to what is only given back.
    #[error("`{0}` is only given back: bind a resident buffer, or leave it out to read it back")]
    OutputOnly(String),
    /// A resident buffer is bound to an output, or held for a value, of another length.
    #[error(
        "`{name}` has {needs} bytes, but a resident buffer of {got} is bound to it or held for it: allocate one of \
         {needs}"
    )]
    ResidentLength {
        /// Its name.
        name: String,
        /// Its bytes.
        needs: u64,
        /// The buffer's.
        got: u64,
    },
    /// Two outputs, or what retained values become, would be written to one buffer.
    #[error(
        "`{first}` and `{second}` are bound to one resident buffer, which would get both: bind a buffer to each"
    )]
    SharedOutput {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// Dimensions cannot be settled, or what is bound contradicts them.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The artifact was compiled for other numbers than this run has.
    #[error(
        "the artifact was compiled for `{name}` = {promised}, but this run has {got}: compile it without that fact"
    )]
    Fact {
        /// The dimension or parameter.
        name: String,
        /// What the request promised.
        promised: String,
        /// What it is.
        got: String,
    },
    /// Workgroup counts replace those of a single kernel only.
    #[error(
        "workgroup counts are given, but the artifact runs {kernels} kernels, not one: give counts to the graph's nodes"
    )]
    Counts {
        /// How many.
        kernels: usize,
    },
    /// A number of elements does not fit its place.
    #[error("{what} is {value}, above the limit of {limit}: split the work into several runs")]
    TooLarge {
        /// What.
        what: String,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// Lengths, parameters or counts do not fit a kernel.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A pipeline was compiled from another program.
    #[error(
        "pipeline {index} is of program `{got}`, not of the artifact's `{needs}`: compile the artifact's own"
    )]
    OtherProgram {
        /// The pipeline's position.
        index: usize,
        /// The artifact's program.
        needs: String,
        /// The pipeline's program.
        got: String,
    },
    /// There are more or fewer pipelines than programs.
    #[error("the artifact has {needs} programs, but {got} pipelines were passed")]
    PipelineCount {
        /// The artifact's programs.
        needs: usize,
        /// The pipelines.
        got: usize,
    },
}

impl<'a> BindingSet<'a> {
    /// Nothing bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the bytes of an input or retained value.
    #[must_use]
    pub fn bytes(mut self, value: impl Into<Key<GraphValueId>>, bytes: &'a [u8]) -> Self {
        self.values.push((value.into(), Bound::Host { bytes: Cow::Borrowed(bytes), element: None }));
        self
    }

    /// With the elements of an input or retained value.
    #[must_use]
    pub fn values<T: Element>(mut self, value: impl Into<Key<GraphValueId>>, values: &[T]) -> Self {
        let bound = Bound::Host { bytes: Cow::Owned(to_bytes(values)), element: Some(T::TYPE) };
        self.values.push((value.into(), bound));
        self
    }

    /// With a buffer that stays on the device, for an input, an output, or both if they have one name: it is neither
    /// uploaded nor read back.
    #[must_use]
    pub fn resident(mut self, value: impl Into<Key<GraphValueId>>, resource: Resource) -> Self {
        self.values.push((value.into(), Bound::Resident(resource)));
        self
    }

    /// With a parameter.
    #[must_use]
    pub fn param<T: Element>(self, param: impl Into<Key<GraphParamId>>, value: T) -> Self {
        self.param_value(param, Value::new(value))
    }

    /// With a parameter whose type is known at run time.
    #[must_use]
    pub fn param_value(mut self, param: impl Into<Key<GraphParamId>>, value: Value) -> Self {
        self.params.push((param.into(), value));
        self
    }

    /// With the number that a symbolic dimension has. Those that the lengths of bound values settle need none.
    #[must_use]
    pub fn dim(mut self, symbol: impl Into<String>, value: u64) -> Self {
        self.dims.push((symbol.into(), value));
        self
    }

    /// With workgroup counts in place of the program's own; for artifacts of one kernel.
    #[must_use]
    pub fn counts(mut self, counts: [u32; 3]) -> Self {
        self.counts = Some(counts);
        self
    }

    /// With a label for traces and errors.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
