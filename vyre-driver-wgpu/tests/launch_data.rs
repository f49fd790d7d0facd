//! Launch data that stay the same for many dispatches, and change again.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;

use vyre_driver::{Binding, BufferRef, Command, CommandList, DispatchCommand, Span, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::launch::Params;
use vyre_spec::{Capability, CompileOptions, Value};

#[test]
fn launch_data_move_to_memory_when_they_stay_and_every_value_counts() {
    let backend = WgpuBackend::acquire().unwrap();
    let program = Kernel::build("add", |k| {
        let by = k.param::<u32>("by");
        let y = k.read_write::<u32>("y");
        k.domain([y.len()], |[i]| y.store(i, y.load(i) + by * (i + 1)));
    })
    .unwrap();
    let pipeline = backend.compile_checked(&program, &CompileOptions::default()).unwrap();
    // Vectors and a last partial one.
    let n = 1_027u32;
    let y = backend.allocate(u64::from(n) * 4).unwrap();
    let run = |by: u32| {
        let bindings = vec![Binding { buffer: BufferRef::Resident(y), len: y.len }];
        let params = Params::new().with("by", Value::new(by));
        Command::Dispatch(DispatchCommand::with(Arc::clone(&pipeline), bindings, params, None))
    };
    let submit = |commands: Vec<Command<'static>>| {
        let mut list = CommandList::new();
        commands.into_iter().for_each(|command| list.push(command));
        backend.submit(&list).unwrap().wait(None).unwrap();
    };
    let total = std::cell::Cell::new(0u32);
    let check = |added: u32| {
        total.set(total.get() + added);
        let mut list = CommandList::new();
        list.read(Span { buffer: BufferRef::Resident(y), offset: 0, len: y.len });
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        let want: Vec<u8> = (0..n).flat_map(|i| (total.get() * (i + 1)).to_le_bytes()).collect();
        assert!(got == [want], "after {added} more");
    };
    let moved = || backend.stats().steady_variants;
    let immediates = backend.profile().capabilities.contains(Capability::Immediates);

    submit(vec![Command::repeat(vec![run(3)], 300)]);
    check(900);
    assert_eq!(moved(), 0, "the first list is planned before it counts");
    submit(vec![Command::repeat(vec![run(3)], 200), run(3)]);
    check(603);
    assert_eq!(moved(), u64::from(immediates));
    // Other words, alternating ones, and the old ones again.
    submit(vec![run(5)]);
    check(5);
    submit((0..600).map(|i| run(1 + i % 2)).collect());
    check(900);
    submit(vec![Command::repeat(vec![run(7)], 256)]);
    check(7 * 256);
    submit(vec![run(7), run(3), run(7)]);
    check(17);
    submit(vec![run(7)]);
    check(7);
    assert_eq!(moved(), u64::from(immediates), "the second form is compiled once");
    backend.free(y).unwrap();
}
