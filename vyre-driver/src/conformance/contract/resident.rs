//! Buffers that stay on the device, at any offset and of any length.

use super::{Case, Check, Problem, bytes, kernels};
use crate::{BackendError, BufferRef, Command, CommandList, DispatchConfig, Resource, Span, VyreBackend};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("allocation", allocation),
    ("uploads at any offset", uploads),
    ("downloads at any offset", downloads),
    ("fills and copies at any offset", moves),
    ("several uploads", many),
    ("ranges beyond a resident", beyond),
    ("device buffers", device_buffers),
    ("dispatch on device buffers", device_dispatch),
];

/// Bytes around the ones that are written, on either side.
const GUARD: u8 = 0xEE;
const LEN: usize = 48;

/// Byte `i` of a pattern in which neighbours differ, and so do words.
fn pattern(i: usize) -> u8 {
    (i * 37 + 11) as u8
}

fn fill(backend: &dyn VyreBackend, to: Resource, byte: u8) -> Result<(), BackendError> {
    let mut list = CommandList::new();
    list.push(Command::Fill { to: span(to, 0, to.len as usize), byte });
    backend.submit(&list).map(|_| ())
}

fn span(resource: Resource, offset: usize, len: usize) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: offset as u64, len: len as u64 }
}

fn out_of_range(error: &BackendError) -> bool {
    matches!(error, BackendError::OutOfRange { .. })
}

fn allocation(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    for len in [0, 1, 3, 4, 5, 255, 4096, 100_003] {
        let resource = backend.allocate_resident(len)?;
        case.equal("its bytes", &resource.len, &(len as u64))?;
        case.equal("zero", &backend.download_resident(&resource)?, &vec![0; len])?;
        fill(backend, resource, 0xAB)?;
        backend.free_resident(resource)?;
        // Of a buffer that is used again, nothing is left.
        let again = backend.allocate_resident(len)?;
        case.equal("zero again", &backend.download_resident(&again)?, &vec![0; len])?;
        backend.free_resident(again)?;
    }
    let retained = backend.allocate_retained(8)?;
    backend.upload_resident_at(&retained, 3, &[1, 2])?;
    case.equal("retained", &backend.download_resident(&retained)?[..], &[0, 0, 0, 1, 2, 0, 0, 0])?;
    Ok(backend.free(retained)?)
}

fn uploads(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let resource = backend.allocate_resident(LEN)?;
    let data: Vec<u8> = (0..LEN).map(pattern).collect();
    for offset in 0..=9 {
        for len in 0..=33 {
            fill(backend, resource, GUARD)?;
            backend.upload_resident_at(&resource, offset, &data[..len])?;
            let mut want = vec![GUARD; LEN];
            want[offset..offset + len].copy_from_slice(&data[..len]);
            case.equal(("upload", offset, len), &backend.download_resident(&resource)?, &want)?;
        }
    }
    fill(backend, resource, GUARD)?;
    backend.upload_resident(&resource, &data[..5])?;
    let mut want = vec![GUARD; LEN];
    want[..5].copy_from_slice(&data[..5]);
    let mut out = Vec::with_capacity(100);
    let place = out.as_ptr();
    backend.download_resident_into(&resource, &mut out)?;
    case.equal("a short upload", &out, &want)?;
    case.equal("the caller's vector", &out.as_ptr(), &place)?;
    Ok(backend.free_resident(resource)?)
}

