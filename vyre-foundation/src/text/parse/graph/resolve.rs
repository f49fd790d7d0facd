//! What the names in a graph's declarations stand for.

use super::super::scope::Declared;
use super::super::{Failed, Parse};
use super::Programs;
use super::declarations::{Declarations, RawArg, RawNode};
use crate::diag::Code;
use crate::graph::assemble::{DraftKind, DraftNode, ValueRef};
use crate::graph::{Dim, ParamSource};
use crate::ir::Program;
use crate::text::suggest::closest;
use crate::text::{Span, TextError};

impl Declarations<'_> {
    /// Finishes the draft.
    pub(super) fn resolve(&mut self, programs: &Programs) {
        self.draft.programs = programs.all.iter().map(|(program, _)| program.clone()).collect();
        for node in std::mem::take(&mut self.nodes) {
            // An error is recorded; the other nodes are looked at all the same.
            let _ = self.resolve_node(node, programs);
        }
        for (source, name, at) in std::mem::take(&mut self.updates) {
            let next = self.value(&name, at);
            if let (Ok(next), Some(source)) = (next, self.draft.sources.get_mut(source)) {
                source.kind = DraftKind::Retained { next: Some(next) };
            }
        }
        for (output, name, at) in std::mem::take(&mut self.outputs) {
            if let Ok(value) = self.value(&name, at) {
                self.draft.outputs.push((output, value));
            }
        }
        self.draft.dims = std::mem::take(&mut self.dims).into_table();
    }

    fn value(&mut self, name: &str, at: Span) -> Parse<ValueRef> {
        if let Some(&value) = self.values.get(name) {
            return Ok(value);
        }
        if self.parser.names.declared(name).is_some() {
            let error = TextError::new(Code::GraphType, at, format!("`{name}` is a number, not a value"));
            return self
                .parser
                .fail(error.with_help("a value is an input, constant or retained, or computed by a node"));
        }
        let near = closest(name, self.values.keys().map(String::as_str)).map(str::to_owned);
        self.unknown("value", name, at, near)
    }

    fn unknown<T>(&mut self, what: &str, name: &str, at: Span, near: Option<String>) -> Parse<T> {
        let error = TextError::new(Code::UnknownName, at, format!("there is no {what} `{name}`"));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare a {what} of this name"),
        };
        self.parser.fail(error.with_help(help))
    }

    fn resolve_node(&mut self, node: RawNode<'_>, programs: &Programs) -> Parse<()> {
        let (name, number, at) = &node.program;
        let found = programs.named.get(&**name).map_or(&[][..], Vec::as_slice);
        let position = match (found, number) {
            ([], _) => {
                let near = closest(name, programs.named.keys().map(String::as_str)).map(str::to_owned);
                return self.unknown("program", name, *at, near);
            }
            (&[only], None) => only,
            (_, None) => {
                let message = format!("there are {} programs `{name}`", found.len());
                let error = TextError::new(Code::UnknownName, *at, message);
                return self.parser.fail(error.with_help(format!("write `{name}.0` for the first")));
            }
            (_, Some(number)) => match usize::try_from(*number).ok().and_then(|at| found.get(at)) {
                Some(&position) => position,
                None => {
                    let message =
                        format!("there are {} programs `{name}`, the first is number 0", found.len());
                    let error = TextError::new(Code::UnknownName, *at, message);
                    return self.parser.fail(error.with_help("write the number of one of them"));
                }
            },
        };
        let Some((program, _)) = programs.all.get(position as usize) else { return Err(Failed) };
        let (mut params, mut inputs) = (Vec::new(), Vec::new());
        let mut wrong = false;
        for (i, (arg, at)) in node.args.into_iter().enumerate() {
            if i < program.params().len() {
                match self.param(arg, at, program) {
                    Ok(param) => params.push(param),
                    Err(Failed) => wrong = true,
                }
                continue;
            }
            let value = match arg {
                RawArg::Name(name) => self.value(&name, at),
                _ => {
                    let message = format!("a number is given where `{}` takes a value", program.name());
                    let error = TextError::new(Code::GraphArguments, at, message);
                    self.parser.fail(error.with_help(order(program)))
                }
            };
            match value {
                Ok(value) => inputs.push(value),
                Err(Failed) => wrong = true,
            }
        }
        if wrong {
            return Err(Failed);
        }
        self.draft.nodes.push(DraftNode {
            name: node.name,
            program: position,
            inputs,
            outputs: node.results,
            params,
            counts: node.counts,
        });
        Ok(())
    }

    /// What an argument in the place of a parameter is.
    fn param(&mut self, arg: RawArg<'_>, at: Span, program: &Program) -> Parse<ParamSource> {
        let name = match arg {
            RawArg::Literal(value) => return Ok(ParamSource::Literal(value)),
            RawArg::Dim(dim) => return Ok(ParamSource::Dim(dim)),
            RawArg::Name(name) => name,
        };
        match self.parser.names.declared(&name) {
            Some(Declared::Param(id)) => match self.leaves.get(id.index()).cloned() {
                Some(Dim::Param(id)) => Ok(ParamSource::Param(id)),
                Some(symbol) => Ok(ParamSource::Dim(self.dims.intern(symbol))),
                None => Err(Failed),
            },
            Some(Declared::Extent(_)) => {
                let error = TextError::new(Code::GraphType, at, format!("`{name}` is short for a dimension"));
                self.parser.fail(error.with_help(format!("write `dim({name})`")))
            }
            _ if self.values.contains_key(&*name) => {
                let message = format!("value `{name}` is given where `{}` takes a parameter", program.name());
                let error = TextError::new(Code::GraphArguments, at, message);
                self.parser.fail(error.with_help(order(program)))
            }
            _ => {
                let near = self.parser.names.suggest(&name, false, |what| matches!(what, Declared::Param(_)));
                self.unknown("parameter", &name, at, near)
            }
        }
    }
}

/// The order of a program's arguments.
fn order(program: &Program) -> String {
    let params = program.params().iter().map(|param| param.name.as_str());
    let names: Vec<_> = params.chain(program.inputs().map(|id| program.buffer(id).name.as_str())).collect();
    format!("the arguments of `{}` are, in this order: {}", program.name(), names.join(", "))
}
