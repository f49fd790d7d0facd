//! What the executor needs of a kernel besides its code: bindings, launch data and grid rule, as bytes.

use std::collections::BTreeMap;

use vyre_driver::codec::{CodecError, Reader, Writer};
use vyre_foundation::ir::{BufferId, Launch, ParamId, Program};
use vyre_lower::kernel::{
    Binding, Contract, GridRule, KernelDescriptor, LaunchData, LaunchField, Role, VerifiedKernel, verify,
};
use vyre_spec::{Access, Axis, CapabilitySet, DataType};

/// The bytes of a kernel's outline, or what of it has no byte form.
pub(super) fn encode(kernel: &KernelDescriptor) -> Result<Vec<u8>, &'static str> {
    let mut out = Writer::default();
    out.u8(u8::from(kernel.grid.points));
    out.u32(kernel.grid.run);
    out.u8(u8::from(kernel.grid.folded));
    out.u32(kernel.bindings.len() as u32);
    for binding in &kernel.bindings {
        if binding.window.is_some() {
            return Err("a buffer that is bound in windows");
        }
        out.string(binding.name.as_bytes());
        let (role, id) = match binding.role {
            Role::Buffer(id) => (0, id.raw()),
            Role::LaunchData => (1, 0),
            Role::Trap => (2, 0),
            Role::Counts => (3, 0),
            Role::Scratch => return Err("scratch memory that lives across grid barriers"),
        };
        out.u8(role);
        out.u32(id);
        out.u8(binding.element.tag());
        out.u8(binding.access as u8);
        out.u8(u8::from(binding.atomic));
    }
    out.u8(u8::from(kernel.launch.immediates));
    out.u32(kernel.launch.fields.len() as u32);
    for field in &kernel.launch.fields {
        let (tag, id) = match *field {
            LaunchField::Param(id) => (0, id.raw()),
            LaunchField::Length(id) => (1, id.raw()),
            LaunchField::Extent(axis) => (2, axis as u32),
            LaunchField::WorkgroupCount(axis) => (3, axis as u32),
            LaunchField::GridCount(axis) => (4, axis as u32),
            LaunchField::Zero => (5, 0),
            LaunchField::ParamHigh(id) => (6, id.raw()),
            _ => return Err("launch data of a kind that payloads do not hold"),
        };
        out.u8(tag);
        out.u32(id);
    }
    out.string(&kernel.contract.to_bytes());
    Ok(out.0)
}

/// Reads an outline of a kernel of `program`. It has no instructions: what runs is the payload's code.
pub(super) fn decode(
    bytes: &[u8],
    entry_point: &str,
    workgroup_size: [u32; 3],
    program: &Program,
) -> Result<VerifiedKernel, String> {
    let mut reader = Reader::new(bytes);
    let outline = read(&mut reader, program).map_err(|error| format!("in its layout, {error}"))?;
    let Outline { grid, bindings, launch, contract } = outline;
    let kernel = KernelDescriptor {
        name: entry_point.to_owned(),
        workgroup_size,
        grid,
        bindings,
        launch,
        shared: Vec::new(),
        privates: Vec::new(),
        tiles: Vec::new(),
        locals: Vec::new(),
        insts: Vec::new(),
        blocks: vec![Vec::new()],
        unguarded: BTreeMap::new(),
        contract,
        needs: CapabilitySet::EMPTY,
        notes: Vec::new(),
        strict_float: false,
    };
    // What was read is canonical: there is one byte form for each outline.
    if encode(&kernel).ok().as_deref() != Some(bytes) {
        return Err("its layout has bytes that mean nothing".to_owned());
    }
    fits(&kernel, program)?;
    verify(kernel).map_err(|error| format!("its layout is wrong: {error}"))
}

struct Outline {
    grid: GridRule,
    bindings: Vec<Binding>,
    launch: LaunchData,
    contract: Contract,
}

