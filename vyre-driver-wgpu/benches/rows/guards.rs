//! What bounds checks cost: three programs with every access guarded, proven by a contract that the launch
//! keeps, or proven outright, each against the same work without any check.

use vyre_driver::{BackendError, VyreBackend};
use vyre_driver_wgpu::descriptors;
use vyre_foundation::build::{Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{CompileOptions, MemoryOrdering};

use super::kernels::built;
use super::raw::wgsl;
use super::{Bench, Resident, Row, arithmetic, folded, params, saxpy_expected, small_floats, words};

/// How the program's accesses are known to be in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An offset that is loaded, and is 0, stands against a proof.
    Guarded,
    /// The launch's own numbers decide.
    Contract,
    /// Whatever the launch.
    Proven,
}

const FORMS: [Form; 3] = [Form::Guarded, Form::Contract, Form::Proven];

impl Form {
    /// Whether a descriptor's text shows this form and none that is worse.
    fn is_that_of(self, descriptor: &str) -> bool {
        let shows = |what: &str| descriptor.contains(what);
        match self {
            Self::Guarded => shows("// guarded"),
            Self::Contract => shows("// contract") && !shows("// guarded"),
            Self::Proven => shows("// proven") && !shows("// guarded") && !shows("// contract"),
        }
    }

    fn pick<T>(self, [guarded, contract, proven]: [T; 3]) -> T {
        match self {
            Self::Guarded => guarded,
            Self::Contract => contract,
            Self::Proven => proven,
        }
    }

    /// What may be asked: a guard may cost, a proof may not.
    fn asked(self) -> f64 {
        self.pick([f64::INFINITY, 1.02, 1.02])
    }
}

/// The offset of the guarded form, from a buffer of one element.
fn offset<'k>(k: &'k Kernel, form: Form) -> impl Fn(Val<'k, u32>) -> Val<'k, u32> {
    let offset = (form == Form::Guarded).then(|| k.read_only::<u32>("offset").with_len(1));
    move |index| offset.map_or(index, |offset| index + offset.load(0u32))
}

fn saxpy(form: Form) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let mut y = k.read_write::<f32>("y");
        if form == Form::Proven {
            y = y.with_len(x.len());
        }
        let at = offset(k, form);
        k.domain([y.len()], |[i]| {
            let i = at(i);
            y.store(i, a * x.load(i) + y.load(i));
        });
    }))
}