fn downloads(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let resource = backend.allocate_resident(LEN)?;
    let data: Vec<u8> = (0..LEN).map(pattern).collect();
    backend.upload_resident(&resource, &data)?;
    let lens: Vec<usize> = (0..=33).collect();
    for offset in 0..=9 {
        let ranges: Vec<_> = lens.iter().map(|&len| (&resource, offset, len)).collect();
        let mut outputs = vec![vec![0xFF; 3]; ranges.len()];
        let mut slots: Vec<&mut Vec<u8>> = outputs.iter_mut().collect();
        backend.download_resident_ranges_into(&ranges, &mut slots)?;
        for (len, output) in lens.iter().zip(&outputs) {
            case.equal(("ranges", offset, len), &output[..], &data[offset..offset + len])?;
        }
        let one = backend.download_resident_range(&resource, offset, offset + 1)?;
        case.equal(("range", offset), &one[..], &data[offset..2 * offset + 1])?;
        let mut into = vec![1; 2];
        backend.download_resident_range_into(&resource, offset, 7, &mut into)?;
        case.equal(("range into", offset), &into[..], &data[offset..offset + 7])?;
    }
    let run = backend.download_resident_ranges_into(&[(&resource, 0, 1)], &mut []);
    case.refused("no vector", run, |e| matches!(e, BackendError::Config { field: "outputs", .. }))?;
    Ok(backend.free_resident(resource)?)
}

fn moves(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (from, to) = (backend.allocate_resident(LEN)?, backend.allocate_resident(LEN)?);
    let data: Vec<u8> = (0..LEN).map(pattern).collect();
    backend.upload_resident(&from, &data)?;
    for offset in 0..=5 {
        for source in [0, 1, 2, 3, 7] {
            for len in [0, 1, 2, 3, 4, 5, 8, 15, 33] {
                let mut list = CommandList::new();
                list.push(Command::Fill { to: span(to, 0, LEN), byte: GUARD });
                list.push(Command::Copy { from: span(from, source, len), to: span(to, offset, len) });
                list.push(Command::Fill { to: span(to, 40 + offset, 3), byte: 0 });
                list.read(span(to, 0, LEN));
                let mut want = vec![GUARD; LEN];
                want[offset..offset + len].copy_from_slice(&data[source..source + len]);
                want[40 + offset..43 + offset].fill(0);
                let got = backend.submit(&list)?.wait(None)?;
                case.equal(("copy", source, offset, len), &got[..], &[want])?;
            }
        }
    }
    // Within one buffer.
    let mut list = CommandList::new();
    list.push(Command::Copy { from: span(from, 1, 9), to: span(from, 30, 9) });
    list.read(span(from, 29, 11));
    let mut want = vec![data[29]];
    want.extend_from_slice(&data[1..10]);
    want.push(data[39]);
    case.equal("within a buffer", &backend.submit(&list)?.wait(None)?[..], &[want])?;
    backend.free_resident(from)?;
    Ok(backend.free_resident(to)?)
}

fn many(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (a, b) = (backend.allocate_resident(7)?, backend.allocate_resident(6)?);
    backend.upload_resident_many(&[(&a, &[1; 7]), (&b, &[2; 6]), (&a, &[3; 2])])?;
    // The later one wins where they overlap.
    backend.upload_resident_at_many(&[(&b, 1, &[4; 4]), (&a, 6, &[5]), (&b, 2, &[6, 7])])?;
    case.equal("a", &backend.download_resident(&a)?[..], &[3, 3, 1, 1, 1, 1, 5])?;
    case.equal("b", &backend.download_resident(&b)?[..], &[2, 4, 6, 7, 4, 2])?;
    // All or none.
    let run = backend.upload_resident_many(&[(&a, &[9; 7]), (&b, &[9; 7])]);
    case.refused("too long", run, out_of_range)?;
    case.equal("a, still", &backend.download_resident(&a)?[..], &[3, 3, 1, 1, 1, 1, 5])?;
    backend.upload_resident_many(&[])?;
    backend.free_resident(a)?;
    Ok(backend.free_resident(b)?)
}

