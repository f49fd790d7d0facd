//! The printer: a program in, its text out.

mod body;
mod expr;
pub(super) mod graph;
mod header;
mod plan;
mod points;

use std::collections::HashSet;

use super::infer::Types;
use super::words::write_name;
use super::{SourceMap, Span};
use crate::ir::{NodeId, Program};
use plan::Plan;

/// Blocks deeper than this are indented no further, so that text stays linear.
const DEEPEST_INDENT: usize = 16;

/// The program's text.
pub fn print(program: &Program) -> String {
    print_with_map(program).0
}

/// The program's text, and where each part stands in it.
pub fn print_with_map(program: &Program) -> (String, SourceMap) {
    let first = Printer::new(program, false).run();
    if first.numbered { Printer::new(program, true).run().done() } else { first.done() }
}

struct Printer<'p> {
    program: &'p Program,
    plan: Plan,
    out: String,
    map: SourceMap,
    indent: usize,
    types: Types,
    /// Numbers of generated names, by node and by expression.
    node_names: Vec<Option<u32>>,
    expr_names: Vec<Option<u32>>,
    next_name: u32,
    taken: HashSet<&'p str>,
    /// Whether the node's name is in scope where the text stands.
    visible: Vec<bool>,
    /// Whether a variable is declared by the one node that declares it, not in the header.
    own_declaration: Vec<bool>,
    /// Whether each `for` prints its step. It must in a program that reads a result by its node's number:
    /// the parser may not know the type of that yet, and so not the step that is left out.
    all_steps: bool,
    /// Whether some result was read by number.
    numbered: bool,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program, all_steps: bool) -> Self {
        let names = |list: &'p [crate::ir::Array]| list.iter().map(|x| x.name.as_str());
        let taken = (program.buffers().iter().map(|x| x.name.as_str()))
            .chain(program.params().iter().map(|x| x.name.as_str()))
            .chain(program.vars().iter().map(|x| x.name.as_str()))
            .chain(names(program.shared()))
            .chain(names(program.privates()))
            .collect();
        Self {
            program,
            plan: Plan::of(program),
            out: String::new(),
            map: SourceMap::for_program(program),
            indent: 0,
            types: Types::default(),
            node_names: vec![None; program.nodes().len()],
            expr_names: vec![None; program.exprs().len()],
            next_name: 0,
            taken,
            visible: vec![false; program.nodes().len()],
            own_declaration: Vec::new(),
            all_steps,
            numbered: false,
        }
    }

    fn run(mut self) -> Self {
        self.header();
        self.body();
        self
    }

    fn done(self) -> (String, SourceMap) {
        (self.out, self.map)
    }

    fn at(&self) -> u32 {
        // A text beyond 4 GiB has no places; parsing refuses it.
        u32::try_from(self.out.len()).unwrap_or(u32::MAX)
    }

    fn from(&self, start: u32) -> Span {
        Span::new(start, self.at())
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: &str) {
        write_name(&mut self.out, name);
    }

    fn line(&mut self) {
        for _ in 0..self.indent.min(DEEPEST_INDENT) {
            self.out.push_str("    ");
        }
    }

    /// A number whose generated name nothing else has.
    fn fresh(&mut self, prefix: char) -> u32 {
        loop {
            let number = self.next_name;
            self.next_name += 1;
            if !self.taken.contains(format!("{prefix}{number}").as_str()) {
                return number;
            }
        }
    }

    /// Names a node's result or loop variable from here to the end of its scope.
    fn name_node(&mut self, id: NodeId, prefix: char) {
        let number = self.fresh(prefix);
        self.node_names[id.index()] = Some(number);
        self.visible[id.index()] = true;
        self.out.push(prefix);
        self.push(&number.to_string());
    }
}
