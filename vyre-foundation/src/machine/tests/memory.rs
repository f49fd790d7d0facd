//! Bounds, initial contents, atomics.

use super::{bytes, output, run_clean, words};
use crate::build::Kernel;
use crate::launch::Params;
use crate::machine::{MachineOptions, run};

#[test]
fn accesses_out_of_bounds_read_zero_and_change_nothing() {
    let program = Kernel::build("test", |k| {
        let x = k.read_only::<i32>("x");
        let out = k.read_write::<u32>("out");
        let scratch = k.private::<u32>("scratch", 2);
        k.domain([x.len()], |[i]| {
            let index = x.load(i);
            out.store(index, 9u32);
            scratch.store(index, 5u32);
            let old = out.atomic_add(index + 100i32, 1u32);
            out.store(i + 4u32, out.load(index) + scratch.load(index) * 100u32 + old * 10_000u32);
        });
    })
    .unwrap();
    let x = bytes(&[1, (-1i32) as u32, i32::MIN as u32, 12]);
    let outcome = run(&program, &Params::new(), &[&x, &bytes(&[0; 8])], &MachineOptions::default()).unwrap();
    assert_eq!(words(&outcome.outputs[0]), [0, 9, 0, 0, 509, 0, 0, 0]);
}

#[test]
fn a_buffer_is_readable_at_its_last_element_and_no_further() {
    let program = Kernel::build("test", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", 4);
        k.domain([4], |[i]| out.store(i, x.load(i) + x.len() * 10u32));
    })
    .unwrap();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[&[7, 8, 9, 6]])), [47, 48, 49, 46]);
    let short = bytes(&[7, 8]);
    let outcome = run(&program, &Params::new(), &[&short], &MachineOptions::default()).unwrap();
    assert_eq!(words(&outcome.outputs[0]), [27, 28, 20, 20]);
}

#[test]
fn outputs_start_at_zero_or_at_their_input() {
    let program = Kernel::build("test", |k| {
        let a = k.read_write::<u32>("a");
        let b = k.write_only::<u32>("b", 3);
        k.domain([1], |[i]| {
            a.store(i, 5u32);
            b.store(i + 2u32, 6u32);
        });
    })
    .unwrap();
    let outcome = run_clean(&program, &Params::new(), &[&[1, 2, 3]]);
    assert_eq!(words(&outcome.outputs[0]), [5, 2, 3]);
    assert_eq!(words(&outcome.outputs[1]), [0, 0, 6]);
}

#[test]
fn a_bool_buffer_takes_any_word_for_true_and_keeps_what_it_does_not_store() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<bool>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.domain([x.len()], |[i]| {
            let v = x.load(i);
            k.if_(i.lt(2u32), || x.store(i, v));
            out.store(i, v.select(1u32, 2u32));
        });
    })
    .unwrap();
    let outcome = run_clean(&program, &Params::new(), &[&[0, 0x8000_0000, 7, 0]]);
    assert_eq!(words(&outcome.outputs[0]), [0, 1, 7, 0]);
    assert_eq!(words(&outcome.outputs[1]), [2, 1, 1, 2]);
}

#[test]
fn private_arrays_start_at_zero_for_each_invocation() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 300);
        let own = k.private::<u32>("own", 3);
        k.domain([300], |[i]| {
            let at = i % 3u32;
            own.store(at, own.load(at) + i + 1u32);
            out.store(i, own.load(0u32) + own.load(1u32) + own.load(2u32));
        });
    })
    .unwrap();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), (1..=300).collect::<Vec<u32>>());
}

#[test]
fn atomics_give_the_old_value_and_meet_at_one_element() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        let seen = k.write_only::<u32>("seen", 64);
        k.domain([64], |[i]| {
            let ticket = x.atomic_add(0u32, 1u32);
            seen.store(ticket, 1u32);
            x.atomic_max(1u32, i);
            x.atomic_min(2u32, i + 5u32);
            x.atomic_xor(3u32, i);
            x.atomic_compare_exchange(4u32, 8u32, 9u32);
            x.atomic_compare_exchange(5u32, 8u32, 9u32);
            x.atomic_or(6u32, 1u32 << (i & 31u32));
            x.atomic_sub(7u32, 1u32);
        });
    })
    .unwrap();
    let outcome = run_clean(&program, &Params::new(), &[&[0, 0, 99, 0, 8, 7, 0, 64]]);
    assert_eq!(words(&outcome.outputs[0]), [64, 63, 5, 0, 9, 7, u32::MAX, 0]);
    assert_eq!(words(&outcome.outputs[1]), [1; 64]);
}

#[test]
fn a_float_atomic_adds_and_exchanges() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<f32>("x");
        k.domain([4], |[_]| {
            x.atomic_add(0u32, 0.5f32);
            x.atomic_exchange(1u32, 2.0f32);
        });
    })
    .unwrap();
    let outcome = run_clean(&program, &Params::new(), &[&[1.0f32.to_bits(), 0]]);
    assert_eq!(words(&outcome.outputs[0]), [3.0f32.to_bits(), 2.0f32.to_bits()]);
}

#[test]
fn a_watched_subnormal_is_noted() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<f32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * 0.5f32));
    })
    .unwrap();
    let options = MachineOptions { watch_subnormals: true, ..MachineOptions::default() };
    let at = |x: f32| run(&program, &Params::new(), &[&x.to_le_bytes()], &options).unwrap().subnormals;
    // Half of the smallest normal is subnormal; twice it is not, nor is zero.
    assert!(at(f32::MIN_POSITIVE) && at(f32::from_bits(1)));
    assert!(!at(f32::MIN_POSITIVE * 2.0) && !at(0.0) && !at(f32::NAN));
}
