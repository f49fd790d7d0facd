//! What may stand where a builder takes arguments, dimensions and shapes.

use vyre_spec::{Value, bf16, f16};

use super::{DimHandle, Handle};

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'g> {
    /// A value or parameter of the graph.
    Handle(Handle<'g>),
    /// A dimension, for an integer parameter.
    Dim(DimHandle<'g>),
    /// A constant, for a parameter of its type.
    Literal(Value),
}

impl<'g> From<Handle<'g>> for Arg<'g> {
    fn from(handle: Handle<'g>) -> Self {
        Self::Handle(handle)
    }
}

impl<'g> From<DimHandle<'g>> for Arg<'g> {
    fn from(dim: DimHandle<'g>) -> Self {
        Self::Dim(dim)
    }
}

impl From<Value> for Arg<'_> {
    fn from(value: Value) -> Self {
        Self::Literal(value)
    }
}

macro_rules! literals {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Arg<'_> {
            fn from(value: $ty) -> Self {
                Self::Literal(Value::new(value))
            }
        }
    )*};
}

literals! { bool u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 f16 bf16 }

/// The arguments of a call: an array or vector of one kind, or a tuple of several.
pub trait IntoArgs<'g> {
    /// The arguments, in order.
    fn into_args(self) -> Vec<Arg<'g>>;
}

impl<'g, A: Into<Arg<'g>>, const N: usize> IntoArgs<'g> for [A; N] {
    fn into_args(self) -> Vec<Arg<'g>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'g, A: Into<Arg<'g>>> IntoArgs<'g> for Vec<A> {
    fn into_args(self) -> Vec<Arg<'g>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'g, A: Into<Arg<'g>> + Copy> IntoArgs<'g> for &[A] {
    fn into_args(self) -> Vec<Arg<'g>> {
        self.iter().map(|&arg| arg.into()).collect()
    }
}

/// What may stand for a dimension: a [`DimHandle`], a `u64`, or the [`Handle`] of an integer parameter.
pub trait IntoDim<'g> {
    /// The dimension as an argument, whose graph is looked at when it is used.
    #[doc(hidden)]
    fn into_dim(self) -> Arg<'g>;
}

impl<'g> IntoDim<'g> for u64 {
    fn into_dim(self) -> Arg<'g> {
        Arg::Literal(Value::new(self))
    }
}

impl<'g> IntoDim<'g> for DimHandle<'g> {
    fn into_dim(self) -> Arg<'g> {
        Arg::Dim(self)
    }
}

impl<'g> IntoDim<'g> for Handle<'g> {
    fn into_dim(self) -> Arg<'g> {
        Arg::Handle(self)
    }
}

/// A shape: an array or vector of dimensions, a tuple of several kinds, or `()` for a single element.
pub trait IntoShape<'g> {
    #[doc(hidden)]
    fn into_shape(self) -> Vec<Arg<'g>>;
}

impl<'g, D: IntoDim<'g>, const N: usize> IntoShape<'g> for [D; N] {
    fn into_shape(self) -> Vec<Arg<'g>> {
        self.into_iter().map(IntoDim::into_dim).collect()
    }
}

impl<'g, D: IntoDim<'g>> IntoShape<'g> for Vec<D> {
    fn into_shape(self) -> Vec<Arg<'g>> {
        self.into_iter().map(IntoDim::into_dim).collect()
    }
}

macro_rules! tuples {
    ($(($($ty:ident)*))*) => {$(
        impl<'g, $($ty: Into<Arg<'g>>),*> IntoArgs<'g> for ($($ty,)*) {
            #[allow(non_snake_case, reason = "a variable per type")]
            fn into_args(self) -> Vec<Arg<'g>> {
                let ($($ty,)*) = self;
                vec![$($ty.into()),*]
            }
        }

        impl<'g, $($ty: IntoDim<'g>),*> IntoShape<'g> for ($($ty,)*) {
            #[allow(non_snake_case, reason = "a variable per type")]
            fn into_shape(self) -> Vec<Arg<'g>> {
                let ($($ty,)*) = self;
                vec![$($ty.into_dim()),*]
            }
        }
    )*};
}

tuples! {
    ()
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
}
