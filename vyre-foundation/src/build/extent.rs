//! Host arithmetic on lengths, parameters and constants.

use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::panic::Location;

use vyre_spec::{DataType, class};

use super::kernel::Caller;
use super::{Kernel, Val};
use crate::diag::{Code, Diagnostic, Site};
use crate::ir;
use crate::ir::{Expr, ExtentId};

/// A number of elements, points or workgroups, computed on the host at launch in `u64`; overflow is a launch
/// error, where arithmetic of a [`Val`] wraps.
///
/// ```
/// use vyre_foundation::build::Kernel;
/// Kernel::build("pairs", |k| {
///     let x = k.read_only::<u32>("x");
///     let pairs = x.len().extent().ceil_div(2);
///     let out = k.write_only::<u32>("out", pairs);
///     k.domain([pairs], |[i]| out.store(i, x.load(i * 2) + x.load(i * 2 + 1)));
/// })?;
/// # Ok::<(), vyre_foundation::build::BuildError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Extent<'k> {
    kernel: &'k Kernel,
    id: ExtentId,
}

impl fmt::Debug for Extent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

type Combine = fn(ExtentId, ExtentId) -> ir::Extent;

impl<'k> Extent<'k> {
    pub(super) fn new(kernel: &'k Kernel, id: ExtentId) -> Self {
        Self { kernel, id }
    }

    fn with(self, combine: Combine, other: impl IntoExtent<'k>, at: Caller) -> Self {
        let other = other.extent_id(self.kernel, at);
        let id = self.kernel.arena.borrow_mut().extent(combine(self.id, other));
        Self { kernel: self.kernel, id }
    }

    /// The quotient, rounded up.
    #[must_use]
    #[track_caller]
    pub fn ceil_div(self, other: impl IntoExtent<'k>) -> Self {
        self.with(ir::Extent::CeilDiv, other, Location::caller())
    }

    /// The smaller.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl IntoExtent<'k>) -> Self {
        self.with(ir::Extent::Min, other, Location::caller())
    }

    /// The larger.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl IntoExtent<'k>) -> Self {
        self.with(ir::Extent::Max, other, Location::caller())
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident)*) => {$(
        impl<'k, E: IntoExtent<'k>> $trait<E> for Extent<'k> {
            type Output = Self;
            #[track_caller]
            fn $name(self, other: E) -> Self {
                self.with(ir::Extent::$trait, other, Location::caller())
            }
        }

        impl<'k> $trait<Extent<'k>> for u64 {
            type Output = Extent<'k>;
            #[track_caller]
            fn $name(self, other: Extent<'k>) -> Extent<'k> {
                other.kernel.extent(self).with(ir::Extent::$trait, other, Location::caller())
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul }

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for super::Extent<'_> {}
    impl<T: super::class::Int> Sealed for super::Val<'_, T> {}
}

/// What may stand for an extent: an [`Extent`], a `u64`, or a [`Val`] that is a buffer's length, a
/// parameter or a constant.
pub trait IntoExtent<'k>: sealed::Sealed {
    #[doc(hidden)]
    fn extent_id(self, kernel: &'k Kernel, at: &'static Location<'static>) -> ExtentId;
}

fn literal(kernel: &Kernel, value: u64) -> ExtentId {
    kernel.arena.borrow_mut().extent(ir::Extent::Literal(value))
}

impl<'k> IntoExtent<'k> for u64 {
    fn extent_id(self, kernel: &'k Kernel, _at: Caller) -> ExtentId {
        literal(kernel, self)
    }
}

impl<'k> IntoExtent<'k> for Extent<'k> {
    fn extent_id(self, kernel: &'k Kernel, at: Caller) -> ExtentId {
        if std::ptr::eq(kernel, self.kernel) {
            return self.id;
        }
        kernel.report_mixed("an extent", at);
        literal(kernel, 0)
    }
}

impl<'k, T: class::Int> IntoExtent<'k> for Val<'k, T> {
    fn extent_id(self, kernel: &'k Kernel, at: Caller) -> ExtentId {
        if !std::ptr::eq(kernel, self.kernel) {
            kernel.report_mixed("an extent", at);
            return literal(kernel, 0);
        }
        let expr = kernel.arena.borrow().program().exprs().get(self.id.index()).copied();
        let extent = match expr {
            Some(Expr::Param(id)) => Some(ir::Extent::Param(id)),
            Some(Expr::Length(id)) => Some(ir::Extent::Length(id)),
            Some(Expr::Literal(value)) if value.ty() == DataType::U32 => {
                Some(ir::Extent::Literal(value.bits()))
            }
            _ => None,
        };
        match extent {
            Some(extent) => kernel.arena.borrow_mut().extent(extent),
            None => {
                let what = "an extent is computed on the device";
                let d = Diagnostic::new(Code::BadLaunch, Site::Program, what)
                    .with_help("make it of lengths, parameters and constants: `x.len().extent() * 2`");
                kernel.report(d, at);
                literal(kernel, 0)
            }
        }
    }
}
