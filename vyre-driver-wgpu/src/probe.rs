//! What the driver does to a kernel that its specification does not say: found by running one.
//!
//! The probe is an ordinary program, compiled the ordinary way for a device without quirks, so that it sees
//! what programs will see. It is one kernel of one invocation and runs once per adapter and process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use vyre_driver::{BackendError, Binding, Command, CommandList, Completion, DispatchCommand, Span};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{CompileOptions, Quirks, Value, f16};

use crate::core::{Core, Lasting};
use crate::generation::Generation;
use crate::profile::profile_of;
use crate::{compile, exec};

/// The probed values, one word each.
const RESULTS: usize = FIRST_HALF as usize + HALVES.len();
/// The first of the rounded halves.
const FIRST_HALF: u32 = 14;
/// Numbers to round to f16, as bits of f32, and what they become: a tie to even below and above, the least that
/// overflows and the greatest that does not, subnormals, a tie of them, infinity and a NaN.
const HALVES: [(u32, u32); 9] = [
    (0x3F80_1000, 0x3F80_0000),
    (0x3F80_3000, 0x3F80_4000),
    (0xC77F_F000, 0xFF80_0000),
    (0x477F_EFFF, 0x477F_E000),
    (0x3380_0000, 0x3380_0000),
    (0x33C0_0000, 0x3400_0000),
    (0xB300_0000, 0x8000_0000),
    (0x7F80_0000, 0x7F80_0000),
    (0x7FC0_0000, 0x7FC0_0000),
];
/// The infinite one of them.
const INFINITE: u32 = 7;
/// More trips than the drivers that limit loops allow.
const TRIPS: u32 = 70_000;
/// The PCI vendor id.
const NVIDIA: u32 = 0x10DE;
/// The kernel takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The driver's quirks, from memory if the adapter was probed before.
pub(crate) fn quirks(generation: &Arc<Generation>) -> Result<Quirks, BackendError> {
    static KNOWN: Mutex<Option<HashMap<String, Quirks>>> = Mutex::new(None);
    let info = &generation.info;
    let key = format!(
        "{:?}",
        (info.backend, &info.name, info.vendor, info.device, &info.driver, &info.driver_info)
    );
    let known =
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|m| m.get(&key).copied());
    if let Some(quirks) = known.filter(|_| !generation.seam.wants_probes()) {
        return Ok(quirks);
    }
    let mut quirks = judge(run(generation)?);
    // NVIDIA's compiler (580) spoils other integers, loop counters too, of kernels that convert floats to 64-bit integers or
    // divide those, in some and not in others: what a probe shows would be chance.
    quirks.clobbers_wide = info.vendor == NVIDIA && info.backend == wgpu::Backend::Vulkan;
    // It crashes, and the process with it, on some programs with a return inside branches and a loop after that.
    quirks.fails_on_returns = quirks.clobbers_wide;
    // The compiler of a software driver was seen to abort on programs with its conversions of halves.
    quirks.loses_halves |= info.device_type == wgpu::DeviceType::Cpu;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(key, quirks);
    Ok(quirks)
}

/// The operands, which the compiler does not know.
fn inputs() -> [f32; 8 + HALVES.len()] {
    let a = 1.0 + f32::EPSILON;
    // −(a × a) with both roundings: a fused multiply-add leaves the second rounding's error.
    let first = [f32::NAN, -0.0, a, -(a * a), f32::MIN_POSITIVE, f32::from_bits(3), 1e30, f32::MAX];
    let mut inputs = [0.0; 8 + HALVES.len()];
    let halves = HALVES.into_iter().map(|(bits, _)| f32::from_bits(bits));
    for (slot, x) in inputs.iter_mut().zip(first.into_iter().chain(halves)) {
        *slot = x;
    }
    inputs
}

