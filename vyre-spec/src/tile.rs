//! Tiles: small matrices that a subgroup holds together, for the matrix engines of devices.

use std::fmt;

use crate::DataType;

macro_rules! named {
    ($($(#[$doc:meta])* $name:ident { $($(#[$item:meta])* $variant:ident = $text:literal;)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$item])* $variant,)+ }

        impl $name {
            /// Every one, in wire order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in text form.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The one with this text name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )+};
}

named! {
    /// What a tile may be in a multiply-add `A × B + C`. Devices hold the three differently.
    TileRole {
        /// The left factor: its columns are summed over.
        A = "a";
        /// The right factor: its rows are summed over.
        B = "b";
        /// A summand or a sum.
        Accumulator = "accumulator";
    }

    /// How a tile's elements lie in an array.
    TileLayout {
        /// The elements of a row are neighbours; rows are a stride apart.
        RowMajor = "row_major";
        /// The elements of a column are neighbours; columns are a stride apart.
        ColumnMajor = "column_major";
    }
}

/// The type of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileType {
    /// What it may be in a product.
    pub role: TileRole,
    /// Its element type, of [`crate::TypeSet::TILE`].
    pub element: DataType,
    /// Its rows, 1 to [`TileType::MAX_SIDE`].
    pub rows: u32,
    /// Its columns, 1 to [`TileType::MAX_SIDE`].
    pub columns: u32,
}

impl TileType {
    /// The most rows or columns.
    pub const MAX_SIDE: u32 = 64;

    /// The number of elements.
    pub const fn elements(self) -> u32 {
        self.rows * self.columns
    }

    /// For a layout: how many lines there are, a stride apart, and how many neighbours each has.
    pub const fn lines(self, layout: TileLayout) -> (u32, u32) {
        match layout {
            TileLayout::RowMajor => (self.rows, self.columns),
            TileLayout::ColumnMajor => (self.columns, self.rows),
        }
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}[{}, {}]", self.role, self.element, self.rows, self.columns)
    }
}

/// A product that a device's matrix engine computes: `A` of `rows` × `depth`, `B` of `depth` × `columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileProduct {
    /// Rows of `A` and of the sum.
    pub rows: u32,
    /// Columns of `B` and of the sum.
    pub columns: u32,
    /// Columns of `A`, rows of `B`.
    pub depth: u32,
    /// The element type of both factors.
    pub factor: DataType,
    /// The element type of the summand and the sum.
    pub sum: DataType,
}

impl TileProduct {
    /// The tile types of `A`, `B` and the sum.
    pub const fn types(self) -> [TileType; 3] {
        let Self { rows, columns, depth, factor, sum } = self;
        [
            TileType { role: TileRole::A, element: factor, rows, columns: depth },
            TileType { role: TileRole::B, element: factor, rows: depth, columns },
            TileType { role: TileRole::Accumulator, element: sum, rows, columns },
        ]
    }

    /// The product that these tiles would need; `None` if no product takes them.
    pub fn of(a: TileType, b: TileType, sum: TileType) -> Option<Self> {
        let (rows, columns, depth) = (a.rows, b.columns, a.columns);
        let product = Self { rows, columns, depth, factor: a.element, sum: sum.element };
        (product.types() == [a, b, sum]).then_some(product)
    }
}

impl fmt::Display for TileProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, depth, factor, sum } = self;
        write!(f, "{rows} × {columns} × {depth}, {factor} to {sum}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_fits_just_its_own_types() {
        let product =
            TileProduct { rows: 8, columns: 16, depth: 4, factor: DataType::F16, sum: DataType::F32 };
        let [a, b, sum] = product.types();
        assert_eq!((a.rows, a.columns, b.rows, b.columns), (8, 4, 4, 16));
        assert_eq!(TileProduct::of(a, b, sum), Some(product));
        assert_eq!(TileProduct::of(b, a, sum), None);
        assert_eq!(TileProduct::of(a, TileType { rows: 5, ..b }, sum), None);
        assert_eq!(TileProduct::of(a, TileType { element: DataType::F32, ..b }, sum), None);
        assert_eq!(TileProduct::of(a, b, TileType { columns: 8, ..sum }), None);
    }

    #[test]
    fn lines_follow_the_layout() {
        let tile = TileType { role: TileRole::A, element: DataType::F16, rows: 8, columns: 16 };
        assert_eq!(tile.lines(TileLayout::RowMajor), (8, 16));
        assert_eq!(tile.lines(TileLayout::ColumnMajor), (16, 8));
    }
}
