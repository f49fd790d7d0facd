//! The text of descriptors, for people: what a program became. It is not read back.

use std::fmt;

use vyre_spec::Access;

use super::{BlockId, InstId, KernelDescriptor, LaunchField, Op, Place, Proof, Role, TileMemory, TileOp};

impl fmt::Display for KernelDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup_size;
        writeln!(f, "kernel `{}`", self.name)?;
        writeln!(f, "  workgroup_size {x} {y} {z}")?;
        let extent = if self.grid.points { "points" } else { "workgroups" };
        let folded = if self.grid.folded { ", folded" } else { "" };
        let run =
            if self.grid.run > 1 { format!(", {} to an invocation", self.grid.run) } else { String::new() };
        writeln!(f, "  grid over {extent}{run}{folded}")?;
        writeln!(f, "  float {}", if self.strict_float { "strict" } else { "relaxed" })?;
        for capability in self.needs.iter() {
            writeln!(f, "  needs {}", capability.name())?;
        }
        for (number, condition) in self.contract.conditions().enumerate() {
            writeln!(f, "  contract c{number}: {condition}")?;
        }
        for (number, binding) in self.bindings.iter().enumerate() {
            let role = match binding.role {
                Role::Buffer(_) => "buffer",
                Role::LaunchData => "launch data",
                Role::Counts => "workgroup counts",
                Role::Scratch => "scratch",
                Role::Trap => "trap record",
            };
            let atomic = if binding.atomic { "atomic " } else { "" };
            let coherent = if binding.coherent { "coherent " } else { "" };
            let vectors = in_vectors(binding.vector);
            let window = match binding.window {
                Some(window) => format!(", window {} of {} bytes", window.index, window.bytes),
                None => String::new(),
            };
            let (access, element) = (Access::name(binding.access), binding.element);
            writeln!(
                f,
                "  binding {number} `{}`: {role}, {access} {coherent}{atomic}{element}{vectors}{window}",
                binding.name
            )?;
        }
        for note in &self.notes {
            match note.place {
                None => writeln!(f, "  single points: {}", note.why)?,
                Some(place) => writeln!(f, "  single elements of {}: {}", self.name_of(place), note.why)?,
            }
        }
        let home = if self.launch.immediates { "immediates" } else { "uniform" };
        for (word, field) in self.launch.fields.iter().enumerate() {
            writeln!(f, "  launch {word} ({home}): {}", Field(*field))?;
        }
        for (space, arrays) in [("shared", &self.shared), ("private", &self.privates)] {
            for (number, array) in arrays.iter().enumerate() {
                let atomic = if array.atomic { "atomic " } else { "" };
                let zero = if array.zero { ", zero at first" } else { "" };
                let vectors = in_vectors(array.vector);
                let (name, element, len) = (&array.name, array.element, array.len);
                writeln!(f, "  {space} {number} `{name}`: {atomic}{element} × {len}{zero}{vectors}")?;
            }
        }
        for (number, ty) in self.tiles.iter().enumerate() {
            writeln!(f, "  tile {number}: {ty}")?;
        }
        for (number, ty) in self.locals.iter().enumerate() {
            writeln!(f, "  local {number}: {ty}")?;
        }
        self.body(f)
    }
}

/// Says that an array is one of vectors.
fn in_vectors(vector: u32) -> String {
    if vector > 1 { format!(", in vectors of {vector}") } else { String::new() }
}

