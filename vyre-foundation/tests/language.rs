//! The examples of docs/LANGUAGE.md: each is parsed and checked, and run on the reference machine where the
//! page says what it gives.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use vyre_foundation::check::{Checked, check};
use vyre_foundation::graph::{Inputs, evaluate};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run};
use vyre_foundation::text::{SourceMap, TextError, parse, parse_graph, print, print_graph};
use vyre_spec::{DataType, Value};

/// An example: its line in the page, its text, and the lines about what it gives.
struct Example {
    line: usize,
    text: String,
    expected: Vec<String>,
}

fn examples() -> Vec<Example> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/LANGUAGE.md");
    let page = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut examples: Vec<Example> = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    let mut after_example = false;
    while let Some((i, line)) = lines.next() {
        let mut block = || -> Vec<String> {
            lines.by_ref().map(|(_, line)| line.to_owned()).take_while(|line| line != "```").collect()
        };
        match line {
            "```vyre" => {
                let text = block().join("\n");
                examples.push(Example { line: i + 2, text, expected: Vec::new() });
                after_example = true;
            }
            "```text" if after_example => {
                if let Some(example) = examples.last_mut() {
                    example.expected = block();
                }
                after_example = false;
            }
            fence if fence.starts_with("```") => {
                block();
                after_example = false;
            }
            _ => after_example = false,
        }
    }
    examples
}

/// The findings about a text, as the page writes them: `line:column code message`.
fn findings(text: &str) -> Result<(Checked<Program>, SourceMap), Vec<String>> {
    let (program, map) = parse(text).map_err(|errors| {
        errors.iter().map(|e| format!("{}:{} {} {}", e.line, e.column, e.code, e.message)).collect::<Vec<_>>()
    })?;
    assert_eq!(parse(&print(&program)).unwrap().0, program);
    match check(program) {
        Ok(checked) => Ok((checked, map)),
        Err(findings) => Err(findings
            .iter()
            .map(|f| {
                let before = &text[..map.span(f.site).range().start];
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
                format!("{line}:{column} {} {}", f.code, f.message)
            })
            .collect()),
    }
}

fn value(ty: DataType, text: &str) -> Value {
    match ty {
        DataType::Bool => Value::new(text.parse::<bool>().unwrap()),
        DataType::U32 => Value::new(text.parse::<u32>().unwrap()),
        DataType::I32 => Value::new(text.parse::<i32>().unwrap()),
        DataType::F32 => Value::new(text.parse::<f32>().unwrap()),
        _ if ty.is_float() => Value::from_f64(ty, text.parse().unwrap()),
        _ => Value::from_bits(ty, text.parse::<i128>().unwrap() as u64),
    }
}

fn bytes(ty: DataType, text: &str) -> Vec<u8> {
    text.split_whitespace()
        .flat_map(|x| value(ty, x).bits().to_le_bytes().into_iter().take(ty.size() as usize))
        .collect()
}

impl Example {
    /// The values after `kind name = `.
    fn given(&self, kind: &str, name: &str) -> Option<&str> {
        self.expected.iter().find_map(|line| {
            line.strip_prefix(kind)?.strip_prefix(' ')?.strip_prefix(name)?.strip_prefix(" =").map(str::trim)
        })
    }

    /// As [`Example::check`], of a graph.
    fn check_graph(&self) {
        let at = self.line;
        let errors: Vec<_> = self.expected.iter().filter_map(|line| line.strip_prefix("error ")).collect();
        let graph = match parse_graph(&self.text) {
            Ok((graph, _)) if errors.is_empty() => graph,
            Ok(_) => panic!("line {at}: no findings, but the page has {errors:?}"),
            Err(found) => {
                let shown = |e: &TextError| format!("{}:{} {} {}", e.line, e.column, e.code, e.message);
                assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), errors, "line {at}");
                return;
            }
        };
        assert_eq!(parse_graph(&print_graph(&graph)).unwrap().0, graph, "line {at}");
        let missing = |kind: &str, name: &str| panic!("line {at}: the page has no `{kind} {name} =`");
        let bound: Vec<_> = graph
            .values()
            .iter()
            .filter_map(|v| Some((&v.name, bytes(v.element, self.given("in", &v.name)?))))
            .collect();
        let mut inputs = Inputs::new();
        for (name, bytes) in &bound {
            inputs = inputs.value(*name, bytes);
        }
        for param in graph.params() {
            let given = self.given("param", &param.name).unwrap_or_else(|| missing("param", &param.name));
            inputs = inputs.param(&param.name, value(param.ty, given));
        }
        let done = evaluate(&graph, &inputs, &MachineOptions::default())
            .unwrap_or_else(|error| panic!("line {at}: {error}"));
        for (output, got) in graph.outputs().iter().zip(&done.outputs) {
            let want = self.given("out", &output.name).unwrap_or_else(|| missing("out", &output.name));
            let element = graph.value(output.value).element;
            assert_eq!(got, &bytes(element, want), "line {at}: `{}`", output.name);
        }
    }

    fn check(&self) {
        if self.text.lines().any(|line| line.starts_with("graph ")) {
            return self.check_graph();
        }
        let at = self.line;
        let errors: Vec<_> = self.expected.iter().filter_map(|line| line.strip_prefix("error ")).collect();
        let program = match findings(&self.text) {
            Ok((program, _)) if errors.is_empty() => program,
            Ok(_) => panic!("line {at}: no findings, but the page has {errors:?}"),
            Err(found) => {
                assert_eq!(found.len(), errors.len(), "line {at}: {found:?}");
                for (found, error) in found.iter().zip(&errors) {
                    assert!(found.starts_with(error), "line {at}: found {found:?}, the page has {error:?}");
                }
                return;
            }
        };
        assert!(!self.expected.is_empty(), "line {at}: the page does not say what the example gives");
        let missing = |kind: &str, name: &str| panic!("line {at}: the page has no `{kind} {name} =`");
        let params: Params = program
            .params()
            .iter()
            .map(|p| {
                (
                    &*p.name,
                    value(p.ty, self.given("param", &p.name).unwrap_or_else(|| missing("param", &p.name))),
                )
            })
            .collect();
        let inputs: Vec<Vec<u8>> = program
            .inputs()
            .map(|id| program.buffer(id))
            .map(|b| bytes(b.element, self.given("in", &b.name).unwrap_or_else(|| missing("in", &b.name))))
            .collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let outcome = run(&program, &params, &inputs, &MachineOptions::default())
            .unwrap_or_else(|error| panic!("line {at}: {error}"));
        let trap = self.expected.iter().find_map(|line| line.strip_prefix("trap "));
        let trapped = outcome.trap.map(|trap| format!("{} at {}", trap.code, trap.address));
        assert_eq!(trapped.as_deref(), trap, "line {at}");
        if trap.is_some() {
            return;
        }
        for (id, got) in program.outputs().zip(&outcome.outputs) {
            let buffer = program.buffer(id);
            let want = self.given("out", &buffer.name).unwrap_or_else(|| missing("out", &buffer.name));
            assert_eq!(got, &bytes(buffer.element, want), "line {at}: `{}`", buffer.name);
        }
    }
}

#[test]
fn every_example_gives_what_the_page_says() {
    let examples = examples();
    assert!(examples.len() >= 15, "{} examples", examples.len());
    for example in &examples {
        example.check();
    }
}
