//! How often each byte value occurs in a file: counted in shared memory by each workgroup, then added up with
//! atomics. The program is also `examples/byte_histogram.vyre`.
//!
//! `cargo run -p vyre --example byte_histogram -- FILE`
use vyre::prelude::*;

/// Adds the counts of the first `bytes` bytes of `data` to `histogram`.
pub fn program() -> Result<Checked<Program>, BuildError> {
    Kernel::build("byte_histogram", |k| {
        let bytes = k.param::<u32>("bytes");
        let data = k.read_only::<u32>("data");
        let histogram = k.read_write::<u32>("histogram").with_len(256);
        let bins = k.shared::<u32>("bins", 256);
        k.workgroups([256], [data.len().extent().ceil_div(4096)], |group| {
            bins.store(group.local_index, 0);
            k.barrier(MemoryOrdering::Workgroup);
            let first = group.id[0] * 4096;
            let words = data.len().min((bytes >> 2) + 1);
            k.for_step(first + group.local_index, (first + 4096).min(words), 256, |word| {
                let w = data.load(word);
                k.for_(0, (bytes - word * 4).min(4), |byte| {
                    bins.atomic_add((w >> (byte * 8)) & 255, 1);
                });
            });
            k.barrier(MemoryOrdering::Workgroup);
            let count = bins.load(group.local_index);
            k.if_(count.ne(0), || {
                histogram.atomic_add(group.local_index, count);
            });
        });
    })
}

/// The counts of `file`, by a backend.
pub fn histogram(gpu: &dyn VyreBackend, file: &[u8]) -> Result<Vec<u32>, vyre::Error> {
    let mut data = file.to_vec();
    data.resize(file.len().next_multiple_of(4), 0);
    let config = DispatchConfig::default().param("bytes", file.len() as u32);
    let program = program()?;
    let outputs = gpu.dispatch(&program, &[data, to_bytes(&[0u32; 256])], &config)?;
    Ok(from_bytes(&outputs[0])?)
}

/// Counts the bytes of the file that the command line names.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "Cargo.toml".into());
    let file = std::fs::read(&path)?;
    let counts = histogram(&*vyre::backend()?, &file)?;

    let mut want = [0u32; 256];
    file.iter().for_each(|&byte| want[usize::from(byte)] += 1);
    assert_eq!(counts, want);
    let (byte, count) = counts.iter().enumerate().max_by_key(|&(_, count)| count).unwrap_or((0, &0));
    println!("{path}: {} bytes, the most frequent is {byte:#04x}, {count} times", file.len());
    Ok(())
}