/// What is still to be printed, innermost last.
enum Pending<'a> {
    /// The rest of a block.
    Block(std::slice::Iter<'a, InstId>),
    /// A line between or after blocks; the indentation goes back for it, and forward after `{`.
    Line(&'static str),
}

impl KernelDescriptor {
    fn body(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = |id: BlockId| Pending::Block(self.blocks.get(id.index()).map_or([].iter(), |b| b.iter()));
        let mut indent = 1;
        let mut stack = vec![Pending::Line("}"), block(BlockId(0))];
        writeln!(f, "{{")?;
        while let Some(pending) = stack.pop() {
            let mut insts = match pending {
                Pending::Line(line) => {
                    indent -= 1;
                    writeln!(f, "{:width$}{line}", "", width = 2 * indent)?;
                    indent += usize::from(line.ends_with('{'));
                    continue;
                }
                Pending::Block(insts) => insts,
            };
            while let Some(&id) = insts.next() {
                let Some(inst) = self.insts.get(id.index()) else { continue };
                write!(f, "{:width$}", "", width = 2 * indent)?;
                let blocks = match inst.op {
                    Op::If { condition, then, otherwise } => {
                        writeln!(f, "if %{} {{", condition.0)?;
                        [then, otherwise].map(block)
                    }
                    Op::Loop { body, continuing } => {
                        writeln!(f, "loop {{")?;
                        [body, continuing].map(block)
                    }
                    _ => {
                        if let Some(ty) = inst.ty {
                            write!(f, "%{}: {ty} = ", id.0)?;
                        }
                        self.op(f, &inst.op)?;
                        if let Some(&proof) = self.unguarded.get(&id) {
                            write!(f, "{}", Reason(proof))?;
                        }
                        writeln!(f)?;
                        continue;
                    }
                };
                let between = if matches!(inst.op, Op::If { .. }) { "} else {" } else { "} continuing {" };
                let [first, second] = blocks;
                stack.push(Pending::Block(insts));
                stack.extend([Pending::Line("}"), second, Pending::Line(between), first]);
                indent += 1;
                break;
            }
        }
        Ok(())
    }

    /// One instruction without blocks.
    fn op(&self, f: &mut fmt::Formatter<'_>, op: &Op) -> fmt::Result {
        match *op {
            Op::Constant(value) => write!(f, "{value:?}"),
            Op::Launch(word) => match self.launch.fields.get(word as usize) {
                Some(field) => write!(f, "launch {word} ({})", Field(*field)),
                None => write!(f, "launch {word}"),
            },
            Op::WorkgroupId(axis) => write!(f, "workgroup_id.{}", axis.name()),
            Op::LocalId(axis) => write!(f, "local_id.{}", axis.name()),
            Op::LocalIndex => f.write_str("local_index"),
            Op::SubgroupLane => f.write_str("subgroup_lane"),
            Op::SubgroupId => f.write_str("subgroup_id"),
            Op::SubgroupSize => f.write_str("subgroup_size"),
            Op::Unary(op, a) => write!(f, "{} %{}", op.name(), a.0),
            Op::Binary(op, a, b) => write!(f, "{} %{}, %{}", op.name(), a.0, b.0),
            Op::Ternary(op, a, b, c) => write!(f, "{} %{}, %{}, %{}", op.name(), a.0, b.0, c.0),
            Op::Cast(op, a) => write!(f, "{} %{}", op.name(), a.0),
            Op::Load { place, index, proof } => {
                write!(f, "load {}[%{}]{}", self.name_of(place), index.0, Reason(proof))
            }
            Op::Store { place, index, value, proof } => {
                write!(f, "store {}[%{}], %{}{}", self.name_of(place), index.0, value.0, Reason(proof))
            }
            Op::Atomic { op, place, index, value, expected, proof } => {
                write!(f, "{} {}[%{}], %{}", op.name(), self.name_of(place), index.0, value.0)?;
                if let Some(expected) = expected {
                    write!(f, ", expected %{}", expected.0)?;
                }
                write!(f, "{}", Reason(proof))
            }
            Op::LoadVector { place, index, proof } => {
                write!(f, "load_vector {}[%{}]{}", self.name_of(place), index.0, Reason(proof))
            }
            Op::Part { vector, part } => write!(f, "part {part} of %{}", vector.0),
            Op::StoreVector { place, index, values, width, proof } => {
                write!(f, "store_vector {}[%{}]", self.name_of(place), index.0)?;
                for value in values.iter().take(width as usize) {
                    write!(f, ", %{}", value.0)?;
                }
                write!(f, "{}", Reason(proof))
            }
            Op::UnpackHalf { word, part } => write!(f, "unpack_half {part} of %{}", word.0),
            Op::PackHalves(a, b) => write!(f, "pack_halves %{}, %{}", a.0, b.0),
            Op::Get(local) => write!(f, "get local {}", local.0),
            Op::Set(local, value) => write!(f, "set local {}, %{}", local.0, value.0),
            Op::Break => f.write_str("break"),
            Op::Continue => f.write_str("continue"),
            Op::Return => f.write_str("return"),
            Op::Barrier { storage, workgroup } | Op::Fence { storage, workgroup } => {
                let waits = matches!(op, Op::Barrier { .. });
                f.write_str(if waits { "barrier" } else { "fence" })?;
                f.write_str(if storage { " storage" } else { "" })?;
                f.write_str(if workgroup { " workgroup" } else { "" })
            }
            Op::Subgroup { op, value, lane } => {
                write!(f, "{} %{}", op.name(), value.0)?;
                lane.map_or(Ok(()), |lane| write!(f, ", lane %{}", lane.0))
            }
            Op::Tile { tile, op } => self.tile(f, tile, &op),
            // The walk over blocks prints these.
            Op::If { .. } | Op::Loop { .. } => Ok(()),
        }
    }

    fn tile(&self, f: &mut fmt::Formatter<'_>, tile: u32, op: &TileOp) -> fmt::Result {
        let memory = |f: &mut fmt::Formatter<'_>, word: &str, m: &TileMemory| {
            let (place, index, stride) = (self.name_of(m.place), m.index.0, m.stride.0);
            write!(f, "{word} tile {tile}, {place}[%{index}], %{stride}, {}{}", m.layout, Reason(m.proof))
        };
        match op {
            TileOp::Zero => write!(f, "zero tile {tile}"),
            TileOp::Load(m) => memory(f, "load", m),
            TileOp::Store(m) => memory(f, "store", m),
            TileOp::MultiplyAdd(a, b, c) => write!(f, "multiply_add tile {tile}, {a}, {b}, {c}"),
            TileOp::Add(a, b) => write!(f, "add tile {tile}, {a}, {b}"),
            TileOp::Subtract(a, b) => write!(f, "subtract tile {tile}, {a}, {b}"),
            TileOp::Scale(a, factor) => write!(f, "scale tile {tile}, {a}, %{}", factor.0),
        }
    }

    /// An array's name, or its number where it has none.
    fn name_of(&self, place: Place) -> String {
        let (name, number) = match place {
            Place::Binding(n) => (self.bindings.get(n as usize).map(|b| &b.name), n),
            Place::Shared(n) => (self.shared.get(n as usize).map(|a| &a.name), n),
            Place::Private(n) => (self.privates.get(n as usize).map(|a| &a.name), n),
        };
        name.map_or_else(|| format!("#{number}"), |name| format!("`{name}`"))
    }
}

