//! Every refusal, on a small real workspace that cargo itself reads.

use super::*;
use crate::workspace::fixture::Fixture;

const TOP: &str = "top/Cargo.toml";
const REGISTRY: &str = "CRATE_OWNERSHIP.toml";

fn messages(fixture: &Fixture) -> Vec<String> {
    check(&fixture.load()).iter().map(ToString::to_string).collect()
}

/// After replacing `old` by `new` in `file`, the refusals are exactly those that begin with `expected`.
#[track_caller]
fn refuses(file: &str, old: &str, new: &str, expected: &[&str]) {
    let fixture = Fixture::new();
    fixture.replace(file, old, new);
    let found = messages(&fixture);
    let matches = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.starts_with(e));
    assert!(matches, "expected {expected:#?}, found {found:#?}");
}

#[test]
fn undeclared_edges_of_each_kind() {
    let beyond = "not within top's `may-use`";
    for (section, kind) in [
        ("", "normal"),
        ("[target.'cfg(unix)'.dependencies]\n", "normal"),
        ("[build-dependencies]\n", "build"),
        ("[dev-dependencies]\n", "dev"),
    ] {
        let text = format!("{section}base = {{ path = \"../base\" }}\n");
        let undeclared =
            format!("top -> base ({kind}): an undeclared edge; add an [[edge]] table to CRATE_OWN");
        let bound = format!("top -> base ({kind}): {beyond}");
        let expected: &[&str] = if kind == "dev" { &[&undeclared] } else { &[&undeclared, &bound] };
        refuses(TOP, "# more\n", &text, expected);
    }
}

#[test]
fn removing_any_declared_edge_is_named() {
    let fixture = Fixture::new();
    for mut workspace in [fixture.load(), Workspace::load(None).unwrap()] {
        assert_eq!(check(&workspace), []);
        for _ in 0..workspace.registry.edges.len() {
            let edge = workspace.registry.edges.remove(0);
            let found = check(&workspace);
            let named = format!("{} -> {}", edge.from, edge.to);
            assert!(
                !found.is_empty() && found.iter().all(|v| v.to_string().starts_with(&named)),
                "{found:?}"
            );
            workspace.registry.edges.push(edge);
        }
    }
}

#[test]
fn declared_but_absent() {
    let absent = "mid -> base (normal): declared but absent from mid's Cargo.toml; remove the [[edge]] table";
    refuses("mid/Cargo.toml", "base = { path = \"../base\" }", "", &[absent]);
    let gone = ["gone -> mid (normal): declared but absent", "top -> mid (normal): an undeclared edge"];
    refuses(REGISTRY, "from = \"top\"", "from = \"gone\"", &gone);
}

#[test]
fn mismatches_of_each_attribute() {
    let top = |field: &str| format!("top -> mid (normal): {field} in top's Cargo.toml; make the two agree");
    let features = top("features is {\"fast\"} in CRATE_OWNERSHIP.toml but {}");
    refuses(TOP, "features = [\"fast\"], ", "", &[&features]);
    let defaults = top("default-features is false in CRATE_OWNERSHIP.toml but true");
    refuses(TOP, "default-features = false, ", "", &[&defaults]);
    let optional = top("optional is false in CRATE_OWNERSHIP.toml but true");
    refuses(REGISTRY, "optional = true", "optional = false", &[&optional]);
    let declared = "conditions is {\"feature \\\"gpu\\\"\"} in CRATE_OWNERSHIP.toml but";
    refuses(TOP, "gpu = [", "more = [", &[&top(&format!("{declared} {{\"feature \\\"more\\\"\"}}"))]);
    let target = "mid -> base (normal): conditions is {} in CRATE_OWNERSHIP.toml but {\"cfg(unix)\"}";
    refuses("mid/Cargo.toml", "[dependencies]", "[target.'cfg(unix)'.dependencies]", &[target]);
    let kinds = "mid -> base: kinds is normal in CRATE_OWNERSHIP.toml but build in mid's Cargo.toml";
    refuses("mid/Cargo.toml", "[dependencies]", "[build-dependencies]", &[kinds]);
}

