//! Names in scope: declarations of the whole program, and `let` and loop names of blocks.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::ir::{BufferId, ExprId, ExtentId, ParamId, PrivateId, SharedId, TileId, VarId};
use crate::text::Span;
use crate::text::suggest::closest;

/// What a declaration's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    Buffer(BufferId),
    Param(ParamId),
    Shared(SharedId),
    Private(PrivateId),
    Tile(TileId),
    Var(VarId),
    Extent(ExtentId),
}

/// A name of a block: the expression that it stands for, `None` after an error in its definition.
#[derive(Clone, Copy)]
struct Local {
    value: Option<ExprId>,
    span: Span,
}

/// What an expression's name stands for.
pub(super) enum Found {
    Local(Option<ExprId>),
    Declared(Declared),
    /// Nothing now; it stood for something in a block that has ended.
    Ended(Span),
    Unknown,
}

#[derive(Default)]
pub(super) struct Names<'a> {
    declared: HashMap<Cow<'a, str>, (Declared, Span)>,
    locals: HashMap<Cow<'a, str>, Vec<Local>>,
    /// The names of each open scope, in order.
    scopes: Vec<Vec<Cow<'a, str>>>,
    ended: HashMap<Cow<'a, str>, Span>,
}

impl<'a> Names<'a> {
    /// Declares a name; gives the place of the first declaration if there is one.
    pub(super) fn declare(&mut self, name: Cow<'a, str>, what: Declared, span: Span) -> Result<(), Span> {
        match self.declared.get(&name) {
            Some(&(_, first)) => Err(first),
            None => {
                self.declared.insert(name, (what, span));
                Ok(())
            }
        }
    }

    pub(super) fn declared(&self, name: &str) -> Option<Declared> {
        self.declared.get(name).map(|&(what, _)| what)
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Vec::new());
    }

    pub(super) fn close(&mut self) {
        for name in self.scopes.pop().into_iter().flatten() {
            if let Some(stack) = self.locals.get_mut(&name) {
                if let Some(local) = stack.pop() {
                    self.ended.insert(name, local.span);
                }
            }
        }
    }

    /// Names an expression in the innermost scope.
    pub(super) fn bind(&mut self, name: Cow<'a, str>, value: Option<ExprId>, span: Span) {
        self.locals.entry(name.clone()).or_default().push(Local { value, span });
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name);
        }
    }

    pub(super) fn find(&self, name: &str) -> Found {
        if let Some(local) = self.locals.get(name).and_then(|stack| stack.last()) {
            return Found::Local(local.value);
        }
        match (self.declared(name), self.ended.get(name)) {
            (Some(what), _) => Found::Declared(what),
            (None, Some(&span)) => Found::Ended(span),
            (None, None) => Found::Unknown,
        }
    }

    /// The known name closest to a wrong one: of the declarations that `wanted` accepts, and with `locals`
    /// of the blocks' names.
    pub(super) fn suggest(
        &self,
        name: &str,
        locals: bool,
        wanted: impl Fn(Declared) -> bool,
    ) -> Option<String> {
        let declared = self.declared.iter().filter(|(_, (what, _))| wanted(*what)).map(|(name, _)| &**name);
        let bound =
            self.locals.iter().filter(|(_, stack)| locals && !stack.is_empty()).map(|(name, _)| &**name);
        closest(name, declared.chain(bound)).map(str::to_owned)
    }
}
