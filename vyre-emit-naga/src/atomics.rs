//! Atomic read-modify-write instructions.

use naga::{AtomicFunction, Expression, Handle, PredeclaredType, Statement};
use vyre_lower::kernel::{BlockId, InstId};
use vyre_spec::DataType;
use vyre_spec::ops::AtomicOp;

use crate::body::Body;
use crate::ops::{self, NativeAtomic};
use crate::{EmitError, types};

impl Body<'_> {
    /// Emits an atomic op on the element behind `pointer`; the value of `id` is the old element.
    #[allow(clippy::too_many_arguments, reason = "the fields of one instruction, resolved")]
    pub(crate) fn atomic(
        &mut self,
        block: BlockId,
        id: InstId,
        op: AtomicOp,
        element: DataType,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
        expected: Option<Handle<Expression>>,
    ) -> Result<(), EmitError> {
        let (fun, ty, comparison) = match ops::atomic(op) {
            NativeAtomic::Function(fun) => (fun, types::value(self.module, element), false),
            NativeAtomic::CompareExchange => {
                let compare = expected.ok_or_else(|| self.incomplete(block, "an expected value"))?;
                let result = PredeclaredType::AtomicCompareExchangeWeakResult(types::scalar(element));
                let ty = self.module.generate_predeclared_type(result);
                (AtomicFunction::Exchange { compare: Some(compare) }, ty, true)
            }
        };
        let result = self.append_bare(Expression::AtomicResult { ty, comparison });
        self.push(Statement::Atomic { pointer, fun, value, result: Some(result) });
        // A compare-exchange gives a struct: the old element, and whether it matched.
        let old = if comparison { self.member(result, 0) } else { result };
        self.bind(id, old);
        Ok(())
    }
}
