//! The kernel under construction: its tables, and declarations.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;

use vyre_spec::{Access, BuiltIn, DataType, Element, TileRole, TileType, Value, class};

use super::array::{Array, Private, ReadOnly, ReadWrite, Shared, Uniform, WriteOnly};
use super::names::FreeNames;
use super::{BuildError, Extent, IntoExtent, IntoVal, Tile, Val, Var};
use crate::check::{Checked, check};
use crate::diag::{Code, Diagnostic, Site};
use crate::ir;
use crate::ir::{
    Arena, Buffer, BufferId, Count, Expr, ExprId, Node, NodeId, Param, Place, Program, RegionId,
};

/// A line of the user's Rust.
pub(super) type Caller = &'static Location<'static>;

/// A kernel under construction; [`Kernel::build`] makes one.
///
/// Declarations come first, then one launch, [`Kernel::domain`] or [`Kernel::workgroups`], whose closure
/// records the body.
pub struct Kernel {
    pub(super) arena: RefCell<Arena>,
    /// Where statements go.
    pub(super) region: Cell<RegionId>,
    /// Whether statements have a launch around them.
    pub(super) inside: Cell<bool>,
    /// The line of the launch.
    pub(super) launched: Cell<Option<Caller>>,
    /// The names of declarations.
    names: RefCell<FreeNames>,
    pub(super) lines: RefCell<Lines>,
    pub(super) diagnostics: RefCell<Vec<(Diagnostic, Caller)>>,
}

/// The line of Rust that made each entry of the arena's tables.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) buffers: Vec<Caller>,
    pub(super) params: Vec<Caller>,
    pub(super) shared: Vec<Caller>,
    pub(super) privates: Vec<Caller>,
    pub(super) tiles: Vec<Caller>,
    pub(super) vars: Vec<Caller>,
    pub(super) exprs: Vec<Caller>,
    pub(super) nodes: Vec<Caller>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Kernel");
        if let Ok(arena) = self.arena.try_borrow() {
            debug.field("name", &arena.program().name());
        }
        debug.finish_non_exhaustive()
    }
}

