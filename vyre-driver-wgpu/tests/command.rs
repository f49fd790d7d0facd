//! The `vyre-wgpu` command: what it prints and its status. Needs a device, as the other tests here do.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vyre-wgpu"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The standard output of a run that must succeed.
fn succeeds(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The standard error of a run that must fail, with nothing on its standard output.
fn fails(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr)
}

#[test]
fn demo_prints_the_product_and_nothing_else() {
    let output = command(&["demo"]).output().unwrap();
    assert_eq!(succeeds(&output), "vyre demo gpu_u32=42\n");
    assert_eq!(text(&output.stderr), "");
}

/// The Vulkan loader finds no driver at these paths.
#[cfg(target_os = "linux")]
#[test]
fn without_a_device_demo_says_what_to_install() {
    let mut demo = command(&["demo"]);
    demo.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent");
    let message = fails(&demo.output().unwrap());
    assert!(message.starts_with("error: no usable device was found"), "{message}");
    assert!(message.contains("\nhelp: install a Vulkan driver"), "{message}");
}

#[test]
fn software_is_used_by_permission_only() {
    let output = command(&["demo"]).env("VYRE_ALLOW_SOFTWARE", "0").output().unwrap();
    if output.status.success() {
        // The machine has a GPU.
        assert_eq!(succeeds(&output), "vyre demo gpu_u32=42\n");
    } else {
        let message = fails(&output);
        assert!(
            message.contains("a software adapter, which is used by explicit permission only"),
            "{message}"
        );
        assert!(message.contains("\nhelp: ") && message.contains("VYRE_ALLOW_SOFTWARE=1"), "{message}");
    }
}

#[test]
fn a_misspelt_setting_is_named() {
    let output = command(&["demo"]).env("VYRE_ADAPTER_INDEX", "first").output().unwrap();
    let message = fails(&output);
    assert!(message.contains("VYRE_ADAPTER_INDEX") && message.contains("`first`"), "{message}");
}

#[test]
fn help_and_version_need_nothing() {
    for arguments in [&["--help"][..], &["-h"], &["help"], &["demo", "--help"], &["info", "-h"]] {
        let help = succeeds(&command(arguments).output().unwrap());
        assert!(help.starts_with("vyre-wgpu: ") && help.contains("\nCommands:\n"), "{help}");
    }
    let version = concat!("vyre-wgpu ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(succeeds(&command(&["--version"]).output().unwrap()), version);
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, named) in [
        (&[][..], "a command"),
        (&["frobnicate"], "`frobnicate`"),
        (&["--frobnicate"], "--frobnicate"),
        (&["demo", "now"], "now"),
        (&["demo", "--json"], "--json"),
        (&["info", "--verbose"], "--verbose"),
        (&["info", "0"], "0"),
        (&["--version", "demo"], "demo"),
    ] {
        let message = fails(&command(arguments).output().unwrap());
        assert!(message.starts_with("error: ") && message.contains(named), "{arguments:?}: {message}");
        assert!(message.contains("help: `vyre-wgpu --help`"), "{arguments:?}: {message}");
    }
}

#[test]
fn info_says_what_was_chosen_and_why() {
    let info = succeeds(&command(&["info"]).output().unwrap());
    assert!(info.starts_with("adapter 0: "), "{info}");
    for part in ["\nchosen: adapter ", "\n  because ", "\nfeatures: ", "  max_workgroup_invocations: "] {
        assert!(info.contains(part), "`{part}` is missing:\n{info}");
    }
    let pinned = command(&["info"]).env("VYRE_ADAPTER_INDEX", "0").output().unwrap();
    if pinned.status.success() {
        assert!(succeeds(&pinned).contains("because its index was asked for"));
    }
}

#[cfg(not(feature = "cli"))]
#[test]
fn what_is_not_built_in_says_how_to_get_it() {
    for arguments in [&["check", "x.vyre"][..], &["emit", "x.vyre"], &["run", "x.vyre"], &["info", "--json"]]
    {
        let message = fails(&command(arguments).output().unwrap());
        assert!(message.contains(&format!("`{}", arguments[0])), "{message}");
        assert!(message.contains("feature `cli`") && message.contains("--features cli"), "{message}");
    }
}

#[cfg(feature = "cli")]
#[path = "command/artifacts.rs"]
mod artifacts;

#[cfg(feature = "cli")]
mod files {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{command, fails, succeeds, text};

    const AXPY: &str = "program axpy {
    param a: f32;
    buffer x: readonly f32[];
    buffer y: readwrite f32[len(x)];

