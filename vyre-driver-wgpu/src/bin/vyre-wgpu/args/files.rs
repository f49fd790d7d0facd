//! The arguments of the commands that read or write files.

use std::path::PathBuf;

use lexopt::Arg;
use lexopt::prelude::*;

use super::{CliError, Command, common};
use crate::rows::{Kind, Side};

/// The files and values that a run takes.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) buffers: Vec<(String, PathBuf)>,
    pub(crate) params: Vec<(String, String)>,
    /// Numbers of symbolic dimensions.
    pub(crate) dims: Vec<(String, u64)>,
    pub(crate) pad: bool,
}

pub(crate) struct Check {
    pub(crate) file: PathBuf,
    pub(crate) run: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) inputs: Inputs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Kdesc,
    Wgsl,
    Spirv,
    Msl,
    Hlsl,
}

pub(crate) struct Emit {
    pub(crate) file: PathBuf,
    pub(crate) form: Form,
    pub(crate) output: Option<PathBuf>,
    pub(crate) device: bool,
}

pub(crate) struct Run {
    pub(crate) file: PathBuf,
    pub(crate) inputs: Inputs,
    pub(crate) outputs: Vec<(String, PathBuf)>,
    pub(crate) backend: String,
    pub(crate) verify: bool,
    pub(crate) tolerance: Option<f32>,
    /// The key that an artifact's envelope is verified with.
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: bool,
}

pub(crate) struct Compile {
    pub(crate) file: PathBuf,
    pub(crate) output: PathBuf,
    /// Facts: parameters and dimensions that every run has.
    pub(crate) facts: Inputs,
    /// Fused kernels that may be tried.
    pub(crate) candidates: Option<u32>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) json: bool,
}

/// How an artifact is shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum View {
    Text,
    Json,
    Dot,
    Svg(PathBuf),
}

pub(crate) struct Inspect {
    pub(crate) file: PathBuf,
    pub(crate) view: View,
    pub(crate) key_file: Option<PathBuf>,
}

pub(crate) struct Bench {
    pub(crate) seconds: u64,
    /// The kind of rows to time; all without it.
    pub(crate) only: Option<Kind>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: bool,
    /// Makes this a child process of the warm start's row. Not for users.
    pub(crate) first_result: Option<Side>,
}

pub(super) fn bench(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let mut bench = Bench { seconds: 3, only: None, trace: None, json: false, first_result: None };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seconds") => bench.seconds = number(&mut parser, "--seconds", "a whole number")?,
            Long("only") => bench.only = Some(kind_of(parser.value()?.string()?)?),
            Long("trace") => bench.trace = Some(PathBuf::from(parser.value()?)),
            Long("json") => bench.json = true,
            Long("first-result") => bench.first_result = Side::named(&parser.value()?.string()?),
            other => return common(other),
        }
    }
    Ok(Command::Bench(bench))
}

fn kind_of(name: String) -> Result<Kind, CliError> {
    Kind::named(&name).map_err(|expected| CliError::Value {
        option: "--only".to_owned(),
        got: name,
        expected,
    })
}

pub(super) fn check(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let (mut file, mut run, mut seed, mut inputs) = (None, false, None, Inputs::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("run") => run = true,
            Long("seed") => seed = Some(number(&mut parser, "--seed", "a whole number")?),
            Long("in") => inputs.buffer(&mut parser)?,
            Long("param") => inputs.param(&mut parser)?,
            Long("pad") => inputs.pad = true,
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return common(other),
        }
    }
    if !run {
        let given = [
            (seed.is_some(), "--seed"),
            (!inputs.buffers.is_empty(), "--in"),
            (!inputs.params.is_empty(), "--param"),
            (inputs.pad, "--pad"),
        ];
        if let Some((_, option)) = given.into_iter().find(|(given, _)| *given) {
            return Err(CliError::Without { option, needs: "`--run`" });
        }
    }
    let file = file.ok_or(CliError::MissingArgument { command: "check", what: "the program's FILE" })?;
    Ok(Command::Check(Check { file, run, seed, inputs }))
}

pub(super) fn emit(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let (mut file, mut form, mut output, mut device) = (None, None, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("to") => form = Some(form_of(parser.value()?.string()?)?),
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("device") => device = true,
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return common(other),
        }
    }
    let missing = |what| CliError::MissingArgument { command: "emit", what };
    let file = file.ok_or(missing("the program's FILE"))?;
    let form = form.ok_or(missing("`--to FORM`"))?;
    if form == Form::Spirv && output.is_none() {
        return Err(missing("`--output PATH`, since SPIR-V is binary"));
    }
    Ok(Command::Emit(Emit { file, form, output, device }))
}

fn form_of(name: String) -> Result<Form, CliError> {
    Ok(match name.as_str() {
        "kdesc" => Form::Kdesc,
        "wgsl" => Form::Wgsl,
        "spirv" => Form::Spirv,
        "msl" => Form::Msl,
        "hlsl" => Form::Hlsl,
        _ => {
            let expected = "one of kdesc, wgsl, spirv, msl, hlsl".to_owned();
            return Err(CliError::Value { option: "--to".to_owned(), got: name, expected });
        }
    })
}

