//! Pictures as SVG, by a layout of our own.
//!
//! The layout puts each box into the row after the last of those that it reads, and boxes of a row side by side, near
//! the middle of what they read. It is linear in boxes and edges, but for sorting.

use std::fmt::Write as _;

use super::{Drawing, Kind};

/// Sizes in pixels.
const LETTER: usize = 7;
const LINE: usize = 18;
const GAP: usize = 28;
const ROW_GAP: usize = 56;
const MARGIN: usize = 20;

/// A box with its place: the corner, width and height.
#[derive(Clone, Copy, Default)]
struct Placed {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl Placed {
    fn middle(self) -> usize {
        self.x + self.width / 2
    }
}

/// The place of each box, and the size of the whole.
fn layout(drawing: &Drawing) -> (Vec<Placed>, usize, usize) {
    let mut row = vec![0usize; drawing.boxes.len()];
    let mut reads: Vec<Vec<usize>> = vec![Vec::new(); drawing.boxes.len()];
    for edge in &drawing.edges {
        if let Some(reads) = reads.get_mut(edge.to) {
            reads.push(edge.from);
        }
    }
    // Boxes stand after those that they read.
    for at in 0..row.len() {
        let above = reads.get(at).into_iter().flatten().filter_map(|&from| row.get(from)).max();
        let next = above.map_or(0, |above| above + 1);
        if let Some(row) = row.get_mut(at) {
            *row = next;
        }
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); row.iter().max().map_or(0, |last| last + 1)];
    for (at, &row) in row.iter().enumerate() {
        if let Some(row) = rows.get_mut(row) {
            row.push(at);
        }
    }
    let mut placed = vec![Placed::default(); drawing.boxes.len()];
    let (mut y, mut widest) = (MARGIN + LINE, drawing.title.len() * LETTER);
    for row in rows {
        let middle = |at: usize, placed: &[Placed]| {
            let above: Vec<_> =
                reads.get(at).into_iter().flatten().filter_map(|&from| placed.get(from)).collect();
            above.iter().map(|p| p.middle()).sum::<usize>().checked_div(above.len())
        };
        let mut wanted: Vec<_> = row.into_iter().map(|at| (middle(at, &placed), at)).collect();
        wanted.sort();
        let (mut x, mut tallest) = (MARGIN, 0);
        for (middle, at) in wanted {
            let Some(shown) = drawing.boxes.get(at) else { continue };
            let letters = shown.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
            let (width, height) = (letters * LETTER + GAP, shown.lines.len() * LINE + LINE / 2);
            let left = middle.map_or(x, |middle| x.max(middle.saturating_sub(width / 2)));
            if let Some(placed) = placed.get_mut(at) {
                *placed = Placed { x: left, y, width, height };
            }
            x = left + width + GAP;
            tallest = tallest.max(height);
        }
        widest = widest.max(x);
        y += tallest + ROW_GAP;
    }
    (placed, widest + MARGIN, y)
}

/// An SVG picture of drawings side by side.
pub(crate) fn svg(drawings: &[Drawing]) -> String {
    let mut body = String::new();
    let (mut left, mut height) = (0, 0);
    for drawing in drawings {
        let (placed, width, tall) = layout(drawing);
        let _ = writeln!(body, "<g transform=\"translate({left} 0)\">");
        let _ = writeln!(
            body,
            "<text class=\"t\" x=\"{MARGIN}\" y=\"{MARGIN}\">{}</text>",
            escaped(&drawing.title)
        );
        for edge in &drawing.edges {
            let (Some(from), Some(to)) = (placed.get(edge.from), placed.get(edge.to)) else { continue };
            let (x1, y1, x2, y2) = (from.middle(), from.y + from.height, to.middle(), to.y);
            let bend = (y2.saturating_sub(y1)) / 2;
            let _ = writeln!(
                body,
                "<path class=\"e\" d=\"M{x1} {y1} C{x1} {} {x2} {} {x2} {y2}\" marker-end=\"url(#a)\"><title>{}</title></path>",
                y1 + bend,
                y2.saturating_sub(bend),
                escaped(&edge.label)
            );
            let _ = writeln!(
                body,
                "<text class=\"l\" x=\"{}\" y=\"{}\">{}</text>",
                (x1 + x2) / 2 + 4,
                (y1 + y2) / 2,
                escaped(&edge.label)
            );
        }
        for (shown, at) in drawing.boxes.iter().zip(&placed) {
            let (class, round) = match shown.kind {
                Kind::Kernel => ("k", 2),
                Kind::Copy => ("c", 2),
                Kind::Source => ("s", 12),
                Kind::Output => ("o", 12),
            };
            let Placed { x, y, width, height } = *at;
            let _ = writeln!(
                body,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>"
            );
            for (line, text) in shown.lines.iter().enumerate() {
                let _ = writeln!(
                    body,
                    "<text class=\"b\" x=\"{}\" y=\"{}\">{}</text>",
                    at.middle(),
                    y + (line + 1) * LINE - LINE / 8,
                    escaped(text)
                );
            }
        }
        body.push_str("</g>\n");
        left += width + 2 * MARGIN;
        height = height.max(tall);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{left}\" height=\"{height}\" viewBox=\"0 0 {left} {height}\" \
         font-family=\"sans-serif\">\n<style>text{{font-size:12px}}.t{{font-size:14px;font-weight:bold}}.b{{text-anchor:middle}}\
         .l{{font-size:10px;fill:#666}}.e{{fill:none;stroke:#888}}rect{{stroke:#444}}.k{{fill:#dbe9fb}}.c{{fill:#f3e1c9}}\
         .s{{fill:#eee}}.o{{fill:#dcf2dc}}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#888\"/></marker></defs>\n\
         <rect width=\"{left}\" height=\"{height}\" fill=\"#fff\" stroke=\"none\"/>\n{body}</svg>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
