//! Kernels without returns, for drivers whose compilers fail on some.

use std::path::Path;

use vyre_foundation::build::Kernel;
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Node;
use vyre_foundation::launch::Params;
use vyre_foundation::testing::{GenConfig, Launches, generate};
use vyre_foundation::text::parse;
use vyre_lower::kernel::{KernelDescriptor, Op};
use vyre_lower::{lower, lower_all};
use vyre_spec::{CompileOptions, DeviceProfile, MemoryOrdering, Quirks};

use crate::interpreter::{profile, run, run_with};
use crate::random::agrees;

fn failing() -> DeviceProfile {
    DeviceProfile { quirks: Quirks { fails_on_returns: true, ..Quirks::default() }, ..profile() }
}

/// How deep blocks nest, and how many of the instructions in them are returns.
fn shape(kernel: &KernelDescriptor) -> (usize, usize) {
    let (mut deepest, mut returns) = (0, 0);
    let mut open = vec![(0usize, 1usize)];
    while let Some((block, depth)) = open.pop() {
        deepest = deepest.max(depth);
        for id in &kernel.blocks[block] {
            match kernel.insts[id.index()].op {
                Op::Return => returns += 1,
                Op::If { then: a, otherwise: b, .. } | Op::Loop { body: a, continuing: b } => {
                    open.extend([a, b].map(|block| (block.index(), depth + 1)));
                }
                _ => {}
            }
        }
    }
    (deepest, returns)
}

/// `tests/returns/*.vyre` become the kernels beside them; `UPDATE_EXPECT=1` in the environment writes those.
#[test]
fn returns_become_branches_and_flags() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/returns");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "vyre"));
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let program = check(parse(&text).unwrap().0).unwrap();
        let kernel = lower(&program, &failing(), &CompileOptions::default()).unwrap();
        assert_eq!(shape(&kernel).1, 0, "{}", path.display());
        let beside = path.with_extension("kdesc");
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(beside, kernel.to_string()).unwrap();
            continue;
        }
        let want = std::fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(kernel.to_string(), want, "{}", path.display());
    }
}

#[test]
fn random_programs_mean_the_same_without_returns() {
    let mut with_returns = 0;
    for seed in 110_000u64.. {
        let config = GenConfig {
            launches: Launches::Both,
            nodes: 60,
            subgroup_size: Some(4),
            subnormals: true,
            grid_barriers: seed.is_multiple_of(4),
            ..GenConfig::default()
        };
        let case = generate(seed, &config);
        if !case.program.nodes().contains(&Node::Return) {
            continue;
        }
        let options = CompileOptions::default();
        if let Ok(lowered) = lower_all(&case.program, &failing(), &options) {
            for kernel in &lowered.kernels {
                assert_eq!(shape(kernel).1, 0, "seed {seed}:\n{:?}", case.program);
            }
        }
        let agreed = agrees(&case, &failing(), &options);
        assert!(agreed.is_ok(), "seed {seed}: {agreed:?}:\n{:?}", case.program);
        with_returns += 1;
        if with_returns == 200 {
            break;
        }
    }
}

/// Guards one after the other nest, so the last of very many stay returns.
#[test]
fn many_guards_in_a_row_nest_no_deeper_than_emitters_take() {
    let program = Kernel::build("guards", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            for guard in 0..300u32 {
                k.if_(i.eq(guard), || k.return_());
                x.store(i, guard + 1);
            }
        });
    })
    .unwrap();
    let kernel = lower(&program, &failing(), &CompileOptions::default()).unwrap();
    let (deepest, returns) = shape(&kernel);
    assert!(deepest < 80 && returns > 0, "{deepest} blocks deep, {returns} returns");
    let want: Vec<u32> = (0..310u32).map(|i| i.min(300)).collect();
    assert_eq!(on_failing(&program, &[0; 310]), want);
}

/// What follows a return that a whole workgroup takes may have barriers.
#[test]
fn barriers_follow_returns_that_a_workgroup_shares() {
    let program = Kernel::build("meeting", |k| {
        let x = k.read_write::<u32>("x");
        let tile = k.shared::<u32>("tile", 4);
        k.workgroups([4], [3], |group| {
            let (group_id, local) = (group.id[0], group.local_index);
            k.if_(group_id.lt(2), || {
                x.store(group_id * 4 + local, 9u32);
                k.for_(0u32, 3u32, |trip| {
                    k.if_((trip + group_id).eq(2), || {
                        k.if_(group_id.eq(1), || k.return_());
                    })
                });
            });
            tile.store(local, x.load(group_id * 4 + local));
            k.barrier(MemoryOrdering::Workgroup);
            x.store(group_id * 4 + local, tile.load(3 - local));
        });
    })
    .unwrap();
    let kernel = lower(&program, &failing(), &CompileOptions::default()).unwrap();
    assert_eq!(shape(&kernel).1, 0);
    let input: Vec<u32> = (0..12).collect();
    // The first workgroup reverses its nines, the second returns, and the third reverses what it found.
    assert_eq!(on_failing(&program, &input), [9, 9, 9, 9, 9, 9, 9, 9, 11, 10, 9, 8]);
}

/// The first buffer after a run on such a device, which is also what other devices give.
fn on_failing(program: &Checked<vyre_foundation::ir::Program>, input: &[u32]) -> Vec<u32> {
    let (params, inputs) = (Params::new(), [input.to_vec()]);
    let mut got = run_with(program, &params, &inputs, &failing(), &CompileOptions::default());
    assert_eq!(got.buffers, run(program, &params, &inputs).buffers);
    got.buffers.swap_remove(0)
}
