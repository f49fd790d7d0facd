//! Handlers: what a program must be to run as a task.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{BufferId, Count, Expr, Extent, Launch, Node, ParamId, Program};
use vyre_spec::{Access, DataType};

use super::QueueLayout;

/// The parameter of a handler that is the number of its task, a `u32`, and no argument.
pub const TASK: &str = "task";
/// The buffer of a handler, `writeonly u32` and [`QueueLayout::spawn_words`] long, with the tasks that it adds.
pub const SPAWN: &str = "spawn";
/// The buffer of a handler, `writeonly u32[1]`, that says whether its task runs again: see [`AGAIN`] and
/// [`AFTER_CHILDREN`]; 0 if it is done.
pub const REQUEUE: &str = "requeue";
/// In [`REQUEUE`]: the task goes to the end of its lane.
pub const AGAIN: u32 = 1;
/// In [`REQUEUE`]: the task runs again when the tasks that it adds are done.
pub const AFTER_CHILDREN: u32 = 2;

/// Why a program is no handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// It launches something else.
    #[error("handler `{handler}` must launch a domain of one point: a task is one invocation")]
    Launch {
        /// Its name.
        handler: String,
    },
    /// It has something that makes no sense in one invocation of many.
    #[error("handler `{handler}` has {what}, which a task cannot have: each task is one invocation")]
    Construct {
        /// Its name.
        handler: String,
        /// What it has.
        what: &'static str,
    },
    /// A parameter is no word.
    #[error("parameter `{param}` of handler `{handler}` is {ty}: arguments are u32, i32 or f32")]
    Parameter {
        /// The handler's name.
        handler: String,
        /// The parameter's.
        param: String,
        /// Its type.
        ty: DataType,
    },
    /// It takes more arguments than a task has.
    #[error(
        "handler `{handler}` takes {needs} arguments, but the queue's layout has {has}: raise its `arguments`"
    )]
    Arguments {
        /// Its name.
        handler: String,
        /// What it takes.
        needs: u32,
        /// What there is.
        has: u32,
    },
    /// A reserved buffer is declared otherwise.
    #[error("buffer `{buffer}` of handler `{handler}` must be `writeonly u32[{length}]`")]
    Reserved {
        /// The handler's name.
        handler: String,
        /// The buffer's.
        buffer: &'static str,
        /// The length it must have.
        length: u32,
    },
    /// A buffer's length is not that of what is bound.
    #[error(
        "buffer `{buffer}` of handler `{handler}` must be as long as what is bound: write `[]` for its length"
    )]
    Count {
        /// The handler's name.
        handler: String,
        /// The buffer's.
        buffer: String,
    },
    /// Two handlers mean different things by one name.
    #[error(
        "buffer `{buffer}` is {first} in one handler and {second} in `{handler}`: name one of them otherwise"
    )]
    Element {
        /// The handler's name.
        handler: String,
        /// The buffer's.
        buffer: String,
        /// Its element type in an earlier one.
        first: DataType,
        /// In this one.
        second: DataType,
    },
    /// A buffer's name is one of the queue's own.
    #[error("buffer `{buffer}` of handler `{handler}` has a name of the queue's own: choose another")]
    Name {
        /// The handler's name.
        handler: String,
        /// The buffer's.
        buffer: String,
    },
}

/// What a handler's buffer is in the queue's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The buffer that all tasks share, by position.
    Shared(usize),
    /// The tasks that it adds.
    Spawn,
    /// Whether it runs again.
    Requeue,
}

/// What a handler's parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The number of the task.
    Task,
    /// An argument.
    Argument(u32),
}

/// A program that can be a task.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    pub(super) program: Checked<Program>,
    pub(super) buffers: Vec<Role>,
    pub(super) params: Vec<Source>,
    pub(super) arguments: u32,
}

/// A buffer that tasks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBuffer {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub element: DataType,
    /// Whether some handler writes it.
    pub written: bool,
}

