//! The repository's invariants as tests (ARCHITECTURE.md states them). Each rule is a function from source files to
//! findings, so that a planted violation shows that it can fail.

use std::{collections::BTreeMap, fs, process::Command};

use crate::{
    scan::{code, is_word, lines_with},
    workspace::Workspace,
};

/// Files that may name op variants beside the op tables and the legalisation rules, and why.
const OP_NAMES_ALLOWED: &[(&str, &str)] = &[
    (
        "vyre-foundation/src/testing/generate/graphs/patterns.rs",
        "the programs that random graphs are made of",
    ),
    (
        "vyre-foundation/src/testing/generate/index.rs",
        "keeps the indices and trips of random programs in bounds",
    ),
    ("vyre-foundation/src/machine/compile.rs", "watches for parts of a result that may be subnormal"),
    ("vyre-foundation/src/opt/dce.rs", "finds loops that count up to a constant, and so end"),
    ("vyre-foundation/src/opt/forward.rs", "writes the comparison that a forwarded load needs"),
    ("vyre-foundation/src/opt/if_convert.rs", "writes selections, and leaves remainders in branches"),
    ("vyre-foundation/src/opt/strength.rs", "relates divisions to cheaper ops, which no single row can"),
    ("vyre-lower/src/access.rs", "writes guards of accesses"),
    ("vyre-lower/src/analysis/align.rs", "factors of two of indices; an op that it does not know has none"),
    (
        "vyre-lower/src/analysis/range/mod.rs",
        "ranges of index arithmetic; an op that it does not know has no range",
    ),
    ("vyre-lower/src/analysis/range/ops.rs", "the same, op by op"),
    ("vyre-lower/src/analysis/range/scope.rs", "what a branch that compares says of ranges"),
    ("vyre-lower/src/analysis/range/verdict.rs", "says why an index is guarded: which ops may wrap"),
    ("vyre-lower/src/batch.rs", "writes the counters of trips that are taken together"),
    ("vyre-lower/src/control.rs", "writes loop counters and limits"),
    ("vyre-lower/src/grid_sync/scratch.rs", "writes the addresses of what crosses grid barriers"),
    ("vyre-lower/src/kernel/verify/ops.rs", "looks for the guards that legalisation rules write"),
    ("vyre-lower/src/kernel/verify/windows.rs", "looks for the masks of windows"),
    ("vyre-lower/src/launch.rs", "writes ids from the grid"),
    ("vyre-lower/src/lower.rs", "writes bools from words"),
    ("vyre-lower/src/pairs/arith.rs", "builds 64-bit integers of two words, op by op"),
    ("vyre-lower/src/pairs/convert.rs", "the same, of conversions"),
    ("vyre-lower/src/pairs/divide.rs", "the same, of division"),
    ("vyre-lower/src/pairs/mod.rs", "the same, of the rest"),
    ("vyre-lower/src/prologue.rs", "writes the clearing of shared memory"),
    ("vyre-lower/src/tile.rs", "makes a tile's index a u32"),
    ("vyre-lower/src/trap.rs", "writes the trap record"),
    ("vyre-lower/src/merge/forms.rs", "reads indices as sums; another op is a term"),
    ("vyre-lower/src/merge/mod.rs", "writes the index of a vector"),
    ("vyre-lower/src/vectorise/body.rs", "writes the points of an invocation and the loop over them"),
    ("vyre-lower/src/vectorise/memory.rs", "computes the indices of vectors"),
    ("vyre-lower/src/vectorise/lanes.rs", "finds lanes that follow one another; another op has none"),
    ("vyre-lower/src/windows.rs", "writes the choice of a window"),
    ("vyre-lower/src/writer.rs", "writes the ops of the above"),
    ("vyre-megakernel/src/fuse/cover.rs", "reads the conditions around a store"),
    ("vyre-megakernel/src/fuse/form.rs", "reads indices as sums; another op is a term"),
    ("vyre-megakernel/src/fuse/inline.rs", "writes the guard of an element beyond a length"),
    (
        "vyre-megakernel/src/fuse/target/digits.rs",
        "writes and simplifies quotients, remainders and sums of indices",
    ),
];
/// Files outside vyre-emit-naga that may name naga, and why: none of them builds naga IR.
const NAGA_ALLOWED: &[(&str, &str)] = &[
    ("vyre-driver-wgpu/src/facets/compiler.rs", "reads the module's text again, as its reader will"),
    ("vyre-driver-wgpu/src/facets/materializer.rs", "reads a payload's module"),
    ("vyre-driver-wgpu/src/ir.rs", "shows the emitter's module"),
    ("vyre-driver-wgpu/src/kernel.rs", "carries the emitter's module"),
    ("vyre-driver-wgpu/src/raw.rs", "reads the workgroup size of a caller's WGSL"),
    ("vyre-driver-wgpu/src/trusted.rs", "gives the emitter's module to wgpu"),
    ("vyre-driver-wgpu/tests/api_surface/signatures.rs", "holds a method to its documented type"),
];
/// Files that may have `unsafe` beside the one module, and why.
const UNSAFE_ALLOWED: &[(&str, &str)] = &[(
    "vyre-driver-wgpu/benches/raw/mod.rs",
    "the hand-written side of the benchmarks, as an expert writes it",
)];
/// Files that may be longer than [`LONGEST`], and why.
const LONG_FILES: &[(&str, &str)] =
    &[("vyre-driver/src/backend/mod.rs", "one trait: its methods are short, and their contracts are not")];
