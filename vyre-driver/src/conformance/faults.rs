//! Faults that people met elsewhere, each as programs with results worked out by hand.

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::ops::UnaryOp;
use vyre_spec::{BuiltIn, DataType, Element, Value, bf16, f16};

use super::{Failure, Report};
use crate::{BackendError, DispatchConfig, VyreBackend};

/// Stores of 8- and 16-bit elements leave their neighbours alone: every pattern of neighbours, and every odd
/// length from 0 to 33 at offsets from 0 to 9 between guard elements.
pub fn narrow_stores(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    neighbours::<u8>(backend, &mut report);
    neighbours::<i8>(backend, &mut report);
    neighbours::<u16>(backend, &mut report);
    neighbours::<i16>(backend, &mut report);
    neighbours::<f16>(backend, &mut report);
    neighbours::<bf16>(backend, &mut report);
    report
}

fn neighbours<T: Element>(backend: &dyn VyreBackend, report: &mut Report) {
    patterns::<T>(backend, report);
    lengths::<T>(backend, report);
}

/// Each group of four elements holds one pattern; two invocations store the two in the middle.
fn patterns<T: Element>(backend: &dyn VyreBackend, report: &mut Report) {
    let label = format!("{} neighbours", T::TYPE);
    let program = Kernel::build("neighbours", |k| {
        let new = k.read_only::<T>("new");
        let out = k.read_write::<T>("out");
        k.domain([new.len()], |[i]| out.store((i >> 1u32) * 4u32 + 1u32 + (i & 1u32), new.load(i)));
    });
    let size = T::TYPE.size() as usize;
    // 256 patterns of a byte, in every byte of the neighbours; what is stored is the pattern's complement.
    let element = |byte: u8| vec![byte; size];
    let old: Vec<u8> = (0..=255u8).flat_map(|p| element(p).repeat(4)).collect();
    let new: Vec<u8> = (0..=255u8).flat_map(|p| element(!p).repeat(2)).collect();
    let want =
        (0..=255u8).flat_map(|p| [element(p), element(!p), element(!p), element(p)].concat()).collect();
    run(backend, program, &Params::new(), &[&new, &old], &want, &label, report);
}

fn lengths<T: Element>(backend: &dyn VyreBackend, report: &mut Report) {
    let program = || {
        Kernel::build("lengths", |k| {
            let offset = k.param::<u32>("offset");
            let new = k.read_only::<T>("new");
            let out = k.read_write::<T>("out");
            k.domain([new.len()], |[i]| out.store(i + offset, new.load(i)));
        })
    };
    let size = T::TYPE.size() as usize;
    for len in (0..=33usize).filter(|n| n % 2 == 1 || *n == 0) {
        for offset in 0..10usize {
            let label = format!("{} stores of {len} elements at {offset}", T::TYPE);
            let new: Vec<u8> = (0..len * size).map(|i| i as u8 ^ 0x35).collect();
            // A length that is no whole number of words.
            let old: Vec<u8> =
                (0..(offset + len + 3) * size).map(|i| (i as u8).wrapping_mul(37) | 0x80).collect();
            let mut want = old.clone();
            for (to, from) in want.iter_mut().skip(offset * size).zip(&new) {
                *to = *from;
            }
            let params = Params::new().with("offset", Value::new(offset as u32));
            run(backend, program(), &params, &[&new, &old], &want, &label, report);
        }
    }
}

