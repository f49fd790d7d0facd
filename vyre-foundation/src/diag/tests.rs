use std::ops::Range;

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
fn long_lines_are_shown_around_their_places() {
    // 30,000 statements of 10 characters in the second line, the first in column 1.
    let line = "let µ = 1;".repeat(30_000);
    let text = format!("program p {{\n{line}\n}}\n");
    let at = |nth: usize| text.find("let").unwrap() + nth * 11;
    let shown = |place: Range<usize>, related: Range<usize>| {
        let message = "x".repeat(5000);
        excerpt(("p", &text), Code::Race, &message, place, [(related, "because")].into_iter(), None)
    };
    for (place, related) in [(15_000, 14_999), (15_000, 2), (0, 29_999), (29_999, 0), (7, 7)] {
        let shown = shown(at(place)..at(place) + 3, at(related)..at(related) + 3);
        assert!(shown.contains(&format!("p:2:{}\n", 1 + place * 10)), "{shown}");
        let longest = shown.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(400), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        let source = lines.iter().position(|line| line.starts_with("2 │")).unwrap();
        let under = |mark: char| {
            let column = lines[source + 1].chars().position(|c| c == mark).unwrap();
            lines[source].chars().skip(column).take(3).collect::<String>()
        };
        assert_eq!(under('^'), "let", "{shown}");
        if place != related {
            assert_eq!(under('-'), "let", "{shown}");
        }
    }
    // A place as long as the line.
    let all = shown(at(0)..at(30_000), at(3)..at(4));
    assert!(all.len() < 4000 && all.contains("p:2:1\n"), "{all}");
    // In other lines nothing is left out.
    let first = shown(0..7, 8..9);
    assert!(first.contains("1 │ program p {\n"), "{first}");
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
