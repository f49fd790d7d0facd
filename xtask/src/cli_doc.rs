//! The command-line section of a README: docs/CLI.toml and the program's own `--help`, executed.

use std::{fmt::Write as _, path::Path};

use serde::Deserialize;

use crate::{error::Error, registry::parse_toml, run::cargo_output};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CliDoc {
    #[serde(rename = "program", default)]
    pub(crate) programs: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Program {
    pub(crate) package: String,
    bin: String,
    /// Features that the whole program needs.
    features: Vec<String>,
    summary: String,
    commands: Vec<Item>,
    hardware: String,
    environment: Vec<Item>,
    configuration: String,
    failure: String,
    exit_codes: Vec<Item>,
    /// Commands to show, each with what it prints.
    #[serde(default)]
    examples: Vec<Item>,
}

/// A name and what it stands for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    name: String,
    text: String,
}

pub(crate) fn load(root: &Path) -> Result<CliDoc, Error> {
    parse_toml(&root.join("docs/CLI.toml"))
}

impl Program {
    /// The section, after running `--help` and comparing its `Commands:` block with the listed commands.
    pub(crate) fn section(&self, root: &Path) -> Result<String, Error> {
        let help = cargo_output(root, &self.cargo_args("--help"))?;
        let listed: Vec<_> = self.commands.iter().map(|c| c.name.clone()).collect();
        let shown = commands_of(&help);
        if listed != shown {
            return Err(Error::Commands { bin: self.bin.clone(), listed, shown });
        }
        let bin = &self.bin;
        let run = self.cargo_args("--help").join(" ");
        let mut out =
            format!("## Command line: `{bin}`\n\n{}\n\n```text\n$ cargo {run}\n{help}```\n", self.summary);
        for example in &self.examples {
            let _ = write!(out, "\n```text\n$ {}\n{}\n```\n", example.name, example.text.trim_end());
        }
        out.push_str(&items("Commands", &self.commands));
        let _ = write!(out, "\n**Hardware.** {}\n", self.hardware);
        out.push_str(&items("Environment", &self.environment));
        let _ =
            write!(out, "\n**Configuration.** {}\n\n**Failures.** {}\n", self.configuration, self.failure);
        out.push_str(&items("Exit codes", &self.exit_codes));
        Ok(out)
    }

    fn cargo_args(&self, argument: &str) -> Vec<String> {
        let mut args: Vec<String> = ["run", "--quiet", "-p", &self.package].map(Into::into).into();
        if !self.features.is_empty() {
            args.extend(["--features".into(), self.features.join(",")]);
        }
        args.extend(["--bin", &self.bin, "--", argument].map(Into::into));
        args
    }
}

fn items(title: &str, items: &[Item]) -> String {
    let mut out = format!("\n**{title}.**\n\n");
    for item in items {
        let _ = writeln!(out, "- `{}`: {}", item.name, item.text);
    }
    out
}

/// The first word of each line of the `Commands:` block. Deeper lines continue the one above.
fn commands_of(help: &str) -> Vec<String> {
    let block: Vec<_> = help.lines().skip_while(|l| l.trim() != "Commands:").skip(1).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = block.first().map_or(0, |line| indent(line));
    let rows = block.iter().take_while(|line| !line.trim().is_empty()).filter(|line| indent(line) == first);
    rows.filter_map(|line| line.split_whitespace().next()).map(Into::into).collect()
}