fn program() -> Result<Checked<Program>, BackendError> {
    let built = Kernel::build("vyre_probe", |k| {
        let trips = k.param::<u32>("trips");
        let x = k.read_only::<f32>("x");
        let out = k.write_only::<u32>("out", RESULTS as u64);
        k.workgroups([1], [1_u64], |_| {
            let [nan, minus_zero, a, minus_aa, least, subnormal, large, largest] =
                [0_u32, 1, 2, 3, 4, 5, 6, 7].map(|i| x.load(i));
            out.store(0_u32, (nan * 0.0).bitcast::<u32>());
            out.store(1_u32, (minus_zero + 0.0).bitcast::<u32>());
            out.store(2_u32, a.fma(a, minus_aa).bitcast::<u32>());
            out.store(3_u32, (least * 0.5).bitcast::<u32>());
            out.store(4_u32, (subnormal + subnormal).bitcast::<u32>());
            let (count, state) = (k.var("count", 0_u32), k.var("state", 1_u32));
            k.for_(0_u32, trips, |_| {
                count.set(count.get() + 1_u32);
                // No compiler knows a closed form of this, so the trips really happen.
                state.set((state.get() * 1_664_525_u32 + 1_013_904_223_u32) ^ (state.get() >> 7_u32));
            });
            out.store(5_u32, count.get());
            out.store(6_u32, state.get());
            // Loaded twice, so that lowering does not see that they are one value, but the driver does.
            let again = x.load(0_u32);
            out.store(7_u32, (nan.eq(again) | nan.le(again) | nan.ge(again)).convert::<u32>());
            out.store(8_u32, (large / largest).bitcast::<u32>());
            let special = [nan.exp(), nan.exp2(), nan.log(), nan.log2(), minus_aa.log(), minus_aa.log2()];
            let kept = special.map(|x| x.is_nan()).into_iter().fold(k.lit(true), |all, x| all & x);
            let poles = minus_zero.log().is_inf() & minus_zero.log2().is_inf();
            out.store(9_u32, (kept & poles).convert::<u32>());
            // Ops on literals, as the driver's compiler folds them.
            let lowest = k.lit(f32::INFINITY).clamp(0.0, k.lit(-0.1f32).trunc());
            out.store(10_u32, k.lit(0.0f32).min(lowest).bitcast::<u32>());
            out.store(11_u32, (-k.lit(f32::INFINITY)).round().is_finite().convert::<u32>());
            out.store(12_u32, (k.lit(0.0f32) + (-(minus_zero * minus_zero)).round()).bitcast::<u32>());
            let infinity = x.load(8 + INFINITE).round();
            out.store(13_u32, infinity.is_finite().convert::<u32>());
            for i in 0..HALVES.len() as u32 {
                let rounded = x.load(8 + i).convert::<f16>().convert::<f32>();
                out.store(FIRST_HALF + i, rounded.bitcast::<u32>());
            }
        });
    });
    built.map_err(|error| BackendError::Driver { doing: "building the probe", message: error.to_string() })
}

/// Runs the probe as for a device without quirks.
fn run(generation: &Arc<Generation>) -> Result<[u32; RESULTS], BackendError> {
    let profile = profile_of(generation, Quirks::default());
    let core = Arc::new(Core::new(Lasting::new(), Arc::clone(generation), profile));
    let options = CompileOptions { optimize: false, ..CompileOptions::default() };
    let pipeline = compile::pipeline(&core, &program()?, &options)?;

    let bytes: Vec<u8> = inputs().iter().flat_map(|x| x.to_le_bytes()).collect();
    let (input_len, output_len) = (bytes.len() as u64, 4 * RESULTS as u64);
    let mut list = CommandList::new();
    let (x, out) = (list.transient(input_len), list.transient(output_len));
    list.upload(x, 0, &bytes);
    list.push(Command::Fill { to: Span { buffer: out, offset: 0, len: output_len }, byte: 0 });
    list.push(Command::Dispatch(DispatchCommand::with(
        pipeline,
        vec![Binding { buffer: x, len: input_len }, Binding { buffer: out, len: output_len }],
        Params::new().with("trips", Value::new(TRIPS)),
        None,
    )));
    list.read(Span { buffer: out, offset: 0, len: output_len });

    let outputs = Box::new(exec::submit(&core, &list)?).wait(Some(TIMEOUT))?;
    let mut words = [0; RESULTS];
    let bytes = outputs.first().map_or(&[][..], Vec::as_slice);
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_le_bytes);
    }
    Ok(words)
}

/// Compares the results with IEEE 754 and with the full number of trips.
fn judge(results: [u32; RESULTS]) -> Quirks {
    let [
        nan,
        zero,
        fused,
        half,
        doubled,
        count,
        state,
        same,
        quotient,
        special,
        least_zero,
        finite,
        sum,
        whole,
        halves @ ..,
    ] = results;
    let [_, _, a, minus_aa, least, subnormal, ..] = inputs();
    // A NaN's payload is left open.
    let is_half = |(&got, (_, want)): (&u32, (u32, u32))| {
        got == want || f32::from_bits(got).is_nan() && f32::from_bits(want).is_nan()
    };
    let all_trips = state == advance(TRIPS);
    Quirks {
        // A driver that ends loops early ends them together; one that miscounts is trusted with none.
        max_loop_iterations: (!all_trips).then_some(if state == advance(count) { count } else { 0 }),
        folds_floats: !f32::from_bits(nan).is_nan() || [zero, least_zero, finite, sum, whole] != [0; 5],
        splits_fma: fused != a.mul_add(a, minus_aa).to_bits(),
        folds_self_comparison: same != 0,
        loses_large_divisors: quotient == 0,
        loses_special_values: special == 0,
        loses_halves: !halves.iter().zip(HALVES).all(is_half),
        clobbers_wide: false,
        fails_on_returns: false,
        flushes_subnormals: half != (least * 0.5).to_bits() || doubled != (subnormal + subnormal).to_bits(),
    }
}

