//! Loops, and memory that workgroups have of their own.

use vyre_spec::DataType::{I32, U32};

use super::{Wrong, elements, outputs, run};
use crate::conformance::{Failure, Report};
use crate::{BackendError, VyreBackend};

/// A local that is declared in a loop starts anew in each trip.
pub(super) fn locals_of_loops(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    // Digits of the trips: only the second sets the local, and no other may still see it.
    let body = "var t: u32 = 0; if k == 1 { set t = 7; } set digits = digits * 10 + t;";
    let counted = format!(
        "program counted {{ buffer out: writeonly u32[4]; launch domain(4) {{ var digits: u32 = 0; \
         for k in 0..point.x + 3 {{ {body} }} store out[point.x] = digits; }} }}"
    );
    let conditional = format!(
        "program conditional {{ buffer out: writeonly u32[4]; launch domain(4) {{ var digits: u32 = 0; \
         var n: u32 = 0; while n < point.x + 3 {{ let k = get n; set n = k + 1; {body} }} \
         store out[point.x] = digits; }} }}"
    );
    let want = [(U32, elements(U32, [70, 700, 7_000, 70_000]))];
    run(backend, "in a counted loop", &counted, &[], &want, &mut report);
    run(backend, "in a while", &conditional, &[], &want, &mut report);
    // Nested: the outer trip's local is kept through the inner loop, the inner one's is not.
    let nested = "program nested { buffer out: writeonly i32[3]; launch domain(3) { var sum: i32 = 0i32; \
         for a in 0..3 { var outer: i32 = 100i32; for b in 0..point.x { var inner: i32 = 0i32; \
         set inner = inner + 1i32; set outer = outer + inner; } set sum = sum + outer; } \
         store out[point.x] = sum; } }";
    run(backend, "in nested loops", nested, &[], &[(I32, elements(I32, [300, 303, 306]))], &mut report);
    report
}

/// Many trips in one loop, many loops in one program, and more trips in all than some drivers make: right, or a
/// typed refusal, and never a result that is short of some.
pub(super) fn long_loops(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    // 4,096 steps of x = x + 1, exact as all of these numbers are.
    let inner = "program inner { buffer x: readonly f32[]; buffer out: writeonly f32[len(x)]; \
         launch domain(len(x)) { var v: f32 = x[point.x]; for k in 0..4096 { set v = fma(v, 1.0, 1.0); } \
         store out[point.x] = v; } }";
    let floats = |numbers: [f32; 3]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let want = [(vyre_spec::DataType::F32, floats([4096.0, 4097.0, 4095.5]))];
    run(backend, "4,096 trips", inner, &[floats([0.0, 1.0, -0.5])], &want, &mut report);
    // A driver that counts the trips of all loops together makes one long recurrence of them, on which its compiler
    // takes time by the cube: seconds for 20 and minutes for 80.
    let many = if backend.profile().quirks.max_loop_iterations.is_some() { 10 } else { 200 };
    let loops = "for k in 0..point.x { set v = rotate_left(v, 1) ^ k; } ".repeat(many as usize);
    let text = format!(
        "program sequential {{ buffer out: writeonly u32[3]; launch domain(3) {{ var v: u32 = 1; {loops} \
         store out[point.x] = v; }} }}"
    );
    let turned = |trips: u32| (0..many * trips).fold(1u32, |v, i| v.rotate_left(1) ^ (i % trips.max(1)));
    let want = [(U32, elements(U32, (0..3).map(|trips| i128::from(turned(trips)))))];
    run(backend, &format!("{many} loops"), &text, &[], &want, &mut report);
    let all = "program all { buffer n: readonly u32[2]; buffer out: writeonly u32[1]; launch domain(1) { \
         var v: u32 = 0; for a in 0..n[0] { for b in 0..n[1] { set v = v + 1; } } store out[0] = v; } }";
    for (outer, inner) in [(1, 65_535), (1, 65_536), (17, 4_096), (300, 300)] {
        let label = format!("{outer} times {inner} trips");
        report.programs += 1;
        match outputs(backend, all, &[elements(U32, [outer, inner])], false) {
            Ok(got) if got == [elements(U32, [outer * inner])] => report.compared += 1,
            Err(Wrong::Backend(BackendError::LoopLimit { .. })) => report.compared += 1,
            Err(Wrong::Backend(error)) => report.failed(&label, &error),
            Err(Wrong::Suite(message)) => report.failures.push(Failure { case: label, message }),
            Ok(got) => report.failures.push(Failure { case: label, message: format!("got {got:?}") }),
        }
    }
    report
}

