//! Why a run's sizes cannot be settled.

use vyre_spec::DataType;

/// Why a run's sizes cannot be settled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A parameter has no value.
    #[error("parameter `{name}` has no value: pass one of type {ty}")]
    MissingParam {
        /// Its name.
        name: String,
        /// Its type.
        ty: DataType,
    },
    /// A parameter has a value of another type.
    #[error("parameter `{name}` has type {needs}, but got a value of type {got}")]
    ParamType {
        /// Its name.
        name: String,
        /// Its declared type.
        needs: DataType,
        /// The value's type.
        got: DataType,
    },
    /// A value was passed for a parameter that the graph does not have.
    #[error("the graph has no parameter `{name}`; it has: {known}")]
    UnknownParam {
        /// The name.
        name: String,
        /// The graph's parameters.
        known: String,
    },
    /// A number was passed for a symbol that the graph does not have.
    #[error("the graph has no symbol `{name}`; it has: {known}")]
    UnknownDim {
        /// The name.
        name: String,
        /// The graph's symbols.
        known: String,
    },
    /// A symbol follows from nothing.
    #[error("`{symbol}` follows from no value's length: pass its number, by its name")]
    MissingDim {
        /// The symbol.
        symbol: String,
    },
    /// A value's bytes are no whole number of elements.
    #[error(
        "value `{value}` got {got} bytes, which is no whole number of {element} elements of {size} bytes"
    )]
    PartialElement {
        /// Its name.
        value: String,
        /// The bytes bound.
        got: u64,
        /// Its element type.
        element: DataType,
        /// The element's size in bytes.
        size: u32,
    },
    /// No number for a symbol gives a value's length.
    #[error("value `{value}` of shape {shape} got {got} elements, which no `{symbol}` gives")]
    Indivisible {
        /// Its name.
        value: String,
        /// Its shape.
        shape: String,
        /// The elements bound.
        got: u64,
        /// The symbol.
        symbol: String,
    },
    /// A value has other than the number of elements that its shape says.
    #[error("value `{value}` of shape {shape} needs {needs} elements{because}, but got {got}")]
    Shape {
        /// Its name.
        value: String,
        /// Its shape.
        shape: String,
        /// The elements that it needs.
        needs: u64,
        /// The elements bound.
        got: u64,
        /// The symbols of the shape, with what settled each.
        because: String,
    },
    /// A node's input has other than the number of elements that its buffer declares.
    #[error("node `{node}`: buffer `{buffer}` needs {needs} elements, but value `{value}` has {got}")]
    Length {
        /// The node.
        node: String,
        /// The buffer.
        buffer: String,
        /// The elements it needs.
        needs: u64,
        /// The value that is bound to it.
        value: String,
        /// The value's elements.
        got: u64,
    },
    /// A retained value would change its length.
    #[error("retained value `{value}` has {has} elements, but becomes `{next}`, of {becomes}")]
    Update {
        /// Its name.
        value: String,
        /// Its elements.
        has: u64,
        /// What it becomes.
        next: String,
        /// The elements of that.
        becomes: u64,
    },
    /// A buffer is too short for the workgroup counts that it should have.
    #[error(
        "node `{node}`: value `{value}` has the launch's workgroup counts, three elements, but only {got}"
    )]
    NoCounts {
        /// The node.
        node: String,
        /// The value.
        value: String,
        /// Its elements.
        got: u64,
    },
    /// Arithmetic of dimensions overflowed, went below zero, or divided by zero.
    #[error("{what} cannot be computed: {operation}")]
    Arithmetic {
        /// What the dimension is of.
        what: String,
        /// The operation with its operands.
        operation: String,
    },
    /// A number does not fit where it goes.
    #[error("{what} is {value}, above the limit of {limit}: split the work into several runs")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
}
