//! Where each array of the program lives.
//!
//! The buffers that the program loads, stores or uses atomically are bound in declaration order; then come
//! the launch data, unless they are immediates, then the workgroup counts of an indirect launch, then scratch memory, if values cross grid barriers, then the
//! trap record, if the program has one. A buffer of
//! which only the length is read is not bound.

use std::collections::BTreeSet;

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{self, BufferId, Program};
use vyre_spec::{Access, Capability, DataType, DeviceProfile};

use crate::kernel::{ArrayDecl, Binding, Place, Role};
use crate::legalize::{device_type, per_word};

/// An array as the kernel addresses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// Where it is.
    pub(crate) place: Place,
    /// The type of its elements in memory.
    pub(crate) element: DataType,
    /// Their type in the program.
    pub(crate) logical: DataType,
    /// Whether a word holds several elements.
    pub(crate) packed: bool,
    /// Whether its elements in memory are atomic.
    pub(crate) atomic: bool,
    /// Its number of elements, if constant; otherwise the length of the buffer.
    pub(crate) len: Option<u32>,
}

/// The arrays of a program.
pub(crate) struct Bindings {
    pub(crate) bindings: Vec<Binding>,
    pub(crate) shared: Vec<ArrayDecl>,
    pub(crate) privates: Vec<ArrayDecl>,
    /// The binding of each buffer.
    numbers: Vec<Option<u32>>,
}

/// The type of elements in memory. Truth values are words; floats with atomics are their bits, unless
/// the device has native float atomics, which exist for buffers only. Narrower elements of shared and private
/// arrays take a word each, as the device computes them.
fn in_memory(logical: DataType, atomic: bool, native: bool) -> DataType {
    match logical {
        DataType::Bool => DataType::U32,
        DataType::F32 if atomic && !native => DataType::U32,
        other => device_type(other),
    }
}

/// The arrays of 16-bit floats that are vectors of four 16-bit floats in memory, as matrix engines take them: those
/// that tile ops address, which have no atomics, and in programs with tiles also the buffers that are only
/// loaded, since what is loaded there most often goes to tiles.
pub(crate) fn halves_in_tiles(program: &Program, facts: &Facts) -> BTreeSet<ir::Place> {
    let tile_ops = program.nodes().iter().filter_map(|node| match node {
        ir::Node::Tile { action, .. } => Some(action),
        _ => None,
    });
    let mut places: BTreeSet<ir::Place> = tile_ops.clone().filter_map(|action| action.place()).collect();
    if tile_ops.count() > 0 {
        let buffers = program.buffer_ids().map(ir::Place::Buffer);
        places.extend(buffers.filter(|&place| {
            let usage = facts.usage(place);
            usage.loaded && !usage.stored && !usage.atomic
        }));
    }
    places.retain(|&place| program.place(place).1 == DataType::F16);
    places
}

