//! CRATE_OWNERSHIP.toml: its tables, read strictly. What the keys mean is written in that file.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use cargo_metadata::DependencyKind;
use serde::Deserialize;

use crate::error::Error;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Registry {
    /// Bottom first.
    pub(crate) layers: Vec<String>,
    #[serde(rename = "crate")]
    pub(crate) crates: Vec<CrateRow>,
    #[serde(rename = "edge", default)]
    pub(crate) edges: Vec<EdgeRow>,
    #[serde(default)]
    pub(crate) reserved: Vec<ReservedRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CrateRow {
    pub(crate) package: String,
    pub(crate) path: String,
    pub(crate) owner: String,
    pub(crate) layer: String,
    pub(crate) responsibility: String,
    pub(crate) may_use: Vec<String>,
    pub(crate) errors: String,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, String>,
    pub(crate) example: Option<Example>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    pub(crate) path: String,
    pub(crate) run: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct EdgeRow {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) purpose: String,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) features: Vec<String>,
    pub(crate) optional: bool,
    pub(crate) default_features: bool,
    pub(crate) boundary: Boundary,
    pub(crate) conditions: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReservedRow {
    pub(crate) package: String,
    #[serde(rename = "crate")]
    pub(crate) owner: String,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Boundary {
    Public,
    Private,
}

impl Kind {
    /// Kinds that cargo adds later count as normal, the strictest.
    pub(crate) fn of(kind: DependencyKind) -> Self {
        match kind {
            DependencyKind::Development => Self::Dev,
            DependencyKind::Build => Self::Build,
            _ => Self::Normal,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl Registry {
    /// Height of a layer, or `None` when the registry does not list it.
    pub(crate) fn height(&self, layer: &str) -> Option<usize> {
        self.layers.iter().position(|l| l == layer)
    }

    /// The row of a crate.
    pub(crate) fn row(&self, package: &str) -> Option<&CrateRow> {
        self.crates.iter().find(|row| row.package == package)
    }

    /// Edges out of `package`, of a kind that `keep` accepts, in declaration order.
    pub(crate) fn edges_from<'a>(
        &'a self,
        package: &'a str,
        keep: impl Fn(Kind) -> bool + 'a,
    ) -> impl Iterator<Item = &'a EdgeRow> + 'a {
        self.edges.iter().filter(move |e| e.from == package && e.kinds.iter().any(|k| keep(*k)))
    }
}

/// Reads a TOML file strictly; an error names the file, the line and the key.
pub(crate) fn parse_toml<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    toml::from_str(&text).map_err(|source| Error::Toml { path: path.to_owned(), source: Box::new(source) })
}