/// Lines of a source file past which it wants splitting.
const LONGEST: usize = 600;
const OP_ENUMS: [&str; 6] =
    ["UnaryOp::", "BinaryOp::", "TernaryOp::", "CastOp::", "AtomicOp::", "SubgroupOp::"];

/// Path from the root to text.
type Files = BTreeMap<String, String>;
/// Findings, as `path:line`.
type Findings = Vec<String>;

/// Every text file of the repository that git would commit.
fn all_files() -> Files {
    let root = Workspace::load(None).unwrap().root;
    let git = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let list = Command::new("git").args(git).current_dir(&root).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let read = |path: &str| Some((path.to_owned(), fs::read_to_string(root.join(path)).ok()?));
    let files: Files = list.lines().filter_map(read).collect();
    assert!(files.contains_key("xtask/src/tidy.rs"), "git lists the repository's files");
    files
}

/// The Rust files, as code only.
fn rust_code(files: &Files) -> Files {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    rust.map(|(path, text)| (path.clone(), code(text, true))).collect()
}

/// The Rust code that users run: no tests, benches, examples or tools.
fn product(files: &Files) -> Files {
    let is_product = |path: &str| {
        path.contains("/src/")
            && path.starts_with("vyre")
            && !path.contains("/tests/")
            && !path.ends_with("tests.rs")
    };
    let files = files.iter().filter(|(path, _)| path.ends_with(".rs") && is_product(path));
    files.map(|(path, text)| (path.clone(), code(text, false))).collect()
}

fn find(code: &Files, word: &str) -> Findings {
    code.iter()
        .flat_map(|(path, text)| lines_with(text, word).into_iter().map(move |l| format!("{path}:{l}")))
        .collect()
}

/// The findings that are in none of the allowed files.
fn beyond(mut findings: Findings, allowed: &[(&str, &str)]) -> Findings {
    findings.retain(|f| !allowed.iter().any(|(path, _)| f.split(':').next() == Some(path)));
    findings
}

fn outside(findings: Findings, crate_name: &str) -> Findings {
    findings.into_iter().filter(|f| !f.starts_with(&format!("{crate_name}/"))).collect()
}

