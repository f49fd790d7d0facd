//! Handles to variables.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use vyre_spec::Element;

use super::{IntoVal, Kernel, Val};
use crate::ir::{Node, VarId};

/// A variable of an invocation: what carries values out of blocks and from one trip of a loop to the next.
///
/// ```
/// use vyre_foundation::build::Kernel;
/// Kernel::build("row_sums", |k| {
///     let x = k.read_only::<f32>("x");
///     let width = k.param::<u32>("width");
///     let out = k.read_write::<f32>("out");
///     k.domain([out.len()], |[row]| {
///         let sum = k.var("sum", 0.0);
///         k.for_(0, width, |column| {
///             sum.set(sum.get() + x.load(row * width + column));
///         });
///         out.store(row, sum.get());
///     });
/// })?;
/// # Ok::<(), vyre_foundation::build::BuildError>(())
/// ```
pub struct Var<'k, T> {
    kernel: &'k Kernel,
    id: VarId,
    ty: PhantomData<T>,
}

impl<T> Clone for Var<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Var<'_, T> {}

impl<T: Element> fmt::Debug for Var<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.id, T::TYPE)
    }
}

impl<'k, T: Element> Var<'k, T> {
    pub(super) fn new(kernel: &'k Kernel, id: VarId) -> Self {
        Self { kernel, id, ty: PhantomData }
    }

    /// Reads the variable: its value at this point of the flow.
    #[track_caller]
    pub fn get(self) -> Val<'k, T> {
        self.kernel.push_result(Node::Get { var: self.id }, Location::caller())
    }

    /// Writes the variable.
    #[track_caller]
    pub fn set(self, value: impl IntoVal<'k, T>) {
        let at = Location::caller();
        let value = value.expr(self.kernel, at);
        self.kernel.push(Node::Set { var: self.id, value }, at);
    }
}
