//! Sizes at which an index, a grid or a binding leaves the range of what holds it.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;

use vyre_driver::{
    BackendError, BufferRef, Command, CommandList, DispatchConfig, Resource, Span, VyreBackend,
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

const GUARD: u8 = 0xC3;

/// What element `i` holds after a run: another value for each `i`.
fn value(i: u64) -> u32 {
    (i as u32).wrapping_mul(0x9E37_79B1).wrapping_add(7)
}

/// A buffer of `len` bytes, each of them the guard.
fn guarded(backend: &WgpuBackend, len: u64) -> Result<Resource, BackendError> {
    let resource = backend.allocate(len)?;
    let mut list = CommandList::new();
    let to = Span { buffer: BufferRef::Resident(resource), offset: 0, len };
    list.push(Command::Fill { to, byte: GUARD });
    backend.submit(&list)?.wait(None)?;
    Ok(resource)
}

/// The elements from `first` on, at most `most` and none beyond the end.
fn elements(backend: &WgpuBackend, of: Resource, first: u64, most: u64) -> Vec<u32> {
    let count = most.min(of.len / 4 - first);
    let bytes = backend.download_resident_range(&of, first as usize * 4, count as usize * 4).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Compares the first, the last, and those around each power of two of the first `n` elements of `of`.
fn right_at_the_edges(backend: &WgpuBackend, of: Resource, n: u64) {
    let powers = (0..u64::BITS).map(|p| 1 << p).take_while(|&at| at <= n);
    for at in powers.chain([n]) {
        let first = at.saturating_sub(4);
        let got = elements(backend, of, first, (n - first).min(8));
        let want: Vec<u32> = (first..).map(value).take(got.len()).collect();
        assert_eq!(got, want, "{n} elements, from {first}");
    }
}

/// `x[i] = value(i)` at every point of a domain of `n`, of which the buffer's length says nothing.
fn numbered() -> Checked<Program> {
    Kernel::build("numbered", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.domain([n.extent()], |[i]| x.store(i, i * 0x9E37_79B1_u32 + 7_u32));
    })
    .unwrap()
}

#[test]
fn domains_around_the_axis_limit_touch_each_element_and_not_the_next() {
    let backend = WgpuBackend::shared().unwrap();
    let program = numbered();
    // With one point for each invocation (not optimised) and with as many as the compiler takes.
    for unoptimized in [true, false] {
        for n in [65_535 * 256 - 1, 65_535 * 256, 65_535 * 256 + 1, 65_536 * 256 + 1] {
            let config =
                DispatchConfig { workgroup: Some([256, 1, 1]), unoptimized, ..DispatchConfig::default() }
                    .param("n", n as u32);
            let x = guarded(&backend, (n + 2) * 4).unwrap();
            backend.dispatch_resident_timed(&program, &[x], &config).unwrap();
            right_at_the_edges(&backend, x, n);
            assert_eq!(elements(&backend, x, n, 2), [u32::from_le_bytes([GUARD; 4]); 2], "{n}");
            backend.free(x).unwrap();
        }
    }
}

#[test]
fn every_axis_takes_more_workgroups_and_points_than_its_limit() {
    let backend = WgpuBackend::shared().unwrap();
    for [a, b, c] in
        [[65_536, 2, 3], [2, 65_536, 3], [3, 2, 65_536], [1, 65_535, 2], [1, 70_001, 1], [1, 1, 70_001]]
    {
        let groups = Kernel::build("groups", |k| {
            let x = k.read_write::<u32>("x");
            k.workgroups([1, 1, 1], [a, b, c].map(u64::from), |w| {
                let i = (w.id[2] * b + w.id[1]) * a + w.id[0];
                x.store(i, i * 0x9E37_79B1_u32 + 7_u32);
            });
        })
        .unwrap();
        let points = Kernel::build("points", |k| {
            let x = k.read_write::<u32>("x");
            k.domain([a, b, c].map(u64::from), |[i, j, l]| {
                let i = (l * b + j) * a + i;
                x.store(i, i * 0x9E37_79B1_u32 + 7_u32);
            });
        })
        .unwrap();
        let n = [a, b, c].map(u64::from).iter().product();
        let mut want: Vec<u32> = (0..n).map(value).collect();
        want.push(u32::from_le_bytes([GUARD; 4]));
        for program in [&groups, &points] {
            let x = guarded(&backend, (n + 1) * 4).unwrap();
            backend.dispatch_resident_timed(program, &[x], &DispatchConfig::default()).unwrap();
            // Not `assert_eq`: that would print some 400,000 elements.
            let got = elements(&backend, x, 0, n + 1);
            let wrong = got.iter().zip(&want).position(|(got, want)| got != want);
            assert_eq!((wrong, got.len()), (None, want.len()), "{a} × {b} × {c}");
            backend.free(x).unwrap();
        }
    }
}

/// Every element of a buffer of `bytes` is read and written. False if the device has no memory for it.
fn right_to_the_last(backend: &WgpuBackend, bytes: u64) -> bool {
    let program = Kernel::build("all", |k| {
        let x = k.read_write::<u32>("x");
        // A buffer that was just allocated holds zeros.
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + i * 0x9E37_79B1_u32 + 7_u32));
    })
    .unwrap();
    let x = match backend.allocate(bytes) {
        Err(BackendError::OutOfMemory { .. }) => return false,
        allocated => allocated.unwrap(),
    };
    backend.dispatch_resident_timed(&program, &[x], &DispatchConfig::default()).unwrap();
    right_at_the_edges(backend, x, bytes / 4);
    backend.free(x).unwrap();
    backend.trim();
    true
}

