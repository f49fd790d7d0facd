//! What is bound to a fused program: buffers, parameters, and lengths and extents made of them.

use vyre_foundation::graph::{DimId, GraphValueId, ParamSource};
use vyre_foundation::ir::{
    Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Param, ParamId, Place,
};
use vyre_spec::{Access, DataType};

use super::Target;
use crate::fuse::form::Form;
use crate::fuse::kernel::Kernel;
use crate::fuse::plan::Use;
use crate::fuse::quantity::{Atom, Quantity};
use crate::fuse::reject::RejectReason;

impl Target<'_> {
    /// A buffer from which a value is loaded.
    pub(crate) fn read(&mut self, value: GraphValueId, name: &str) -> BufferId {
        if let Some(&buffer) = self.reads.get(&value) {
            return buffer;
        }
        let one = Use { input: Some(value), output: None };
        let buffer = self.buffer(one, value, name, Access::ReadOnly);
        self.reads.insert(value, buffer);
        buffer
    }

    /// A buffer to which a value is stored.
    pub(crate) fn write(&mut self, value: GraphValueId, name: &str) -> BufferId {
        if let Some(&buffer) = self.writes.get(&value) {
            return buffer;
        }
        let one = Use { input: None, output: Some(value) };
        let buffer = self.buffer(one, value, name, Access::WriteOnly);
        self.writes.insert(value, buffer);
        buffer
    }

    /// A buffer that is changed in place.
    pub(crate) fn change(&mut self, one: Use, name: &str) -> Result<BufferId, RejectReason> {
        let (Some(input), Some(output)) = (one.input, one.output) else { return Err(RejectReason::Extent) };
        if self.reads.contains_key(&input) {
            return Err(RejectReason::InPlace(input));
        }
        let buffer = self.buffer(one, input, name, Access::ReadWrite);
        self.reads.insert(input, buffer);
        self.writes.insert(output, buffer);
        Ok(buffer)
    }

    /// The buffer that a value is loaded from.
    pub(crate) fn place_read(&self, value: GraphValueId) -> Option<BufferId> {
        self.reads.get(&value).copied()
    }

    /// The buffer that a value is stored to.
    pub(crate) fn place_written(&self, value: GraphValueId) -> Option<BufferId> {
        self.writes.get(&value).copied()
    }

    /// Whether the buffer that has the value is changed in place.
    pub(crate) fn is_changed(&self, value: GraphValueId) -> bool {
        let buffer = self.reads.get(&value).and_then(|buffer| self.uses.get(buffer.index()));
        buffer.is_some_and(|one| one.output.is_some())
    }

    /// The number of a value's elements.
    pub(crate) fn length(&mut self, value: GraphValueId) -> Result<ExprId, RejectReason> {
        let known = self.cx.value(value).clone();
        if let Some(&buffer) = self.reads.get(&value).or_else(|| self.writes.get(&value)) {
            return Ok(self.make(Expr::Length(buffer), DataType::U32));
        }
        if known.length.as_literal().is_some() || self.lengths.contains_key(&known.length) {
            return self.quantity(&known.length);
        }
        let param = self.dim_param(known.elements);
        Ok(self.make(Expr::Param(param), DataType::U32))
    }

    fn buffer(&mut self, one: Use, value: GraphValueId, name: &str, access: Access) -> BufferId {
        let known = self.cx.value(value).clone();
        let is_first = !self.lengths.contains_key(&known.length);
        let count = if is_first && access.is_input() && known.length.as_literal().is_none() {
            // The bytes that are bound say it, which are checked against the value's shape.
            Count::Bytes
        } else {
            match self.extent(&known.length) {
                Ok(extent) => Count::Extent(extent),
                Err(_) => {
                    let param = self.dim_param(known.elements);
                    Count::Extent(self.arena.extent(Extent::Param(param)))
                }
            }
        };
        let name = self.fresh(name);
        let buffer =
            self.arena.buffer(Buffer { name, element: known.element, access, count, coherent: false });
        self.uses.push(one);
        self.leaves.lengths.push(known.length.clone());
        self.lengths.entry(known.length).or_insert(buffer);
        buffer
    }

    /// An array of workgroups.
    pub(crate) fn shared(&mut self, name: &str, element: DataType, len: u32) -> Place {
        let name = self.fresh(name);
        Place::Shared(self.arena.shared(Array { name, element, len }))
    }

    /// A parameter of this source, or the constant that it is.
    pub(crate) fn param(&mut self, source: ParamSource, param: &Param) -> ExprId {
        if let Some(value) = self.cx.constant(source, param.ty) {
            return self.literal(value);
        }
        let id = self.declare(source, &param.name, param.ty, param.specialize);
        self.make(Expr::Param(id), param.ty)
    }

    fn declare(&mut self, source: ParamSource, name: &str, ty: DataType, specialize: bool) -> ParamId {
        if let Some(&known) = self.known_params.get(&(source, ty, specialize)) {
            return known;
        }
        let name = self.fresh(name);
        self.params.push(source);
        let quantity = self.cx.param(source, ty);
        self.leaves.params.push(quantity);
        let param = self.arena.param(Param { name, ty, specialize });
        self.known_params.insert((source, ty, specialize), param);
        param
    }

    /// A `u32` parameter that is a dimension.
    fn dim_param(&mut self, dim: DimId) -> ParamId {
        let name = self.cx.dim_name(dim);
        self.declare(ParamSource::Dim(dim), &name, DataType::U32, false)
    }

    /// A quantity as an extent of the host.
    pub(crate) fn extent(&mut self, quantity: &Quantity) -> Result<ExtentId, RejectReason> {
        if let Some(n) = quantity.as_literal() {
            return Ok(self.arena.extent(Extent::Literal(n)));
        }
        if let Some(&buffer) = self.lengths.get(quantity) {
            return Ok(self.arena.extent(Extent::Length(buffer)));
        }
        if let Some(dim) = self.cx.dim_of(quantity) {
            let param = self.dim_param(dim);
            return Ok(self.arena.extent(Extent::Param(param)));
        }
        let mut product = self.arena.extent(Extent::Literal(quantity.factor()));
        for &atom in quantity.atoms() {
            let Some(&Atom::Symbol(dim)) = self.cx.quantities.get(atom) else {
                return Err(RejectReason::Extent);
            };
            let param = self.dim_param(dim);
            let factor = self.arena.extent(Extent::Param(param));
            product = self.arena.extent(Extent::Mul(product, factor));
        }
        Ok(product)
    }

    /// A quantity that is below 2^32 as an expression.
    pub(crate) fn quantity(&mut self, quantity: &Quantity) -> Result<ExprId, RejectReason> {
        if let Some(n) = quantity.as_literal() {
            let n = u32::try_from(n).map_err(|_| RejectReason::Extent)?;
            return Ok(self.number(n));
        }
        if let Some(&buffer) = self.lengths.get(quantity) {
            return Ok(self.make(Expr::Length(buffer), DataType::U32));
        }
        if let Some(dim) = self.cx.dim_of(quantity) {
            let param = self.dim_param(dim);
            return Ok(self.make(Expr::Param(param), DataType::U32));
        }
        let factor = u32::try_from(quantity.factor()).map_err(|_| RejectReason::Extent)?;
        let mut product = self.number(factor);
        for &atom in quantity.atoms() {
            let Some(&Atom::Symbol(dim)) = self.cx.quantities.get(atom) else {
                return Err(RejectReason::Extent);
            };
            let param = self.dim_param(dim);
            let param = self.make(Expr::Param(param), DataType::U32);
            product = if self.form(product).and_then(Form::as_constant).is_some_and(|one| one.is_one()) {
                param
            } else {
                self.times(product, param)
            };
        }
        Ok(product)
    }

    /// Sets the launch of a kernel, with its extents.
    pub(crate) fn launch(&mut self, kernel: &Kernel) -> Result<(), RejectReason> {
        let extents = kernel.extent(self.cx);
        self.leaves.extents = extents.clone();
        self.leaves.size = kernel.program.launch().workgroup_size();
        let launch = match (kernel.program.launch(), &extents) {
            (Launch::Domain { axes, .. }, Some(extents)) => {
                Launch::Domain { extent: self.extents(extents)?, axes }
            }
            (Launch::Workgroups { size, .. }, Some(extents)) => {
                Launch::Workgroups { size, count: self.extents(extents)? }
            }
            (Launch::Indirect { size, counts }, _) => {
                let value = kernel.values(counts).input.ok_or(RejectReason::Extent)?;
                let counts = self.reads.get(&value).copied().ok_or(RejectReason::Extent)?;
                Launch::Indirect { size, counts }
            }
            _ => return Err(RejectReason::Extent),
        };
        self.arena.set_launch(launch);
        Ok(())
    }

    fn extents(&mut self, extents: &[Quantity; 3]) -> Result<[ExtentId; 3], RejectReason> {
        let [x, y, z] = extents;
        Ok([self.extent(x)?, self.extent(y)?, self.extent(z)?])
    }
}
