// The backend's own kernels: copies and fills at byte granularity, and the check of indirect workgroup counts.
//
// wgpu copies whole words at word offsets. These kernels do the rest: each invocation makes one word of
// the target, keeping the bytes outside the range. `source` is not bound to the target's buffer.

struct Range {
    // Where the range starts in the target, in bytes.
    target_start: u32,
    // Where it starts in the source, in bytes; for counts, in words.
    source_start: u32,
    // Its length in bytes; for counts, the most on an axis.
    len: u32,
    // For fills: the byte, repeated in all four places; for counts, 1 if the record is new.
    pattern: u32,
}

@group(0) @binding(0) var<uniform> range: Range;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;

// The mask of the bytes of word `word` that lie in the range.
fn mask(word: u32) -> u32 {
    var bits = 0u;
    for (var byte = 0u; byte < 4u; byte++) {
        let position = word * 4u + byte;
        // Wraps to a large number below the start.
        if (position - range.target_start < range.len) {
            bits |= 0xFFu << (byte * 8u);
        }
    }
    return bits;
}

// The target's word that this invocation makes; past the range's end the mask is empty.
fn word_of(group: u32, local: u32) -> u32 {
    return range.target_start / 4u + group * 256u + local;
}

@compute @workgroup_size(256)
fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let word = word_of(group.x, local);
    let bits = mask(word);
    if (bits != 0u) {
        words[word] = (words[word] & ~bits) | (range.pattern & bits);
    }
}

@compute @workgroup_size(256)
fn copy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let word = word_of(group.x, local);
    let bits = mask(word);
    if (bits != 0u) {
        // Where this word's first byte comes from; before the source's start only for masked bytes.
        let start = word * 4u - range.target_start + range.source_start;
        var value = 0u;
        for (var byte = 0u; byte < 4u; byte++) {
            let position = start + byte;
            if ((bits & (1u << (byte * 8u))) != 0u) {
                let shift = position % 4u * 8u;
                value |= ((source[position / 4u] >> shift) & 0xFFu) << (byte * 8u);
            }
        }
        words[word] = (words[word] & ~bits) | value;
    }
}

// Where counts that pass the device's limit are recorded: the trap record of the list.
@group(0) @binding(3) var<storage, read_write> record: array<atomic<u32>>;

// Copies the workgroup counts of an indirect dispatch from word `source_start` on. If one is above `len`, none
// runs, and the first fault of the list is recorded: the flag 2, the axis and the count.
@compute @workgroup_size(1)
fn counts() {
    var counts: array<u32, 3>;
    var runs = true;
    if (range.pattern == 1u) {
        for (var word = 0u; word < 4u; word++) {
            atomicStore(&record[word], 0u);
        }
    }
    for (var axis = 0u; axis < 3u; axis++) {
        counts[axis] = source[range.source_start + axis];
        if (counts[axis] > range.len && runs) {
            runs = false;
            if (atomicLoad(&record[0]) == 0u) {
                atomicStore(&record[0], 2u);
                atomicStore(&record[1], axis);
                atomicStore(&record[2], counts[axis]);
            }
        }
    }
    for (var axis = 0u; axis < 3u; axis++) {
        words[axis] = select(0u, counts[axis], runs);
    }
}
