//! What a run of an artifact works on, by name.

use std::borrow::Cow;

use vyre_driver::Resource;
use vyre_foundation::launch::{LaunchError, Params};
use vyre_spec::{DataType, Element, Value, to_bytes};

/// The buffers and parameters of a run. Outputs that are not bound are made by the run and read back.
#[derive(Clone, Debug, Default)]
pub struct BindingSet<'a> {
    pub(crate) buffers: Vec<(String, Bound<'a>)>,
    pub(crate) params: Params,
    pub(crate) counts: Option<[u32; 3]>,
    pub(crate) label: Option<String>,
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
    /// A name is not the program's.
    #[error("the program has no buffer `{name}`; it has: {}", known.join(", "))]
    UnknownBuffer {
        /// The name.
        name: String,
        /// The program's buffers.
        known: Vec<String>,
    },
    /// A name is bound twice.
    #[error("buffer `{0}` is bound twice")]
    Twice(String),
    /// An input is not bound.
    #[error("input buffer `{name}` is not bound: bind {element} elements")]
    Unbound {
        /// Its name.
        name: String,
        /// Its element type.
        element: DataType,
    },
    /// Values of another type are bound.
    #[error("buffer `{name}` has {needs} elements, but {got} values are bound")]
    ElementType {
        /// Its name.
        name: String,
        /// Its element type.
        needs: DataType,
        /// The values' type.
        got: DataType,
    },
    /// Host bytes are bound to a buffer that is only written.
    #[error("buffer `{0}` is only written: bind a resident buffer, or leave it out to read it back")]
    OutputOnly(String),
    /// Lengths, parameters or counts do not fit.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The pipeline was compiled from another program.
    #[error(
        "the pipeline is of program `{got}`, not of the artifact's `{needs}`: compile the artifact's own"
    )]
    OtherProgram {
        /// The artifact's program.
        needs: String,
        /// The pipeline's program.
        got: String,
    },
}

impl<'a> BindingSet<'a> {
    /// Nothing bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a buffer's bytes.
    #[must_use]
    pub fn bytes(mut self, name: impl Into<String>, bytes: &'a [u8]) -> Self {
        self.buffers.push((name.into(), Bound::Host { bytes: Cow::Borrowed(bytes), element: None }));
        self
    }

    /// With a buffer's elements.
    #[must_use]
    pub fn values<T: Element>(mut self, name: impl Into<String>, values: &[T]) -> Self {
        let bound = Bound::Host { bytes: Cow::Owned(to_bytes(values)), element: Some(T::TYPE) };
        self.buffers.push((name.into(), bound));
        self
    }

    /// With a buffer that stays on the device: it is neither uploaded nor read back.
    #[must_use]
    pub fn resident(mut self, name: impl Into<String>, resource: Resource) -> Self {
        self.buffers.push((name.into(), Bound::Resident(resource)));
        self
    }

    /// With a parameter.
    #[must_use]
    pub fn param<T: Element>(mut self, name: impl Into<String>, value: T) -> Self {
        self.params = self.params.with(name, Value::new(value));
        self
    }

    /// With workgroup counts in place of the program's own.
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
