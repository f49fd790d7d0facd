//! Tile ops.

use vyre_spec::TileLayout;

use super::scope::Declared;
use super::{Parse, Parser};
use crate::ir::{ExprId, Place, TileAction, TileId};

impl Parser<'_> {
    /// What follows a tile op's name.
    pub(super) fn tile_action(&mut self, word: &str) -> Parse<(TileId, TileAction)> {
        let tile = self.tile()?;
        let action = match word {
            "tile_fill" => TileAction::Fill { value: self.next_value()? },
            "tile_load" => {
                let (place, index, stride, layout) = self.tile_element()?;
                TileAction::Load { place, index, stride, layout }
            }
            "tile_store" => {
                let (place, index, stride, layout) = self.tile_element()?;
                TileAction::Store { place, index, stride, layout }
            }
            "tile_multiply_add" => {
                TileAction::MultiplyAdd { a: self.next_tile()?, b: self.next_tile()?, c: self.next_tile()? }
            }
            "tile_add" => TileAction::Add { a: self.next_tile()?, b: self.next_tile()? },
            "tile_subtract" => TileAction::Subtract { a: self.next_tile()?, b: self.next_tile()? },
            _ => TileAction::Scale { a: self.next_tile()?, factor: self.next_value()? },
        };
        Ok((tile, action))
    }

    /// `, array[index], stride` and perhaps `, layout`.
    fn tile_element(&mut self) -> Parse<(Place, ExprId, ExprId, TileLayout)> {
        self.expect_symbol(",")?;
        let (place, index) = self.element()?;
        let stride = self.next_value()?;
        if !self.eat_symbol(",") {
            return Ok((place, index, stride, TileLayout::RowMajor));
        }
        let Some(layout) = self.word().and_then(TileLayout::from_name) else {
            let names: Vec<_> = TileLayout::ALL.iter().map(|layout| layout.name()).collect();
            return self.expected(format!("a layout: {}", names.join(", ")));
        };
        self.bump();
        Ok((place, index, stride, layout))
    }

    fn next_value(&mut self) -> Parse<ExprId> {
        self.expect_symbol(",")?;
        Ok(self.expression()?.0)
    }

    fn next_tile(&mut self) -> Parse<TileId> {
        self.expect_symbol(",")?;
        self.tile()
    }

    fn tile(&mut self) -> Parse<TileId> {
        let (name, span) = self.name("a tile's name")?;
        match self.names.declared(&name) {
            Some(Declared::Tile(tile)) => Ok(tile),
            _ => self.unknown(&name, span, "tile", |what| matches!(what, Declared::Tile(_))),
        }
    }
}
