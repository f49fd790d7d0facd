//! Structured control: blocks are walked with an explicit stack, so nesting costs no stack of ours.

use naga::{Block, Function, Module, Span, Statement};
use vyre_lower::kernel::{BlockId, InstId, KernelDescriptor, Op};

use crate::EmitError;
use crate::bindings::Globals;
use crate::body::Body;

/// A block being emitted.
struct Frame<'d> {
    block: BlockId,
    insts: std::slice::Iter<'d, InstId>,
    /// The statements of the enclosing block, to which this one's statement will be added.
    outer: Block,
    role: FrameRole,
}

/// What a block is for, and the finished blocks that go into the same statement.
enum FrameRole {
    Entry,
    Then { condition: InstId, otherwise: BlockId },
    Otherwise { condition: InstId, accept: Block },
    LoopBody { continuing: BlockId },
    Continuing { body: Block },
}

/// The entry point's function, and how deep its blocks nest.
pub(crate) fn function(
    module: &mut Module,
    descriptor: &KernelDescriptor,
    globals: &Globals,
) -> Result<(Function, usize), EmitError> {
    let mut body = Body::new(module, descriptor, globals);
    let mut stack = Vec::new();
    let mut depth = 0;
    let mut frame = Frame::enter(descriptor, BlockId(0), Block::new(), FrameRole::Entry)?;
    loop {
        match next(&mut frame, &mut body, descriptor)? {
            Step::Nest(inner) => {
                stack.push(std::mem::replace(&mut frame, inner));
                depth = depth.max(stack.len());
            }
            Step::End => {
                body.flush();
                let Frame { outer, role, .. } = frame;
                let finished = std::mem::replace(&mut body.block, outer);
                let (block, role) = match role {
                    FrameRole::Entry => return Ok((body.finish(finished), depth)),
                    FrameRole::Then { condition, otherwise } => {
                        (otherwise, FrameRole::Otherwise { condition, accept: finished })
                    }
                    FrameRole::LoopBody { continuing } => {
                        (continuing, FrameRole::Continuing { body: finished })
                    }
                    FrameRole::Otherwise { condition, accept } => {
                        let condition = body.value(condition)?;
                        body.push(Statement::If { condition, accept, reject: finished });
                        frame = pop(&mut stack, descriptor)?;
                        continue;
                    }
                    FrameRole::Continuing { body: inner } => {
                        body.push(Statement::Loop { body: inner, continuing: finished, break_if: None });
                        frame = pop(&mut stack, descriptor)?;
                        continue;
                    }
                };
                frame = Frame::enter(descriptor, block, std::mem::take(&mut body.block), role)?;
            }
        }
    }
}

enum Step<'d> {
    Nest(Frame<'d>),
    End,
}

/// Emits the instructions of a block up to its end or to a nested block. What follows a jump is unreachable
/// and left out: naga takes nothing there.
fn next<'d>(
    frame: &mut Frame<'d>,
    body: &mut Body<'_>,
    descriptor: &'d KernelDescriptor,
) -> Result<Step<'d>, EmitError> {
    for &id in frame.insts.by_ref() {
        let inst = descriptor.insts.get(id.index()).ok_or_else(|| body.missing("instruction", id.0))?;
        let (block, role) = match inst.op {
            Op::If { condition, then, otherwise } => (then, FrameRole::Then { condition, otherwise }),
            Op::Loop { body, continuing } => (body, FrameRole::LoopBody { continuing }),
            Op::Break => return jump(body, Statement::Break),
            Op::Continue => return jump(body, Statement::Continue),
            Op::Return => return jump(body, Statement::Return { value: None }),
            _ => {
                body.inst(frame.block, id, inst)?;
                continue;
            }
        };
        body.flush();
        let inner = Frame::enter(descriptor, block, std::mem::take(&mut body.block), role)?;
        return Ok(Step::Nest(inner));
    }
    Ok(Step::End)
}

fn jump<'d>(body: &mut Body<'_>, statement: Statement) -> Result<Step<'d>, EmitError> {
    body.flush();
    body.push(statement);
    Ok(Step::End)
}

impl<'d> Frame<'d> {
    fn enter(
        descriptor: &'d KernelDescriptor,
        block: BlockId,
        outer: Block,
        role: FrameRole,
    ) -> Result<Self, EmitError> {
        let insts = descriptor.blocks.get(block.index()).ok_or_else(|| EmitError::Missing {
            kernel: descriptor.name.clone(),
            what: "block",
            index: block.0,
        })?;
        Ok(Self { block, insts: insts.iter(), outer, role })
    }
}

/// The enclosing block's frame; every nested frame was entered from one.
fn pop<'d>(stack: &mut Vec<Frame<'d>>, descriptor: &KernelDescriptor) -> Result<Frame<'d>, EmitError> {
    stack.pop().ok_or_else(|| EmitError::Missing {
        kernel: descriptor.name.clone(),
        what: "enclosing block of block",
        index: 0,
    })
}

impl Body<'_> {
    /// Adds a statement.
    pub(crate) fn push(&mut self, statement: Statement) {
        self.block.push(statement, Span::UNDEFINED);
    }
}