/// The loop's state after `trips` trips.
fn advance(trips: u32) -> u32 {
    (0..trips)
        .fold(1_u32, |state, _| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) ^ (state >> 7))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a device without quirks gives: worked out from the inputs' bits, the quotient in double precision.
    fn ideal() -> [u32; RESULTS] {
        // fma: (1 + 2^-23)² − (1 + 2^-22) = 2^-46. Half of the least normal is 2^-127; 3 + 3 = 6 quanta.
        let first = [
            0x7FC0_0000,
            0,
            (127 - 46) << 23,
            0x0040_0000,
            6,
            TRIPS,
            advance(TRIPS),
            0,
            0x3149_F2CB,
            1,
            0,
            0,
            0,
            0,
        ];
        let mut results = [0; RESULTS];
        let halves = HALVES.into_iter().map(|(_, want)| want);
        for (slot, word) in results.iter_mut().zip(first.into_iter().chain(halves)) {
            *slot = word;
        }
        results
    }

    #[test]
    fn the_halves_are_what_the_reference_rounding_gives() {
        for (from, to) in HALVES {
            let (got, want) = (f16::from_f32(f32::from_bits(from)).to_f32(), f32::from_bits(to));
            assert!(got.to_bits() == to || got.is_nan() && want.is_nan(), "{from:#x}");
        }
    }

    #[test]
    fn a_backend_has_the_quirks_that_its_device_shows() {
        let backend = crate::WgpuBackend::acquire().unwrap();
        let results = run(&backend.core().unwrap().generation).unwrap();
        println!("{}: {results:x?}", backend.adapter_info().name);
        let quirks = vyre_driver::VyreBackend::profile(&backend).quirks;
        // A software driver's halves are not taken whatever it shows.
        let Quirks { loses_halves: halves, clobbers_wide, fails_on_returns, .. } = quirks;
        let known = Quirks { loses_halves: halves, clobbers_wide, fails_on_returns, ..judge(results) };
        assert_eq!(known, quirks);
        assert!(halves >= judge(results).loses_halves);
    }

    #[test]
    fn an_ideal_device_has_no_quirks() {
        assert_eq!(judge(ideal()), Quirks::default());
    }

    #[test]
    fn each_deviation_is_its_own_quirk() {
        let with = |changes: &[(usize, u32)]| {
            let mut results = ideal();
            changes.iter().for_each(|&(i, word)| results[i] = word);
            judge(results)
        };
        let none = Quirks::default();
        assert_eq!(with(&[(0, 0)]), Quirks { folds_floats: true, ..none });
        assert_eq!(with(&[(1, 0x8000_0000)]), Quirks { folds_floats: true, ..none });
        assert_eq!(with(&[(2, 0)]), Quirks { splits_fma: true, ..none });
        assert_eq!(with(&[(3, 0)]), Quirks { flushes_subnormals: true, ..none });
        assert_eq!(with(&[(4, 0)]), Quirks { flushes_subnormals: true, ..none });
        assert_eq!(with(&[(7, 1)]), Quirks { folds_self_comparison: true, ..none });
        assert_eq!(with(&[(9, 0)]), Quirks { loses_special_values: true, ..none });
        for folded in 10..14 {
            assert_eq!(with(&[(folded, 0x8000_0000)]), Quirks { folds_floats: true, ..none });
        }
        assert_eq!(with(&[(15, 0x3F80_2000)]), Quirks { loses_halves: true, ..none });
        assert_eq!(with(&[(18, 0)]), Quirks { loses_halves: true, ..none });
        assert_eq!(with(&[(8, 0)]), Quirks { loses_large_divisors: true, ..none });
        let early = [(5, 65_535), (6, advance(65_535))];
        assert_eq!(with(&early), Quirks { max_loop_iterations: Some(65_535), ..none });
        assert_eq!(with(&[(6, 9)]), Quirks { max_loop_iterations: Some(0), ..none });
    }
}
