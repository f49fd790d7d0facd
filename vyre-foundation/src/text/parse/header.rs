//! Declarations and the launch. Extents may name any declaration, so they are read when all are known.

use std::borrow::Cow;

use vyre_spec::{Access, DataType, TileRole, TileType};

use super::scope::Declared;
use super::{Failed, Parse, Parser};
use crate::check::is_reserved;
use crate::diag::Code;
use crate::ir::{Arena, Array, Buffer, BufferId, Count, Extent, Launch, Param, Tile, Variable};
use crate::text::lex::Tok;
use crate::text::suggest::closest;
use crate::text::{Span, TextError};

/// The declarations, by their first word.
const DECLARATIONS: [&str; 8] = ["param", "buffer", "shared", "private", "tile", "var", "extent", "launch"];

/// An extent that is read once all declarations are known: the tokens that it is, and what it is for.
struct Later<'a> {
    start: usize,
    end: usize,
    what: Wanted<'a>,
}

enum Wanted<'a> {
    Named(Cow<'a, str>, Span),
    Count(BufferId),
}

impl<'a> Parser<'a> {
    /// Reads `program name { declarations launch … {`.
    pub(super) fn header(&mut self) -> Parse<()> {
        let start = self.span();
        self.expect_word("program")?;
        let (name, _) = self.name("the program's name")?;
        self.arena = Arena::new(name);
        self.map.program = start.to(self.last_span());
        self.expect_symbol("{")?;
        let mut later = Vec::new();
        while !self.is_word(0, "launch") {
            if matches!(self.peek(), Tok::End | Tok::Symbol("}")) {
                return self.expected("a declaration or `launch`".to_owned());
            }
            if self.declaration(&mut later).is_err() {
                self.skip_statement(&DECLARATIONS);
            }
        }
        let launch = self.at;
        for extent in later {
            // A failure is recorded; the next extent stands elsewhere.
            let _ = self.later(extent);
        }
        self.at = launch;
        if self.launch().is_err() && !self.skip_to_block() {
            return Err(Failed);
        }
        self.expect_symbol("{")
    }

    /// A name for something new.
    pub(super) fn new_name(&mut self, what: &str) -> Parse<(Cow<'a, str>, Span)> {
        if let Some(word) = self.word().filter(|word| is_reserved(word)) {
            let message = format!("`{word}` is a word of the language, not a name");
            let error = TextError::new(Code::BadName, self.span(), message);
            self.bump();
            return self.fail(error.with_help(format!("choose another name, such as `{word}_`")));
        }
        self.name(what)
    }

    pub(super) fn declare(&mut self, name: Cow<'a, str>, what: Declared, span: Span) {
        let message = format!("the name `{name}` is declared twice");
        if let Err(first) = self.names.declare(name, what, span) {
            let error =
                TextError::new(Code::DuplicateName, span, message).with_related(first, "declared here first");
            self.error(
                error.with_help("buffers, params, arrays, tiles and variables share one set of names"),
            );
        }
    }

    pub(super) fn data_type(&mut self) -> Parse<DataType> {
        let Some(word) = self.word() else { return self.expected("a type".to_owned()) };
        let Some(ty) = DataType::from_name(word) else {
            let mut error =
                TextError::new(Code::UnknownName, self.span(), format!("there is no type `{word}`"));
            let known: Vec<_> = DataType::ALL.iter().map(|ty| ty.name()).collect();
            error.help = Some(format!("write one of {}", known.join(", ")));
            return self.fail(error);
        };
        self.bump();
        Ok(ty)
    }

    fn declaration(&mut self, later: &mut Vec<Later<'a>>) -> Parse<()> {
        let start = self.span();
        let Some(word) = self.word() else { return self.expected("a declaration or `launch`".to_owned()) };
        if !DECLARATIONS.contains(&word) {
            let message = format!("`{word}` begins no declaration");
            let mut error = TextError::new(Code::Syntax, start, message);
            error.help =
                closest(word, DECLARATIONS.into_iter()).map(|near| format!("did you mean `{near}`?"));
            return self.fail(error);
        }
        self.bump();
        let (name, at) = self.new_name("a name")?;
        if word == "extent" {
            self.expect_symbol("=")?;
            let start = self.at;
            while !matches!(self.peek(), Tok::End | Tok::Symbol(";" | "{" | "}")) && !self.at_declaration() {
                self.bump();
            }
            later.push(Later { start, end: self.at, what: Wanted::Named(name, at) });
            return self.expect_symbol(";");
        }
        self.expect_symbol(":")?;
        match word {
            "param" => {
                let ty = self.data_type()?;
                let specialize = self.eat_word("specialize");
                let id = self.arena.param(Param { name: name.to_string(), ty, specialize });
                self.map.params.push(start.to(self.last_span()));
                self.declare(name, Declared::Param(id), at);
            }
            "var" => {
                let ty = self.data_type()?;
                let id = self.arena.var(Variable { name: name.to_string(), ty });
                self.map.vars.push(start.to(self.last_span()));
                self.declare(name, Declared::Var(id), at);
            }
            "tile" => {
                let ty = self.tile_type()?;
                let id = self.arena.tile(Tile { name: name.to_string(), ty });
                self.map.tiles.push(start.to(self.last_span()));
                self.declare(name, Declared::Tile(id), at);
            }
            "buffer" => {
                let access = self.access()?;
                let coherent = self.eat_word("coherent");
                let element = self.data_type()?;
                let buffer =
                    Buffer { name: name.to_string(), element, access, count: Count::Bytes, coherent };
                let id = self.arena.buffer(buffer);
                self.declare(name, Declared::Buffer(id), at);
                self.expect_symbol("[")?;
                if !self.is_symbol(0, "]") {
                    let start = self.at;
                    while !matches!(self.peek(), Tok::End | Tok::Symbol("]" | ";" | "{" | "}")) {
                        self.bump();
                    }
                    later.push(Later { start, end: self.at, what: Wanted::Count(id) });
                }
                self.map.buffers.push(start.to(self.span()));
                self.expect_symbol("]")?;
            }
            _ => {
                let element = self.data_type()?;
                self.expect_symbol("[")?;
                let len = self.small_integer()?;
                self.expect_symbol("]")?;
                let array = Array { name: name.to_string(), element, len };
                let span = start.to(self.last_span());
                let what = if word == "shared" {
                    self.map.shared.push(span);
                    Declared::Shared(self.arena.shared(array))
                } else {
                    self.map.privates.push(span);
                    Declared::Private(self.arena.private(array))
                };
                self.declare(name, what, at);
            }
        }
        self.expect_symbol(";")
    }

