//! Diagnostics: what is wrong with a program, where, and what to do.

mod cut;
mod render;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::ir::{BufferId, ExprId, NodeId, ParamId, PrivateId, SharedId, TileId, VarId};

pub(crate) use render::excerpt;
pub use render::{render, render_printed};

/// The place in a program that a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// The program as a whole, its launch included.
    Program,
    /// A buffer's declaration.
    Buffer(BufferId),
    /// A parameter's declaration.
    Param(ParamId),
    /// A shared array's declaration.
    Shared(SharedId),
    /// A private array's declaration.
    Private(PrivateId),
    /// A tile's declaration.
    Tile(TileId),
    /// A variable's declaration.
    Var(VarId),
    /// A node.
    Node(NodeId),
    /// An expression, where it is used first.
    Expr(ExprId),
}

/// One finding, about a program or, with other sites, about a graph of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic<S = Site> {
    /// The stable code.
    pub code: Code,
    /// The place.
    pub site: S,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Further places that explain it, each with a label.
    pub related: Vec<(S, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl<S> Diagnostic<S> {
    /// A finding at a place.
    pub fn new(code: Code, site: S, message: impl Into<String>) -> Self {
        Self { code, site, message: message.into(), related: Vec::new(), help: None }
    }

    /// The finding with a further place.
    #[must_use]
    pub fn with_related(mut self, site: S, label: impl Into<String>) -> Self {
        self.related.push((site, label.into()));
        self
    }

    /// The finding with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl<S> fmt::Display for Diagnostic<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(help) = &self.help {
            write!(f, " (help: {help})")?;
        }
        Ok(())
    }
}

macro_rules! codes {
    ($($variant:ident = $code:literal $summary:literal;)*) => {
        /// A stable diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $summary] $variant,)* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code as printed, such as `V0101`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What the code means, in one sentence.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }
        }
    };
}

codes! {
    // 00xx: text.
    Syntax = "V0001" "The text is not a program.";
    UnknownName = "V0002" "A name is used that nothing declares.";
    BadLiteral = "V0003" "A literal does not fit its type.";
    // 01xx: structure and declarations.
    Structure = "V0101" "The program's tables do not fit together.";
    DuplicateName = "V0102" "Two declarations have one name.";
    BadName = "V0103" "A name is no identifier, or a word of the text form.";
    BadCount = "V0104" "A buffer's element count cannot be known at launch.";
    BadLaunch = "V0105" "The launch cannot be carried out.";
    BadArray = "V0106" "An array has no element.";
    VariableScope = "V0107" "A variable is used where it is not in scope, or is declared twice.";
    Dominance = "V0108" "A result is used where it does not exist.";
    LoopControl = "V0109" "A break or continue is outside the body of a loop.";
    Unreachable = "V0110" "A node can never run.";
    MixedBuilders = "V0111" "A handle of one builder is used in another.";
    // 02xx: types.
    OperandType = "V0201" "An operand has a type that the op does not take.";
    IndexType = "V0202" "An index is not an integer.";
    ConditionType = "V0203" "A condition is not a bool.";
    Access = "V0204" "An array is used in a way that its declaration does not allow.";
    TileShape = "V0205" "A tile has a shape, role or element type that does not fit.";
    // 03xx: launches and uniformity.
    LaunchKind = "V0301" "A construct belongs to another kind of launch.";
    DivergentBarrier = "V0302" "A barrier is in control flow that the invocations it joins do not share.";
    DivergentSubgroup = "V0303" "A subgroup op is in control flow that a workgroup does not share.";
    DivergentTile = "V0304" "A tile op is in control flow, or has an operand, that a subgroup does not share.";
    DivergentCollective = "V0305" "A collective is in control flow that the launch does not share.";
    // 04xx: races.
    Race = "V0401" "Two unordered accesses meet at one element, one of them a write.";
    // 05xx: limits.
    Limit = "V0501" "The program passes a limit.";
    // 06xx: seen by the reference machine in a run.
    OutOfBounds = "V0601" "An access outside an array.";
    RaceSeen = "V0602" "Two unordered accesses to one element, one of them a write.";
    UnwrittenShared = "V0603" "A load of shared memory that nothing had written.";
    DivergenceSeen = "V0604" "Only some invocations met at a barrier or subgroup op.";
    StepBudget = "V0605" "The budget of instructions was spent.";
    // 07xx: graphs of programs.
    GraphArguments = "V0701" "A node has other inputs, outputs or parameters than its program.";
    GraphType = "V0702" "A value or parameter has another type than its use needs.";
    GraphShape = "V0703" "A shape does not fit.";
    GraphOrder = "V0704" "A value is used before the node that computes it.";
    GraphUpdate = "V0705" "An update is of no retained value, or is its second.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
