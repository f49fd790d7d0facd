//! The benchmark rows: Vyre against the same work on raw wgpu, in one process, in turn, results checked.

mod arithmetic;
mod graphs;
mod guards;
mod kernels;
mod kind;
mod packed;
mod queue;
#[path = "../raw/mod.rs"]
mod raw;
mod tiles;
mod warm;

pub(crate) use kind::Kind;
pub(crate) use warm::{Child, Side};

use std::sync::Arc;
use std::time::{Duration, Instant};

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, Resource, Span, VyreBackend,
};
use vyre_driver_wgpu::{WgpuBackend, wgpu};
use vyre_foundation::launch::Params;
use vyre_spec::{CompileOptions, Value};

use raw::{RawJob, wgsl};

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was done.
    pub(crate) name: &'static str,
    /// The ratio that is asked for, at most; infinite where none is.
    pub(crate) asked: f64,
    /// The ratio that a model predicts, where one does. `asked` is its upper side; a ratio far below is no failure, but
    /// says that the model leaves something out.
    pub(crate) predicted: Option<f64>,
    /// The median time of the Vyre side.
    pub(crate) vyre: Duration,
    /// The median time of the raw side.
    pub(crate) raw: Duration,
    /// How many pairs were timed.
    pub(crate) pairs: usize,
    /// Whether both sides gave the expected result.
    pub(crate) correct: bool,
    /// The float operations of one run, where their rate is of interest.
    pub(crate) operations: Option<f64>,
    /// The relative error of the less exact side in the Frobenius norm, where a result is not exact.
    pub(crate) error: Option<f64>,
}

impl Row {
    /// Vyre's median over raw's.
    pub(crate) fn ratio(&self) -> f64 {
        self.vyre.as_secs_f64() / self.raw.as_secs_f64()
    }

    /// The prediction for people, and whether the ratio is below it by more than [`LEEWAY`]; empty where there is none.
    pub(crate) fn prediction(&self) -> String {
        let Some(predicted) = self.predicted else { return String::new() };
        let below = if self.ratio() < predicted * (1.0 - LEEWAY) { ", less is measured" } else { "" };
        format!(", predicted {predicted:.3}{below}")
    }

    /// Float operations per second of the Vyre side, in units of 10^12.
    pub(crate) fn teraflops(&self) -> Option<f64> {
        self.operations.map(|operations| operations / self.vyre.as_secs_f64() / 1e12)
    }

    /// The same for people, with the error; empty where there is none.
    pub(crate) fn rate(&self) -> String {
        let rate = self.teraflops().map_or_else(String::new, |rate| format!(", {rate:.2} TFLOP/s"));
        let error = self.error.map_or_else(String::new, |error| format!(", error {error:.1e}"));
        rate + &error
    }
}

/// How far from its prediction a ratio may be, as a part of it.
const LEEWAY: f64 = 0.15;

/// Times one row.
type Timed<'a> = &'a dyn Fn() -> Result<Row, BackendError>;

/// How long each row is timed, at least three pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The time for a row's pairs.
    pub(crate) per_row: Duration,
    /// Pairs of a row, at most.
    pub(crate) max_pairs: usize,
    /// Rows of a square matrix product.
    pub(crate) matmul_rows: u32,
}

