//! Handles to values.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use vyre_spec::{Element, Value, class};

use super::kernel::Caller;
use super::{Extent, IntoExtent, Kernel};
use crate::ir::{Expr, ExprId};

/// A value of type `T` in a kernel.
///
/// Operators and methods record expressions; their other operands are handles or Rust values. A value that
/// was read inside a block is only usable there: carry it out in a [`Var`](super::Var).
pub struct Val<'k, T> {
    pub(super) kernel: &'k Kernel,
    pub(super) id: ExprId,
    ty: PhantomData<T>,
}

impl<T> Clone for Val<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Val<'_, T> {}

impl<T: Element> fmt::Debug for Val<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.id, T::TYPE)
    }
}

impl<'k, T: Element> Val<'k, T> {
    pub(super) fn new(kernel: &'k Kernel, id: ExprId) -> Self {
        Self { kernel, id, ty: PhantomData }
    }

    /// The kernel that the value belongs to, for functions that take values and record statements.
    pub fn kernel(self) -> &'k Kernel {
        self.kernel
    }

    /// The value for host arithmetic: it is a buffer's length, a parameter or a constant.
    #[track_caller]
    pub fn extent(self) -> Extent<'k>
    where
        Self: IntoExtent<'k>,
    {
        self.kernel.extent(self)
    }
}

mod sealed {
    use super::{Element, Val};
    pub trait Sealed<T> {}
    impl<T: Element> Sealed<T> for T {}
    impl<T: Element> Sealed<T> for Val<'_, T> {}

    pub trait Index {}
    impl Index for u32 {}
    impl<T: super::class::Int> Index for Val<'_, T> {}
}

/// What may stand for a value of type `T`: a handle, or a Rust value as a constant.
pub trait IntoVal<'k, T: Element>: sealed::Sealed<T> {
    #[doc(hidden)]
    fn expr(self, kernel: &'k Kernel, at: &'static Location<'static>) -> ExprId;
}

impl<'k, T: Element> IntoVal<'k, T> for T {
    fn expr(self, kernel: &'k Kernel, at: Caller) -> ExprId {
        kernel.expr_id(Expr::Literal(Value::new(self)), at)
    }
}

impl<'k, T: Element> IntoVal<'k, T> for Val<'k, T> {
    fn expr(self, kernel: &'k Kernel, at: Caller) -> ExprId {
        if std::ptr::eq(kernel, self.kernel) {
            return self.id;
        }
        kernel.report_mixed("an operand", at);
        kernel.placeholder(T::TYPE, at)
    }
}

/// What may index an array: an integer [`Val`], or a constant, which is a `u32`.
pub trait IntoIndex<'k>: sealed::Index {
    #[doc(hidden)]
    fn index(self, kernel: &'k Kernel, at: &'static Location<'static>) -> ExprId;
}

impl<'k> IntoIndex<'k> for u32 {
    fn index(self, kernel: &'k Kernel, at: Caller) -> ExprId {
        self.expr(kernel, at)
    }
}

impl<'k, T: class::Int> IntoIndex<'k> for Val<'k, T> {
    fn index(self, kernel: &'k Kernel, at: Caller) -> ExprId {
        self.expr(kernel, at)
    }
}
