//! Handles to buffers, shared arrays and private arrays.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use vyre_spec::ops::AtomicOp;
use vyre_spec::{Element, class};

use super::{IntoExtent, IntoIndex, IntoVal, Kernel, Val};
use crate::ir::{BufferId, Count, Expr, Node, Place};

/// An array of elements of type `T`; the kind `K` says what may be done with it.
///
/// An index is any integer. A load out of bounds gives 0, a store there is dropped, an atomic there changes
/// nothing and gives 0.
pub struct Array<'k, T, K> {
    kernel: &'k Kernel,
    place: Place,
    marker: PhantomData<(T, K)>,
}

/// An input buffer.
pub type ReadOnly<'k, T> = Array<'k, T, kind::ReadOnly>;
/// An input and output buffer.
pub type ReadWrite<'k, T> = Array<'k, T, kind::ReadWrite>;
/// An output buffer.
pub type WriteOnly<'k, T> = Array<'k, T, kind::WriteOnly>;
/// A small input buffer that every invocation reads alike.
pub type Uniform<'k, T> = Array<'k, T, kind::Uniform>;
/// An array that the invocations of a workgroup share.
pub type Shared<'k, T> = Array<'k, T, kind::Shared>;
/// An array of each invocation's own.
pub type Private<'k, T> = Array<'k, T, kind::Private>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $($ability:ident)*;)*) => {
        /// The kinds of array, as types.
        pub mod kind {
            $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub struct $kind;)*
        }
        $($(impl $ability for kind::$kind {})*)*
    };
}

kinds! {
    /// An input buffer.
    ReadOnly: Loads Bound;
    /// An input and output buffer.
    ReadWrite: Loads Stores Atomics Bound;
    /// An output buffer.
    WriteOnly: Stores Bound;
    /// A small input buffer that every invocation reads alike.
    Uniform: Loads Bound;
    /// A workgroup-shared array.
    Shared: Loads Stores Atomics;
    /// A private array.
    Private: Loads Stores;
}

/// Kinds of array that a kernel may load.
pub trait Loads {}
/// Kinds of array that a kernel may store to.
pub trait Stores {}
/// Kinds of array with atomics.
pub trait Atomics {}
/// Kinds of array that the host binds.
pub trait Bound {}

impl<T, K> Clone for Array<'_, T, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, K> Copy for Array<'_, T, K> {}

impl<T: Element, K> fmt::Debug for Array<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.place, T::TYPE)
    }
}

impl<'k, T: Element, K> Array<'k, T, K> {
    pub(super) fn new(kernel: &'k Kernel, place: Place) -> Self {
        Self { kernel, place, marker: PhantomData }
    }

    pub(super) fn place(self) -> Place {
        self.place
    }

    /// The kernel that the array belongs to.
    pub fn kernel(self) -> &'k Kernel {
        self.kernel
    }

    /// The buffer, for a launch of `kernel`.
    pub(super) fn id_in(self, kernel: &Kernel, at: super::kernel::Caller) -> BufferId {
        if !std::ptr::eq(kernel, self.kernel) {
            kernel.report_mixed("a buffer", at);
        }
        self.buffer().unwrap_or(BufferId::new(0))
    }

    fn buffer(self) -> Option<BufferId> {
        match self.place {
            Place::Buffer(id) => Some(id),
            Place::Shared(_) | Place::Private(_) => None,
        }
    }
}

impl<'k, T: Element, K: Bound> Array<'k, T, K> {
    /// The number of elements.
    #[track_caller]
    pub fn len(self) -> Val<'k, u32> {
        let at = Location::caller();
        match self.buffer() {
            Some(id) => self.kernel.expr(Expr::Length(id), at),
            None => Val::new(self.kernel, self.kernel.placeholder(u32::TYPE, at)),
        }
    }

    /// Whether there are no elements.
    #[track_caller]
    pub fn is_empty(self) -> Val<'k, bool> {
        self.len().eq(0)
    }

    /// The buffer with a number of elements that the launch computes, in place of the bound bytes deciding.
    #[must_use]
    #[track_caller]
    pub fn with_len(self, len: impl IntoExtent<'k>) -> Self {
        let extent = len.extent_id(self.kernel, Location::caller());
        if let Some(id) = self.buffer() {
            self.kernel.set_count(id, Count::Extent(extent));
        }
        self
    }
}

impl<T: Element, K: Bound + Stores> Array<'_, T, K> {
    /// The buffer, coherent: a device-scope fence after a store and one before a load, with an atomic in between that
    /// tells the invocations of each other, make the load see the store while the program still runs. The device
    /// needs [`Capability::CoherentStorage`](vyre_spec::Capability::CoherentStorage).
    #[must_use]
    pub fn coherent(self) -> Self {
        if let Some(id) = self.buffer() {
            self.kernel.arena.borrow_mut().set_coherent(id);
        }
        self
    }
}

impl<'k, T: Element, K: Loads> Array<'k, T, K> {
    /// Reads an element.
    #[track_caller]
    pub fn load(self, index: impl IntoIndex<'k>) -> Val<'k, T> {
        let at = Location::caller();
        let index = index.index(self.kernel, at);
        self.kernel.push_result(Node::Load { place: self.place, index }, at)
    }
}

impl<'k, T: Element, K: Stores> Array<'k, T, K> {
    /// Writes an element.
    #[track_caller]
    pub fn store(self, index: impl IntoIndex<'k>, value: impl IntoVal<'k, T>) {
        let at = Location::caller();
        let (index, value) = (index.index(self.kernel, at), value.expr(self.kernel, at));
        self.kernel.push(Node::Store { place: self.place, index, value }, at);
    }
}

macro_rules! atomic_row {
    ($op:expr, $name:ident Modify $class:ident $doc:literal) => {
        impl<'k, T: class::$class, K: Atomics> Array<'k, T, K> {
            #[doc = $doc]
            ///
            /// Gives the old element.
            #[track_caller]
            pub fn $name(self, index: impl IntoIndex<'k>, value: impl IntoVal<'k, T>) -> Val<'k, T> {
                let at = Location::caller();
                let (index, value) = (index.index(self.kernel, at), value.expr(self.kernel, at));
                let node = Node::Atomic { op: $op, place: self.place, index, value, expected: None };
                self.kernel.push_result(node, at)
            }
        }
    };
    ($op:expr, $name:ident CompareExchange $class:ident $doc:literal) => {
        impl<'k, T: class::$class, K: Atomics> Array<'k, T, K> {
            #[doc = $doc]
            ///
            /// Gives the old element.
            #[track_caller]
            pub fn $name(
                self,
                index: impl IntoIndex<'k>,
                expected: impl IntoVal<'k, T>,
                value: impl IntoVal<'k, T>,
            ) -> Val<'k, T> {
                let at = Location::caller();
                let index = index.index(self.kernel, at);
                let expected = Some(expected.expr(self.kernel, at));
                let value = value.expr(self.kernel, at);
                let node = Node::Atomic { op: $op, place: self.place, index, value, expected };
                self.kernel.push_result(node, at)
            }
        }
    };
}

macro_rules! atomic {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), native: $native:ident($nname:ident),
        lower: $lower:ident, eval: $eval:tt, doc: $doc:literal })*) => {
        $(atomic_row! { AtomicOp::$variant, $name $rule $class $doc })*
    };
}

vyre_spec::atomic_ops!(atomic);
