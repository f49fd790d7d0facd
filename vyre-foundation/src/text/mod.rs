//! The text form of programs, `.vyre`.
//!
//! [`print()`] and [`parse()`] are inverse: `parse(&print(p))` gives `p` for every program whose declarations
//! have distinct names. Both take any depth of expressions and blocks without recursion. Shared and deep
//! expressions are named by `let`, so that a text is linear in its program. `docs/LANGUAGE.md` has the
//! grammar.
//!
//! A text with a graph of programs has its programs and then the graph: [`print_graph`] and [`parse_graph`], inverse
//! too. Graphs are always sound, so parsing one checks it and its programs, and its errors are the checker's too.

mod error;
mod graph_map;
mod infer;
mod lex;
mod literal;
mod parse;
mod print;
mod span;
mod suggest;
#[cfg(test)]
mod tests;
mod words;

pub use error::TextError;
pub use graph_map::GraphMap;
pub use parse::graph::parse_graph;
pub use parse::parse;
pub use print::graph::{print_graph, print_graph_with_map};
pub use print::{print, print_with_map};
pub use span::{SourceMap, Span};

/// Findings about a text beyond this many are dropped, and parsing stops.
const MOST_ERRORS: usize = 100;
