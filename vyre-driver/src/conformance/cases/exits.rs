//! Ways out of loops, and back to their heads.

use vyre_spec::DataType::U32;

use super::{elements, run};
use crate::VyreBackend;
use crate::conformance::Report;

/// A way through a loop: its name, the statements on `v` for a count of trips, and what they leave in `v`.
type Way = (&'static str, fn(&str) -> String, fn(u32) -> u32);

/// The counts of trips.
const TRIPS: [u32; 4] = [0, 1, 2, 7];

const WAYS: &[Way] = &[
    ("a leading break", |t| format!("for k in 0..{t} {{ break; }} set v = v + 3;"), |_| 3),
    ("a leading break of a while", |t| format!("while v < {t} {{ break; }} set v = v + 3;"), |_| 3),
    (
        "a break before the rest",
        |t| format!("for k in 0..{t} {{ if k >= 0 {{ break; }} set v = v + 100; }} set v = v + 3;"),
        |_| 3,
    ),
    (
        "a break of some trip",
        |t| format!("for k in 0..{t} {{ if k == 4 {{ break; }} set v = v * 3 + k; }}"),
        |t| (0..t.min(4)).fold(0, |v, k| v * 3 + k),
    ),
    (
        "continues of two branches, one after the other",
        |t| {
            format!(
                "for k in 0..{t} {{ if k % 2 == 0 {{ set v = v + 1; continue; }} \
                 if k % 3 == 0 {{ set v = v + 10; continue; }} set v = v + 100; }}"
            )
        },
        |t| {
            (0..t)
                .map(|k| {
                    if k % 2 == 0 {
                        1
                    } else if k % 3 == 0 {
                        10
                    } else {
                        100
                    }
                })
                .sum()
        },
    ),
    (
        "continues of nested branches",
        |t| {
            format!(
                "for k in 0..{t} {{ if k % 2 == 0 {{ if k % 4 == 0 {{ set v = v + 1; continue; }} \
                 set v = v + 10; }} else {{ if k == 1 {{ set v = v + 100; continue; }} \
                 else {{ set v = v + 1000; continue; }} }} set v = v + 10000; }}"
            )
        },
        |t| {
            let of = |k| match k % 4 {
                0 => 1,
                2 => 10_010,
                _ if k == 1 => 100,
                _ => 1000,
            };
            (0..t).map(of).sum()
        },
    ),
    (
        "a counter after a continue",
        |t| format!("for k in 0..{t} {{ if (k & 1) == 1 {{ continue; }} set v = v + 1; }}"),
        |t| t.div_ceil(2),
    ),
    (
        "a counter before a continue, and another after it",
        |t| {
            format!(
                "var n: u32 = 0; while n < {t} {{ set n = n + 1; if n % 3 == 0 {{ continue; }} \
                 set v = v + n; }} set v = v * 10 + n;"
            )
        },
        |t| (1..=t).filter(|n| n % 3 != 0).sum::<u32>() * 10 + t,
    ),
    (
        "a break inside and a continue outside",
        |t| {
            format!(
                "for a in 0..{t} {{ for b in 0..5 {{ if b == a {{ break; }} if b % 2 == 1 {{ continue; }} \
                 set v = v + 1; }} if a == 1 {{ continue; }} set v = v + 100; }}"
            )
        },
        // Of the five numbers below 5, those below a that are even; and a hundred for each a but 1.
        |t| (0..t).map(|a| a.min(5).div_ceil(2) + if a == 1 { 0 } else { 100 }).sum(),
    ),
    (
        "a while whose every branch leaves",
        |t| {
            format!(
                "while true {{ if v >= {t} {{ break; }} set v = v + 1; \
                 if v == 1 {{ continue; }} else {{ if v == 5 {{ break; }} continue; }} }}"
            )
        },
        |t| t.min(5),
    ),
];

/// Breaks and continues wherever they stand, with trips that are loaded and such that are known.
pub(super) fn breaks_and_continues(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for (name, text, left) in WAYS {
        let want = TRIPS.map(|trips| i128::from(left(trips)));
        let loaded = format!(
            "program loaded {{ buffer trips: readonly u32[4]; buffer out: writeonly u32[4]; \
             launch domain(4) {{ let t = load trips[point.x]; var v: u32 = 0; {} store out[point.x] = v; }} }}",
            text("t")
        );
        let input = elements(U32, TRIPS.map(i128::from));
        run(
            backend,
            &format!("{name}, loaded"),
            &loaded,
            &[input],
            &[(U32, elements(U32, want))],
            &mut report,
        );
        for (trips, want) in TRIPS.into_iter().zip(want) {
            let known = format!(
                "program known {{ buffer out: writeonly u32[3]; \
                 launch domain(3) {{ var v: u32 = 0; {} store out[point.x] = v; }} }}",
                text(&trips.to_string())
            );
            let want = [(U32, elements(U32, [want; 3]))];
            run(backend, &format!("{name}, {trips} trips"), &known, &[], &want, &mut report);
        }
    }
    report
}
