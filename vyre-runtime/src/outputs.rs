//! What a run gave.

use vyre_spec::{DataType, Element, from_bytes};

use crate::SessionError;

/// The outputs of a run that are not resident, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    pub(crate) buffers: Vec<Output>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) element: DataType,
    pub(crate) bytes: Vec<u8>,
}

impl Outputs {
    /// The names, in the program's declaration order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.buffers.iter().map(|output| output.name.as_str())
    }

    fn output(&self, name: &str) -> Result<&Output, SessionError> {
        self.buffers.iter().find(|output| output.name == name).ok_or_else(|| SessionError::UnknownOutput {
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// An output's bytes.
    ///
    /// # Errors
    /// If the run gave none of this name.
    pub fn bytes(&self, name: &str) -> Result<&[u8], SessionError> {
        Ok(&self.output(name)?.bytes)
    }

    /// An output's elements.
    ///
    /// # Errors
    /// If the run gave none of this name, or its elements have another type.
    pub fn values<T: Element>(&self, name: &str) -> Result<Vec<T>, SessionError> {
        let output = self.output(name)?;
        if output.element != T::TYPE {
            let (has, asked) = (output.element, T::TYPE);
            return Err(SessionError::OutputType { name: name.to_owned(), has, asked });
        }
        Ok(from_bytes(&output.bytes)?)
    }
}
