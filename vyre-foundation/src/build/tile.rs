//! Handles to tiles.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use vyre_spec::{Element, TileLayout, class};

use super::kernel::Caller;
use super::{Array, IntoIndex, IntoVal, Kernel, Loads, Stores};
use crate::ir::{Node, TileAction, TileId};

/// A small matrix that a subgroup holds together, for the matrix engines of devices.
///
/// Its methods are statements that the lanes of a subgroup carry out as one: they come there together, and index,
/// stride and values are the same for all of them. Each overwrites the tile, or stores it.
///
/// ```
/// use vyre_foundation::build::Kernel;
/// use vyre_spec::{TileRole, f16};
/// // c = a b, for matrices of 16 rows and columns.
/// Kernel::build("product", |k| {
///     let (a, b) = (k.read_only::<f16>("a"), k.read_only::<f16>("b"));
///     let c = k.write_only::<f32>("c", 256);
///     let left = k.tile::<f16>("left", TileRole::A, 16, 16);
///     let right = k.tile::<f16>("right", TileRole::B, 16, 16);
///     let sum = k.tile::<f32>("sum", TileRole::Accumulator, 16, 16);
///     k.workgroups([32], [1], |_| {
///         left.load(a, 0, 16);
///         right.load(b, 0, 16);
///         sum.multiply_add(left, right, sum);
///         sum.store(c, 0, 16);
///     });
/// })?;
/// # Ok::<(), vyre_foundation::build::BuildError>(())
/// ```
pub struct Tile<'k, T> {
    kernel: &'k Kernel,
    id: TileId,
    ty: PhantomData<T>,
}

impl<T> Clone for Tile<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<'_, T> {}

impl<T: Element> fmt::Debug for Tile<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.id, T::TYPE)
    }
}

impl<'k, T: class::Tile> Tile<'k, T> {
    pub(super) fn new(kernel: &'k Kernel, id: TileId) -> Self {
        Self { kernel, id, ty: PhantomData }
    }

    fn push(self, action: TileAction, at: Caller) {
        self.kernel.push(Node::Tile { tile: self.id, action }, at);
    }

    /// The tile's id, for an op on a tile of `kernel`.
    fn id_in<U>(self, of: Tile<'k, U>, at: Caller) -> TileId {
        if !std::ptr::eq(self.kernel, of.kernel) {
            self.kernel.report_mixed("a tile", at);
        }
        of.id
    }

    /// Gives every element a value.
    #[track_caller]
    pub fn fill(self, value: impl IntoVal<'k, T>) {
        let at = Location::caller();
        let value = value.expr(self.kernel, at);
        self.push(TileAction::Fill { value }, at);
    }

    /// Reads the tile from row-major elements, whose rows begin `stride` elements apart; out of bounds gives 0.
    #[track_caller]
    pub fn load<K: Loads>(
        self,
        from: Array<'k, T, K>,
        index: impl IntoIndex<'k>,
        stride: impl IntoIndex<'k>,
    ) {
        self.load_as(from, index, stride, TileLayout::RowMajor);
    }

    /// [`Tile::load`] of a layout: of column-major elements, it is the columns that begin `stride` apart.
    #[track_caller]
    pub fn load_as<K: Loads>(
        self,
        from: Array<'k, T, K>,
        index: impl IntoIndex<'k>,
        stride: impl IntoIndex<'k>,
        layout: TileLayout,
    ) {
        let at = Location::caller();
        let (index, stride) = (index.index(self.kernel, at), stride.index(self.kernel, at));
        self.push(TileAction::Load { place: from.place(), index, stride, layout }, at);
    }

    /// Writes the tile as row-major elements, whose rows begin `stride` elements apart; what is out of bounds is
    /// dropped.
    #[track_caller]
    pub fn store<K: Stores>(
        self,
        to: Array<'k, T, K>,
        index: impl IntoIndex<'k>,
        stride: impl IntoIndex<'k>,
    ) {
        self.store_as(to, index, stride, TileLayout::RowMajor);
    }

    /// [`Tile::store`] of a layout.
    #[track_caller]
    pub fn store_as<K: Stores>(
        self,
        to: Array<'k, T, K>,
        index: impl IntoIndex<'k>,
        stride: impl IntoIndex<'k>,
        layout: TileLayout,
    ) {
        let at = Location::caller();
        let (index, stride) = (index.index(self.kernel, at), stride.index(self.kernel, at));
        self.push(TileAction::Store { place: to.place(), index, stride, layout }, at);
    }

    /// Makes it `a × b + c`. `c` may be the tile itself.
    #[track_caller]
    pub fn multiply_add<F: class::Tile>(self, a: Tile<'k, F>, b: Tile<'k, F>, c: Self) {
        let at = Location::caller();
        let (a, b, c) = (self.id_in(a, at), self.id_in(b, at), self.id_in(c, at));
        self.push(TileAction::MultiplyAdd { a, b, c }, at);
    }

    /// Makes it the sums of the elements of two tiles.
    #[track_caller]
    pub fn add(self, a: Self, b: Self) {
        let at = Location::caller();
        let (a, b) = (self.id_in(a, at), self.id_in(b, at));
        self.push(TileAction::Add { a, b }, at);
    }

    /// Makes it the differences of the elements of two tiles.
    #[track_caller]
    pub fn subtract(self, a: Self, b: Self) {
        let at = Location::caller();
        let (a, b) = (self.id_in(a, at), self.id_in(b, at));
        self.push(TileAction::Subtract { a, b }, at);
    }

    /// Makes it another tile's elements, each times a number.
    #[track_caller]
    pub fn scale(self, a: Self, factor: impl IntoVal<'k, T>) {
        let at = Location::caller();
        let (a, factor) = (self.id_in(a, at), factor.expr(self.kernel, at));
        self.push(TileAction::Scale { a, factor }, at);
    }
}