    launch domain(len(y)) {
        store y[point.x] = a * x[point.x] + y[point.x];
    }
}
";

    /// A directory of the test's own, removed with it.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("vyre-wgpu-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
            fs::write(self.0.join(name), bytes).unwrap();
        }

        pub(crate) fn read(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.join(name)).unwrap()
        }

        pub(crate) fn has(&self, name: &str) -> bool {
            Path::exists(&self.0.join(name))
        }

        pub(crate) fn run(&self, line: &str) -> std::process::Output {
            let arguments: Vec<&str> = line.split_whitespace().collect();
            command(&arguments).current_dir(&self.0).output().unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// An array as NumPy 1.0 files hold it.
    fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn axpy(name: &str) -> Scratch {
        let dir = Scratch::new(name);
        dir.file("axpy.vyre", AXPY);
        dir.file("x.bin", floats(&[1.0, 2.0, 3.0, 4.0]));
        dir.file("y.npy", npy("<f4", "(2, 2)", &floats(&[0.5, 0.25, -1.0, 8.0])));
        dir
    }

    #[test]
    fn a_program_runs_on_raw_and_numpy_files() {
        let dir = axpy("run");
        let line = "run axpy.vyre --in x=x.bin --in y=y.npy --param a=2 --out y=";
        let said = succeeds(&dir.run(&format!("{line}out.npy --verify")));
        assert!(said.contains("the same as on the reference machine"), "{said}");
        assert!(said.contains("y: 4 f32 written to out.npy"), "{said}");
        let want = floats(&[2.5, 4.25, 5.0, 16.0]);
        let written = dir.read("out.npy");
        let header = written.strip_suffix(want.as_slice()).unwrap();
        assert_eq!(header.len() % 64, 0, "NumPy aligns the data");
        let header = String::from_utf8_lossy(header);
        assert!(header.contains("'descr': '<f4'") && header.contains("'shape': (4,"), "{header}");
        // What it writes, it reads.
        succeeds(&dir.run("run axpy.vyre --in x=out.npy --in y=out.npy --param a=1 --out y=twice.bin"));
        assert_eq!(dir.read("twice.bin"), floats(&[5.0, 8.5, 10.0, 32.0]));
        succeeds(&dir.run(&format!("{line}out.bin")));
        assert_eq!(dir.read("out.bin"), want);
    }

    #[test]
    fn scripts_get_json() {
        let dir = axpy("json");
        let line = "run axpy.vyre --in x=x.bin --in y=y.npy --param a=2 --out y=o.bin --json";
        let run: serde_json::Value = serde_json::from_str(&succeeds(&dir.run(line))).unwrap();
        assert_eq!(run["program"], "axpy");
        assert_eq!(run["backend"], "wgpu");
        assert_eq!(run["verified"], false);
        let output = serde_json::json!({ "name": "y", "type": "f32", "elements": 4, "path": "o.bin" });
        assert_eq!(run["outputs"], serde_json::json!([output]));
        let info: serde_json::Value = serde_json::from_str(&succeeds(&dir.run("info --json"))).unwrap();
        assert_eq!(info["adapters"][0]["index"], 0);
        assert!(info["chosen"]["limits"]["max_workgroup_invocations"].as_u64().unwrap() >= 64, "{info}");
    }

    #[test]
    fn a_trace_has_every_stage_with_its_sizes() {
        let dir = axpy("trace");
        let line = "run axpy.vyre --in x=x.bin --in y=y.npy --param a=2 --out y=o.bin --trace t.json";
        succeeds(&dir.run(line));
        let trace: serde_json::Value = serde_json::from_slice(&dir.read("t.json")).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let named = |name: &str, program: Option<&str>| {
            let of = |event: &&serde_json::Value| {
                event["name"] == name && program.is_none_or(|p| event["args"]["program"] == p)
            };
            events.iter().find(of).unwrap_or_else(|| panic!("no event `{name}`: {trace}"))
        };
        assert_eq!(named("compile", Some("axpy"))["args"]["cache"], "miss");
        // With a cache on disk, the second run finds there what the first has put there.
        let found = ["first.json", "second.json"].map(|file| {
            let line = line.replace("t.json", file);
            let arguments: Vec<&str> = line.split_whitespace().collect();
            let mut run = command(&arguments);
            run.current_dir(&dir.0).env("VYRE_CACHE_DIR", dir.0.join("cache"));
            succeeds(&run.output().unwrap());
            let trace: serde_json::Value = serde_json::from_slice(&dir.read(file)).unwrap();
            let mut events = trace["traceEvents"].as_array().unwrap().iter();
            let compiled = events.find(|event| event["args"]["program"] == "axpy").unwrap();
            compiled["args"]["cache"].as_str().unwrap().to_owned()
        });
        // Not every device has a cache to keep.
        let keeps = fs::read_dir(dir.0.join("cache")).unwrap().next().is_some();
        assert_eq!(found, ["miss", if keeps { "disk" } else { "miss" }]);
        for event in ["submit", "wait", "readback"].map(|name| named(name, None)) {
            assert_eq!((&event["ph"], &event["cat"]), (&"X".into(), &"vyre".into()), "{event}");
            assert!(event["ts"].as_f64().unwrap() >= 0.0 && event["dur"].as_f64().unwrap() >= 0.0, "{event}");
        }
        // Four floats go up in x and in y, and four come back. What the backend does for itself is there too.
        let sizes = |name: &str, size: &str, bytes: u64| {
            events.iter().any(|event| event["name"] == name && event["args"][size] == bytes)
        };
        assert!(sizes("submit", "upload_bytes", 32) && sizes("readback", "read_bytes", 16), "{trace}");
        // The file is whole after a failure as well.
        fails(&dir.run("run axpy.vyre --in x=x.bin --param a=2 --trace failed.json"));
        serde_json::from_slice::<serde_json::Value>(&dir.read("failed.json")).unwrap();
        let message = fails(&dir.run("run axpy.vyre --trace nowhere/t.json"));
        assert!(message.contains("nowhere/t.json"), "{message}");
    }

    /// The least that the command times: which of the two is faster shows nothing here.
    #[test]
    fn a_bench_checks_its_results_and_writes_its_trace() {
        let dir = axpy("bench");
        let text = succeeds(&dir.run("bench --only tiny --seconds 0 --json --trace t.json"));
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        let tiny = rows["rows"].as_array().unwrap().iter().filter(|row| {
            assert_eq!(row["correct"], true, "{row}");
            row["row"].as_str().unwrap().starts_with("tiny dispatch")
        });
        assert_eq!(tiny.count(), 2);
        let trace: serde_json::Value = serde_json::from_slice(&dir.read("t.json")).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        for name in ["compile", "submit", "wait", "readback"] {
            assert!(events.iter().any(|event| event["name"] == name), "no event `{name}`");
        }
    }

    #[test]
    fn wrong_runs_are_refused_by_name_and_write_nothing() {
        let dir = axpy("refused");
        dir.file("five.bin", [0; 5]);
        dir.file("doubles.npy", npy("<f8", "(4,)", &[0; 32]));
        dir.file("short.npy", npy("<f4", "(5,)", &[0; 16]));
        dir.file("DOUBLES.NPY", npy("<f8", "(4,)", &[0; 32]));
        dir.file("three.bin", floats(&[1.0, 2.0, 3.0]));
        for (line, named) in [
            ("", "`run` lacks the program's FILE"),
            ("none.vyre", "none.vyre"),
            ("axpy.vyre --in x=x.bin --param a=2", "input buffer `y`"),
            ("axpy.vyre", "input buffers `x` (f32), `y` (f32)\nhelp: pass `--in x=PATH --in y=PATH`"),
            ("axpy.vyre --in x=x.bin --in z=x.bin", "no input buffer `z`; it has: x, y"),
            ("axpy.vyre --in x=x.bin --in x=x.bin", "`--in x` is given twice"),
            ("axpy.vyre --out y=same.bin --out x=same.bin", "two outputs go to same.bin"),
            ("axpy.vyre --in x=DOUBLES.NPY --in y=y.npy --param a=2", "holds '<f8'"),
            ("axpy.vyre --in x", "`--in`"),
            ("axpy.vyre --in x=x.bin --in y=none.bin --param a=2", "none.bin"),
            ("axpy.vyre --in x=x.bin --in y=y.npy", "parameter `a`"),
            ("axpy.vyre --in x=x.bin --in y=y.npy --param a=two", "`two` of `--param a` is not of type f32"),
            ("axpy.vyre --in x=x.bin --in y=y.npy --param b=2", "no parameter `b`; it has: a"),
            ("axpy.vyre --in x=x.bin --in y=y.npy --param a=2 --out x=o", "no output buffer `x`; it has: y"),
            ("axpy.vyre --in x=x.bin --in y=five.bin --param a=2", "five.bin"),
            ("axpy.vyre --in x=x.bin --in y=doubles.npy --param a=2", "<f8"),
            ("axpy.vyre --in x=x.bin --in y=short.npy --param a=2", "short.npy"),
            ("axpy.vyre --in x=x.bin --in y=three.bin --param a=2 --out y=o", "buffer `y` needs 4 elements"),
            (
                "axpy.vyre --in x=x.bin --in y=y.npy --param a=2 --backend cuda",
                "no backend `cuda` is linked; linked are: wgpu, reference\nhelp: `--backend` takes wgpu or reference",
            ),
            ("axpy.vyre --tolerance 1", "`--verify`"),
            ("axpy.vyre --verify --tolerance -1", "`-1`"),
            ("axpy.vyre --verify --tolerance NaN", "`NaN`"),
            ("axpy.vyre more", "more"),
        ] {
            let message = fails(&dir.run(&format!("run {line}")));
            assert!(message.contains(named), "`{named}` is not in what `run {line}` says:\n{message}");
        }
        assert!(!dir.has("o"));
    }

    #[test]
    fn findings_are_shown_in_the_text() {
        let dir = axpy("check");
        assert_eq!(
            succeeds(&dir.run("check axpy.vyre")),
            "axpy.vyre: `axpy` is sound; it has 2 buffers and 1 parameter\n"
        );
        dir.file("type.vyre", AXPY.replace("a * x[point.x]", "a * point.x"));
        let message = fails(&dir.run("check type.vyre"));
        assert!(message.contains("type.vyre:7:") && message.contains("point.x"), "{message}");
        assert!(message.contains("\nerror: type.vyre: 1 finding\n"), "{message}");
        dir.file("syntax.vyre", AXPY.replace("launch", "lunch"));
        let message = fails(&dir.run("check syntax.vyre"));
        assert!(message.contains("syntax.vyre:6:5"), "{message}");
        dir.file("graph.vyre", format!("{AXPY}graph g {{ dim n; input x: f32[n]; output y = x; }}\n"));
        for line in ["run graph.vyre --param a=2", "emit graph.vyre --to wgsl"] {
            let message = fails(&dir.run(line));
            assert!(message.contains("graph.vyre holds a graph of programs"), "{message}");
            assert!(message.contains("help: `vyre-wgpu compile` makes an artifact of it"), "{message}");
        }
        dir.file("bytes.vyre", [0xFF, 0xFE]);
        assert!(fails(&dir.run("check bytes.vyre")).contains("cannot read bytes.vyre"));
        assert!(fails(&dir.run("check axpy.vyre --seed 1")).contains("`--run`"));
    }

    #[test]
    fn the_reference_machine_watches_a_run() {
        let dir = axpy("watch");
        let inputs = "--run --in x=x.bin --in y=y.npy --param a=2";
        let said = succeeds(&dir.run(&format!("check axpy.vyre {inputs} --seed 3")));
        assert!(said.contains("ran on the reference machine without findings"), "{said}");
        dir.file("far.vyre", AXPY.replace("x[point.x]", "x[point.x + 2]"));
        let message = fails(&dir.run(&format!("check far.vyre {inputs}")));
        assert!(message.contains("far.vyre:7:") && message.contains("outside `x`"), "{message}");
    }

    #[test]
    fn each_form_is_emitted() {
        let dir = axpy("emit");
        for (form, start) in [
            ("kdesc", "kernel `axpy`\n"),
            ("wgsl", "struct LaunchData"),
            ("msl", "// language: metal"),
            ("hlsl", "struct LaunchData"),
        ] {
            let printed = succeeds(&dir.run(&format!("emit axpy.vyre --to {form}")));
            assert!(printed.starts_with(start), "{form}:\n{printed}");
            assert!(printed.contains("axpy"), "{form}:\n{printed}");
            succeeds(&dir.run(&format!("emit axpy.vyre --to {form} --output out.txt")));
            assert_eq!(text(&dir.read("out.txt")), printed);
        }
        assert_eq!(succeeds(&dir.run("emit axpy.vyre --to spirv -o out.spv")), "");
        // The magic number of SPIR-V.
        assert_eq!(dir.read("out.spv")[..4], 0x0723_0203u32.to_le_bytes());
        assert!(succeeds(&dir.run("emit axpy.vyre --to wgsl --device")).contains("fn axpy("));
        for (line, named) in [
            ("emit axpy.vyre", "`--to FORM`"),
            ("emit axpy.vyre --to glsl", "`glsl`"),
            ("emit axpy.vyre --to spirv", "`--output PATH`"),
            ("emit --to wgsl", "the program's FILE"),
        ] {
            assert!(fails(&dir.run(line)).contains(named), "{line}");
        }
    }
}
