//! Deeply nested control flow on the device, from a thread with Rust's default stack.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::{Kernel, Val, Var};

/// Branches that are taken, and a loop of one trip at every 64th level: drivers that end loops after a number
/// of iterations leave room for few nested ones.
fn nest<'k>(k: &'k Kernel, i: Val<'k, u32>, sum: Var<'k, u32>, depth: u32) {
    if depth == 0 {
        sum.set(sum.get() + 1);
    } else if depth & 63 == 0 {
        k.for_(i, i + 1, |j| {
            sum.set(sum.get() + j);
            nest(k, i, sum, depth - 1);
        });
    } else {
        k.if_(sum.get().eq(i * sum.get()), || nest(k, i, sum, depth - 1));
    }
}

#[test]
fn control_flow_nests_as_deep_as_the_checker_allows() {
    const DEPTH: u32 = vyre_foundation::check::MAX_NESTING - 1;
    let program = Kernel::build("nested", |k| {
        let out = k.write_only::<u32>("out", 3_u64);
        k.domain([3_u64], |[i]| {
            let sum = k.var("sum", 0_u32);
            nest(k, i, sum, DEPTH);
            out.store(i, sum.get());
        });
    })
    .unwrap();
    let test = move || {
        let backend = WgpuBackend::shared().unwrap();
        let outputs = backend.dispatch_checked(&program, &[], &DispatchConfig::default()).unwrap();
        // 255 levels, of which 192, 128 and 64 are loops that add the point's index. Where the sum is 0 or the
        // index is 1 every branch is taken, and the innermost level adds 1. Point 2 leaves the path after its
        // first loop, with a sum of 2 where 4 is asked.
        let want = [1, 4, 2_u32];
        assert_eq!(outputs, [want.map(u32::to_le_bytes).concat()]);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}
