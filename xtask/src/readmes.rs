//! The generated section of each crate's README: from its manifest, the registry, docs/CLI.toml and the command.

use std::{fmt::Write as _, fs};

use cargo_metadata::Package;

use crate::{
    cli_doc,
    error::Error,
    generated::{Mode, put, splice},
    graph::{edge_table, list},
    registry::{CrateRow, Kind},
    workspace::{Workspace, features},
};

/// An example up to this many lines is shown in full.
const SHOWN_LINES: usize = 60;

pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<(), Error> {
    let cli = cli_doc::load(&workspace.root)?;
    // A member without a row is for check-ownership to report.
    let rows = workspace.members.iter().filter_map(|m| Some((m, workspace.registry.row(&m.name)?)));
    for (member, row) in rows {
        let mut section = String::new();
        for program in cli.programs.iter().filter(|p| p.package == row.package) {
            section.push_str(&program.section(&workspace.root)?);
            section.push('\n');
        }
        section.push_str(&contract(workspace, member, row)?);
        let path = workspace.root.join(&row.path).join("README.md");
        let current = fs::read_to_string(&path).unwrap_or_else(|_| format!("# {}\n", row.package));
        put(&path, &splice(&path, &current, &section)?, mode, "readmes")?;
    }
    Ok(())
}

/// The part that every crate has: the template with its placeholders filled.
fn contract(workspace: &Workspace, member: &Package, row: &CrateRow) -> Result<String, Error> {
    let registry = &workspace.registry;
    let name = &row.package;
    let up = "../".repeat(row.path.split('/').count());
    let edges: Vec<_> = registry.edges_from(name, |_| true).collect();
    let users = registry.edges.iter().filter(|e| e.to == *name && e.kinds.iter().any(|k| *k != Kind::Dev));
    let users: Vec<_> = users.map(|e| e.from.clone()).collect();
    let reserved = registry.reserved.iter().filter(|r| r.owner == *name);
    let reserved =
        reserved.map(|r| format!("\n\nOnly this crate may depend on `{}`: {}.", r.package, r.reason));
    let rust = member
        .rust_version
        .as_ref()
        .map_or(String::new(), |v| format!(" Needs Rust {}.{} or newer.", v.major, v.minor));
    let status = if member.publish.as_deref() == Some(&[]) {
        "not published: it is of use only inside this repository".to_owned()
    } else {
        format!("one version for all crates of the workspace; see [CHANGELOG.md]({up}CHANGELOG.md)")
    };
    let fields = [
        ("{responsibility}", row.responsibility.clone()),
        ("{owner}", row.owner.clone()),
        ("{layer}", row.layer.clone()),
        ("{path}", row.path.clone()),
        ("{edges}", if edges.is_empty() { "None.".to_owned() } else { edge_table(&edges, false) }),
        ("{bound}", list(&row.may_use)),
        ("{users}", list(&users)),
        ("{reserved}", reserved.collect()),
        ("{errors}", row.errors.clone()),
        ("{features}", feature_list(member, row)?),
        ("{status}", format!("Version {}, {status}.{rust}", member.version)),
        ("{name}", name.clone()),
        ("{up}", up.clone()),
        // Last: its Rust text may have braces of its own.
        ("{example}", example(workspace, row, &up)?),
    ];
    let fill = |text: String, (field, value): &(&str, String)| text.replace(field, value.trim_end());
    Ok(fields.iter().fold(include_str!("readme.md").to_owned(), fill))
}

fn example(workspace: &Workspace, row: &CrateRow, up: &str) -> Result<String, Error> {
    let Some(example) = &row.example else { return Ok("None yet.\n".to_owned()) };
    let path = &example.path;
    let file = workspace.root.join(path);
    let missing = |_| Error::Example { package: row.package.clone(), path: path.into() };
    let text = fs::read_to_string(&file).map_err(missing)?;
    let mut out = format!("[{path}]({up}{path}), run with\n\n```sh\n{}\n```\n", example.run);
    if path.ends_with(".rs") && text.lines().count() <= SHOWN_LINES && !text.trim().is_empty() {
        let _ = write!(out, "\n```rust\n{}\n```\n", text.trim_end());
    }
    Ok(out)
}