fn reduction(form: Form, n: u32) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("reduction", |k| {
        let source = k.read_only::<u32>("source").with_len(u64::from(n));
        let at = offset(k, form);
        let groups = u64::from(n / 256);
        let sums = k.write_only::<u32>("sums", groups);
        let tile = k.shared::<u32>("tile", 256);
        k.workgroups([256], [groups], |group| {
            let lane = group.local_index;
            let id = if form == Form::Proven { group.id[0].min(n / 256 - 1) } else { group.id[0] };
            tile.store(lane, source.load(at(id * 256 + lane)));
            k.barrier(MemoryOrdering::Workgroup);
            k.for_(0, 8, |halving| {
                let width = 128u32 >> halving;
                k.if_(lane.lt(width), || {
                    tile.store(lane, tile.load(lane) + tile.load((lane + width) & 255));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            k.if_(lane.eq(0), || sums.store(id, tile.load(0u32)));
        });
    }))
}

fn matmul(form: Form, n: u32) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("matmul", |k| {
        let elements = u64::from(n) * u64::from(n);
        let a = k.read_only::<f32>("a").with_len(elements);
        let b = k.read_only::<f32>("b").with_len(elements);
        let at = offset(k, form);
        let c = k.write_only::<f32>("c", elements);
        let (tile_a, tile_b) = (k.shared::<f32>("tile_a", 256), k.shared::<f32>("tile_b", 256));
        let tiles = u64::from(n / 16);
        k.workgroups([16, 16], [tiles, tiles], |group| {
            let [x, y, _] = group.local_id;
            let id = [group.id[0], group.id[1]]
                .map(|id| if form == Form::Proven { id.min(n / 16 - 1) } else { id });
            let (column, row) = (id[0] * 16 + x, id[1] * 16 + y);
            let here = y * 16 + x;
            let sum = k.var("sum", 0.0f32);
            k.for_step(0u32, n, 16, |step| {
                tile_a.store(here, a.load(at(row * n + step + x)));
                tile_b.store(here, b.load(at((step + y) * n + column)));
                k.barrier(MemoryOrdering::Workgroup);
                k.for_(0u32, 16, |i| {
                    sum.set(sum.get() + tile_a.load(y * 16 + i) * tile_b.load(i * 16 + x));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            c.store(row * n + column, sum.get());
        });
    }))
}

impl Bench<'_> {
    /// Every program in every form.
    pub(super) fn guards(&self, done: &mut dyn FnMut(&Row)) -> Result<Vec<Row>, BackendError> {
        let mut rows = Vec::new();
        for of in [Self::guarded_saxpy, Self::guarded_reduction, Self::guarded_matmul] {
            for form in FORMS {
                let row = of(self, form)?;
                done(&row);
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Whether a program is lowered to the form that its row is about.
    fn shows(&self, form: Form, program: &Checked<Program>) -> bool {
        let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
        descriptors(program, self.backend.profile(), &options)
            .is_ok_and(|lowered| lowered.kernels.iter().all(|kernel| form.is_that_of(&kernel.to_string())))
    }

    fn guarded_saxpy(&self, form: Form) -> Result<Row, BackendError> {
        let n = 1usize << 24;
        let (x, y) = (small_floats(n), small_floats(n));
        let program = saxpy(form)?;
        let offset: &[u8] = &[0; 4];
        let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&y), offset];
        let ours = Resident::new(self, &program, params(), &inputs[..form.pick([3, 2, 2])], &[])?;
        let bytes = n as u64 * 4;
        let job = self.job(wgsl::SAXPY_VEC4, &[bytes, bytes], folded(n as u64 / 4), bytes);
        job.upload(0, bytemuck::cast_slice(&x));
        job.upload(1, bytemuck::cast_slice(&y));
        let once = ours.list(1);
        ours.run(&once)?;
        let expected = saxpy_expected(&x, &y);
        let right = ours.read(1)? == bytemuck::cast_slice::<_, u8>(&expected);
        let name = form.pick([
            "saxpy 16 M, guarded (raw: unchecked)",
            "saxpy 16 M, by contract (raw: unchecked)",
            "saxpy 16 M, proven (raw: unchecked)",
        ]);
        let correct = right && self.shows(form, &program);
        self.time(name, form.asked(), correct, &mut || ours.run(&once), &mut || job.run(1))
    }

    fn guarded_reduction(&self, form: Form) -> Result<Row, BackendError> {
        let n = 1usize << 22;
        let source = words(n);
        let expected: Vec<u32> =
            source.chunks(256).map(|c| c.iter().fold(0u32, |s, w| s.wrapping_add(*w))).collect();
        let program = reduction(form, n as u32)?;
        let bytes = n as u64 * 4;
        let inputs = [bytemuck::cast_slice(&source), &[0; 4][..]];
        let inputs = &inputs[..form.pick([2, 1, 1])];
        let ours = Resident::new(self, &program, Params::new(), inputs, &[bytes / 256])?;
        let job = self.job(wgsl::REDUCTION, &[bytes, bytes / 256], [(n / 256) as u32, 1, 1], bytes / 256);
        job.upload(0, bytemuck::cast_slice(&source));
        let once = ours.list(1);
        ours.run(&once)?;
        let right = ours.read(inputs.len())? == bytemuck::cast_slice::<_, u8>(&expected);
        let name = form.pick([
            "workgroup reduction 4 M, guarded (raw: unchecked)",
            "workgroup reduction 4 M, by contract (raw: unchecked)",
            "workgroup reduction 4 M, proven (raw: unchecked)",
        ]);
        let correct = right && self.shows(form, &program);
        self.time(name, form.asked(), correct, &mut || ours.run(&once), &mut || job.run(1))
    }

    fn guarded_matmul(&self, form: Form) -> Result<Row, BackendError> {
        let rows = self.effort.matmul_rows;
        let n = rows as usize;
        let (a, b) = (small_floats(n * n), small_floats(n * n));
        let program = matmul(form, rows)?;
        let bytes = (n * n * 4) as u64;
        let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b), &[0; 4][..]];
        let inputs = &inputs[..form.pick([3, 2, 2])];
        let ours = Resident::new(self, &program, Params::new(), inputs, &[bytes])?;
        let job = self.job(&wgsl::matmul(rows), &[bytes; 3], [rows / 16, rows / 16, 1], bytes);
        job.upload(0, bytemuck::cast_slice(&a));
        job.upload(1, bytemuck::cast_slice(&b));
        let once = ours.list(1);
        ours.run(&once)?;
        let result = ours.read(inputs.len())?;
        let right = arithmetic::product_is_right(&a, &b, bytemuck::cast_slice(&result), n);
        let name = form.pick([
            "tiled matmul, guarded (raw: unchecked)",
            "tiled matmul, by contract (raw: unchecked)",
            "tiled matmul, proven (raw: unchecked)",
        ]);
        let correct = right && self.shows(form, &program);
        self.time(name, form.asked(), correct, &mut || ours.run(&once), &mut || job.run(1))
    }
}