/// Times every row, or those of one kind, and calls `done` after each.
///
/// # Errors
/// If a program does not compile or run.
pub(crate) fn run(
    backend: &WgpuBackend,
    effort: Effort,
    only: Option<Kind>,
    child: Child<'_>,
    done: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, BackendError> {
    let bench = Bench { backend, effort, device: backend.device_queue() };
    let rows: [(Kind, Timed<'_>); 24] = [
        (Kind::Tiny, &|| bench.tiny("tiny dispatch, compiled pipeline, host in and out", true)),
        (Kind::Tiny, &|| bench.tiny("tiny dispatch, host in and out", false)),
        (Kind::Saxpy, &|| bench.saxpy("saxpy 1 M, host in and out", 1 << 20)),
        (Kind::Saxpy, &|| bench.saxpy("saxpy 16 M, host in and out", 1 << 24)),
        (Kind::Saxpy, &|| {
            bench.resident_saxpy(
                "resident saxpy 16 M (raw: one element per invocation)",
                wgsl::SAXPY_SCALAR,
                (1 << 24, 1),
                1.02,
            )
        }),
        (Kind::Saxpy, &|| {
            bench.resident_saxpy(
                "resident saxpy 16 M (raw: one vec4 per invocation)",
                wgsl::SAXPY_VEC4,
                (1 << 24, 4),
                1.02,
            )
        }),
        // 97 % of the raw kernel's bytes per second.
        (Kind::Saxpy, &|| match backend.profile().is_software {
            false => bench.resident_saxpy(
                "scalar domain saxpy over 1 GiB (raw: one vec4 per invocation)",
                wgsl::SAXPY_VEC4,
                (1 << 28, 4),
                1.0 / 0.97,
            ),
            true => bench.resident_saxpy(
                "scalar domain saxpy over 128 MiB (raw: one vec4 per invocation)",
                wgsl::SAXPY_VEC4,
                (1 << 25, 4),
                1.0 / 0.97,
            ),
        }),
        (Kind::Saxpy, &|| bench.saxpy_u8()),
        (Kind::Saxpy, &|| bench.saxpy_u16()),
        (Kind::Saxpy, &|| bench.saxpy_f16()),
        (Kind::Sequence, &|| bench.sequence("sequence of 1,000 resident dispatches, one submission", false)),
        (Kind::Sequence, &|| {
            bench.sequence("one resident dispatch repeated 1,000 times, one submission", true)
        }),
        (Kind::Reduction, &|| bench.reduction()),
        (Kind::Matmul, &|| bench.matmul()),
        (Kind::Matmul, &|| bench.blocked_matmul()),
        (Kind::Loop, &|| bench.fused_loop()),
        (Kind::Tiles, &|| bench.tile_matmul()),
        (Kind::Indirect, &|| bench.indirect()),
        (Kind::Graphs, &|| bench.chain()),
        (Kind::Graphs, &|| bench.softmax()),
        (Kind::Graphs, &|| bench.layer_norm()),
        (Kind::Queue, &|| {
            bench.queue("work queue, 131,072 tasks, wide (raw: dispatches by level)", 1 << 17, 1 << 13)
        }),
        (Kind::Queue, &|| {
            bench.queue("work queue, 8,192 tasks, deep (raw: dispatches by level)", 1 << 13, 16)
        }),
        (Kind::Warm, &|| bench.warm_start(child)),
    ];
    let mut all = Vec::new();
    for (_, row) in rows.into_iter().filter(|(kind, _)| only.is_none_or(|only| only == *kind)) {
        let row = match row() {
            // What a device does not have is not compared.
            Err(BackendError::Unsupported { .. }) => continue,
            row => row?,
        };
        done(&row);
        all.push(row);
    }
    if only.is_none_or(|only| only == Kind::Guards) {
        all.extend(bench.guards(done)?);
    }
    Ok(all)
}

/// Runs of a product in one submission on a GPU, so that the host's part of it, some 60 µs, is not counted as the
/// product's.
const PRODUCTS: u32 = 20;

/// The workgroups of a folded grid of `n` workgroups of 256.
fn folded(n: u64) -> [u32; 3] {
    let groups = n.div_ceil(256) as u32;
    if groups <= 32_768 { [groups, 1, 1] } else { [32_768, groups.div_ceil(32_768), 1] }
}

/// Reproducible words: a linear congruential sequence.
fn words(n: usize) -> Vec<u32> {
    let mut state = 0x2545_F491u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..n).map(next).collect()
}

/// Reproducible floats that are small integers, so that sums of products are exact.
fn small_floats(n: usize) -> Vec<f32> {
    words(n).into_iter().map(|w| (w % 16) as f32).collect()
}

fn saxpy_expected(x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| 2.0 * x + y).collect()
}

struct Bench<'b> {
    backend: &'b WgpuBackend,
    effort: Effort,
    device: Arc<(wgpu::Device, wgpu::Queue)>,
}

