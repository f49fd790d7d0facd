//! The declarations of a graph. Names of values, programs and nodes mean something when all are known.

mod node;
mod source;

use std::borrow::Cow;
use std::collections::HashMap;

use vyre_spec::{DataType, Value};

use super::super::scope::Declared;
use super::super::{Parse, Parser};
use crate::diag::Code;
use crate::graph::assemble::{Draft, ValueRef};
use crate::graph::{Dim, DimId, DimTable, GraphParam, GraphParamId};
use crate::ir::{Extent, ExtentOp, Param};
use crate::text::lex::{Tok, Token};
use crate::text::suggest::closest;
use crate::text::{GraphMap, Span, TextError};

/// The declarations, by their first word.
const DECLARATIONS: [&str; 7] = ["dim", "param", "input", "constant", "retained", "node", "output"];

/// An argument as it is written.
pub(super) enum RawArg<'a> {
    Literal(Value),
    Dim(DimId),
    Name(Cow<'a, str>),
}

/// A node as it is written.
pub(super) struct RawNode<'a> {
    pub(super) name: String,
    pub(super) results: Vec<String>,
    /// The program, with its position among those of that name.
    pub(super) program: (Cow<'a, str>, Option<u64>, Span),
    pub(super) args: Vec<(RawArg<'a>, Span)>,
    pub(super) counts: Option<[DimId; 3]>,
}

pub(super) struct Declarations<'a> {
    pub(super) parser: Parser<'a>,
    pub(super) draft: Draft,
    pub(super) map: GraphMap,
    /// What the parser's parameters stand for: it reads dimensions as extents of parameters.
    pub(super) leaves: Vec<Dim>,
    pub(super) dims: DimTable,
    /// The dimensions of the parser's extents.
    converted: Vec<DimId>,
    /// Values by name.
    pub(super) values: HashMap<String, ValueRef>,
    pub(super) nodes: Vec<RawNode<'a>>,
    /// Sources that become another value, and outputs, with the value's name.
    pub(super) updates: Vec<(usize, Cow<'a, str>, Span)>,
    pub(super) outputs: Vec<(String, Cow<'a, str>, Span)>,
    /// The places of computed values, whose ids come after those of sources.
    computed: Vec<Span>,
    /// How many values nodes compute so far.
    counted: u32,
}

impl<'a> Declarations<'a> {
    pub(super) fn new(tokens: Vec<Token<'a>>) -> Self {
        Self {
            parser: Parser::new(tokens, Vec::new()),
            draft: Draft::default(),
            map: GraphMap::default(),
            leaves: Vec::new(),
            dims: DimTable::default(),
            converted: Vec::new(),
            values: HashMap::new(),
            nodes: Vec::new(),
            updates: Vec::new(),
            outputs: Vec::new(),
            computed: Vec::new(),
            counted: 0,
        }
    }

    /// Whether nothing wrong was found so far.
    pub(super) fn sound(&self) -> bool {
        self.parser.errors.is_empty()
    }

    /// Reads `graph name { declarations }`.
    pub(super) fn read(&mut self) {
        // Errors are recorded.
        let _ = self.graph();
        self.map.values.append(&mut self.computed);
    }

    fn graph(&mut self) -> Parse<()> {
        let start = self.parser.span();
        self.parser.expect_word("graph")?;
        let (name, _) = self.parser.name("the graph's name")?;
        self.draft.name = name.into_owned();
        self.map.graph = start.to(self.parser.last_span());
        self.parser.expect_symbol("{")?;
        let open = self.parser.last_span();
        while !self.parser.eat_symbol("}") {
            if *self.parser.peek() == Tok::End {
                let error = TextError::new(
                    Code::Syntax,
                    self.parser.span(),
                    "expected `}`, found the end of the graph",
                );
                return self.parser.fail(error.with_related(open, "to close this"));
            }
            let before = self.parser.at;
            if self.declaration().is_err() {
                self.parser.skip_statement(&DECLARATIONS);
                if self.parser.at == before {
                    self.parser.bump();
                }
            }
        }
        if *self.parser.peek() != Tok::End {
            return self.parser.expected("`program` or the end of the text".to_owned());
        }
        Ok(())
    }

    fn declaration(&mut self) -> Parse<()> {
        let start = self.parser.span();
        let Some(word) = self.parser.word() else { return self.parser.expected("a declaration".to_owned()) };
        if !DECLARATIONS.contains(&word) {
            let mut error = TextError::new(Code::Syntax, start, format!("`{word}` begins no declaration"));
            let near = closest(word, DECLARATIONS.into_iter());
            error.help = Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("declarations begin with {}", DECLARATIONS.join(", ")),
            });
            return self.parser.fail(error);
        }
        self.parser.bump();
        match word {
            "output" => self.output(start)?,
            "node" => self.node(start)?,
            "dim" => self.dim_declaration(start)?,
            "param" => {
                let (name, at) = self.parser.new_name("a name")?;
                self.parser.expect_symbol(":")?;
                let ty = self.parser.data_type()?;
                let id = GraphParamId::new(self.draft.params.len() as u32);
                self.draft.params.push(GraphParam { name: name.to_string(), ty });
                self.map.params.push(start.to(self.parser.last_span()));
                self.leaf(name, Dim::Param(id), ty, at);
            }
            _ => self.source(word, start)?,
        }
        self.parser.expect_symbol(";")
    }

    /// Declares a name that dimensions may have.
    fn leaf(&mut self, name: Cow<'a, str>, dim: Dim, ty: DataType, at: Span) {
        let id = self.parser.arena.param(Param { name: name.to_string(), ty, specialize: false });
        self.leaves.push(dim);
        self.declare(name, Declared::Param(id), at);
    }

    fn declare(&mut self, name: Cow<'a, str>, what: Declared, at: Span) {
        let message = format!("the name `{name}` is declared twice");
        if let Err(first) = self.parser.names.declare(name, what, at) {
            let error =
                TextError::new(Code::DuplicateName, at, message).with_related(first, "declared here first");
            let help = "rename one of them: parameters, values and symbols share one set of names";
            self.parser.error(error.with_help(help));
        }
    }

    /// `dim name` or `dim name = dimension`.
    fn dim_declaration(&mut self, start: Span) -> Parse<()> {
        let (name, at) = self.parser.new_name("a name")?;
        if self.parser.eat_symbol("=") {
            let extent = self.parser.extent()?;
            self.declare(name, Declared::Extent(extent), at);
            return Ok(());
        }
        let symbol = Dim::Symbol(name.to_string());
        let id = self.dims.intern(symbol.clone());
        self.map.dims.resize(id.index() + 1, Span::default());
        if let Some(slot) = self.map.dims.get_mut(id.index()) {
            *slot = start.to(at);
        }
        self.map.symbols.insert(name.to_string(), start.to(at));
        self.leaf(name, symbol, DataType::U64, at);
        Ok(())
    }

    /// Reads a dimension.
    fn dim(&mut self) -> Parse<DimId> {
        let extent = self.parser.extent()?;
        // Operands stand before users.
        while let Some(&next) = self.parser.arena.program().extents().get(self.converted.len()) {
            let id = match (next, ExtentOp::of(next)) {
                (Extent::Literal(n), _) => self.dims.literal(n),
                (Extent::Param(id), _) => {
                    let leaf = self.leaves.get(id.index()).cloned();
                    self.dims.intern(leaf.unwrap_or(Dim::Literal(0)))
                }
                (_, Some((op, a, b))) => {
                    let at = |x: crate::ir::ExtentId| self.converted.get(x.index()).copied();
                    match (at(a), at(b)) {
                        (Some(a), Some(b)) => self.dims.combine(op, a, b),
                        _ => self.dims.literal(0),
                    }
                }
                // A graph has no buffers, so there are no lengths of them.
                _ => self.dims.literal(0),
            };
            self.converted.push(id);
        }
        Ok(self.converted.get(extent.index()).copied().unwrap_or(DimId::new(0)))
    }

    /// Dimensions up to a closing symbol.
    fn dims_until(&mut self, close: &str) -> Parse<Vec<DimId>> {
        let mut dims = Vec::new();
        while !self.parser.eat_symbol(close) {
            if !dims.is_empty() {
                self.parser.expect_symbol(",")?;
            }
            dims.push(self.dim()?);
        }
        Ok(dims)
    }

    fn output(&mut self, start: Span) -> Parse<()> {
        let (name, _) = self.parser.new_name("a name")?;
        self.parser.expect_symbol("=")?;
        let (value, at) = self.parser.name("a value's name")?;
        self.map.outputs.push(start.to(at));
        self.outputs.push((name.into_owned(), value, at));
        Ok(())
    }
}
