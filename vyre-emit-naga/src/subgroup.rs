//! Instructions over the lanes of a subgroup.

use naga::{Expression, GatherMode, Handle, Statement};
use vyre_lower::kernel::{BlockId, InstId};
use vyre_spec::DataType;
use vyre_spec::ops::SubgroupOp;

use crate::body::Body;
use crate::ops::{self, NativeSubgroup};
use crate::{EmitError, types};

impl Body<'_> {
    /// Emits a subgroup op over `value`, of type `ty`, with the lane that shuffles read from.
    pub(crate) fn subgroup(
        &mut self,
        block: BlockId,
        id: InstId,
        op: SubgroupOp,
        ty: DataType,
        value: Handle<Expression>,
        lane: Option<Handle<Expression>>,
    ) -> Result<(), EmitError> {
        let ty = types::value(self.module, ty);
        let mode = match ops::subgroup(op) {
            NativeSubgroup::Collective(collective_op, op) => {
                let result = self.append_bare(Expression::SubgroupOperationResult { ty });
                self.push(Statement::SubgroupCollectiveOperation {
                    op,
                    collective_op,
                    argument: value,
                    result,
                });
                self.bind(id, result);
                return Ok(());
            }
            NativeSubgroup::BroadcastFirst => GatherMode::BroadcastFirst,
            NativeSubgroup::Shuffle => {
                GatherMode::Shuffle(lane.ok_or_else(|| self.incomplete(block, "a lane"))?)
            }
        };
        let result = self.append_bare(Expression::SubgroupOperationResult { ty });
        self.push(Statement::SubgroupGather { mode, argument: value, result });
        self.bind(id, result);
        Ok(())
    }
}