fn read(reader: &mut Reader<'_>, program: &Program) -> Result<Outline, CodecError> {
    let malformed = |at, what| Err(CodecError::Malformed { at, what });
    let grid = GridRule { points: reader.flag()?, run: reader.u32()?, folded: reader.flag()? };
    let mut bindings = Vec::new();
    for _ in 0..reader.u32()? {
        let at = reader.at();
        let Ok(name) = String::from_utf8(reader.string()?.to_vec()) else {
            return malformed(at, "a name that is not UTF-8");
        };
        let [role] = reader.array()?;
        let id = reader.u32()?;
        let role = match role {
            0 if (id as usize) < program.buffers().len() => Role::Buffer(BufferId::new(id)),
            1 => Role::LaunchData,
            2 => Role::Trap,
            3 => Role::Counts,
            _ => return malformed(at, "a binding of nothing"),
        };
        let ([element], [access]) = (reader.array()?, reader.array()?);
        let Some(element) = DataType::from_tag(element) else { return malformed(at, "an unknown type") };
        let Some(access) = Access::ALL.into_iter().find(|known| *known as u8 == access) else {
            return malformed(at, "an unknown access");
        };
        bindings.push(Binding {
            name,
            role,
            element,
            access,
            atomic: reader.flag()?,
            // A matter of the code, which is there already.
            coherent: false,
            vector: 1,
            window: None,
        });
    }
    let immediates = reader.flag()?;
    let mut fields = Vec::new();
    for _ in 0..reader.u32()? {
        let at = reader.at();
        let [tag] = reader.array()?;
        let id = reader.u32()?;
        let axis = Axis::ALL.into_iter().find(|axis| *axis as u32 == id);
        fields.push(match (tag, axis) {
            (0, _) if (id as usize) < program.params().len() => LaunchField::Param(ParamId::new(id)),
            (1, _) if (id as usize) < program.buffers().len() => LaunchField::Length(BufferId::new(id)),
            (2, Some(axis)) => LaunchField::Extent(axis),
            (3, Some(axis)) => LaunchField::WorkgroupCount(axis),
            (4, Some(axis)) => LaunchField::GridCount(axis),
            (5, _) => LaunchField::Zero,
            (6, _) if (id as usize) < program.params().len() => LaunchField::ParamHigh(ParamId::new(id)),
            _ => return malformed(at, "launch data of nothing"),
        });
    }
    let at = reader.at();
    let Some(contract) = Contract::from_bytes(reader.string()?, program) else {
        return malformed(at, "a contract of nothing");
    };
    Ok(Outline { grid, bindings, launch: LaunchData { fields, immediates }, contract })
}

/// Whether a kernel may stand for the program: it launches the same way, and writes no buffer that the program
/// only reads.
fn fits(kernel: &KernelDescriptor, program: &Program) -> Result<(), String> {
    let refuse = |why: &str| Err(why.to_owned());
    match program.launch() {
        Launch::Domain { .. } if !kernel.grid.points => return refuse("the program launches a domain"),
        Launch::Workgroups { .. } | Launch::Indirect { .. } if kernel.grid.points => {
            return refuse("the program launches workgroups");
        }
        Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } if size != kernel.workgroup_size => {
            return refuse("its workgroup size is not the program's");
        }
        Launch::Workgroups { .. } if kernel.grid.run != 1 => {
            return refuse("its invocations compute several points of no domain");
        }
        Launch::Domain { .. } if kernel.grid.run == 0 => return refuse("its invocations compute no point"),
        _ => {}
    }
    let mut seen = Vec::new();
    for binding in &kernel.bindings {
        if seen.contains(&binding.role) {
            return refuse("it binds one thing twice");
        }
        seen.push(binding.role);
        if let Role::Buffer(id) = binding.role {
            if binding.access.is_output() && !program.buffer(id).access.is_output() {
                return refuse("it writes a buffer that the program only reads");
            }
        }
    }
    Ok(())
}