/// Subgroup ops at workgroup sizes that are no multiple of a subgroup are refused, and right at those that are,
/// whatever the width.
pub fn subgroup_sizes(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    let Some(width) = backend.profile().subgroup_size else { return report };
    for size in [1u32, 31, 33, 96, width, 2 * width] {
        let label = format!("subgroups of {width} in a workgroup of {size}");
        let program = Kernel::build("subgroups", |k| {
            let x = k.read_only::<u32>("x").with_len(u64::from(size));
            let outs =
                ["sum", "scan", "shuffled", "any"].map(|name| k.write_only::<u32>(name, u64::from(size)));
            k.workgroups([size], [1u64], |_| {
                let i = k.built_in(BuiltIn::LocalIndex);
                let value = x.load(i);
                outs[0].store(i, value.subgroup_add());
                outs[1].store(i, value.subgroup_exclusive_add());
                outs[2].store(i, value.subgroup_shuffle_xor(1u32));
                outs[3].store(i, value.eq(5u32).subgroup_any().convert::<u32>());
            });
        });
        let values: Vec<u32> = (0..size).map(|i| i * i + 1).collect();
        let input: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let groups = || values.chunks(width as usize);
        let want: [Vec<u32>; 4] = [
            groups().flat_map(|g| vec![g.iter().sum(); g.len()]).collect(),
            groups().flat_map(|g| (0..g.len()).map(|i| g.iter().take(i).sum()).collect::<Vec<_>>()).collect(),
            groups()
                .flat_map(|g| (0..g.len()).map(|i| g.get(i ^ 1).copied().unwrap_or(0)).collect::<Vec<_>>())
                .collect(),
            groups().flat_map(|g| vec![u32::from(g.contains(&5)); g.len()]).collect(),
        ];
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                report.failures.push(Failure { case: label, message: error.to_string() });
                continue;
            }
        };
        report.programs += 1;
        let result = backend.dispatch_checked(&program, &[&input], &DispatchConfig::default());
        match (result, size % width == 0) {
            (Ok(outputs), true) => {
                for (got, want) in outputs.iter().zip(&want) {
                    report.compared += want.len() as u64;
                    let want: Vec<u8> = want.iter().flat_map(|v| v.to_le_bytes()).collect();
                    if *got != want {
                        report.failures.push(Failure {
                            case: label.clone(),
                            message: format!("got {got:?} in place of {want:?}"),
                        });
                    }
                }
            }
            (Err(BackendError::Unsupported { .. }), false) => report.compared += 1,
            (Ok(_), false) => report
                .failures
                .push(Failure { case: label, message: "outputs, though lanes would be missing".into() }),
            (Err(error), _) => {
                report.failures.push(Failure { case: label, message: error.to_string() });
            }
        }
    }
    report
}

/// Functions of reals on f64: the backend computes them within their bound, which [`super::ops`] checks, or
/// refuses them in words that name op and type.
pub fn wide_functions(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    let exact = vyre_spec::ErrorBound::Exact;
    for &op in UnaryOp::ALL.iter().filter(|op| op.bound() != exact) {
        let label = format!("f64 {}", op.name());
        let program = super::ops::unary_program(op, DataType::F64);
        let Ok(program) = program else { continue };
        report.programs += 1;
        let input = 0.5f64.to_le_bytes();
        match backend.dispatch_checked(&program, &[&input], &DispatchConfig::default()) {
            Ok(_) => report.compared += 1,
            Err(error @ BackendError::Unsupported { .. }) => {
                let words = error.to_string();
                report.compared += 1;
                // A device without the type names the first value that has it.
                let named = words.contains(op.name()) || words.contains("a load");
                if !(named && words.contains("f64")) {
                    report.failures.push(Failure { case: label, message: words });
                }
            }
            Err(error) => report.failures.push(Failure { case: label, message: error.to_string() }),
        }
    }
    report
}

fn run(
    backend: &dyn VyreBackend,
    program: Result<Checked<Program>, BuildError>,
    params: &Params,
    inputs: &[&[u8]],
    want: &Vec<u8>,
    label: &str,
    report: &mut Report,
) {
    let program = match program {
        Ok(program) => program,
        Err(error) => {
            report.failures.push(Failure { case: label.into(), message: error.to_string() });
            return;
        }
    };
    let config = DispatchConfig { params: params.clone(), ..DispatchConfig::default() };
    report.programs += 1;
    match backend.dispatch_checked(&program, inputs, &config) {
        Err(error) => report.failed(label, &error),
        Ok(outputs) => {
            report.compared += want.len() as u64;
            let got = outputs.into_iter().next().unwrap_or_default();
            if got != *want {
                let message = format!("got {got:02x?} in place of {want:02x?}");
                report.failures.push(Failure { case: label.into(), message });
            }
        }
    }
}