/// Around the device's limit of a binding, and at several times that: buffers are bound as windows there.
#[test]
fn buffers_beyond_the_devices_binding_limit_are_right() {
    let backend = WgpuBackend::shared().unwrap();
    let limit = backend.profile().max_storage_binding_bytes;
    // The memory of a software driver is this process's.
    let most = if backend.profile().is_software { 1 << 28 } else { (1 << 31) - 4 };
    let largest = limit.min(most) / 4 * 4;
    for bytes in [largest - 4, largest, largest + 4, largest / 3 * 7 / 4 * 4] {
        if !right_to_the_last(&backend, bytes) {
            eprintln!("no memory for {bytes} bytes: not shown here");
        }
    }
}

/// A GPU that may have the memory for gigabytes; says why not otherwise.
fn gpu() -> Option<Arc<WgpuBackend>> {
    let backend = WgpuBackend::shared().unwrap();
    let profile = backend.profile();
    if profile.is_software {
        eprintln!("{} has this process's memory: not shown here", profile.name);
        return None;
    }
    let (binding, buffer) = (profile.max_storage_binding_bytes, profile.max_buffer_bytes);
    println!("{} binds {binding} bytes at once, of buffers of {buffer}", profile.name);
    Some(backend)
}

#[test]
fn buffers_around_two_and_four_gib_are_right() {
    let Some(backend) = gpu() else { return };
    for bytes in [(1 << 31) - 4, 1 << 31, (1 << 32) + 4, 6 << 30] {
        if !right_to_the_last(&backend, bytes) {
            eprintln!("no memory for {bytes} bytes: not shown here");
        }
    }
}

/// From the host and back to it, in several device buffers.
#[test]
fn four_gib_from_the_host_come_back_right() {
    let Some(backend) = gpu() else { return };
    let n = (1_usize << 30) + 1;
    let program = Kernel::build("all", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + i * 0x9E37_79B1_u32 + 7_u32));
    })
    .unwrap();
    let x = vec![0; 4 * n];
    let got = match backend.dispatch_checked(&program, &[&x], &DispatchConfig::default()) {
        Err(BackendError::OutOfMemory { bytes, .. }) => {
            eprintln!("no memory for {bytes:?} bytes: not shown here");
            return;
        }
        got => got.unwrap(),
    };
    let wrong = (0..n).find(|&i| got[0][4 * i..4 * i + 4] != value(i as u64).to_le_bytes());
    assert_eq!((wrong, got[0].len()), (None, x.len()));
}

/// Elements of a byte, more than fit a signed index.
#[test]
fn more_elements_than_a_signed_index_are_right_and_the_next_is_untouched() {
    let Some(backend) = gpu() else { return };
    let n = (1_u64 << 31) + 7;
    let program = Kernel::build("bytes", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u8>("x");
        k.domain([n.extent()], |[i]| x.store(i, ((i * 0x9E37_79B1_u32) >> 11_u32).convert::<u8>()));
    })
    .unwrap();
    let x = match guarded(&backend, n + 9) {
        Err(BackendError::OutOfMemory { .. }) => {
            eprintln!("no memory for {n} bytes: not shown here");
            return;
        }
        allocated => allocated.unwrap(),
    };
    let config = DispatchConfig::default().param("n", n as u32);
    backend.dispatch_resident_timed(&program, &[x], &config).unwrap();
    for at in (0..=31).map(|p| 1 << p).chain([n]) {
        let first = at - at.min(4);
        let last = (at + 4).min(n);
        let got = backend.download_resident_range(&x, first as usize, (last - first) as usize).unwrap();
        let want: Vec<u8> =
            (first..last).map(|i| ((i as u32).wrapping_mul(0x9E37_79B1) >> 11) as u8).collect();
        assert_eq!(got, want, "from {first}");
    }
    assert_eq!(backend.download_resident_range(&x, n as usize, 9).unwrap(), [GUARD; 9]);
    backend.free(x).unwrap();
    backend.trim();
}
