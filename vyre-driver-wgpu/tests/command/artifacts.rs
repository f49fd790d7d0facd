//! `compile`, `inspect`, and `run` of artifacts.

use serde_json::{Value, json};

use super::files::Scratch;
use super::{fails, succeeds, text};

const GRAPH: &str = "program scale {
    param by: f32;
    buffer x: readonly f32[];
    buffer y: writeonly f32[len(x)];

    launch domain(len(x)) {
        let v = load x[point.x];
        store y[point.x] = v * by;
    }
}

program add {
    buffer a: readonly f32[];
    buffer b: readonly f32[len(a)];
    buffer sum: writeonly f32[len(a)];

    launch domain(len(a)) {
        let v = load a[point.x];
        let w = load b[point.x];
        store sum[point.x] = v + w;
    }
}

graph pipeline {
    dim n;
    param by: f32;
    input x: f32[n];
    retained total: f32[n] becomes next;
    node first: scaled = scale(by, x);
    node second: next = add(scaled, total);
    output result = next;
}
";

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn json_of(output: &std::process::Output) -> Value {
    serde_json::from_str(&succeeds(output)).unwrap()
}

#[test]
fn a_graph_is_compiled_shown_and_run() {
    let dir = Scratch::new("artifacts");
    dir.file("pipeline.vyre", GRAPH);
    dir.file("x.raw", floats(&[1.0, -2.5, 4.0]));
    dir.file("total.raw", floats(&[0.5, 0.5, 0.5]));
    let said = succeeds(&dir.run("compile pipeline.vyre -o pipeline.bin"));
    assert!(said.contains("2 nodes became 1 kernel\n"), "{said}");
    assert!(said.contains("written to pipeline.bin"), "{said}");

    let said = succeeds(&dir.run("check pipeline.vyre"));
    assert_eq!(said, "pipeline.vyre: the graph `pipeline` is sound; it has 2 nodes of 2 programs\n");

    // `inspect` needs no device, and says the same each time.
    let shown = succeeds(&dir.run("inspect pipeline.bin"));
    for line in [
        "graph `pipeline`",
        "parameter by: f32",
        "  x: f32[n], input: bound by each run",
        "  scaled: f32[n], intermediate: registers",
        "  output result = next",
        "  first = scale(x) -> scaled",
        "of first, second: a domain, reads x, total, writes next",
        "  first + second: ",
        "not sealed",
    ] {
        assert!(shown.contains(line), "`{line}` in\n{shown}");
    }
    let summary = json_of(&dir.run("inspect pipeline.bin --json"));
    assert_eq!(summary["graph"], "pipeline");
    assert_eq!(summary["steps"].as_array().unwrap().len(), 1);
    assert_eq!(summary["steps"][0]["nodes"], json!(["first", "second"]));
    assert_eq!(summary["sealed"], false);

    let run = "run pipeline.bin --in x=x.raw --param by=2 --out result=result.raw";
    let said = succeeds(&dir.run(run));
    assert!(said.contains("`pipeline` ran on ") && said.contains("result: 3 f32 written"), "{said}");
    assert_eq!(dir.read("result.raw"), floats(&[2.0, -5.0, 8.0]));
    succeeds(&dir.run(&format!("{run} --in total=total.raw")));
    assert_eq!(dir.read("result.raw"), floats(&[2.5, -4.5, 8.5]));
}

#[test]
fn without_fusion_there_is_a_kernel_for_each_node_and_the_reason_is_said() {
    let dir = Scratch::new("unfused");
    dir.file("pipeline.vyre", GRAPH);
    dir.file("x.raw", floats(&[3.0]));
    let summary = json_of(&dir.run("compile pipeline.vyre -o two.bin --candidates 0 --json"));
    assert_eq!((&summary["nodes"], &summary["kernels"]), (&json!(2), &json!(2)));
    let shown = succeeds(&dir.run("inspect two.bin"));
    assert!(shown.contains("not fused\n  first and second: "), "{shown}");
    assert!(
        shown.contains("slot 0: scaled") || shown.contains("scaled: f32[n], intermediate: slot 0"),
        "{shown}"
    );
    succeeds(&dir.run("run two.bin --in x=x.raw --param by=0.5 --out result=result.raw"));
    assert_eq!(dir.read("result.raw"), floats(&[1.5]));
}