impl Kernel {
    /// Builds and checks a program. The closure declares and records; what it does otherwise is its own.
    ///
    /// # Errors
    /// Everything that is wrong with the program, each finding with the line of Rust that it is about.
    ///
    /// ```
    /// use vyre_foundation::build::Kernel;
    /// let fill = Kernel::build("fill", |k| {
    ///     let n = k.param::<u32>("n");
    ///     let out = k.write_only::<u32>("out", n);
    ///     k.domain([n], |[i]| out.store(i, i * i));
    /// })?;
    /// assert_eq!(fill.name(), "fill");
    /// # Ok::<(), vyre_foundation::build::BuildError>(())
    /// ```
    #[track_caller]
    pub fn build(
        name: impl Into<String>,
        body: impl for<'k> FnOnce(&'k Self),
    ) -> Result<Checked<Program>, BuildError> {
        let at = Location::caller();
        let mut arena = Arena::new(name);
        // Statements before the launch go here, which the program does not contain.
        let nowhere = arena.region();
        let kernel = Self {
            arena: RefCell::new(arena),
            region: Cell::new(nowhere),
            inside: Cell::new(false),
            launched: Cell::new(None),
            names: RefCell::default(),
            lines: RefCell::default(),
            diagnostics: RefCell::default(),
        };
        body(&kernel);
        kernel.finish(at)
    }

    fn finish(self, at: Caller) -> Result<Checked<Program>, BuildError> {
        if self.launched.get().is_none() {
            let d = Diagnostic::new(Code::BadLaunch, Site::Program, "the kernel has no launch")
                .with_help("end it with `k.domain(…)` or `k.workgroups(…)`");
            self.report(d, at);
        }
        let name = self.arena.borrow().program().name().to_owned();
        let mut error = BuildError::new(name, self.diagnostics.into_inner());
        match self.arena.into_inner().finish() {
            Ok((program, moved)) => match check(program) {
                Ok(checked) if error.findings().is_empty() => return Ok(checked),
                Ok(_) => {}
                Err(found) => error.locate(found, &self.lines.into_inner(), &moved),
            },
            // Only statements outside the launch lead here, and each of them is reported already.
            Err(_) if !error.findings().is_empty() => {}
            Err(structure) => {
                let d = Diagnostic::new(Code::Structure, Site::Program, structure.to_string());
                error.push(d, Some(at));
            }
        }
        Err(error)
    }

    /// A scalar that each dispatch passes.
    #[track_caller]
    pub fn param<T: Element>(&self, name: impl Into<String>) -> Val<'_, T> {
        self.declare_param(name.into(), false)
    }

    /// A scalar that each dispatch passes and that is compiled in: one pipeline for each value.
    #[track_caller]
    pub fn specialize<T: Element>(&self, name: impl Into<String>) -> Val<'_, T> {
        self.declare_param(name.into(), true)
    }

    #[track_caller]
    fn declare_param<T: Element>(&self, name: String, specialize: bool) -> Val<'_, T> {
        let at = Location::caller();
        self.take_name(&name);
        let id = self.arena.borrow_mut().param(Param { name, ty: T::TYPE, specialize });
        self.lines.borrow_mut().params.push(at);
        self.expr(Expr::Param(id), at)
    }

    /// An input buffer, as long as the bytes that are bound.
    #[track_caller]
    pub fn read_only<T: Element>(&self, name: impl Into<String>) -> ReadOnly<'_, T> {
        self.declare_buffer::<T, _>(name.into(), Access::ReadOnly)
    }

    /// An input and output buffer, as long as the bytes that are bound.
    #[track_caller]
    pub fn read_write<T: Element>(&self, name: impl Into<String>) -> ReadWrite<'_, T> {
        self.declare_buffer::<T, _>(name.into(), Access::ReadWrite)
    }

    /// A small input buffer that every invocation reads alike, as long as the bytes that are bound.
    #[track_caller]
    pub fn uniform<T: Element>(&self, name: impl Into<String>) -> Uniform<'_, T> {
        self.declare_buffer::<T, _>(name.into(), Access::Uniform)
    }

    /// An output buffer of `len` elements; those not stored come back 0.
    #[track_caller]
    pub fn write_only<'k, T: Element>(
        &'k self,
        name: impl Into<String>,
        len: impl IntoExtent<'k>,
    ) -> WriteOnly<'k, T> {
        self.declare_buffer::<T, _>(name.into(), Access::WriteOnly).with_len(len)
    }

    #[track_caller]
    fn declare_buffer<T: Element, K>(&self, name: String, access: Access) -> Array<'_, T, K> {
        let at = Location::caller();
        self.take_name(&name);
        let buffer = Buffer { name, element: T::TYPE, access, count: Count::Bytes, coherent: false };
        let id = self.arena.borrow_mut().buffer(buffer);
        self.lines.borrow_mut().buffers.push(at);
        Array::new(self, Place::Buffer(id))
    }

    pub(super) fn set_count(&self, buffer: BufferId, count: Count) {
        self.arena.borrow_mut().set_count(buffer, count);
    }

    /// An array that the invocations of a workgroup share, zero until written. A name that is taken gets a
    /// number appended.
    #[track_caller]
    pub fn shared<T: Element>(&self, name: impl Into<String>, len: u32) -> Shared<'_, T> {
        let at = Location::caller();
        let name = self.free_name(name.into());
        let id = self.arena.borrow_mut().shared(ir::Array { name, element: T::TYPE, len });
        self.lines.borrow_mut().shared.push(at);
        Array::new(self, Place::Shared(id))
    }

    /// An array of each invocation's own, zero at first. A name that is taken gets a number appended.
    #[track_caller]
    pub fn private<T: Element>(&self, name: impl Into<String>, len: u32) -> Private<'_, T> {
        let at = Location::caller();
        let name = self.free_name(name.into());
        let id = self.arena.borrow_mut().private(ir::Array { name, element: T::TYPE, len });
        self.lines.borrow_mut().privates.push(at);
        Array::new(self, Place::Private(id))
    }

    /// A matrix of `rows` × `columns` that each subgroup holds together, zero at first. A name that is taken gets
    /// a number appended.
    #[track_caller]
    pub fn tile<T: class::Tile>(
        &self,
        name: impl Into<String>,
        role: TileRole,
        rows: u32,
        columns: u32,
    ) -> Tile<'_, T> {
        let at = Location::caller();
        let name = self.free_name(name.into());
        let ty = TileType { role, element: T::TYPE, rows, columns };
        let id = self.arena.borrow_mut().tile(ir::Tile { name, ty });
        self.lines.borrow_mut().tiles.push(at);
        Tile::new(self, id)
    }

    /// A variable, in scope for the rest of the block; each time the flow comes here it is `init` again. A
    /// name that is taken gets a number appended, so a function that declares one may be used twice.
    #[track_caller]
    pub fn var<'k, T: Element>(&'k self, name: impl Into<String>, init: impl IntoVal<'k, T>) -> Var<'k, T> {
        let at = Location::caller();
        let init = init.expr(self, at);
        let name = self.free_name(name.into());
        let var = self.arena.borrow_mut().var(ir::Variable { name, ty: T::TYPE });
        self.lines.borrow_mut().vars.push(at);
        self.push(Node::Declare { var, init }, at);
        Var::new(self, var)
    }

    /// A constant.
    #[track_caller]
    pub fn lit<T: Element>(&self, value: T) -> Val<'_, T> {
        self.expr(Expr::Literal(Value::new(value)), Location::caller())
    }

    /// A value that the launch gives each invocation; [`Kernel::domain`] and [`Kernel::workgroups`] hand the
    /// usual ones to their closures.
    #[track_caller]
    pub fn built_in(&self, value: BuiltIn) -> Val<'_, u32> {
        self.expr(Expr::BuiltIn(value), Location::caller())
    }

    /// A number of elements, points or workgroups, for host arithmetic.
    #[track_caller]
    pub fn extent<'k>(&'k self, extent: impl IntoExtent<'k>) -> Extent<'k> {
        let id = extent.extent_id(self, Location::caller());
        Extent::new(self, id)
    }

    /// `name`, or with a number if a declaration has it.
    fn free_name(&self, name: String) -> String {
        self.names.borrow_mut().free(name)
    }

    /// Takes note of a name that the host knows; the checker sees to its being unique.
    fn take_name(&self, name: &str) {
        self.names.borrow_mut().take(name);
    }

    pub(super) fn report(&self, diagnostic: Diagnostic, at: Caller) {
        self.diagnostics.borrow_mut().push((diagnostic, at));
    }

    /// Reports a handle of another kernel.
    pub(super) fn report_mixed(&self, what: &str, at: Caller) {
        let d =
            Diagnostic::new(Code::MixedBuilders, Site::Program, format!("{what} belongs to another kernel"))
                .with_help("a kernel's closure may only use what that kernel declared");
        self.report(d, at);
    }

    pub(super) fn expr<T: Element>(&self, expr: Expr, at: Caller) -> Val<'_, T> {
        Val::new(self, self.expr_id(expr, at))
    }

    pub(super) fn expr_id(&self, expr: Expr, at: Caller) -> ExprId {
        let id = self.arena.borrow_mut().expr(expr);
        let lines = &mut self.lines.borrow_mut().exprs;
        if id.index() == lines.len() {
            lines.push(at);
        }
        id
    }

    /// The zero that stands for an operand that was refused, so that building can go on.
    pub(super) fn placeholder(&self, ty: DataType, at: Caller) -> ExprId {
        self.expr_id(Expr::Literal(Value::zero(ty)), at)
    }

    /// Appends a statement to the block.
    pub(super) fn push(&self, node: Node, at: Caller) -> NodeId {
        if !self.inside.get() {
            let d = Diagnostic::new(Code::Structure, Site::Program, "a statement is outside the launch")
                .with_help("move it into the closure of `k.domain(…)` or `k.workgroups(…)`");
            self.report(d, at);
        }
        self.lines.borrow_mut().nodes.push(at);
        self.arena.borrow_mut().push(self.region.get(), node)
    }

    /// Appends a statement and gives its result.
    pub(super) fn push_result<T: Element>(&self, node: Node, at: Caller) -> Val<'_, T> {
        let node = self.push(node, at);
        self.expr(Expr::Result(node), at)
    }
}