    /// `role element[rows, columns]`.
    fn tile_type(&mut self) -> Parse<TileType> {
        let Some(role) = self.word().and_then(TileRole::from_name) else {
            let names: Vec<_> = TileRole::ALL.iter().map(|role| role.name()).collect();
            return self.expected(format!("a tile's role: {}", names.join(", ")));
        };
        self.bump();
        let element = self.data_type()?;
        self.expect_symbol("[")?;
        let rows = self.small_integer()?;
        self.expect_symbol(",")?;
        let columns = self.small_integer()?;
        self.expect_symbol("]")?;
        Ok(TileType { role, element, rows, columns })
    }

    fn access(&mut self) -> Parse<Access> {
        let found = self.word().and_then(|word| Access::ALL.into_iter().find(|access| access.name() == word));
        let Some(access) = found else {
            let names = Access::ALL.map(Access::name);
            return self.expected(format!("an access: {}", names.join(", ")));
        };
        self.bump();
        Ok(access)
    }

    /// An unsigned number that fits 32 bits.
    pub(super) fn small_integer(&mut self) -> Parse<u32> {
        let span = self.span();
        let value = self.integer()?;
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(TextError::new(Code::BadLiteral, span, format!("{value} does not fit u32"))),
        }
    }

    /// Whether a word that begins a declaration comes next.
    fn at_declaration(&self) -> bool {
        self.word().is_some_and(|word| DECLARATIONS.contains(&word))
    }

    fn later(&mut self, later: Later<'a>) -> Parse<()> {
        self.at = later.start;
        let extent = self.extent()?;
        if self.at != later.end {
            return self.expected("an operator or the end of the extent".to_owned());
        }
        match later.what {
            Wanted::Named(name, span) => self.declare(name, Declared::Extent(extent), span),
            Wanted::Count(buffer) => self.arena.set_count(buffer, Count::Extent(extent)),
        }
        Ok(())
    }

    fn launch(&mut self) -> Parse<()> {
        self.expect_word("launch")?;
        let one = self.arena.extent(Extent::Literal(1));
        if self.eat_word("domain") {
            let (extent, mut axes) = self.axes(one, Self::extent)?;
            if self.eat_word("axes") {
                let span = self.span();
                axes = match u8::try_from(self.integer()?) {
                    Ok(axes) => axes,
                    Err(_) => {
                        return self.fail(TextError::new(Code::BadLaunch, span, "a domain has 1 to 3 axes"));
                    }
                };
            }
            self.arena.set_launch(Launch::Domain { extent, axes });
        } else if self.eat_word("workgroups") {
            let (count, _) = self.axes(one, Self::extent)?;
            self.expect_word("size")?;
            let (size, _) = self.axes(1, Self::small_integer)?;
            self.arena.set_launch(Launch::Workgroups { size, count });
        } else if self.eat_word("indirect") {
            self.expect_symbol("(")?;
            let (buffer, at) = self.name("a buffer's name")?;
            self.expect_symbol(")")?;
            let Some(Declared::Buffer(counts)) = self.names.declared(&buffer) else {
                return self.unknown(&buffer, at, "buffer", |what| matches!(what, Declared::Buffer(_)));
            };
            self.expect_word("size")?;
            let (size, _) = self.axes(1, Self::small_integer)?;
            self.arena.set_launch(Launch::Indirect { size, counts });
        } else {
            return self.expected("`domain`, `workgroups` or `indirect`".to_owned());
        }
        Ok(())
    }

    /// `(x, y, z)` with one to three values, the others as `absent`.
    fn axes<T: Copy>(&mut self, absent: T, value: impl Fn(&mut Self) -> Parse<T>) -> Parse<([T; 3], u8)> {
        self.expect_symbol("(")?;
        let mut values = [absent; 3];
        let mut axes = 0u8;
        for slot in &mut values {
            *slot = value(self)?;
            axes += 1;
            if !self.eat_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok((values, axes))
    }
}