fn beyond(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let r = backend.allocate_resident(6)?;
    case.refused("upload", backend.upload_resident(&r, &[0; 7]), out_of_range)?;
    case.refused("upload at", backend.upload_resident_at(&r, 4, &[0; 3]), out_of_range)?;
    case.refused("far away", backend.upload_resident_at(&r, usize::MAX, &[0; 3]), out_of_range)?;
    case.refused("nothing, but beyond", backend.upload_resident_at(&r, 7, &[]), out_of_range)?;
    case.refused("range", backend.download_resident_range(&r, 5, 2), out_of_range)?;
    case.refused("long", backend.download_resident_range(&r, 1, usize::MAX), out_of_range)?;
    case.equal("nothing, at the end", &backend.download_resident_range(&r, 6, 0)?, &Vec::new())?;
    case.equal("untouched", &backend.download_resident(&r)?[..], &[0; 6])?;
    Ok(backend.free_resident(r)?)
}

fn device_buffers(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let mut buffer = backend.allocate_device_buffer(9)?;
    case.equal("its bytes", &buffer.byte_len(), &9)?;
    case.equal("zero", &backend.download_device_buffer(&*buffer)?[..], &[0; 9])?;
    backend.upload_device_buffer(&mut *buffer, &[1, 2, 3])?;
    case.equal("short", &backend.download_device_buffer(&*buffer)?[..], &[1, 2, 3, 0, 0, 0, 0, 0, 0])?;
    case.refused("long", backend.upload_device_buffer(&mut *buffer, &[0; 10]), out_of_range)?;
    let handle = buffer.resource();
    case.equal("it is a resident", &backend.download_resident_range(&handle, 1, 2)?[..], &[2, 3])?;
    backend.free_device_buffer(buffer)?;
    let freed = |error: &BackendError| matches!(error, BackendError::BadHandle { problem: "freed", .. });
    case.refused("freed", backend.download_device_buffer(&handle), freed)?;
    case.refused("freed twice", backend.free_device_buffer(Box::new(handle)), freed)
}

fn device_dispatch(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, mixed) = (DispatchConfig::default(), kernels::mixed()?);
    let (mut a, mut x) = (backend.allocate_resident(8)?, backend.allocate_resident(8)?);
    backend.upload_resident_many(&[(&a, &bytes(&[1, 2])), (&x, &bytes(&[10, 20]))])?;
    let (mut sum, mut total) = (backend.allocate_resident(8)?, backend.allocate_resident(12)?);
    fill(backend, total, GUARD)?;
    // Apart: the input of a ReadWrite buffer stays as it is.
    backend.dispatch_with_device_buffers(&mixed, &[&a, &x], &mut [&mut sum, &mut total], &config)?;
    case.equal("x", &backend.download_resident(&x)?, &bytes(&[10, 20]))?;
    case.equal("sum", &backend.download_resident(&sum)?, &bytes(&[11, 22]))?;
    // The program needs two of the three words; the third is not touched.
    let want = bytes(&[12, 23, 0xEEEE_EEEE]);
    case.equal("total", &backend.download_resident(&total)?, &want)?;
    // In place.
    let same = x;
    backend.dispatch_with_device_buffers(&mixed, &[&a, &same], &mut [&mut x, &mut total], &config)?;
    case.equal("in place", &backend.download_resident(&x)?, &bytes(&[11, 22]))?;
    let aliasing = |error: &BackendError| matches!(error, BackendError::Aliasing { .. });
    let source = a;
    let run = backend.dispatch_with_device_buffers(&mixed, &[&source, &x], &mut [&mut sum, &mut a], &config);
    case.refused("an input is an output", run, aliasing)?;
    let run =
        backend.dispatch_with_device_buffers(&mixed, &[&source, &same], &mut [&mut sum, &mut x], &config);
    case.refused("an input is another's output", run, aliasing)?;
    let run = backend.dispatch_with_device_buffers(&mixed, &[&source, &x], &mut [&mut sum], &config);
    case.refused("an output is missing", run, |e| {
        matches!(e, BackendError::Config { field: "outputs", .. })
    })?;
    let run = backend.dispatch_with_device_buffers(&mixed, &[&source], &mut [&mut sum, &mut total], &config);
    case.refused("an input is missing", run, |e| matches!(e, BackendError::Launch(_)))?;
    [a, x, sum, total].into_iter().try_for_each(|r| backend.free_resident(r)).map_err(Problem::from)
}