/// Why an access is in bounds, as a comment.
struct Reason(Proof);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Proof::Guarded(why) => write!(f, "  // guarded: {why}"),
            Proof::Proven(why) => write!(f, "  // proven: {why}"),
            Proof::Contract(conditions) => {
                f.write_str("  // contract:")?;
                let numbers = (0..u64::BITS).filter(|n| conditions >> n & 1 == 1);
                for (turn, number) in numbers.enumerate() {
                    write!(f, "{} c{number}", if turn > 0 { "," } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// What a word of launch data holds.
struct Field(LaunchField);

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            LaunchField::Param(id) => write!(f, "parameter {}", id.raw()),
            LaunchField::ParamHigh(id) => write!(f, "parameter {}, upper half", id.raw()),
            LaunchField::Length(id) => write!(f, "length of buffer {}", id.raw()),
            LaunchField::Extent(axis) => write!(f, "extent {}", axis.name()),
            LaunchField::WorkgroupCount(axis) => write!(f, "workgroups {}", axis.name()),
            LaunchField::GridCount(axis) => write!(f, "grid {}", axis.name()),
            LaunchField::LoopVar(number) => write!(f, "variable of unrolled loop {number}"),
            LaunchField::LoopVarHigh(number) => write!(f, "variable of unrolled loop {number}, upper half"),
            LaunchField::Zero => f.write_str("zero"),
        }
    }
}

#[cfg(test)]
mod tests {
    use vyre_foundation::build::Kernel;
    use vyre_spec::{CompileOptions, DeviceProfile};

    #[test]
    fn blocks_are_indented_and_accesses_say_why_they_are_in_bounds() {
        let program = Kernel::build("sum", |k| {
            let x = k.read_only::<u32>("x");
            let out = k.read_write::<u32>("out").with_len(x.len());
            k.domain([x.len()], |[i]| {
                let sum = k.var("sum", 0u32);
                k.for_(0u32, x.load(i), |j| {
                    k.if_else(j.eq(3u32), || k.break_(), || sum.set(sum.get() + j));
                });
                out.store(i, sum.get());
            });
        })
        .unwrap();
        let kernel = crate::lower(&program, &DeviceProfile::reference(), &CompileOptions::default()).unwrap();
        let text = kernel.to_string();
        assert!(text.starts_with("kernel `sum`\n  workgroup_size "), "{text}");
        for line in ["  binding 0 `x`: buffer, readonly u32", "  local 0: u32"] {
            assert!(text.lines().any(|l| l == line), "`{line}` is missing:\n{text}");
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let at = |what: &str| text.lines().find(|l| l.trim_start().starts_with(what)).map(indent);
        assert_eq!(at("loop {"), Some(4), "{text}");
        assert_eq!(at("} continuing {"), Some(4), "{text}");
        assert_eq!(at("break"), Some(8), "{text}");
        assert!(text.lines().any(|l| l.contains("load `x`[%") && l.contains("  // ")), "{text}");
        assert!(text.ends_with("\n}\n"), "{text}");
        let (open, close) = (text.matches('{').count(), text.matches('}').count());
        assert_eq!(open, close, "{text}");
    }
}