impl Bindings {
    /// Lays out the arrays.
    pub(crate) fn new(program: &Program, facts: &Facts, profile: &DeviceProfile) -> Self {
        let native = profile.capabilities.contains(Capability::AtomicFloat32);
        let mut layout =
            Self { bindings: Vec::new(), shared: Vec::new(), privates: Vec::new(), numbers: Vec::new() };
        let in_tiles = halves_in_tiles(program, facts);
        for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
            let usage = facts.usage(ir::Place::Buffer(id));
            if !(usage.loaded || usage.stored || usage.atomic) {
                layout.numbers.push(None);
                continue;
            }
            layout.numbers.push(Some(layout.bindings.len() as u32));
            let tiles = in_tiles.contains(&ir::Place::Buffer(id));
            let packed = per_word(buffer.element) > 1 && !tiles;
            layout.bindings.push(Binding {
                name: buffer.name.clone(),
                role: Role::Buffer(id),
                element: match (packed, tiles) {
                    (true, _) => DataType::U32,
                    (_, true) => buffer.element,
                    _ => in_memory(buffer.element, usage.atomic, native),
                },
                // Arrays of scalars have a stride of 16 bytes in uniform buffers, so these are storage.
                access: if buffer.access == Access::Uniform { Access::ReadOnly } else { buffer.access },
                // Elements that share a word are stored by atomics on the word.
                atomic: usage.atomic || packed && usage.stored,
                coherent: buffer.coherent,
                vector: if tiles { 4 } else { 1 },
                window: None,
            });
        }
        let array = |array: &ir::Array, atomic: bool, zero: bool| ArrayDecl {
            name: array.name.clone(),
            element: in_memory(array.element, atomic, false),
            len: array.len,
            atomic,
            zero,
            vector: 1,
        };
        for (i, decl) in program.shared().iter().enumerate() {
            let place = ir::Place::Shared(ir::SharedId::new(i as u32));
            let mut array = array(decl, facts.usage(place).atomic, false);
            if in_tiles.contains(&place) {
                // Whole vectors: what is past the end is never addressed.
                let len = decl.len.next_multiple_of(4);
                array = ArrayDecl { element: decl.element, len, vector: 4, ..array };
            }
            layout.shared.push(array);
        }
        layout.privates.extend(program.privates().iter().map(|decl| array(decl, false, true)));
        layout
    }

    /// Adds the bindings that are not buffers.
    pub(crate) fn close(&mut self, launch_data: bool, counts: bool, scratch: bool, trap: bool) {
        let words = |name: &str, role, access, atomic| Binding {
            name: name.to_owned(),
            role,
            element: DataType::U32,
            access,
            atomic,
            coherent: false,
            vector: 1,
            window: None,
        };
        if launch_data {
            self.bindings.push(words("launch_data", Role::LaunchData, Access::Uniform, false));
        }
        if counts {
            self.bindings.push(words("workgroup_counts", Role::Counts, Access::ReadOnly, false));
        }
        if scratch {
            self.bindings.push(words("grid_scratch", Role::Scratch, Access::ReadWrite, false));
        }
        if trap {
            self.bindings.push(words("trap_record", Role::Trap, Access::ReadWrite, true));
        }
    }

    /// Lets invocations store to a buffer's words as they are: no two of them store to the same one.
    pub(crate) fn own(&mut self, buffer: BufferId) {
        let number = self.number(buffer) as usize;
        if let Some(binding) = self.bindings.get_mut(number) {
            binding.atomic = false;
        }
    }

    /// Makes a binding or shared array an array of vectors.
    pub(crate) fn widen(&mut self, place: Place, vector: u32) {
        let widened = match place {
            Place::Binding(n) => self.bindings.get_mut(n as usize).map(|binding| &mut binding.vector),
            Place::Shared(n) => self.shared.get_mut(n as usize).map(|array| &mut array.vector),
            Place::Private(_) => None,
        };
        if let Some(widened) = widened {
            *widened = vector;
        }
    }

    /// The array that a place of the program names.
    pub(crate) fn storage(&self, program: &Program, place: ir::Place, count: Option<u32>) -> Storage {
        let logical = program.place(place).1;
        let mut packed = false;
        let (place, element, atomic, len) = match place {
            ir::Place::Buffer(id) => {
                let number = self.number(id);
                let binding = self.bindings.get(number as usize);
                let (element, atomic) = binding.map_or((logical, false), |b| (b.element, b.atomic));
                packed = per_word(logical) > 1 && per_word(element) == 1;
                (Place::Binding(number), element, atomic, count)
            }
            ir::Place::Shared(id) => {
                let decl = &self.shared[id.index()];
                (Place::Shared(id.raw()), decl.element, decl.atomic, Some(program.shared_array(id).len))
            }
            ir::Place::Private(id) => {
                let decl = &self.privates[id.index()];
                (Place::Private(id.raw()), decl.element, decl.atomic, Some(decl.len))
            }
        };
        Storage { place, element, logical, packed, atomic, len }
    }

    /// The binding of a buffer; none has the greatest number.
    pub(crate) fn number(&self, buffer: BufferId) -> u32 {
        self.numbers.get(buffer.index()).copied().flatten().unwrap_or(u32::MAX)
    }
}
