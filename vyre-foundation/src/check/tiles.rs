//! Tiles.
//!
//! * A tile has 1 to [`TileType::MAX_SIDE`] rows and columns, of an element type of [`TypeSet::TILE`].
//! * A tile is loaded from and stored to arrays of its element type; the stride is an integer.
//! * A product's factors have the roles `a` and `b` and one element type, the summand and the sum are one
//!   accumulator type, and the shapes fit.
//! * Elementwise ops take tiles of the result's type; a value has the element type.

use vyre_spec::{TileProduct, TileType, TypeSet};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{ExprId, Place, Program, TileAction, TileId};

use super::types::Types;

/// Checks the declarations.
pub(super) fn declarations(program: &Program, findings: &mut Vec<Diagnostic>) {
    for (i, tile) in (0..).zip(program.tiles()) {
        let TileType { element, rows, columns, .. } = tile.ty;
        let sides = 1..=TileType::MAX_SIDE;
        let (message, help) = if !TypeSet::TILE.contains(element) {
            let message = format!("tile `{}` has {element} elements", tile.name);
            (message, format!("the elements of tiles are {}", TypeSet::TILE))
        } else if !sides.contains(&rows) || !sides.contains(&columns) {
            let message = format!("tile `{}` has {rows} rows and {columns} columns", tile.name);
            (message, format!("give it 1 to {} of each; devices have 8 and 16", TileType::MAX_SIDE))
        } else {
            continue;
        };
        let site = Site::Tile(TileId::new(i));
        findings.push(Diagnostic::new(Code::TileShape, site, message).with_help(help));
    }
}

/// Checks the types of a tile op.
pub(super) fn node(types: &mut Types<'_>, site: Site, tile: TileId, action: TileAction) {
    let program = types.program;
    let ty = program.tile(tile).ty;
    match action {
        TileAction::Fill { value } => number(types, site, tile, value),
        TileAction::Load { place, index, stride, .. } | TileAction::Store { place, index, stride, .. } => {
            types.index(site, place, index);
            if let Some(got) = types.of(stride).filter(|ty| !ty.is_int()) {
                let message = format!("the stride of a tile op is of type {got}");
                types.report(Code::IndexType, site, message, "strides are integers: use `convert<u32>(…)`");
            }
            array(types, site, tile, place);
        }
        TileAction::MultiplyAdd { a, b, c } => {
            let [left, right, summand] = [a, b, c].map(|tile| program.tile(tile).ty);
            if TileProduct::of(left, right, ty).is_none() || summand != ty {
                let name = &program.tile(tile).name;
                let message = format!("`{name}`, {ty}, is no product of {left} and {right} plus {summand}");
                let help = "an a[m, k] times a b[k, n] of one element type makes an accumulator[m, n]; the summand has \
                            the type of the sum";
                types.report(Code::TileShape, site, message, help);
            }
        }
        TileAction::Add { a, b } | TileAction::Subtract { a, b } => {
            same(types, site, tile, a);
            same(types, site, tile, b);
        }
        TileAction::Scale { a, factor } => {
            same(types, site, tile, a);
            number(types, site, tile, factor);
        }
    }
}

/// That a value has the tile's element type.
fn number(types: &mut Types<'_>, site: Site, tile: TileId, value: ExprId) {
    let tile = types.program.tile(tile);
    let what = format!("tile `{}` has {} elements", tile.name, tile.ty.element);
    types.expect(site, value, tile.ty.element, &what);
}

/// That an array has the tile's element type.
fn array(types: &mut Types<'_>, site: Site, tile: TileId, place: Place) {
    let (tile, (name, element)) = (types.program.tile(tile), types.program.place(place));
    if element != tile.ty.element {
        let message =
            format!("tile `{}` has {} elements, but `{name}` has {element}", tile.name, tile.ty.element);
        types.report(Code::TileShape, site, message, "use an array of the tile's element type");
    }
}

/// That another tile has the tile's type.
fn same(types: &mut Types<'_>, site: Site, tile: TileId, other: TileId) {
    let (tile, other) = (types.program.tile(tile), types.program.tile(other));
    if tile.ty != other.ty {
        let message = format!("`{}` is {}, but `{}` is {}", tile.name, tile.ty, other.name, other.ty);
        types.report(Code::TileShape, site, message, "elementwise ops take tiles of one type");
    }
}
