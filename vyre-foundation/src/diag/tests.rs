use super::*;
use crate::build::Kernel;
use crate::text::{parse, print};

#[test]
fn codes_are_distinct_and_in_order() {
    assert!(Code::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
}

#[test]
fn a_finding_shows_its_place_what_explains_it_and_the_remedy() {
    let text = "program p {\n    buffer a: readonly u32[];\n}\n";
    let finding = Diagnostic::new(Code::Access, Site::Program, "wrong")
        .with_related(Site::Program, "because of this")
        .with_help("do better");
    let place = |needle: &str| {
        let start = text.find(needle).unwrap();
        start..start + needle.len()
    };
    let related = [(place("readonly"), "because of this")].into_iter();
    let shown = excerpt(
        ("p.vyre", text),
        finding.code,
        &finding.message,
        place("buffer a"),
        related,
        Some("do better"),
    );
    let want = "\
error[V0204]: wrong
  ┌─ p.vyre:2:5
  │
2 │     buffer a: readonly u32[];
  │     ^^^^^^^^  -------- because of this
  │
  = help: do better

";
    assert_eq!(shown, want);
}

#[test]
fn places_outside_of_the_text_are_moved_into_it() {
    let shown = excerpt(("p", "µ"), Code::Race, "wrong", 1..900, std::iter::empty(), None);
    assert!(shown.contains("error[V0401]: wrong"), "{shown}");
}

#[test]
fn a_program_of_the_builder_is_shown_as_it_is_printed() {
    let program = Kernel::build("copy", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, 1u32));
    })
    .unwrap();
    let finding = Diagnostic::new(Code::Access, Site::Node(NodeId::new(0)), "wrong");
    let shown = render_printed(&[finding], &program);
    assert!(shown.contains("store x[point.x] = 1;\n"), "{shown}");
    assert!(shown.contains("copy:5:9"), "{shown}\n{}", print(&program));
    assert!(parse(&print(&program)).is_ok());
}
