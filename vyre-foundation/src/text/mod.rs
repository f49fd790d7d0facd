//! The text form of programs, `.vyre`.
//!
//! [`print()`] and [`parse()`] are inverse: `parse(&print(p))` gives `p` for every program whose declarations
//! have distinct names. Both take any depth of expressions and blocks without recursion. Shared and deep
//! expressions are named by `let`, so that a text is linear in its program. `docs/LANGUAGE.md` has the
//! grammar.

mod error;
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
pub use parse::parse;
pub use print::{print, print_with_map};
pub use span::{SourceMap, Span};

/// Findings about a text beyond this many are dropped, and parsing stops.
const MOST_ERRORS: usize = 100;