#[test]
fn pictures_show_the_graph_before_and_after() {
    let dir = Scratch::new("pictures");
    dir.file("pipeline.vyre", GRAPH);
    succeeds(&dir.run("compile pipeline.vyre --output pipeline.bin"));
    let dot = succeeds(&dir.run("inspect pipeline.bin --dot"));
    assert!(dot.starts_with("digraph vyre {") && dot.trim_end().ends_with('}'), "{dot}");
    assert!(
        dot.contains("label=\"pipeline: 2 nodes\"") && dot.contains("label=\"pipeline: 1 kernel\""),
        "{dot}"
    );
    // Before, an arrow between the nodes; after, one box with both.
    assert!(dot.contains("[label=\"scaled: f32[n]\"]") && dot.contains("label=\"first\\nsecond\""), "{dot}");
    assert_eq!(succeeds(&dir.run("inspect pipeline.bin --svg picture.svg")), "");
    let svg = text(&dir.read("picture.svg"));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for (open, close) in [("<g ", "</g>"), ("<text ", "</text>"), ("<path class", "</path>")] {
        assert_eq!(svg.matches(open).count(), svg.matches(close).count(), "{open}");
    }
    assert_eq!(svg.matches("class=\"k\"").count(), 3);
}

#[test]
fn a_key_seals_and_verifies() {
    let dir = Scratch::new("keys");
    dir.file("pipeline.vyre", GRAPH);
    dir.file("x.raw", floats(&[3.0]));
    dir.file("key", [7; 32]);
    dir.file("hex", "07".repeat(32) + "\n");
    dir.file("other", [8; 32]);
    dir.file("short", [8; 31]);
    succeeds(&dir.run("compile pipeline.vyre -o sealed.bin --key-file key"));
    assert!(succeeds(&dir.run("inspect sealed.bin")).contains("sealed; `--key-file` verifies it"));
    assert!(succeeds(&dir.run("inspect sealed.bin --key-file hex")).contains("sealed, and verified"));
    let message = fails(&dir.run("inspect sealed.bin --key-file other"));
    assert!(message.contains("does not verify under the key"), "{message}");
    let run = "run sealed.bin --in x=x.raw --param by=1 --out result=result.raw";
    succeeds(&dir.run(&format!("{run} --key-file key")));
    assert_eq!(dir.read("result.raw"), floats(&[3.0]));
    let message = fails(&dir.run(&format!("{run} --key-file other")));
    assert!(message.contains("does not verify under the key"), "{message}");
    let message = fails(&dir.run(&format!("{run} --key-file short")));
    assert!(message.contains("31 bytes are neither 32 bytes nor 64 hexadecimal digits"), "{message}");
}

#[test]
fn what_does_not_fit_is_named_with_its_remedy() {
    let dir = Scratch::new("refused");
    dir.file("pipeline.vyre", GRAPH);
    dir.file("wrong.vyre", GRAPH.replace("add(scaled, total)", "add(scaled)"));
    dir.file("x.raw", floats(&[3.0, 4.0]));
    succeeds(&dir.run("compile pipeline.vyre -o pipeline.bin --dim n=2"));
    let refused = |line: &str, words: &[&str]| {
        let message = fails(&dir.run(line));
        assert!(words.iter().all(|words| message.contains(words)), "{line}: {message}");
    };
    refused("compile wrong.vyre -o wrong.bin", &["wrong.vyre:", "help: "]);
    assert!(!dir.has("wrong.bin"));
    refused("compile pipeline.vyre -o other.bin --dim m=2", &["about no dimension", "it has: n"]);
    refused("compile pipeline.vyre", &["lacks `--output PATH`"]);
    refused("inspect pipeline.vyre", &["no artifact envelope", "help: `vyre-wgpu compile` makes"]);
    refused("inspect pipeline.bin --dot --json", &["of --json, --dot and --svg only one"]);
    refused("compile pipeline.bin -o other.bin", &["pipeline.bin is an artifact, not a text", "help: `run`"]);
    refused("bench --only tinny", &["`tinny` of `--only` is not one of tiny, saxpy"]);
    refused(
        "run pipeline.bin --in x=x.raw",
        &["parameter `by` has no value", "help: pass `--param by=VALUE`"],
    );
    refused("run pipeline.bin --param by=1", &["no file is given", "help: pass `--in x=PATH`"]);
    dir.file("longer.raw", floats(&[1.0, 2.0, 3.0]));
    refused("run pipeline.bin --in x=longer.raw --param by=1", &["compiled for `n` = 2, but this run has 3"]);
    refused(
        "run pipeline.bin --in x=x.raw --param by=1 --backend reference",
        &["another profile", "compile"],
    );
    let mut damaged = dir.read("pipeline.bin");
    damaged[100] ^= 1;
    dir.file("damaged.bin", &damaged);
    refused("run damaged.bin --in x=x.raw --param by=1", &["damaged", "help: `vyre-wgpu compile`"]);
    // A program is a graph as well.
    dir.file("scale.vyre", GRAPH.split("program add").next().unwrap());
    succeeds(&dir.run("compile scale.vyre -o scale.bin"));
    succeeds(&dir.run("run scale.bin --in x=x.raw --param by=2 --out y=y.raw"));
    assert_eq!(dir.read("y.raw"), floats(&[6.0, 8.0]));
}