fn feature_list(member: &Package, row: &CrateRow) -> Result<String, Error> {
    let declared = features(member);
    let described: Vec<_> = row.features.keys().cloned().collect();
    if declared != described {
        return Err(Error::Features { package: row.package.clone(), declared, described });
    }
    if declared.is_empty() {
        return Ok("None.\n".to_owned());
    }
    let on: &[String] = member.features.get("default").map_or(&[], Vec::as_slice);
    let mut out = String::new();
    for (name, text) in &row.features {
        let _ = writeln!(out, "- `{name}`{}: {text}.", if on.contains(name) { " (default)" } else { "" });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::Fixture;

    /// Without the command, which takes a build.
    fn without_cli() -> Fixture {
        let fixture = Fixture::new();
        fixture.write("docs/CLI.toml", "");
        fixture
    }

    #[track_caller]
    fn refused(fixture: &Fixture, message: &str) {
        let error = run(&fixture.load(), Mode::Check).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn writes_every_readme_and_notices_each_change() {
        let fixture = without_cli();
        run(&fixture.load(), Mode::Write).unwrap();
        run(&fixture.load(), Mode::Check).unwrap();
        let peer = fixture.read("peer/README.md");
        assert!(peer.starts_with("# peer\n\nWritten by hand.\n"), "{peer}");
        assert!(peer.contains("| base | its tests | dev | private |"), "{peer}");
        let top = fixture.read("top/README.md");
        for text in [
            "| mid | the middle | normal |",
            "- `gpu`: uses mid.",
            "cargo run -p top",
            "Refuses what it must.",
        ] {
            assert!(top.contains(text), "{text} in {top}");
        }
        assert!(fixture.read("base/README.md").contains("Only this crate may depend on `half`: one home."));
        fixture.replace("top/README.md", "uses mid", "edited by hand");
        refused(&fixture, "README.md: out of date; run `cargo xtask readmes --write`");
        run(&fixture.load(), Mode::Write).unwrap();
        fixture.replace("CRATE_OWNERSHIP.toml", "Refuses what it must.", "Refuses more.");
        refused(&fixture, "out of date");
    }

    #[test]
    fn features_and_examples_must_be_real() {
        let fixture = without_cli();
        run(&fixture.load(), Mode::Write).unwrap();
        fixture.replace("CRATE_OWNERSHIP.toml", "top/src/lib.rs", "top/examples/gone.rs");
        refused(&fixture, "top: its example top/examples/gone.rs does not exist");
        fixture.replace("CRATE_OWNERSHIP.toml", "gpu = \"uses mid\"", "gqu = \"uses mid\"");
        fixture.replace("CRATE_OWNERSHIP.toml", "top/examples/gone.rs", "top/src/lib.rs");
        refused(&fixture, "top: the features of its Cargo.toml are [\"gpu\"] but [crate.features]");
    }

    #[test]
    fn the_command_line_section_holds_the_executed_help() {
        let fixture = Fixture::new();
        run(&fixture.load(), Mode::Write).unwrap();
        run(&fixture.load(), Mode::Check).unwrap();
        let readme = fixture.read("peer/README.md");
        for text in [
            "$ cargo run --quiet -p peer --bin peer -- --help\npeer: a command\n",
            "- `demo`: says hello",
            "$ peer demo\nhello\n",
            "**Hardware.** None.",
        ] {
            assert!(readme.contains(text), "{text} in {readme}");
        }
        fixture.replace("peer/src/main.rs", "say hello", "say good day");
        refused(&fixture, "out of date");
        fixture.replace("peer/src/main.rs", "  info   say more", "  help   say more");
        refused(
            &fixture,
            "peer has the commands [\"demo\", \"info\"] there but [\"demo\", \"help\"] in its --help",
        );
        fixture.replace("docs/CLI.toml", "bin = \"peer\"", "bin = \"gone\"");
        refused(&fixture, "`cargo run --quiet -p peer --bin gone -- --help` failed");
    }
}