pub(super) fn run(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let mut file = None;
    let mut run = Run {
        file: PathBuf::new(),
        inputs: Inputs::default(),
        outputs: Vec::new(),
        backend: vyre_driver_wgpu::WGPU_BACKEND_ID.to_owned(),
        verify: false,
        tolerance: None,
        key_file: None,
        trace: None,
        json: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("in") => run.inputs.buffer(&mut parser)?,
            Long("param") => run.inputs.param(&mut parser)?,
            Long("dim") => run.inputs.dim(&mut parser)?,
            Long("key-file") => run.key_file = Some(PathBuf::from(parser.value()?)),
            Long("pad") => run.inputs.pad = true,
            Long("out") => {
                let (name, path) = pair(&mut parser, "--out")?;
                once("--out", &run.outputs, &name)?;
                let path = PathBuf::from(path);
                if run.outputs.iter().any(|(_, other)| *other == path) {
                    return Err(CliError::SamePath { path });
                }
                run.outputs.push((name, path));
            }
            Long("backend") => run.backend = parser.value()?.string()?,
            Long("verify") => run.verify = true,
            Long("tolerance") => {
                let ulp: f32 = number(&mut parser, "--tolerance", "a number of ULP, 0 or more")?;
                if !(ulp >= 0.0 && ulp.is_finite()) {
                    let (option, expected) = ("--tolerance".to_owned(), "0 or more".to_owned());
                    return Err(CliError::Value { option, got: ulp.to_string(), expected });
                }
                run.tolerance = Some(ulp);
            }
            Long("trace") => run.trace = Some(PathBuf::from(parser.value()?)),
            Long("json") => run.json = true,
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return common(other),
        }
    }
    if run.tolerance.is_some() && !run.verify {
        return Err(CliError::Without { option: "--tolerance", needs: "`--verify`" });
    }
    run.file = file.ok_or(CliError::MissingArgument { command: "run", what: "the program's FILE" })?;
    Ok(Command::Run(run))
}

pub(super) fn compile(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let (mut file, mut output, mut facts) = (None, None, Inputs::default());
    let (mut candidates, mut key_file, mut json) = (None, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("dim") => facts.dim(&mut parser)?,
            Long("param") => facts.param(&mut parser)?,
            Long("candidates") => {
                candidates = Some(number(&mut parser, "--candidates", "a whole number")?);
            }
            Long("key-file") => key_file = Some(PathBuf::from(parser.value()?)),
            Long("json") => json = true,
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return common(other),
        }
    }
    let missing = |what| CliError::MissingArgument { command: "compile", what };
    let file = file.ok_or(missing("the graph's FILE"))?;
    let output = output.ok_or(missing("`--output PATH`"))?;
    Ok(Command::Compile(Compile { file, output, facts, candidates, key_file, json }))
}

pub(super) fn inspect(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let (mut file, mut view, mut key_file) = (None, View::Text, None);
    let mut choose = |chosen: View| match std::mem::replace(&mut view, chosen) {
        View::Text => Ok(()),
        _ => Err(CliError::Exclusive { options: "--json, --dot and --svg" }),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("json") => choose(View::Json)?,
            Long("dot") => choose(View::Dot)?,
            Long("svg") => choose(View::Svg(PathBuf::from(parser.value()?)))?,
            Long("key-file") => key_file = Some(PathBuf::from(parser.value()?)),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return common(other),
        }
    }
    let missing = CliError::MissingArgument { command: "inspect", what: "the artifact's FILE" };
    Ok(Command::Inspect(Inspect { file: file.ok_or(missing)?, view, key_file }))
}

impl Inputs {
    fn dim(&mut self, parser: &mut lexopt::Parser) -> Result<(), CliError> {
        let (name, value) = pair(parser, "--dim")?;
        once("--dim", &self.dims, &name)?;
        let Ok(number) = value.parse() else {
            let (option, expected) = (format!("--dim {name}"), "a whole number".to_owned());
            return Err(CliError::Value { option, got: value, expected });
        };
        self.dims.push((name, number));
        Ok(())
    }

    fn buffer(&mut self, parser: &mut lexopt::Parser) -> Result<(), CliError> {
        let (name, path) = pair(parser, "--in")?;
        once("--in", &self.buffers, &name)?;
        self.buffers.push((name, PathBuf::from(path)));
        Ok(())
    }

    fn param(&mut self, parser: &mut lexopt::Parser) -> Result<(), CliError> {
        let (name, value) = pair(parser, "--param")?;
        once("--param", &self.params, &name)?;
        self.params.push((name, value));
        Ok(())
    }
}

/// `NAME=REST`.
fn pair(parser: &mut lexopt::Parser, option: &str) -> Result<(String, String), CliError> {
    let text = parser.value()?.string()?;
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !rest.is_empty() => Ok((name.to_owned(), rest.to_owned())),
        _ => Err(CliError::Value {
            option: option.to_owned(),
            got: text,
            expected: "a name, `=` and a value".to_owned(),
        }),
    }
}

fn once<T>(option: &'static str, given: &[(String, T)], name: &str) -> Result<(), CliError> {
    if given.iter().any(|(other, _)| other == name) {
        return Err(CliError::Repeated { option, name: name.to_owned() });
    }
    Ok(())
}

fn number<T: std::str::FromStr>(
    parser: &mut lexopt::Parser,
    option: &str,
    expected: &str,
) -> Result<T, CliError> {
    let got = parser.value()?.string()?;
    got.parse().map_err(|_| CliError::Value { option: option.to_owned(), got, expected: expected.to_owned() })
}

// `Arg` is matched by its variants, which the prelude has; the type itself is `common`'s parameter.
const _: fn(Arg<'_>) -> Result<Command, CliError> = common;