#[test]
fn layer_direction_and_bound() {
    let order = "layers = [\"low\", \"middle\", \"high\"]";
    let up =
        "mid -> base (normal): goes from layer \"middle\" to layer \"low\"; dependencies go to a lower layer";
    refuses(REGISTRY, order, "layers = [\"middle\", \"low\", \"high\"]", &[up]);
    let level = "top -> mid (normal): goes from layer \"middle\" to layer \"middle\"";
    refuses(REGISTRY, "layer = \"high\"", "layer = \"middle\"", &[level]);
    refuses(REGISTRY, "layer = \"high\"", "layer = \"sky\"", &["top: layer \"sky\" is not in `layers`"]);
    let bound = "top -> mid (normal): not within top's `may-use`";
    refuses(REGISTRY, "may-use = [\"mid\"]", "may-use = []", &[bound]);
}

#[test]
fn dev_edges_have_their_own_rule() {
    let fixture = Fixture::new();
    fixture.replace("base/Cargo.toml", "# more\n", "[dev-dependencies]\nmid = { path = \"../mid\" }\n");
    fixture.declare("base", "mid", "dev");
    let up = "base -> mid (dev): goes from layer \"low\" to layer \"middle\"; a dev-dependency may stay in its layer \
              or go down, not up: move the test to the higher crate";
    assert_eq!(messages(&fixture), [up]);
    // Within one layer.
    let fixture = Fixture::new();
    fixture.replace("peer/Cargo.toml", "# more\n", "top = { path = \"../top\" }\n");
    fixture.declare("peer", "top", "dev");
    assert_eq!(check(&fixture.load()), []);
    let kinds = "mid -> base: kinds is dev in CRATE_OWNERSHIP.toml but normal";
    refuses(REGISTRY, "kinds = [\"normal\"]", "kinds = [\"dev\"]", &[kinds]);
}

#[test]
fn rows_members_and_paths() {
    let not_member =
        ["peer: has a row but is no workspace member", "peer -> base (dev): declared but absent"];
    refuses("Cargo.toml", ", \"peer\"", "", &not_member);
    let path = "mid: its row says path \"elsewhere\" but the crate is at \"mid\"";
    refuses(REGISTRY, "path = \"mid\"", "path = \"elsewhere\"", &[path]);
    let no_row = "peer: a workspace member without a row; add a [[crate]] table";
    let stranger = "stranger: has a row but is no workspace member; remove its [[crate]] table";
    refuses(REGISTRY, "package = \"peer\"", "package = \"stranger\"", &[no_row, stranger]);
    let twice =
        ["peer: a workspace", "top: has more than one [[crate]] table", "top: its row says path \"peer\""];
    refuses(REGISTRY, "package = \"peer\"", "package = \"top\"", &twice);
}

#[test]
fn edges_declared_twice() {
    let fixture = Fixture::new();
    fixture.declare("mid", "base", "normal");
    assert_eq!(messages(&fixture), ["mid -> base (normal): declared by two [[edge]] tables; keep one"]);
}

#[test]
fn an_internal_name_from_a_registry() {
    let message =
        "mid -> base (normal): not by path; depend on the workspace's own crate: `base.workspace = true`";
    refuses("mid/Cargo.toml", "{ path = \"../base\" }", "\"1\"", &[message]);
}

#[test]
fn reserved_packages() {
    let message = "top -> half (dev): half is reserved to base; use what base re-exports";
    refuses(TOP, "# more\n", "[dev-dependencies]\nhalf = \"2\"\n", &[message]);
    let renamed = "[dev-dependencies]\nfloat = { package = \"half\", version = \"2\" }\n";
    refuses(TOP, "# more\n", renamed, &[message]);
    refuses("base/Cargo.toml", "# more\n", "[dependencies]\nhalf = \"2\"\n", &[]);
    let nobody = "[[reserved]] half: nobody is no workspace member";
    refuses(REGISTRY, "crate = \"base\"", "crate = \"nobody\"", &[nobody]);
}

#[test]
fn unknown_and_missing_keys_are_refused_with_their_line() {
    for (old, new, message) in [
        ("owner = \"o\"\n", "", "missing field `owner`"),
        ("owner = \"o\"\n", "owner = \"o\"\nonwer = \"o\"\n", "unknown field `onwer`"),
        ("kinds = [\"normal\"]", "kinds = [\"dve\"]", "unknown variant `dve`"),
    ] {
        let fixture = Fixture::new();
        fixture.replace(REGISTRY, old, new);
        let error = Workspace::load(Some(fixture.path())).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(message) && error.contains("at line"), "{error}");
    }
}
