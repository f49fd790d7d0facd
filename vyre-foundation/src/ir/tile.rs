//! What nodes do with tiles.

use vyre_spec::TileLayout;

use super::{ExprId, Place, TileId};

/// What a [`super::Node::Tile`] does with its tile. The lanes of a subgroup act as one: they come there together,
/// and each operand has one value for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileAction {
    /// Gives every element a value.
    Fill {
        /// A value of the element type.
        value: ExprId,
    },
    /// Reads every element from an array; 0 where one is out of bounds.
    Load {
        /// A buffer or shared array of the element type.
        place: Place,
        /// The index of the first element, an integer.
        index: ExprId,
        /// How far rows, or columns, are apart in elements: an integer.
        stride: ExprId,
        /// Whether rows or columns are contiguous.
        layout: TileLayout,
    },
    /// Writes every element to an array; one out of bounds is dropped.
    Store {
        /// A buffer or shared array of the element type.
        place: Place,
        /// The index of the first element, an integer.
        index: ExprId,
        /// How far rows, or columns, are apart in elements: an integer.
        stride: ExprId,
        /// Whether rows or columns are contiguous.
        layout: TileLayout,
    },
    /// `a × b + c`: each element's products are summed in any order, and at least as precisely as the element
    /// type of `c` does.
    MultiplyAdd {
        /// The left factor.
        a: TileId,
        /// The right factor.
        b: TileId,
        /// The summand, of the result's type.
        c: TileId,
    },
    /// Sums of elements.
    Add {
        /// A tile of the result's type.
        a: TileId,
        /// A tile of the result's type.
        b: TileId,
    },
    /// Differences of elements.
    Subtract {
        /// A tile of the result's type.
        a: TileId,
        /// A tile of the result's type.
        b: TileId,
    },
    /// Each element times a number.
    Scale {
        /// A tile of the result's type.
        a: TileId,
        /// A value of the element type.
        factor: ExprId,
    },
}

impl TileAction {
    /// The name in text form.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fill { .. } => "tile_fill",
            Self::Load { .. } => "tile_load",
            Self::Store { .. } => "tile_store",
            Self::MultiplyAdd { .. } => "tile_multiply_add",
            Self::Add { .. } => "tile_add",
            Self::Subtract { .. } => "tile_subtract",
            Self::Scale { .. } => "tile_scale",
        }
    }

    /// The expressions that it reads, in the order of its fields.
    pub const fn operands(&self) -> [Option<ExprId>; 2] {
        match *self {
            Self::Fill { value } => [Some(value), None],
            Self::Load { index, stride, .. } | Self::Store { index, stride, .. } => {
                [Some(index), Some(stride)]
            }
            Self::Scale { factor, .. } => [Some(factor), None],
            Self::MultiplyAdd { .. } | Self::Add { .. } | Self::Subtract { .. } => [None, None],
        }
    }

    /// The action with each operand replaced by what `f` gives for it.
    #[must_use]
    pub fn map_operands(mut self, mut f: impl FnMut(ExprId) -> ExprId) -> Self {
        match &mut self {
            Self::Fill { value: e } | Self::Scale { factor: e, .. } => *e = f(*e),
            Self::Load { index, stride, .. } | Self::Store { index, stride, .. } => {
                *index = f(*index);
                *stride = f(*stride);
            }
            Self::MultiplyAdd { .. } | Self::Add { .. } | Self::Subtract { .. } => {}
        }
        self
    }

    /// The tiles that it reads, besides its own.
    pub const fn tiles(&self) -> [Option<TileId>; 3] {
        match *self {
            Self::MultiplyAdd { a, b, c } => [Some(a), Some(b), Some(c)],
            Self::Add { a, b } | Self::Subtract { a, b } => [Some(a), Some(b), None],
            Self::Scale { a, .. } => [Some(a), None, None],
            Self::Fill { .. } | Self::Load { .. } | Self::Store { .. } => [None; 3],
        }
    }

    /// The action with each tile that it reads replaced by what `f` gives for it.
    #[must_use]
    pub fn map_tiles(mut self, mut f: impl FnMut(TileId) -> TileId) -> Self {
        match &mut self {
            Self::MultiplyAdd { a, b, c } => [a, b, c].into_iter().for_each(|t| *t = f(*t)),
            Self::Add { a, b } | Self::Subtract { a, b } => [a, b].into_iter().for_each(|t| *t = f(*t)),
            Self::Scale { a, .. } => *a = f(*a),
            Self::Fill { .. } | Self::Load { .. } | Self::Store { .. } => {}
        }
        self
    }

    /// The array that it addresses.
    pub const fn place(&self) -> Option<Place> {
        match *self {
            Self::Load { place, .. } | Self::Store { place, .. } => Some(place),
            _ => None,
        }
    }

    /// Where the tile lies in an array: the array, the first element, the stride and the layout.
    pub const fn memory(&self) -> Option<(Place, ExprId, ExprId, TileLayout)> {
        match *self {
            Self::Load { place, index, stride, layout } | Self::Store { place, index, stride, layout } => {
                Some((place, index, stride, layout))
            }
            _ => None,
        }
    }

    /// The array that it addresses, to be changed.
    pub fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Self::Load { place, .. } | Self::Store { place, .. } => Some(place),
            _ => None,
        }
    }
}
