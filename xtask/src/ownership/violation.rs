//! What `check-ownership` refuses. Each message names the crate and the edge, and says what to do.

use crate::registry::Kind;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("{member}: a workspace member without a row; add a [[crate]] table to CRATE_OWNERSHIP.toml")]
    NoRow { member: String },
    #[error(
        "{package}: has a row but is no workspace member; remove its [[crate]] table from CRATE_OWNERSHIP.toml or \
         add it to `members` in Cargo.toml"
    )]
    NoMember { package: String },
    #[error("{package}: has more than one [[crate]] table; keep one")]
    TwoRows { package: String },
    #[error("{package}: layer \"{layer}\" is not in `layers`; use one that is, or add it at its height")]
    UnknownLayer { package: String, layer: String },
    #[error(
        "{package}: its row says path \"{declared}\" but the crate is at \"{actual}\"; correct the row or move it"
    )]
    WrongPath { package: String, declared: String, actual: String },
    #[error(
        "{from} -> {to} ({}): an undeclared edge; add an [[edge]] table to CRATE_OWNERSHIP.toml or remove the \
         dependency from {from}'s Cargo.toml", joined(.kinds)
    )]
    Undeclared { from: String, to: String, kinds: Vec<Kind> },
    #[error(
        "{from} -> {to} ({}): declared but absent from {from}'s Cargo.toml; remove the [[edge]] table or add the \
         dependency", joined(.kinds)
    )]
    Absent { from: String, to: String, kinds: Vec<Kind> },
    #[error("{from} -> {to} ({kind}): declared by two [[edge]] tables; keep one")]
    TwoEdges { from: String, to: String, kind: Kind },
    #[error(
        "{from} -> {to}{}: {field} is {declared} in CRATE_OWNERSHIP.toml but {actual} in {from}'s Cargo.toml; make \
         the two agree", kind.map_or(String::new(), |k| format!(" ({k})"))
    )]
    Mismatch {
        from: String,
        to: String,
        kind: Option<Kind>,
        field: &'static str,
        declared: String,
        actual: String,
    },
    #[error(
        "{from} -> {to} ({kind}): goes from layer \"{from_layer}\" to layer \"{to_layer}\"; {}",
        direction(*.kind)
    )]
    Direction { from: String, to: String, kind: Kind, from_layer: String, to_layer: String },
    #[error(
        "{from} -> {to} ({kind}): not within {from}'s `may-use`, the bound that the architecture sets; go through a \
         crate it may use, or change ARCHITECTURE.md and the bound together"
    )]
    OutOfBounds { from: String, to: String, kind: Kind },
    #[error(
        "{from} -> {to} ({kind}): not by path; depend on the workspace's own crate: `{to}.workspace = true`"
    )]
    NotByPath { from: String, to: String, kind: Kind },
    #[error(
        "{user} -> {package} ({kind}): {package} is reserved to {owner}; use what {owner} re-exports, or change the \
         [[reserved]] table with its reason"
    )]
    Reserved { user: String, package: String, owner: String, kind: Kind },
    #[error("[[reserved]] {package}: {owner} is no workspace member; correct the table")]
    ReservedForNobody { package: String, owner: String },
}

fn joined(kinds: &[Kind]) -> String {
    kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn direction(kind: Kind) -> &'static str {
    match kind {
        Kind::Dev => {
            "a dev-dependency may stay in its layer or go down, not up: move the test to the higher crate"
        }
        _ => "dependencies go to a lower layer: move the shared code down, or invert it with a trait",
    }
}
