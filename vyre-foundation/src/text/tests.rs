//! Random programs, sound and damaged, through the text and the wire form.

use std::collections::HashSet;

use super::{parse, print, print_with_map};
use crate::ir::Program;
use crate::testing::{GenConfig, Rng, generate, mutate};
use crate::wire::{decode, encode};

fn configs() -> [GenConfig; 2] {
    [
        GenConfig::default(),
        GenConfig {
            exact: false,
            subnormals: true,
            traps: true,
            subgroup_size: Some(4),
            nodes: 80,
            ..GenConfig::default()
        },
    ]
}

fn round_trips(program: &Program, what: &str) {
    let (text, map) = print_with_map(program);
    match parse(&text) {
        Ok((again, places)) => {
            assert!(again == *program, "{what}: another program:\n{text}\n{}", print(&again));
            assert_eq!(places, map, "{what}: other places:\n{text}");
            assert_eq!(print(&again), text, "{what}: another text");
        }
        Err(errors) => panic!("{what}: {}\n{text}", errors[0].render("printed", &text)),
    }
}

fn encodes(program: &Program, what: &str) {
    match decode(&encode(program)) {
        Ok(again) => assert!(again == *program, "{what}"),
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Whether no two declarations have one name: what a text needs to say which it means.
fn names_differ(program: &Program) -> bool {
    let mut seen = HashSet::new();
    let arrays = program.shared().iter().chain(program.privates()).map(|x| &x.name);
    let others = program.buffers().iter().map(|x| &x.name).chain(program.params().iter().map(|x| &x.name));
    others.chain(arrays).chain(program.vars().iter().map(|x| &x.name)).all(|name| seen.insert(name))
}

#[test]
fn random_programs_round_trip() {
    for config in configs() {
        for seed in 0..250 {
            let case = generate(seed, &config);
            round_trips(&case.program, &format!("seed {seed}"));
            encodes(&case.program, &format!("seed {seed}"));
        }
    }
}

#[test]
fn programs_that_are_wrong_in_any_way_round_trip() {
    let mut made = 0;
    for config in configs() {
        for seed in 0..100 {
            let case = generate(seed, &config);
            let mut rng = Rng::with_seed(seed);
            for attempt in 0..20 {
                let Ok((program, _)) = mutate::program(&case.program, &mut rng).finish() else { continue };
                let what = format!("seed {seed}, attempt {attempt}");
                encodes(&program, &what);
                if names_differ(&program) {
                    round_trips(&program, &what);
                    made += 1;
                } else {
                    print(&program);
                }
            }
        }
    }
    assert!(made > 500, "{made}");
}

#[test]
fn damaged_texts_give_located_errors() {
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..250 {
        let text = print(&generate(seed, &GenConfig::default()).program);
        let mut rng = Rng::with_seed(seed);
        for attempt in 0..50 {
            let damaged = mutate::text(&text, &mut rng);
            match parse(&damaged) {
                Ok((program, _)) => {
                    right += 1;
                    round_trips(&program, &format!("seed {seed}, attempt {attempt}"));
                }
                Err(errors) => {
                    wrong += 1;
                    assert!(!errors.is_empty());
                    for error in errors {
                        assert!(
                            error.line > 0 && error.column > 0,
                            "seed {seed}, attempt {attempt}: {error}"
                        );
                        let place = damaged.get(error.span.range());
                        assert!(place.is_some(), "seed {seed}, attempt {attempt}: {error}");
                    }
                }
            }
        }
    }
    assert!(wrong + right > 10_000 && right > 100, "{wrong} wrong, {right} right");
}

#[test]
fn damaged_bytes_give_located_errors() {
    let mut tried = 0;
    for seed in 0..250 {
        let bytes = encode(&generate(seed, &GenConfig::default()).program);
        let body = bytes.split_last_chunk::<32>().map_or(&bytes[..], |(body, _)| body);
        let mut rng = Rng::with_seed(seed);
        for attempt in 0..50 {
            // With the right hash, so that the damage is looked at.
            let mut damaged = mutate::bytes(body, &mut rng);
            let hash = blake3::hash(&damaged);
            damaged.extend_from_slice(hash.as_bytes());
            tried += 1;
            match decode(&damaged) {
                Ok(program) => assert_eq!(encode(&program), damaged, "seed {seed}, attempt {attempt}"),
                Err(error) => {
                    assert!(
                        error.offset().is_none_or(|at| at <= damaged.len()),
                        "seed {seed}, attempt {attempt}"
                    );
                }
            }
            // And without.
            assert!(
                decode(&mutate::bytes(&bytes, &mut rng)).map_or(true, |program| encode(&program) == bytes)
            );
        }
    }
    assert!(tried > 10_000);
}