fn files_of(code: &[(&str, &str)]) -> Files {
    code.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Calls of `submit` on a queue, however the chain is wrapped.
fn queue_submits(code: &Files) -> Findings {
    let joined = |text: &String| text.split_whitespace().collect::<String>();
    let calls =
        |text: String| ["queue.submit(", "queue().submit("].map(|c| text.matches(c).count()).iter().sum();
    code.iter().flat_map(|(path, text)| vec![path.clone(); calls(joined(text))]).collect()
}

#[test]
fn queue_submit_occurs_once() {
    let found = queue_submits(&product(&all_files()));
    assert_eq!(found.len(), 1, "one function executes command lists: {found:?}");
    let planted = files_of(&[("a/src/x.rs", "self.queue\n    .submit(None); device_queue().submit(x)")]);
    assert_eq!(queue_submits(&planted).len(), 2);
}

#[test]
fn only_their_crates_name_naga_and_wgpu() {
    // The facade's own module of that name is not the crate.
    let code = |text: String| text.replace("vyre::wgpu::", "vyre::");
    let code: Files = rust_code(&all_files()).into_iter().map(|(path, text)| (path, code(text))).collect();
    assert_eq!(beyond(outside(find(&code, "naga::"), "vyre-emit-naga"), NAGA_ALLOWED), [""; 0]);
    assert_eq!(outside(find(&code, "wgpu::"), "vyre-driver-wgpu"), [""; 0]);
    let planted =
        files_of(&[("vyre-driver-wgpu/src/x.rs", "wgpu::naga::Module"), ("vyre/src/x.rs", "use wgpu::A;")]);
    assert_eq!(outside(find(&planted, "naga::"), "vyre-emit-naga"), ["vyre-driver-wgpu/src/x.rs:1"]);
    assert_eq!(outside(find(&planted, "wgpu::"), "vyre-driver-wgpu"), ["vyre/src/x.rs:1"]);
}

/// `unsafe` anywhere but in the first file of vyre-driver-wgpu's sources that has it.
fn stray_unsafe(code: &Files) -> Findings {
    let mut found = find(code, "unsafe");
    let home = found.iter().find(|f| f.starts_with("vyre-driver-wgpu/src/"));
    if let Some(home) = home.and_then(|f| f.split(':').next()).map(|path| format!("{path}:")) {
        found.retain(|f| !f.starts_with(&home));
    }
    beyond(found, UNSAFE_ALLOWED)
}

#[test]
fn unsafe_is_in_one_module() {
    assert_eq!(stray_unsafe(&rust_code(&all_files())), [""; 0]);
    let planted =
        [("vyre-driver-wgpu/src/a.rs", "unsafe {} unsafe {}"), ("vyre-driver-wgpu/src/b.rs", "\nunsafe {}")];
    assert_eq!(stray_unsafe(&files_of(&planted)), ["vyre-driver-wgpu/src/b.rs:2"]);
    assert_eq!(stray_unsafe(&files_of(&[("vyre/src/a.rs", "unsafe {}")])), ["vyre/src/a.rs:1"]);
}

#[test]
fn every_crate_root_forbids_unsafe_code() {
    let workspace = Workspace::load(None).unwrap();
    // Its one module of `unsafe` calls, and the raw side of its benchmarks, are for the test above.
    let members = workspace.members.iter().filter(|m| m.name.as_str() != "vyre-driver-wgpu");
    let roots: Vec<_> = members.flat_map(|m| &m.targets).filter(|t| t.is_lib() || t.is_bin()).collect();
    assert!(roots.len() + 1 >= workspace.members.len());
    let forbids = |text: &str| code(text, true).contains("#![forbid(unsafe_code)]");
    for root in roots {
        assert!(forbids(&fs::read_to_string(&root.src_path).unwrap()), "{}", root.src_path);
    }
    assert!(!forbids("// #![forbid(unsafe_code)]\n"));
}

/// `UnaryOp::Variant` and the like, or a glob import of an op enum.
fn op_names(code: &Files) -> Findings {
    let is_variant = |rest: &str| {
        let name: String = rest.chars().take_while(|c| c.is_ascii() && is_word(*c as u8)).collect();
        rest.starts_with('*') || (rest.starts_with(char::is_uppercase) && name.contains(char::is_lowercase))
    };
    let home =
        |path: &str| path.starts_with("vyre-spec/src/ops") || path.starts_with("vyre-lower/src/legalize");
    let mut found = Vec::new();
    for (path, text) in code.iter().filter(|(path, _)| !home(path)) {
        for (number, line) in text.lines().enumerate() {
            let names = |e: &&str| line.match_indices(*e).any(|(at, e)| is_variant(&line[at + e.len()..]));
            if OP_ENUMS.iter().any(names) {
                found.push(format!("{path}:{}", number + 1));
            }
        }
    }
    found
}

#[test]
fn ops_are_named_in_their_rows_and_rules_only() {
    let found = op_names(&product(&all_files()));
    for (allowed, reason) in OP_NAMES_ALLOWED {
        assert!(
            found.iter().any(|f| f.starts_with(allowed)),
            "{allowed} ({reason}) names no op: take it off the list"
        );
    }
    assert_eq!(
        beyond(found, OP_NAMES_ALLOWED),
        [""; 0],
        "a row or legalisation rule should decide this; else add the file with a reason"
    );
    let planted = "BinaryOp::from_tag(1); BinaryOp::ALL;\nx == BinaryOp::Add\nuse ops::CastOp::*;";
    let planted = files_of(&[("a/src/x.rs", planted), ("vyre-lower/src/legalize/int.rs", "BinaryOp::Add")]);
    assert_eq!(op_names(&planted), ["a/src/x.rs:2", "a/src/x.rs:3"]);
}

fn long_files(files: &Files) -> Findings {
    let long = files.iter().filter(|(path, text)| path.ends_with(".rs") && text.lines().count() > LONGEST);
    long.map(|(path, _)| path.clone()).collect()
}

#[test]
fn source_files_hold_one_idea() {
    let found = beyond(long_files(&all_files()), LONG_FILES);
    assert_eq!(found, [""; 0], "over {LONGEST} lines: split by idea, or add the file with a reason");
    assert_eq!(long_files(&files_of(&[("a.rs", &"\n".repeat(LONGEST + 1)), ("b.rs", "")])), ["a.rs"]);
}

/// `allow` and `expect` attributes that give no reason.
fn silent_allows(code: &Files) -> Findings {
    let silent = |text: &str| {
        let attributes = ["[allow(", "[expect("].map(|start| text.split(start).skip(1)).into_iter().flatten();
        attributes.filter(|rest| !rest.split(']').next().is_some_and(|a| a.contains("reason="))).count()
    };
    code.iter().flat_map(|(path, text)| vec![path.clone(); silent(text)]).collect()
}

#[test]
fn every_allow_has_a_reason() {
    assert_eq!(silent_allows(&rust_code(&all_files())), [""; 0]);
    let planted =
        "#[allow(dead_code)] #![allow(\n    missing_docs,\n    reason = \"x\"\n)]\n#[expect(unused)]";
    assert_eq!(silent_allows(&files_of(&[("a.rs", &code(planted, true))])), ["a.rs", "a.rs"]);
}

/// Lines of tooling and of all Rust source.
fn tooling_share(files: &Files) -> (usize, usize) {
    let lines = |tool: &str| {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs") && path.starts_with(tool));
        rust.map(|(_, text)| text.lines().count()).sum()
    };
    (lines("xtask/"), lines(""))
}

#[test]
fn tooling_stays_under_a_tenth_of_the_source() {
    let (tools, all) = tooling_share(&all_files());
    assert!(tools < all / 10, "xtask has {tools} of {all} lines");
    assert_eq!(
        tooling_share(&files_of(&[("xtask/a.rs", "1\n2"), ("vyre/b.rs", "1"), ("c.md", "1")])),
        (2, 3)
    );
}

/// Paths of somebody's machine.
fn machine_paths(files: &Files) -> Findings {
    // Assembled, so that this list is not its own finding.
    let roots = ["work", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let hit = |text: &str, root: &String| {
        text.match_indices(root.as_str()).any(|(at, _)| at == 0 || !is_word(text.as_bytes()[at - 1]))
    };
    let found = files.iter().filter(|(_, text)| roots.iter().any(|root| hit(text, root)));
    found.map(|(path, _)| path.clone()).collect()
}

#[test]
fn no_machine_paths() {
    assert_eq!(machine_paths(&all_files()), [""; 0]);
    let planted =
        [("a.md", ["see `", "/ho", "me/me/x`"].concat()), ("b.md", ["net", "/ro", "ot/x"].concat())];
    let planted: Vec<_> = planted.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(machine_paths(&files_of(&planted)), ["a.md"]);
}

#[test]
fn every_crate_has_its_pages() {
    let workspace = Workspace::load(None).unwrap();
    let files = all_files();
    for member in &workspace.members {
        let name = &member.name;
        for page in [format!("docs/testing/{name}.md"), format!("{name}/README.md")] {
            assert!(files.get(&page).is_some_and(|text| text.contains(name.as_str())), "{page} is missing");
        }
    }
}

/// The first Rust block of a Markdown page.
fn first_example(page: &str) -> Option<&str> {
    page.split_once("```rust")?.1.split_once('\n')?.1.split("```").next()
}

#[test]
fn the_first_example_is_the_doctest_of_the_facade() {
    // vyre/README.md is the crate documentation of vyre, so its example is compiled and run.
    let files = all_files();
    let (top, facade) = (first_example(&files["README.md"]), first_example(&files["vyre/README.md"]));
    assert!(top.is_none() || top == facade, "README.md and vyre/README.md begin with different examples");
    assert!(top.is_none_or(|example| example.lines().count() <= 20), "at most 20 lines");
    assert_eq!(first_example("a\n```rust,no_run\nb\n```\nc"), Some("b\n"));
}
