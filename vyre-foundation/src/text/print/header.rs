//! Declarations and the launch.

use super::Printer;
use crate::ir::ExtentOp;
use crate::ir::{Array, Count, Extent, ExtentId, Launch, Node};
use crate::text::words::write_program_name;

/// Nested operations that an extent's text may have; deeper and shared ones are named.
const DEEPEST: u32 = 8;

impl Printer<'_> {
    pub(super) fn header(&mut self) {
        let program = self.program;
        self.push("program ");
        write_program_name(&mut self.out, program.name());
        self.map.program = self.from(0);
        self.push(" {\n");
        self.indent = 1;
        for param in program.params() {
            let start = self.declaration("param", &param.name);
            self.push(param.ty.name());
            if param.specialize {
                self.push(" specialize");
            }
            let span = self.from(start);
            self.map.params.push(span);
            self.push(";\n");
        }
        let extents = self.named_extents();
        for buffer in program.buffers() {
            let start = self.declaration("buffer", &buffer.name);
            self.push(buffer.access.name());
            self.push(if buffer.coherent { " coherent " } else { " " });
            self.push(buffer.element.name());
            self.push("[");
            if let Count::Extent(extent) = buffer.count {
                self.extent(extent, &extents);
            }
            self.push("]");
            let span = self.from(start);
            self.map.buffers.push(span);
            self.push(";\n");
        }
        for array in program.shared() {
            let span = self.array("shared", array);
            self.map.shared.push(span);
        }
        for array in program.privates() {
            let span = self.array("private", array);
            self.map.privates.push(span);
        }
        for tile in program.tiles() {
            let start = self.declaration("tile", &tile.name);
            self.push(&tile.ty.to_string());
            let span = self.from(start);
            self.map.tiles.push(span);
            self.push(";\n");
        }
        self.stray_variables();
        self.push("\n");
        self.launch(&extents);
    }

    fn declaration(&mut self, word: &str, name: &str) -> u32 {
        self.line();
        let start = self.at();
        self.push(word);
        self.push(" ");
        self.name(name);
        self.push(": ");
        start
    }

    fn array(&mut self, word: &str, array: &Array) -> crate::text::Span {
        let start = self.declaration(word, &array.name);
        self.push(&format!("{}[{}]", array.element, array.len));
        let span = self.from(start);
        self.push(";\n");
        span
    }

    /// Declares the variables that no node declares once, before all that use them: programs that the
    /// checker refuses have such.
    fn stray_variables(&mut self) {
        let program = self.program;
        let mut declared = vec![None; program.vars().len()];
        for node in program.nodes() {
            match *node {
                Node::Declare { var, .. } => {
                    let state = &mut declared[var.index()];
                    *state = Some(state.is_none());
                }
                Node::Get { var } | Node::Set { var, .. } => {
                    declared[var.index()].get_or_insert(false);
                }
                _ => {}
            }
        }
        self.own_declaration = declared.into_iter().map(|state| state == Some(true)).collect();
        for (i, var) in program.vars().iter().enumerate() {
            if !self.own_declaration[i] {
                let start = self.declaration("var", &var.name);
                self.push(var.ty.name());
                self.map.vars[i] = self.from(start);
                self.push(";\n");
            }
        }
    }

    fn launch(&mut self, extents: &[Option<u32>]) {
        self.line();
        self.push("launch ");
        match self.program.launch() {
            Launch::Domain { extent, axes } => {
                // Past the named axes, a domain has one point.
                let one = |x: &ExtentId| *self.program.extent(*x) == Extent::Literal(1);
                let plain = (1..=3).contains(&axes) && extent.iter().skip(axes.into()).all(one);
                self.push("domain(");
                self.extents(extent.get(..if plain { axes.into() } else { 3 }).unwrap_or(&extent), extents);
                self.push(")");
                if !plain {
                    self.push(&format!(" axes {axes}"));
                }
            }
            Launch::Workgroups { size, count } => {
                self.push("workgroups(");
                let one = |x: &ExtentId| *self.program.extent(*x) == Extent::Literal(1);
                let used = count.iter().rposition(|x| !one(x)).map_or(1, |i| i + 1);
                self.extents(count.get(..used).unwrap_or(&count), extents);
                self.push(") ");
                self.size(size);
            }
            Launch::Indirect { size, counts } => {
                self.push("indirect(");
                self.name(&self.program.buffer(counts).name);
                self.push(") ");
                self.size(size);
            }
        }
        self.push(" {\n");
        self.indent += 1;
    }

    /// The size of workgroups; axes of 1 at the end are left out.
    fn size(&mut self, size: [u32; 3]) {
        let used = size.iter().rposition(|&n| n != 1).map_or(1, |i| i + 1);
        let sizes: Vec<_> = size.iter().take(used).map(u32::to_string).collect();
        self.push(&format!("size({})", sizes.join(", ")));
    }

    fn extents(&mut self, list: &[ExtentId], names: &[Option<u32>]) {
        for (i, &x) in list.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.extent(x, names);
        }
    }

    /// Names the shared and the deep extents, operands before users; gives their names' numbers.
    fn named_extents(&mut self) -> Vec<Option<u32>> {
        let extents = self.program.extents();
        let mut uses = vec![0u32; extents.len()];
        let counts = self.program.buffers().iter().filter_map(|buffer| match buffer.count {
            Count::Extent(x) => Some(x),
            Count::Bytes => None,
        });
        let operands = extents.iter().filter_map(Extent::operands).flatten();
        let launch = self.program.launch().extents().into_iter().flatten();
        for x in counts.chain(launch).chain(operands) {
            uses[x.index()] = uses[x.index()].saturating_add(1);
        }
        let mut names = vec![None; extents.len()];
        let mut depths = vec![0u32; extents.len()];
        for (i, extent) in extents.iter().enumerate() {
            let Some([a, b]) = extent.operands() else { continue };
            let depth = 1 + depths[a.index()].max(depths[b.index()]);
            if uses[i] <= 1 && depth <= DEEPEST {
                depths[i] = depth;
                continue;
            }
            let number = self.fresh('x');
            self.line();
            self.push(&format!("extent x{number} = "));
            self.extent(ExtentId::new(i as u32), &names);
            self.push(";\n");
            names[i] = Some(number);
        }
        names
    }

    /// Writes an extent; nesting is bounded, for deep ones are named.
    fn extent(&mut self, root: ExtentId, names: &[Option<u32>]) {
        enum Piece {
            Extent(ExtentId, u8),
            Text(&'static str),
        }
        let mut pieces = vec![Piece::Extent(root, 0)];
        while let Some(piece) = pieces.pop() {
            let (id, least) = match piece {
                Piece::Text(text) => {
                    self.push(text);
                    continue;
                }
                Piece::Extent(id, least) => (id, least),
            };
            if let Some(number) = names[id.index()] {
                self.push(&format!("x{number}"));
                continue;
            }
            let extent = *self.program.extent(id);
            match (ExtentOp::of(extent), extent) {
                (Some((op, a, b)), _) if op.precedence > 0 => {
                    let parens = op.precedence < least;
                    if parens {
                        self.push("(");
                        pieces.push(Piece::Text(")"));
                    }
                    pieces.push(Piece::Extent(b, op.precedence + 1));
                    pieces.extend([Piece::Text(" "), Piece::Text(op.text), Piece::Text(" ")]);
                    pieces.push(Piece::Extent(a, op.precedence));
                }
                (Some((op, a, b)), _) => {
                    self.push(op.text);
                    self.push("(");
                    pieces.push(Piece::Text(")"));
                    pieces.push(Piece::Extent(b, 0));
                    pieces.push(Piece::Text(", "));
                    pieces.push(Piece::Extent(a, 0));
                }
                (None, Extent::Literal(n)) => self.push(&n.to_string()),
                (None, Extent::Param(id)) => self.name(&self.program.param(id).name),
                (None, Extent::Length(id)) => {
                    self.push("len(");
                    self.name(&self.program.buffer(id).name);
                    self.push(")");
                }
                // Every extent with operands has a row.
                (None, _) => {}
            }
        }
    }
}
