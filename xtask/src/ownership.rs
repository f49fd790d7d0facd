//! `check-ownership`: the registry against the Cargo.toml files, in both directions.
//!
//! 1. Rows and members are the same set, at the declared paths, in known layers.
//! 2. Declared edges and dependencies are the same set, with the same kinds, features, `optional`,
//!    `default-features` and conditions.
//! 3. A normal or build edge goes to a strictly lower layer and is within `may-use`. A dev edge may also stay in
//!    its layer.
//! 4. An internal crate comes from its path in this workspace, never from a registry.
//! 5. A reserved third-party package is a dependency of its one crate only, in every kind.

#[cfg(test)]
mod tests;
mod violation;

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{Dependency, Package};

pub(crate) use self::violation::Violation;
use crate::{
    error::Error,
    registry::{EdgeRow, Kind, Registry},
    workspace::Workspace,
};

pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    let violations = check(workspace);
    if violations.is_empty() { Ok(()) } else { Err(Error::Ownership(violations)) }
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut out = Vec::new();
    check_rows(workspace, &mut out);
    for member in &workspace.members {
        check_edges(workspace, member, &mut out);
        check_reserved(&workspace.registry, member, &mut out);
    }
    out
}

fn check_rows(workspace: &Workspace, out: &mut Vec<Violation>) {
    let registry = &workspace.registry;
    for member in &workspace.members {
        if registry.row(&member.name).is_none() {
            out.push(Violation::NoRow { member: member.name.to_string() });
        }
    }
    let mut seen = BTreeSet::new();
    for row in &registry.crates {
        let package = row.package.clone();
        if !seen.insert(&row.package) {
            out.push(Violation::TwoRows { package: package.clone() });
        }
        if registry.height(&row.layer).is_none() {
            out.push(Violation::UnknownLayer { package: package.clone(), layer: row.layer.clone() });
        }
        let Some(member) = workspace.member(&row.package) else {
            out.push(Violation::NoMember { package });
            continue;
        };
        let actual = member.manifest_path.parent().map(|p| p.as_std_path());
        if actual != Some(&workspace.root.join(&row.path)) {
            let actual = actual.and_then(|p| p.strip_prefix(&workspace.root).ok());
            let actual = actual.map_or(String::new(), |p| p.display().to_string());
            out.push(Violation::WrongPath { package, declared: row.path.clone(), actual });
        }
    }
    for edge in &registry.edges {
        // An edge out of a member is compared with its manifest; one out of nothing is caught here.
        if workspace.member(&edge.from).is_none() {
            out.push(Violation::Absent {
                from: edge.from.clone(),
                to: edge.to.clone(),
                kinds: edge.kinds.clone(),
            });
        }
    }
    for row in &registry.reserved {
        if workspace.member(&row.owner).is_none() {
            out.push(Violation::ReservedForNobody { package: row.package.clone(), owner: row.owner.clone() });
        }
    }
}

fn check_edges(workspace: &Workspace, member: &Package, out: &mut Vec<Violation>) {
    let registry = &workspace.registry;
    let from = member.name.as_str();
    let is_internal = |name: &str| workspace.member(name).is_some() || registry.row(name).is_some();
    let mut actual: BTreeMap<&str, BTreeMap<Kind, Vec<&Dependency>>> = BTreeMap::new();
    for dependency in member.dependencies.iter().filter(|d| is_internal(&d.name)) {
        let kind = Kind::of(dependency.kind);
        if dependency.path.is_none() {
            out.push(Violation::NotByPath { from: from.into(), to: dependency.name.clone(), kind });
        }
        actual.entry(&dependency.name).or_default().entry(kind).or_default().push(dependency);
    }
    let mut declared: BTreeMap<&str, BTreeMap<Kind, &EdgeRow>> = BTreeMap::new();
    for edge in registry.edges_from(from, |_| true) {
        for kind in &edge.kinds {
            if declared.entry(&edge.to).or_default().insert(*kind, edge).is_some() {
                out.push(Violation::TwoEdges { from: from.into(), to: edge.to.clone(), kind: *kind });
            }
        }
    }
    for (to, kinds) in &declared {
        if !actual.contains_key(to) {
            let kinds = kinds.keys().copied().collect();
            out.push(Violation::Absent { from: from.into(), to: (*to).into(), kinds });
        }
    }
    for (to, kinds) in &actual {
        match declared.get(to) {
            None => {
                let kinds = kinds.keys().copied().collect();
                out.push(Violation::Undeclared { from: from.into(), to: (*to).into(), kinds });
            }
            Some(rows) => compare(member, to, rows, kinds, out),
        }
        for kind in kinds.keys() {
            check_direction(workspace, from, to, *kind, out);
        }
    }
}

