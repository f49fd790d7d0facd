//! Specialisation: parameters marked `specialize` become constants.

use vyre_spec::{DataType, Value};

use crate::check::{Checked, check_rewritten};
use crate::ir::{Arena, Buffer, Count, Expr, Extent, ExtentId, Program};
use crate::launch::{LaunchError, Params};

use super::rewrite::{NewExprs, Rewriter};

/// The program for these values of the parameters that are marked `specialize`, in expressions and extents.
/// The parameters stay declared, so that ids and what a dispatch passes are the same; their values belong
/// to the key of whatever is kept of the result.
///
/// # Errors
/// If a marked parameter has no value, or one of another type.
pub fn specialize(program: &Checked<Program>, params: &Params) -> Result<Checked<Program>, LaunchError> {
    let mut values: Vec<Option<Value>> = Vec::with_capacity(program.params().len());
    for param in program.params() {
        values.push(match params.get(&param.name) {
            _ if !param.specialize => None,
            None => return Err(LaunchError::MissingParam { name: param.name.clone(), ty: param.ty }),
            Some(value) if value.ty() != param.ty => {
                return Err(LaunchError::ParamType {
                    name: param.name.clone(),
                    needs: param.ty,
                    got: value.ty(),
                });
            }
            value => value,
        });
    }
    if values.iter().all(Option::is_none) {
        return Ok(program.clone());
    }
    let extent = |extent: Extent| match extent {
        Extent::Param(id) => match values[id.index()] {
            // A negative one stays, for the launch to refuse.
            Some(value) if value.as_int().is_some_and(|n| n >= 0) => Extent::Literal(value.bits()),
            _ => extent,
        },
        _ => extent,
    };
    let arena = redeclare(program, extent);
    let rule = |new: &mut NewExprs, expr: Expr, ty: DataType| {
        let value = match expr {
            Expr::Param(id) => values[id.index()],
            _ => None,
        };
        new.make(value.map_or(expr, Expr::Literal), ty)
    };
    let mut rewriter = Rewriter::new(program, arena, rule);
    // An extent may be another, which the rewriter does not see.
    rewriter.changed = true;
    let result = rewriter.finish_in_place().ok().flatten();
    let checked = result.and_then(|output| check_rewritten(output).ok());
    debug_assert!(checked.is_some(), "specialisation made an unsound program of {:?}", **program);
    // Failing is a defect, and the program as it was takes the same values at launch.
    Ok(checked.unwrap_or_else(|| program.clone()))
}

/// An arena with the program's declarations, extents changed by `extent` (which sees new operands).
fn redeclare(program: &Program, extent: impl Fn(Extent) -> Extent) -> Arena {
    let mut arena = Arena::new(program.name());
    let mut extents: Vec<ExtentId> = Vec::with_capacity(program.extents().len());
    for old in program.extents() {
        let new = extent(old.map_operands(|operand| extents[operand.index()]));
        extents.push(arena.extent(new));
    }
    for buffer in program.buffers() {
        let count = match buffer.count {
            Count::Bytes => Count::Bytes,
            Count::Extent(old) => Count::Extent(extents[old.index()]),
        };
        arena.buffer(Buffer { count, ..buffer.clone() });
    }
    for param in program.params() {
        arena.param(param.clone());
    }
    for array in program.shared() {
        arena.shared(array.clone());
    }
    for array in program.privates() {
        arena.private(array.clone());
    }
    for tile in program.tiles() {
        arena.tile(tile.clone());
    }
    arena.set_launch(program.launch().map_extents(|old| extents[old.index()]));
    for var in program.vars() {
        arena.var(var.clone());
    }
    arena
}