/// Shared memory that nobody wrote reads as zero, also where other workgroups left something; what the device has
/// not, it refuses.
pub(super) fn shared_memory_is_zero(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for bytes in [16u32 << 10, 48 << 10] {
        let words = bytes / 4;
        let each = words / 64;
        // Full of ones, and stored so that no compiler leaves the writes out.
        let dirty = format!(
            "program dirty {{ buffer out: readwrite u32[1]; shared s: u32[{words}]; \
             launch workgroups(64) size(64) {{ for k in 0..{each} {{ store s[k * 64 + local_index] = 0xffff_ffff; }} \
             barrier workgroup; let x = load s[(workgroup_id.x * 37 + local_index) % {words}]; \
             atomic_and out[0], x; }} }}"
        );
        let clean = format!(
            "program clean {{ buffer out: readwrite u32[1]; shared s: u32[{words}]; \
             launch workgroups(64) size(64) {{ var seen: u32 = 0; \
             for k in 0..{each} {{ let x = load s[k * 64 + local_index]; set seen = seen | x; }} \
             atomic_or out[0], seen; barrier workgroup; store s[local_index] = seen + 1; }} }}"
        );
        let label = format!("{bytes} bytes");
        if backend.profile().max_shared_bytes < bytes {
            report.programs += 1;
            match outputs(backend, &clean, &[elements(U32, [0])], false) {
                Err(Wrong::Backend(BackendError::Limit { .. } | BackendError::Unsupported { .. })) => {
                    report.compared += 1;
                }
                Err(Wrong::Backend(error)) => {
                    report.failures.push(Failure { case: label, message: error.to_string() });
                }
                Err(Wrong::Suite(message)) => report.failures.push(Failure { case: label, message }),
                Ok(_) => {
                    report.failures.push(Failure { case: label, message: "more than the device has".into() });
                }
            }
            continue;
        }
        let ones = elements(U32, [0xFFFF_FFFF]);
        run(backend, &label, &dirty, std::slice::from_ref(&ones), &[(U32, ones.clone())], &mut report);
        run(backend, &label, &clean, &[elements(U32, [0])], &[(U32, elements(U32, [0]))], &mut report);
    }
    report
}

/// Eight workgroups at work at the same time see their own scratch arrays and no others.
pub(super) fn workgroups_keep_apart(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    // Each lane leaves its number in shared memory and counts in private memory; then all add up what they see.
    let text = "program apart { buffer out: writeonly u32[512]; shared s: u32[64]; private p: u32[4]; \
         launch workgroups(8) size(64) { let id = workgroup_id.x * 64 + local_index; \
         store s[local_index] = id; store p[id % 4] = id + 1; \
         barrier workgroup; var sum: u32 = 0; \
         for k in 0..64 { let x = load s[k]; set sum = sum + x; } \
         for k in 0..4 { let x = load p[k]; set sum = sum + x; } \
         store out[id] = sum; } }";
    let sum = |id: i128| {
        let group = id / 64;
        64 * 64 * group + 63 * 32 + id + 1
    };
    run(backend, "eight workgroups", text, &[], &[(U32, elements(U32, (0..512).map(sum)))], &mut report);
    report
}