/// One declared edge against the dependencies of that name.
fn compare(
    member: &Package,
    to: &str,
    rows: &BTreeMap<Kind, &EdgeRow>,
    actual: &BTreeMap<Kind, Vec<&Dependency>>,
    out: &mut Vec<Violation>,
) {
    let mut mismatch = |field: &'static str, kind: Option<Kind>, declared: String, actual: String| {
        if declared != actual {
            let (from, to) = (member.name.to_string(), to.to_owned());
            out.push(Violation::Mismatch { from, to, kind, field, declared, actual });
        }
    };
    let names = |kinds: Vec<&Kind>| kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    mismatch("kinds", None, names(rows.keys().collect()), names(actual.keys().collect()));
    for (kind, dependencies) in actual {
        let Some(row) = rows.get(kind) else { continue };
        let kind = Some(*kind);
        let mut conditions = BTreeSet::new();
        for dependency in dependencies {
            mismatch("features", kind, sorted(&row.features), sorted(&dependency.features));
            mismatch("optional", kind, row.optional.to_string(), dependency.optional.to_string());
            let default_features = dependency.uses_default_features.to_string();
            mismatch("default-features", kind, row.default_features.to_string(), default_features);
            conditions.extend(dependency.target.iter().map(ToString::to_string));
            if dependency.optional {
                conditions.extend(activators(member, dependency));
            }
        }
        mismatch("conditions", kind, sorted(&row.conditions), sorted(&conditions));
    }
}

/// The features of `member` that turn an optional dependency on.
fn activators(member: &Package, dependency: &Dependency) -> Vec<String> {
    let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
    let activates = |m: &String| *m == format!("dep:{name}") || m.starts_with(&format!("{name}/"));
    let features = member.features.iter().filter(|(_, members)| members.iter().any(activates));
    features.map(|(feature, _)| format!("feature \"{feature}\"")).collect()
}

fn sorted<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    format!("{:?}", items.into_iter().collect::<BTreeSet<_>>())
}

fn check_direction(workspace: &Workspace, from: &str, to: &str, kind: Kind, out: &mut Vec<Violation>) {
    let registry = &workspace.registry;
    // A missing row or layer has been reported already.
    let (Some(source), Some(target)) = (registry.row(from), registry.row(to)) else { return };
    let heights = (registry.height(&source.layer), registry.height(&target.layer));
    let (Some(above), Some(below)) = heights else { return };
    let allowed = if kind == Kind::Dev { above >= below } else { above > below };
    let (from, to) = (from.to_owned(), to.to_owned());
    if !allowed {
        let (from_layer, to_layer) = (source.layer.clone(), target.layer.clone());
        out.push(Violation::Direction { from, to, kind, from_layer, to_layer });
    } else if kind != Kind::Dev && !source.may_use.contains(&to) {
        out.push(Violation::OutOfBounds { from, to, kind });
    }
}

fn check_reserved(registry: &Registry, member: &Package, out: &mut Vec<Violation>) {
    for row in registry.reserved.iter().filter(|row| row.owner != member.name.as_str()) {
        for dependency in member.dependencies.iter().filter(|d| d.name == row.package) {
            out.push(Violation::Reserved {
                user: member.name.to_string(),
                package: row.package.clone(),
                owner: row.owner.clone(),
                kind: Kind::of(dependency.kind),
            });
        }
    }
}
