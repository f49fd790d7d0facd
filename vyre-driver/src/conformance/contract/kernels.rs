//! The programs of the contract suite. What each does is simple enough to work out by hand.

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

type Built = Result<Checked<Program>, BuildError>;

/// `x[i] = x[i] × 3 + add`, for the elements there are.
pub(super) fn step(add: u32) -> Built {
    Kernel::build("step", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * 3 + add));
    })
}

/// `sum[i] = a[i] + b[i]`, and `a` is left as it is.
pub(super) fn add() -> Built {
    Kernel::build("add", |k| {
        let a = k.read_only::<u32>("a");
        let b = k.read_only::<u32>("b").with_len(a.len());
        let sum = k.write_only::<u32>("sum", a.len());
        k.domain([a.len()], |[i]| sum.store(i, a.load(i) + b.load(i)));
    })
}

/// `out[i] = x[i]` where `x[i]` is even; the other elements of `out` are not stored.
pub(super) fn evens() -> Built {
    Kernel::build("evens", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.domain([x.len()], |[i]| k.if_((x.load(i) & 1).eq(0), || out.store(i, x.load(i))));
    })
}

/// `x[i] += a[i]` and `total[i] = x[i] + 1`: a buffer of each access.
pub(super) fn mixed() -> Built {
    Kernel::build("mixed", |k| {
        let a = k.read_only::<u32>("a");
        let x = k.read_write::<u32>("x").with_len(a.len());
        let total = k.write_only::<u32>("total", a.len());
        k.domain([a.len()], |[i]| {
            let sum = x.load(i) + a.load(i);
            x.store(i, sum);
            total.store(i, sum + 1);
        });
    })
}

/// Counts its invocations; its workgroup counts come from its first buffer.
pub(super) fn found() -> Built {
    Kernel::build("found", |k| {
        let counts = k.read_only::<u32>("counts");
        let n = k.read_write::<u32>("n").with_len(1);
        k.workgroups_from(counts, [4], |group| {
            let [x, y, z] = group.count;
            k.if_((x * y * z).eq(counts.load(0u32) * counts.load(1u32) * counts.load(2u32)), || {
                n.atomic_add(0u32, 1u32);
            });
        });
    })
}

/// Every invocation of two workgroups of four adds 1 to `count[0]`, and cannot tell which it is.
pub(super) fn count() -> Built {
    Kernel::build("count", |k| {
        let count = k.read_write::<u32>("count");
        k.workgroups([4], [2], |_| {
            count.atomic_add(0, 1);
        });
    })
}

/// Every invocation of two workgroups of four adds its local id to `total[0]`.
pub(super) fn ids() -> Built {
    Kernel::build("ids", |k| {
        let total = k.read_write::<u32>("total");
        k.workgroups([4], [2], |group| {
            total.atomic_add(0, group.local_id[0]);
        });
    })
}

/// `x[i] = x[i] + by`, with `by` substituted before compilation.
pub(super) fn shifted() -> Built {
    Kernel::build("shifted", |k| {
        let by = k.specialize::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + by));
    })
}

/// What `shifted` becomes for 4, as its author might write it.
pub(super) fn shifted_by_four() -> Built {
    Kernel::build("shifted", |k| {
        k.specialize::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + 4));
    })
}

/// `x[i] = x[i] + by / 2`, with `by` substituted before compilation.
pub(super) fn shifted_by_half() -> Built {
    Kernel::build("shifted_by_half", |k| {
        let by = k.specialize::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + by / 2));
    })
}

/// Traps with code 7 and the index where `x[i]` is above 10, and counts up the others.
pub(super) fn trap() -> Built {
    Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_else(x.load(i).gt(10), || k.trap(7, i), || x.store(i, x.load(i) + 1));
        });
    })
}

/// Adds 1 to the first element of each of two buffers.
pub(super) fn both() -> Built {
    Kernel::build("both", |k| {
        let a = k.read_write::<u32>("a");
        let b = k.read_write::<u32>("b");
        k.domain([1], |_| {
            a.store(0, a.load(0) + 1);
            b.store(0, b.load(0) + 1);
        });
    })
}