/// Takes a program as a handler; adds its buffers to those of the others.
pub(super) fn handler(
    program: &Checked<Program>,
    layout: &QueueLayout,
    shared: &mut Vec<SharedBuffer>,
) -> Result<Handler, HandlerError> {
    let name = || program.name().to_owned();
    let one = |launch: Launch| {
        matches!(launch, Launch::Domain { extent, .. }
        if extent.iter().all(|&x| *program.extent(x) == Extent::Literal(1)))
    };
    if !one(program.launch()) {
        return Err(HandlerError::Launch { handler: name() });
    }
    if let Some(what) = program.nodes().iter().find_map(refused) {
        return Err(HandlerError::Construct { handler: name(), what });
    }
    let (mut params, mut arguments) = (Vec::new(), 0);
    for param in program.params() {
        if param.name == TASK && param.ty == DataType::U32 {
            params.push(Source::Task);
            continue;
        }
        if !matches!(param.ty, DataType::U32 | DataType::I32 | DataType::F32) {
            return Err(HandlerError::Parameter { handler: name(), param: param.name.clone(), ty: param.ty });
        }
        params.push(Source::Argument(arguments));
        arguments += 1;
    }
    if arguments > layout.arguments {
        let (needs, has) = (arguments, layout.arguments);
        return Err(HandlerError::Arguments { handler: name(), needs, has });
    }
    let mut buffers = Vec::new();
    for id in program.buffer_ids() {
        buffers.push(role(program, id, layout, shared)?);
    }
    Ok(Handler { program: program.clone(), buffers, params, arguments })
}

fn refused(node: &Node) -> Option<&'static str> {
    match node {
        Node::Return => Some("a `return`"),
        Node::Barrier { .. } => Some("a barrier"),
        Node::Collective { .. } => Some("a collective"),
        Node::Subgroup { .. } => Some("a subgroup op"),
        Node::Tile { .. } => Some("a tile op"),
        _ => None,
    }
}

fn role(
    program: &Program,
    id: BufferId,
    layout: &QueueLayout,
    shared: &mut Vec<SharedBuffer>,
) -> Result<Role, HandlerError> {
    let (buffer, handler) = (program.buffer(id), program.name().to_owned());
    let reserved = [(SPAWN, layout.spawn_words(), Role::Spawn), (REQUEUE, 1, Role::Requeue)];
    if let Some((name, length, role)) = reserved.into_iter().find(|(name, ..)| *name == buffer.name) {
        let is_so = |x| *program.extent(x) == Extent::Literal(u64::from(length));
        let long = matches!(buffer.count, Count::Extent(x) if is_so(x));
        if buffer.access != Access::WriteOnly || buffer.element != DataType::U32 || !long {
            return Err(HandlerError::Reserved { handler, buffer: name, length });
        }
        return Ok(role);
    }
    if buffer.name.starts_with("queue_") {
        return Err(HandlerError::Name { handler, buffer: buffer.name.clone() });
    }
    if buffer.count != Count::Bytes {
        return Err(HandlerError::Count { handler, buffer: buffer.name.clone() });
    }
    let written = buffer.access.is_output();
    let position = shared.iter().position(|known| known.name == buffer.name);
    let Some(at) = position else {
        shared.push(SharedBuffer { name: buffer.name.clone(), element: buffer.element, written });
        return Ok(Role::Shared(shared.len() - 1));
    };
    let known = &mut shared[at];
    if known.element != buffer.element {
        let (buffer, first, second) = (buffer.name.clone(), known.element, buffer.element);
        return Err(HandlerError::Element { handler, buffer, first, second });
    }
    known.written |= written;
    Ok(Role::Shared(at))
}

impl Handler {
    /// Iterations of loops that the driver counts in one run, as far as they are constant.
    pub(super) fn iterations(&self) -> u64 {
        let literal = |id| match *self.program.expr(id) {
            Expr::Literal(value) => value.as_int(),
            _ => None,
        };
        let trips = |node: &Node| match *node {
            Node::For { start, end, step, .. } => {
                let (start, end, step) = (literal(start)?, literal(end)?, literal(step)?);
                let trips = if step > 0 { ((end - start).max(0) + step - 1) / step } else { 0 };
                Some((u64::try_from(trips).unwrap_or(u64::MAX)).saturating_add(1))
            }
            // Lowering counts what has no bound.
            Node::While { .. } => Some(1),
            _ => None,
        };
        // Inner regions come after the nodes that hold them, so costs are summed from the end.
        let program = &self.program;
        let mut costs = vec![0u64; program.regions().len()];
        for (i, nodes) in program.regions().iter().enumerate().rev() {
            costs[i] = nodes.iter().fold(0u64, |sum, &id| {
                let node = program.node(id);
                let inner =
                    node.regions().fold(0u64, |sum, region| sum.saturating_add(costs[region.index()]));
                let own = match trips(node) {
                    Some(trips) => trips.saturating_mul(inner.saturating_add(1)),
                    None if matches!(node, Node::For { .. }) => inner.saturating_add(1),
                    None => inner,
                };
                sum.saturating_add(own)
            });
        }
        costs.first().copied().unwrap_or(0)
    }

    /// What a parameter is.
    pub(super) fn source(&self, param: ParamId) -> Source {
        self.params.get(param.index()).copied().unwrap_or(Source::Task)
    }
}
