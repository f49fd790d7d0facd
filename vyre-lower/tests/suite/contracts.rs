//! Launch contracts: which launches keep them, and what their kernels then do.

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::{Params, resolve};
use vyre_lower::kernel::{Op, Proof, VerifiedKernel};
use vyre_lower::lower;
use vyre_spec::{CompileOptions, Value};

use crate::interpreter::{profile, run, run_with};

fn contract() -> CompileOptions {
    CompileOptions { launch_contract: true, ..CompileOptions::default() }
}

fn lowered(program: &Checked<Program>) -> VerifiedKernel {
    lower(program, &profile(), &contract()).unwrap()
}

fn guards(kernel: &VerifiedKernel) -> usize {
    let guarded = |op: &Op| {
        matches!(
            op,
            Op::Load { proof: Proof::Guarded(_), .. }
                | Op::Store { proof: Proof::Guarded(_), .. }
                | Op::Atomic { proof: Proof::Guarded(_), .. }
        )
    };
    kernel.insts.iter().filter(|inst| guarded(&inst.op)).count()
}

/// Whether a launch over buffers of these lengths, in words, keeps the contract.
fn keeps(program: &Checked<Program>, params: &Params, lengths: &[u64]) -> bool {
    let bound: Vec<_> = lengths.iter().map(|&n| Some(4 * n)).collect();
    lowered(program).contract.holds(&resolve(program, params, &bound, None).unwrap())
}

/// `y[i] = x[a * i + b]` over `count` points.
fn strided() -> Checked<Program> {
    Kernel::build("strided", |k| {
        let [a, b, count] = ["a", "b", "count"].map(|name| k.param::<u32>(name));
        let x = k.read_only::<u32>("x");
        let y = k.read_write::<u32>("y");
        k.domain([count], |[i]| y.store(i, x.load(i * a + b)));
    })
    .unwrap()
}

fn params(a: u32, b: u32, count: u32) -> Params {
    [("a", a), ("b", b), ("count", count)].into_iter().map(|(name, n)| (name, Value::new(n))).collect()
}

#[test]
fn contracts_hold_up_to_the_last_element_and_never_where_an_index_wraps() {
    let program = strided();
    assert_eq!(guards(&lowered(&program)), 0);
    // The last index is 3 × 9 + 2 = 29.
    assert!(keeps(&program, &params(3, 2, 10), &[30, 10]));
    assert!(!keeps(&program, &params(3, 2, 10), &[29, 10]));
    assert!(!keeps(&program, &params(3, 2, 10), &[30, 9]));
    assert!(keeps(&program, &params(0, 0, 10), &[1, 10]));
    // 2^31 × 2 and 2^32 − 1 + 1 are 0 in 32 bits: in bounds, but not by this proof.
    assert!(!keeps(&program, &params(1 << 31, 0, 3), &[u64::from(u32::MAX), 3]));
    assert!(!keeps(&program, &params(1, u32::MAX, 2), &[u64::from(u32::MAX), 2]));
    assert!(keeps(&program, &params(1, u32::MAX - 2, 2), &[u64::from(u32::MAX), 2]));
}

#[test]
fn kernels_on_a_contract_do_what_the_guarded_ones_do() {
    let program = strided();
    let x: Vec<u32> = (0..30).map(|i| i * i + 1).collect();
    let want: Vec<u32> = (0..10).map(|i| x[3 * i + 2]).collect();
    let buffers = [x, vec![0; 10]];
    let outcome = run_with(&program, &params(3, 2, 10), &buffers, &profile(), &contract());
    assert_eq!(outcome.buffers[1], want);
    assert_eq!(run(&program, &params(3, 2, 10), &buffers).buffers[1], want);
    // Without a contract, every access has its guard.
    let plain = lower(&program, &profile(), &CompileOptions::default()).unwrap();
    assert!(plain.contract.is_empty());
    assert_eq!(guards(&plain), 2);
}

#[test]
fn a_divisor_is_part_of_the_contract() {
    let program = Kernel::build("ratio", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) / n));
    })
    .unwrap();
    let n = |n: u32| Params::new().with("n", Value::new(n));
    assert!(keeps(&program, &n(1), &[5]) && !keeps(&program, &n(0), &[5]));
    let outcome = run_with(&program, &n(3), &[vec![7, 9]], &profile(), &contract());
    assert_eq!(outcome.buffers[0], [2, 3]);
    assert_eq!(run(&program, &n(0), &[vec![7, 9]]).buffers[0], [7, 9]);
}

#[test]
fn workgroup_counts_are_those_of_the_launch() {
    let program = Kernel::build("groups", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.read_write::<u32>("y");
        let groups = x.len().extent().ceil_div(64);
        k.workgroups([64], [groups], |group| {
            y.atomic_add(group.id[0], x.load(group.global_id[0]));
        });
    })
    .unwrap();
    let kernel = lowered(&program);
    assert_eq!(guards(&kernel), 0);
    let holds = |x: u64, y: u64, counts| {
        let launch = resolve(&program, &Params::new(), &[Some(4 * x), Some(4 * y)], counts).unwrap();
        kernel.contract.holds(&launch)
    };
    assert!(holds(128, 2, None) && !holds(127, 2, None) && !holds(128, 1, None));
    // Counts that replace the program's own decide.
    assert!(holds(64, 1, Some([1, 1, 1])) && !holds(64, 1, Some([2, 1, 1])));
}
