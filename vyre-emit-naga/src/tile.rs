//! Tiles: local variables of cooperative-matrix types; and 16-bit floats, which are in memory alone.

use naga::{BinaryOperator, CooperativeData, Expression, Handle, Literal, ScalarKind, Statement};
use vyre_lower::kernel::{InstId, Op, Place, TileMemory, TileOp};
use vyre_spec::{DataType, TileLayout};

use crate::EmitError;
use crate::body::Body;
use crate::types;

impl Body<'_> {
    /// An element as a value, from what memory holds.
    pub(crate) fn widened(
        &mut self,
        place: Place,
        expr: Handle<Expression>,
    ) -> Result<Handle<Expression>, EmitError> {
        self.converted(place, expr, 4)
    }

    /// A value as an element in memory.
    pub(crate) fn narrowed(
        &mut self,
        place: Place,
        expr: Handle<Expression>,
    ) -> Result<Handle<Expression>, EmitError> {
        self.converted(place, expr, 2)
    }

    fn converted(
        &mut self,
        place: Place,
        expr: Handle<Expression>,
        width: u8,
    ) -> Result<Handle<Expression>, EmitError> {
        if self.element_type(place)? != DataType::F16 {
            return Ok(expr);
        }
        Ok(self.append(Expression::As { expr, kind: ScalarKind::Float, convert: Some(width) }))
    }

    /// The vector that was loaded, if these are all its elements and go to memory of the same kind as they are.
    pub(crate) fn whole(&self, place: Place, values: [InstId; 4]) -> Result<Option<InstId>, EmitError> {
        let part = |id: InstId| match self.descriptor.insts.get(id.index())?.op {
            Op::Part { vector, part } => Some((vector, part)),
            _ => None,
        };
        let Some((vector, 0)) = part(values[0]) else { return Ok(None) };
        if (1..4u32).zip(&values[1..]).any(|(i, &value)| part(value) != Some((vector, i))) {
            return Ok(None);
        }
        let from = match self.descriptor.insts.get(vector.index()).map(|inst| inst.op) {
            Some(Op::LoadVector { place, .. }) => place,
            _ => return Ok(None),
        };
        Ok((self.element_type(from)? == self.element_type(place)?).then_some(vector))
    }

    /// Emits a tile op.
    pub(crate) fn tile(&mut self, tile: u32, op: TileOp) -> Result<(), EmitError> {
        let target = self.tile_pointer(tile)?;
        let ty = self.descriptor.tiles.get(tile as usize).copied();
        let ty = ty.ok_or_else(|| self.missing("tile", tile))?;
        let value = match op {
            TileOp::Zero => {
                let ty = types::tile(self.module, ty).ok_or_else(|| self.missing("tile", tile))?;
                self.append_bare(Expression::ZeroValue(ty))
            }
            TileOp::Load(memory) => {
                let data = self.tile_data(&memory)?;
                let sides = types::side(ty.rows).zip(types::side(ty.columns));
                let (rows, columns) = sides.ok_or_else(|| self.missing("tile", tile))?;
                self.append(Expression::CooperativeLoad { columns, rows, role: types::role(ty.role), data })
            }
            TileOp::Store(memory) => {
                let target = self.append(Expression::Load { pointer: target });
                let data = self.tile_data(&memory)?;
                self.flush();
                self.push(Statement::CooperativeStore { target, data });
                return Ok(());
            }
            TileOp::MultiplyAdd(a, b, c) => {
                let (a, b, c) = (self.tile_value(a)?, self.tile_value(b)?, self.tile_value(c)?);
                self.append(Expression::CooperativeMultiplyAdd { a, b, c })
            }
            TileOp::Add(a, b) => {
                let (left, right) = (self.tile_value(a)?, self.tile_value(b)?);
                self.append(Expression::Binary { op: BinaryOperator::Add, left, right })
            }
            TileOp::Subtract(a, b) => {
                let (left, right) = (self.tile_value(a)?, self.tile_value(b)?);
                self.append(Expression::Binary { op: BinaryOperator::Subtract, left, right })
            }
            TileOp::Scale(a, factor) => {
                let (left, mut right) = (self.tile_value(a)?, self.value(factor)?);
                if ty.element == DataType::F16 {
                    let (kind, convert) = (ScalarKind::Float, Some(2));
                    right = self.append(Expression::As { expr: right, kind, convert });
                }
                self.append(Expression::Binary { op: BinaryOperator::Multiply, left, right })
            }
        };
        self.store(target, value);
        Ok(())
    }

    fn tile_value(&mut self, tile: u32) -> Result<Handle<Expression>, EmitError> {
        let pointer = self.tile_pointer(tile)?;
        Ok(self.append(Expression::Load { pointer }))
    }

    /// Where a tile begins in memory, and how far its lines are apart: in vectors, where memory is of vectors.
    fn tile_data(&mut self, memory: &TileMemory) -> Result<CooperativeData, EmitError> {
        let base = self.array(memory.place)?;
        let (mut index, mut stride) = (self.value(memory.index)?, self.value(memory.stride)?);
        if self.in_vectors(memory.place) {
            let two = self.append_bare(Expression::Literal(Literal::U32(2)));
            let quarter = |left| Expression::Binary { op: BinaryOperator::ShiftRight, left, right: two };
            (index, stride) = (self.append(quarter(index)), self.append(quarter(stride)));
        }
        let pointer = self.append(Expression::Access { base, index });
        Ok(CooperativeData { pointer, stride, row_major: memory.layout == TileLayout::RowMajor })
    }
}
