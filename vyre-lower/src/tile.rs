//! Tiles: what a device must have for them, and their accesses, which must be proved in bounds and aligned.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Expr, ExprId, Node, NodeId, Program, TileAction, TileId};
use vyre_spec::ops::CastOp;
use vyre_spec::{Capability, DataType, DeviceProfile, MemoryOrdering, TileProduct};

use crate::error::LowerError;
use crate::kernel::{InstId, Op, Proof, TileMemory, TileOp};
use crate::lower::Lowering;

/// Bytes that rows, or columns, of a tile in memory are aligned to, unless they are shorter (Vulkan's
/// VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
const ALIGNMENT: u32 = 16;

/// Refuses a program whose tiles the device has not, naming the first op that it lacks.
pub(crate) fn check(program: &Checked<Program>, profile: &DeviceProfile) -> Result<(), LowerError> {
    let refuse = |op: String, ty: DataType, missing: Option<Capability>| {
        Err(LowerError::Unsupported { op, ty: Some(ty), device: profile.name.clone(), missing })
    };
    let has = |c: Capability| profile.capabilities.contains(c);
    let on_grid = |node: &Node| matches!(node, Node::Barrier { ordering: MemoryOrdering::GridSync });
    let crosses = program.facts().has_tiles() && program.nodes().iter().any(on_grid);
    for node in program.nodes() {
        let Node::Tile { tile, action } = *node else { continue };
        let ty = program.tile(tile).ty;
        let named = |what: &str| format!("`{}` of {what}", action.name());
        if crosses {
            return refuse(format!("`{}` in a program with grid barriers", action.name()), ty.element, None);
        }
        let known = profile.tiles.iter().any(|product| product.types().contains(&ty));
        let lacks_half = ty.element == DataType::F16 && !has(Capability::F16);
        if !has(Capability::Tiles) || lacks_half || !known {
            let missing =
                if lacks_half && has(Capability::Tiles) { Capability::F16 } else { Capability::Tiles };
            return refuse(named(&ty.to_string()), ty.element, Some(missing));
        }
        match action {
            TileAction::MultiplyAdd { a, b, .. } => {
                let [a, b] = [a, b].map(|tile| program.tile(tile).ty);
                let product = TileProduct::of(a, b, ty).filter(|product| profile.tiles.contains(product));
                if product.is_none() {
                    let what = format!("{a} and {b} to {ty}");
                    return refuse(named(&what), a.element, Some(Capability::Tiles));
                }
            }
            TileAction::Fill { value } if !is_zero(program, value) => {
                return refuse("`tile_fill` with anything but the literal 0".to_owned(), ty.element, None);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value is the literal +0.
fn is_zero(program: &Program, value: ExprId) -> bool {
    matches!(*program.expr(value), Expr::Literal(value) if value.bits() == 0)
}

impl Lowering<'_, '_> {
    /// Writes a tile op.
    pub(crate) fn tile(&mut self, id: NodeId, tile: TileId, action: TileAction) -> Result<(), LowerError> {
        let op = match action {
            // [`check`] let no other value pass.
            TileAction::Fill { .. } => TileOp::Zero,
            TileAction::Load { .. } => TileOp::Load(self.tile_memory(id, tile, action)?),
            TileAction::Store { .. } => TileOp::Store(self.tile_memory(id, tile, action)?),
            TileAction::MultiplyAdd { a, b, c } => TileOp::MultiplyAdd(a.raw(), b.raw(), c.raw()),
            TileAction::Add { a, b } => TileOp::Add(a.raw(), b.raw()),
            TileAction::Subtract { a, b } => TileOp::Subtract(a.raw(), b.raw()),
            TileAction::Scale { a, factor } => TileOp::Scale(a.raw(), self.value(factor)),
        };
        self.w.effect(Op::Tile { tile: tile.raw(), op });
        Ok(())
    }

    fn tile_memory(
        &mut self,
        id: NodeId,
        tile: TileId,
        action: TileAction,
    ) -> Result<TileMemory, LowerError> {
        let Some((place, index, stride, layout)) = action.memory() else {
            return Err(self.tile_access(id, action, "it addresses nothing"));
        };
        let ty = self.program.tile(tile).ty;
        let proof = self.proof(self.ranges.verdict(id));
        if let Proof::Guarded(reason) = proof {
            return Err(self.tile_access(id, action, reason));
        }
        let (_, neighbours) = ty.lines(layout);
        let line = neighbours * ty.element.size();
        // The largest power of two that divides the line's bytes, at most the alignment.
        let bytes = ALIGNMENT.min(1 << line.trailing_zeros());
        let elements = bytes / ty.element.size();
        let zeros = |e: ExprId| self.zeros.get(e.index()).copied().unwrap_or(0);
        if zeros(index).min(zeros(stride)) < elements.trailing_zeros() {
            return Err(LowerError::TileAlignment {
                node: id,
                op: action.name(),
                array: self.program.place(place).0.to_owned(),
                elements,
            });
        }
        let (index, stride) = (self.tile_word(index), self.tile_word(stride));
        Ok(TileMemory { place: self.storage(place).place, index, stride, layout, proof })
    }

    /// A number that fits a u32, as one.
    fn tile_word(&mut self, e: ExprId) -> InstId {
        let value = self.value(e);
        match self.w.ty(value) {
            DataType::I64 | DataType::U64 => {
                let unsigned = self.w.bitcast(DataType::U64, value);
                self.w.cast(CastOp::Convert, DataType::U32, unsigned)
            }
            _ => self.w.bitcast(DataType::U32, value),
        }
    }

    fn tile_access(&self, node: NodeId, action: TileAction, reason: &'static str) -> LowerError {
        let array = action.place().map_or("", |place| self.program.place(place).0).to_owned();
        LowerError::TileBounds { node, op: action.name(), array, reason }
    }
}