impl Bench<'_> {
    fn job(&self, source: &str, sizes: &[u64], groups: [u32; 3], read_back: u64) -> RawJob {
        RawJob::new(&self.device.0, &self.device.1, source, sizes, groups, read_back)
    }

    /// Times both sides in turn; each call is one complete piece of work.
    fn time(
        &self,
        name: &'static str,
        asked: f64,
        correct: bool,
        vyre: &mut dyn FnMut() -> Result<(), BackendError>,
        raw: &mut dyn FnMut(),
    ) -> Result<Row, BackendError> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            vyre()?;
            raw();
        }
        let begin = Instant::now();
        while ours.len() < 3 || (begin.elapsed() < self.effort.per_row && ours.len() < self.effort.max_pairs)
        {
            let start = Instant::now();
            vyre()?;
            ours.push(start.elapsed());
            let start = Instant::now();
            raw();
            theirs.push(start.elapsed());
        }
        let pairs = ours.len();
        let (vyre, raw) = (median(ours), median(theirs));
        Ok(Row { name, asked, predicted: None, vyre, raw, pairs, correct, operations: None, error: None })
    }

    /// Times [`PRODUCTS`] runs a submission on either side; the row says what one of them takes. On a software device,
    /// where a run takes long, it is one.
    fn time_products(
        &self,
        name: &'static str,
        asked: f64,
        correct: bool,
        ours: &Resident<'_>,
        job: &RawJob,
    ) -> Result<Row, BackendError> {
        let runs = if self.backend.profile().is_software { 1 } else { PRODUCTS };
        let list = ours.list(runs);
        let row = self.time(name, asked, correct, &mut || ours.run(&list), &mut || job.run(runs))?;
        Ok(Row { vyre: row.vyre / runs, raw: row.raw / runs, ..row })
    }

    fn tiny(&self, name: &'static str, compiled: bool) -> Result<Row, BackendError> {
        let (input, expected) = tiny_bytes();
        let program = kernels::tiny()?;
        let config = DispatchConfig::default();
        let pipeline = self.backend.compile_persistent(&program, &config)?;
        let job = self.job(wgsl::TINY, &[256, 256], [1, 1, 1], 256);
        let (mut out, mut outputs) = (Vec::new(), Vec::new());
        job.upload(0, &input);
        job.run_and_read(&mut out);
        let mut ours = || {
            if compiled {
                return pipeline.dispatch_into(&[&input], &mut outputs).map(|()| outputs == [&*expected]);
            }
            Ok(self.backend.dispatch_checked(&program, &[&input], &config)? == [&*expected])
        };
        let correct = out == expected && ours()?;
        self.time(name, 1.05, correct, &mut || ours().map(drop), &mut || {
            job.upload(0, &input);
            job.run_and_read(&mut out);
        })
    }

    fn saxpy(&self, name: &'static str, n: usize) -> Result<Row, BackendError> {
        let (x, y) = (small_floats(n), small_floats(n));
        let expected = saxpy_expected(&x, &y);
        let (x, y): (&[u8], &[u8]) = (bytemuck::cast_slice(&x), bytemuck::cast_slice(&y));
        let program = kernels::saxpy()?;
        let config = DispatchConfig::default().param("a", 2.0f32);
        let bytes = x.len() as u64;
        let job = self.job(wgsl::SAXPY_VEC4, &[bytes, bytes], folded(n as u64 / 4), bytes);
        let mut out = Vec::with_capacity(x.len());
        job.upload(0, x);
        job.upload(1, y);
        job.run_and_read(&mut out);
        let ours = self.backend.dispatch_checked(&program, &[x, y], &config)?;
        let correct = out == bytemuck::cast_slice::<_, u8>(&expected) && ours == [out.clone()];
        self.time(
            name,
            1.05,
            correct,
            &mut || self.backend.dispatch_checked(&program, &[x, y], &config).map(drop),
            &mut || {
                job.upload(0, x);
                job.upload(1, y);
                // A caller gets a fresh vector from Vyre, so the raw side makes one too.
                let mut out = Vec::with_capacity(x.len());
                job.run_and_read(&mut out);
            },
        )
    }

    /// A saxpy over `n` elements, of which an invocation of the raw shader takes `per_lane`.
    fn resident_saxpy(
        &self,
        name: &'static str,
        source: &str,
        (n, per_lane): (usize, u64),
        asked: f64,
    ) -> Result<Row, BackendError> {
        let (x, y) = (small_floats(n), small_floats(n));
        let expected = saxpy_expected(&x, &y);
        let ours = Resident::new(
            self,
            &kernels::saxpy()?,
            params(),
            &[bytemuck::cast_slice(&x), bytemuck::cast_slice(&y)],
            &[],
        )?;
        let bytes = n as u64 * 4;
        let job = self.job(source, &[bytes, bytes], folded(n as u64 / per_lane), bytes);
        job.upload(0, bytemuck::cast_slice(&x));
        job.upload(1, bytemuck::cast_slice(&y));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        let once = ours.list(1);
        ours.run(&once)?;
        let correct = out == bytemuck::cast_slice::<_, u8>(&expected) && ours.read(1)? == out;
        self.time(name, asked, correct, &mut || ours.run(&once), &mut || job.run(1))
    }

    fn sequence(&self, name: &'static str, repeated: bool) -> Result<Row, BackendError> {
        let n = 1usize << 12;
        let (x, y) = (vec![1.0f32; n], vec![0.0f32; n]);
        let ours = Resident::new(
            self,
            &kernels::saxpy()?,
            params(),
            &[bytemuck::cast_slice(&x), bytemuck::cast_slice(&y)],
            &[],
        )?;
        let bytes = n as u64 * 4;
        let job = self.job(wgsl::SAXPY_VEC4, &[bytes, bytes], folded(n as u64 / 4), bytes);
        job.upload(0, bytemuck::cast_slice(&x));
        job.upload(1, bytemuck::cast_slice(&y));
        let mut list = ours.list(if repeated { 1 } else { 1_000 });
        if repeated {
            let commands = list.commands().to_vec();
            list = CommandList::new();
            list.push(Command::repeat(commands, 1_000));
        }
        job.run(1_000);
        ours.run(&list)?;
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        ours.run(&ours.list(1))?;
        // Each run adds 2: exact in f32 far beyond this.
        let expected = vec![2_002.0f32; n];
        let correct = out == bytemuck::cast_slice::<_, u8>(&expected) && ours.read(1)? == out;
        self.time(name, 1.02, correct, &mut || ours.run(&list), &mut || {
            job.run(1_000);
        })
    }

    fn reduction(&self) -> Result<Row, BackendError> {
        let n = 1usize << 22;
        let source = words(n);
        let expected: Vec<u32> =
            source.chunks(256).map(|c| c.iter().fold(0u32, |s, w| s.wrapping_add(*w))).collect();
        let bytes = n as u64 * 4;
        let ours = Resident::new(
            self,
            &kernels::reduction()?,
            Params::new(),
            &[bytemuck::cast_slice(&source)],
            &[bytes / 256],
        )?;
        let job = self.job(wgsl::REDUCTION, &[bytes, bytes / 256], [(n / 256) as u32, 1, 1], bytes / 256);
        job.upload(0, bytemuck::cast_slice(&source));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        let once = ours.list(1);
        ours.run(&once)?;
        let correct = out == bytemuck::cast_slice::<_, u8>(&expected) && ours.read(1)? == out;
        self.time(
            "workgroup reduction, 4 M u32, resident",
            1.02,
            correct,
            &mut || ours.run(&once),
            &mut || job.run(1),
        )
    }

    /// Both sides are Vyre's: counts from a buffer against counts from the host.
    fn indirect(&self) -> Result<Row, BackendError> {
        let n = 1usize << 22;
        let source = words(n);
        let expected: Vec<u32> =
            source.chunks(256).map(|c| c.iter().fold(0u32, |s, w| s.wrapping_add(*w))).collect();
        let bytes = n as u64 * 4;
        let groups = (n / 256) as u32;
        let program = kernels::reduction()?;
        let inputs: [&[u8]; 1] = [bytemuck::cast_slice(&source)];
        let [direct, indirect] =
            [(); 2].map(|()| Resident::new(self, &program, Params::new(), &inputs, &[bytes / 256]));
        let (direct, indirect) = (direct?, indirect?);
        let counts = self.backend.allocate(12)?;
        let counts = Span { buffer: BufferRef::Resident(counts), offset: 0, len: 12 };
        let mut upload = CommandList::new();
        let values = [groups, 1, 1];
        upload.upload(counts.buffer, 0, bytemuck::cast_slice(&values));
        self.backend.submit(&upload)?.wait(None)?;
        let mut from_buffer = CommandList::new();
        for command in indirect.list(1).commands() {
            if let Command::Dispatch(dispatch) = command {
                from_buffer.push(Command::DispatchIndirect { dispatch: dispatch.clone(), counts });
            }
        }
        let from_host = direct.list(1);
        indirect.run(&from_buffer)?;
        direct.run(&from_host)?;
        let sums = bytemuck::cast_slice::<_, u8>(&expected);
        let correct = indirect.read(1)? == sums && direct.read(1)? == sums;
        let mut failed = None;
        let row = self.time(
            "indirect dispatch, 4 M u32 (raw: the same, direct, by Vyre)",
            1.25,
            correct,
            &mut || indirect.run(&from_buffer),
            &mut || failed = direct.run(&from_host).err(),
        )?;
        if let BufferRef::Resident(counts) = counts.buffer {
            self.backend.free(counts)?;
        }
        failed.map_or(Ok(row), Err)
    }

    fn matmul(&self) -> Result<Row, BackendError> {
        let rows = self.effort.matmul_rows;
        let n = rows as usize;
        let (a, b) = (small_floats(n * n), small_floats(n * n));
        let bytes = (n * n * 4) as u64;
        let ours = Resident::new(
            self,
            &kernels::matmul(rows)?,
            Params::new(),
            &[bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)],
            &[bytes],
        )?;
        let job = self.job(&wgsl::matmul(rows), &[bytes; 3], [rows / 16, rows / 16, 1], bytes);
        job.upload(0, bytemuck::cast_slice(&a));
        job.upload(1, bytemuck::cast_slice(&b));
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        let once = ours.list(1);
        ours.run(&once)?;
        let result = ours.read(2)?;
        let correct = out == result && arithmetic::product_is_right(&a, &b, bytemuck::cast_slice(&result), n);
        self.time("tiled matmul, f32, resident", 1.02, correct, &mut || ours.run(&once), &mut || job.run(1))
    }
}

