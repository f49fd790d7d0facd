//! `VyreBackend` and `Executable` on host bytes, and device buffers.

use std::sync::Arc;

use vyre_driver::{
    Command, CommandList, DispatchConfig, Executable, Memory, MemoryRef, Span, TryWait, VyreBackend,
};
use vyre_spec::CompileOptions;

use crate::calls::Kind::{Compiles, Host, Moves, Reruns, Runs};
use crate::calls::Row;
use crate::kit::{BYTES, input, must, must_made};

pub(crate) const CALLS: &[Row] = &[
    ("VyreBackend::compile_checked", Compiles, |b, kit, _| {
        b.compile_checked(&kit.program, &CompileOptions::default())?;
        Ok(())
    }),
    ("VyreBackend::compile_native", Compiles, |b, kit, config| {
        assert!(b.compile_native(&kit.program, config)?.is_some());
        Ok(())
    }),
    ("VyreBackend::compile_native_shared", Compiles, |b, kit, config| {
        assert!(b.compile_native_shared(Arc::new((*kit.program).clone()), config)?.is_some());
        Ok(())
    }),
    ("VyreBackend::cooperative_grid_sync_fits", Compiles, |b, kit, config| {
        assert!(!b.cooperative_grid_sync_fits(&kit.program, &[&input()], config)?);
        Ok(())
    }),
    ("VyreBackend::prepare", Moves, |b, _, _| Ok(b.prepare()?)),
    ("VyreBackend::flush", Moves, |b, kit, _| {
        b.upload_resident(&kit.pair[0], &input())?;
        Ok(b.flush()?)
    }),
    ("VyreBackend::submit", Moves, |b, _, config| {
        let mut list = CommandList::new();
        let buffer = list.transient(8);
        list.push(Command::Fill { to: Span { buffer, offset: 0, len: 8 }, byte: 0x5A });
        list.upload(buffer, 3, &[1]);
        list.read(Span { buffer, offset: 1, len: 5 });
        let reads = b.submit(&list)?.wait(config.timeout)?;
        assert_eq!(reads, [[0x5A, 0x5A, 1, 0x5A, 0x5A]]);
        Ok(())
    }),
    ("VyreBackend::dispatch_checked", Runs, |b, kit, config| {
        must(kit, &b.dispatch_checked(&kit.program, &[&input()], config)?[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch", Runs, |b, kit, config| {
        must(kit, &VyreBackend::dispatch(b, &kit.program, &[input()], config)?[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch_borrowed", Runs, |b, kit, config| {
        must(kit, &b.dispatch_borrowed(&kit.program, &[&input()], config)?[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch_borrowed_into", Runs, |b, kit, config| {
        let mut outputs = vec![vec![0xEE; 7]];
        b.dispatch_borrowed_into(&kit.program, &[&input()], config, &mut outputs)?;
        must(kit, &outputs[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch_borrowed_timed", Runs, |b, kit, config| {
        must(kit, &b.dispatch_borrowed_timed(&kit.program, &[&input()], config)?.outputs[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch_async", Runs, |b, kit, config| {
        must(kit, &b.dispatch_async(&kit.program, &[input()], config)?.wait()?[0]);
        Ok(())
    }),
    ("VyreBackend::dispatch_borrowed_async", Runs, |b, kit, config| {
        let mut outputs = Vec::new();
        b.dispatch_borrowed_async(&kit.program, &[&input()], config)?.await_into(&mut outputs)?;
        must(kit, &outputs[0]);
        Ok(())
    }),
    ("PendingDispatch::try_wait", Runs, |b, kit, config| {
        // Without a time limit this would ask for as long as the device hangs.
        let timeout = config.timeout.or(Some(std::time::Duration::from_secs(60)));
        let config = DispatchConfig { timeout, ..config.clone() };
        let mut pending = b.dispatch_borrowed_async(&kit.program, &[&input()], &config)?;
        loop {
            match pending.try_wait()? {
                TryWait::Ready(outputs) => break must(kit, &outputs[0]),
                TryWait::Pending(again) => pending = again,
            }
        }
        Ok(())
    }),
    ("VyreBackend::dispatch_pipeline_into", Reruns, |b, kit, config| {
        let mut outputs = Vec::new();
        b.dispatch_pipeline_into(&kit.pipeline, &[&input()], config, &mut outputs)?;
        must_made(kit, &outputs[0]);
        Ok(())
    }),
    ("Executable::dispatch", Runs, |b, kit, config| {
        let bytes = input();
        for memory in [MemoryRef::Host(&bytes), MemoryRef::Device(kit.pair[0])] {
            let outputs = Executable::dispatch(b, &kit.program, &[memory], config)?;
            let [Memory::Host(output)] = &outputs[..] else { panic!("{outputs:?}") };
            must(kit, output);
        }
        Ok(())
    }),
    ("VyreBackend::allocate_device_buffer", Moves, |b, kit, _| {
        kit.buffers.push(b.allocate_device_buffer(BYTES)?);
        zeros(&b.download_device_buffer(&**kit.buffers.last().unwrap())?);
        Ok(())
    }),
    ("VyreBackend::upload_device_buffer", Moves, |b, kit, _| {
        b.upload_device_buffer(&mut *kit.buffers[1], &[7; 9])?;
        let bytes = b.download_device_buffer(&*kit.buffers[1])?;
        assert_eq!((&bytes[..9], &bytes[9..]), (&[7; 9][..], &[0; BYTES - 9][..]));
        Ok(())
    }),
    ("VyreBackend::download_device_buffer", Moves, |b, kit, _| {
        assert_eq!(b.download_device_buffer(&*kit.buffers[0])?, input());
        Ok(())
    }),
    ("VyreBackend::free_device_buffer", Host, |b, kit, _| Ok(b.free_device_buffer(kit.buffers.remove(0))?)),
    ("VyreBackend::dispatch_with_device_buffers", Runs, |b, kit, config| {
        let [source, target] = &mut kit.buffers[..] else { panic!("two buffers") };
        b.dispatch_with_device_buffers(&kit.program, &[&**source], &mut [&mut **target], config)?;
        let bytes = b.download_device_buffer(&**target)?;
        must(kit, &bytes);
        Ok(())
    }),
];

fn zeros(bytes: &[u8]) {
    assert_eq!(bytes, [0; BYTES]);
}