/// What the tiny program takes and gives.
fn tiny_bytes() -> (Vec<u8>, Vec<u8>) {
    let source = words(64);
    let expected: Vec<u32> = source.iter().map(|w| w + 1).collect();
    (bytemuck::cast_slice(&source).to_vec(), bytemuck::cast_slice(&expected).to_vec())
}

fn params() -> Params {
    Params::new().with("a", Value::new(2.0f32))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A Vyre program with its buffers on the device.
struct Resident<'b> {
    backend: &'b WgpuBackend,
    pipeline: Arc<dyn CompiledPipeline>,
    buffers: Vec<Resource>,
    params: Params,
}

impl<'b> Resident<'b> {
    /// Inputs first, then outputs of `outputs[i]` bytes, as the program declares them.
    fn new(
        bench: &Bench<'b>,
        program: &vyre_foundation::check::Checked<vyre_foundation::ir::Program>,
        params: Params,
        inputs: &[&[u8]],
        outputs: &[u64],
    ) -> Result<Self, BackendError> {
        let backend = bench.backend;
        let pipeline = backend.compile_checked(program, &CompileOptions::default())?;
        let mut buffers = Vec::new();
        let mut list = CommandList::new();
        for bytes in inputs {
            let resource = backend.allocate(bytes.len() as u64)?;
            buffers.push(resource);
            list.upload(BufferRef::Resident(resource), 0, bytes);
        }
        for &len in outputs {
            buffers.push(backend.allocate(len)?);
        }
        backend.submit(&list)?.wait(None)?;
        Ok(Self { backend, pipeline, buffers, params })
    }

    /// The program `times` times, as one list: made beforehand, as the raw side's bind group is.
    fn list(&self, times: u32) -> CommandList<'static> {
        let mut list = CommandList::new();
        let bind = |&r: &Resource| Binding { buffer: BufferRef::Resident(r), len: r.len };
        let bindings = self.buffers.iter().map(bind).collect();
        let run = DispatchCommand::with(Arc::clone(&self.pipeline), bindings, self.params.clone(), None);
        for _ in 0..times {
            list.push(Command::Dispatch(run.clone()));
        }
        list
    }

    /// Runs a list and waits.
    fn run(&self, list: &CommandList<'_>) -> Result<(), BackendError> {
        self.backend.submit(list)?.wait(None).map(drop)
    }

    fn read(&self, buffer: usize) -> Result<Vec<u8>, BackendError> {
        let resource = self.buffers[buffer];
        let mut list = CommandList::new();
        list.read(Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len });
        Ok(self.backend.submit(&list)?.wait(None)?.into_iter().next().unwrap_or_default())
    }
}

impl Drop for Resident<'_> {
    fn drop(&mut self) {
        for &resource in &self.buffers {
            // The device may be lost; there is nothing else to do at the end of a row.
            let _ = self.backend.free(resource);
        }
    }
}
