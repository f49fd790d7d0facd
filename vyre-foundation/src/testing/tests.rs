//! Tests of the generator, the mutator and the shrinker; and, with them, of the machine.

use std::collections::BTreeSet;

use fastrand::Rng;
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{BuiltIn, Comparison, DataType, Value};

use super::generate::attempt_case;
use super::ops::commutes;
use super::rebuild::{Edits, rebuild};
use super::{GenConfig, GeneratedCase, Launches, edge_values, generate, mutate, shrink};
use crate::check::check;
use crate::ir::{Expr, ExprId, Node, Place};
use crate::machine::{Finding, MachineOptions, Schedule};
use crate::opt::optimize;

fn configs() -> [GenConfig; 5] {
    [
        GenConfig { indirect: true, launches: Launches::Workgroups, ..GenConfig::default() },
        GenConfig { grid_barriers: true, launches: Launches::Workgroups, ..GenConfig::default() },
        GenConfig::default(),
        GenConfig { subgroup_size: Some(4), traps: true, ..GenConfig::default() },
        GenConfig { exact: false, subnormals: true, nodes: 80, ..GenConfig::default() },
    ]
}

#[test]
fn the_checker_accepts_what_is_generated() {
    for config in configs() {
        for seed in 0..400 {
            if let Err(findings) = attempt_case(seed, 0, &config) {
                panic!("seed {seed}: {findings:?}");
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_case_each_time() {
    let config = GenConfig::default();
    let (a, b) = (generate(17, &config), generate(17, &config));
    assert_eq!(*a.program, *b.program);
    assert_eq!((a.params, a.inputs), (b.params, b.inputs));
    assert_ne!(*a.program, *generate(18, &config).program);
}

/// What a program has: ops at their types, and constructs with what they act on.
fn features(case: &GeneratedCase, found: &mut BTreeSet<String>) {
    let program = &case.program;
    let ty = |e| program.facts().type_of(e).name();
    for expr in program.exprs() {
        found.insert(match *expr {
            Expr::Unary(op, a) => format!("{} {}", op.name(), ty(a)),
            Expr::Binary(op, a, _) => format!("{} {}", op.name(), ty(a)),
            Expr::Ternary(op, _, b, _) => format!("{} {}", op.name(), ty(b)),
            Expr::Cast(op, to, a) => format!("{} {} {to}", op.name(), ty(a)),
            Expr::BuiltIn(built_in) => format!("{built_in:?}"),
            _ => continue,
        });
    }
    for node in program.nodes() {
        let at = |place: Place| {
            let kind = match place {
                Place::Buffer(id) => format!("{:?}", program.buffer(id).access),
                Place::Shared(_) => "shared".into(),
                Place::Private(_) => "private".into(),
            };
            format!("{kind} {}", program.place(place).1)
        };
        found.insert(match *node {
            Node::Load { place, .. } => format!("load {}", at(place)),
            Node::Store { place, .. } => format!("store {}", at(place)),
            Node::Atomic { op, place: place @ Place::Shared(_), .. } => {
                format!("{} {}", op.name(), at(place))
            }
            Node::Atomic { op, place, .. } => format!("{} {}", op.name(), program.place(place).1),
            Node::Subgroup { op, value, .. } => format!("{} {}", op.name(), ty(value)),
            Node::Declare { var, .. } => format!("var {}", program.vars()[var.index()].ty),
            Node::For { start, .. } => format!("for {}", ty(start)),
            Node::Barrier { ordering } => format!("barrier {ordering:?}"),
            other => format!("{other:?}").split([' ', '{']).next().unwrap_or_default().to_owned(),
        });
    }
    for param in program.params() {
        found.insert(format!("param {}{}", param.ty, if param.specialize { " specialize" } else { "" }));
    }
    let launch = format!("{:?}", program.launch());
    found.insert(launch.split([' ', '{']).next().unwrap_or_default().to_owned());
}

/// Everything that the tables and the language have.
fn wanted() -> BTreeSet<String> {
    let mut wanted = BTreeSet::new();
    for ty in DataType::ALL {
        let n = ty.name();
        let mut add = |names: Vec<String>| wanted.extend(names);
        let has = |name: &str, kernel: bool| kernel.then(|| format!("{name} {n}"));
        add(UnaryOp::ALL.iter().filter_map(|o| has(o.name(), o.kernel(ty).is_some())).collect());
        add(BinaryOp::ALL.iter().filter_map(|o| has(o.name(), o.kernel(ty).is_some())).collect());
        add(TernaryOp::ALL.iter().filter_map(|o| has(o.name(), o.kernel(ty).is_some())).collect());
        add(SubgroupOp::ALL.iter().filter_map(|o| has(o.name(), o.rule().operands().contains(ty))).collect());
        for to in DataType::ALL {
            let casts = CastOp::ALL.iter().filter(|op| op.allows(ty, to));
            add(casts.map(|op| format!("{} {n} {to}", op.name())).collect());
        }
        add(["load", "store"]
            .into_iter()
            .flat_map(|what| ["shared", "private", "ReadWrite"].map(|at| format!("{what} {at} {n}")))
            .collect());
        add(vec![
            format!("load ReadOnly {n}"),
            format!("load Uniform {n}"),
            format!("store WriteOnly {n}"),
            format!("var {n}"),
            format!("param {n}"),
            format!("param {n} specialize"),
        ]);
        add(has("for", ty.is_int()).into_iter().collect());
    }
    for &op in AtomicOp::ALL {
        for ty in op.rule().elements().iter() {
            wanted.insert(format!("{} {ty}", op.name()));
            // In shared memory all invocations work on all elements, so only an op whose order does not matter.
            let integers = edge_values(ty);
            if !ty.is_float() && commutes(op, ty, &integers) {
                wanted.insert(format!("{} shared {ty}", op.name()));
            }
        }
    }
    let forms = [
        "Get",
        "Set",
        "If",
        "While",
        "Break",
        "Continue",
        "Return",
        "Trap",
        "barrier Workgroup",
        "barrier Storage",
        "barrier WorkgroupAndStorage",
        "barrier GridSync",
        "Domain",
        "Workgroups",
        "Indirect",
    ];
    wanted.extend(forms.map(str::to_owned));
    wanted.extend(BuiltIn::ALL.map(|built_in| format!("{built_in:?}")));
    wanted
}

#[test]
fn every_op_type_and_control_form_is_generated() {
    let mut found = BTreeSet::new();
    for config in configs() {
        for seed in 0..400 {
            features(&generate(seed, &config), &mut found);
        }
    }
    // What is rare is looked for longer.
    let wanted = wanted();
    let mut missing: Vec<_> = wanted.difference(&found).cloned().collect();
    for seed in 400..4_000 {
        if missing.is_empty() {
            break;
        }
        for config in configs() {
            features(&generate(seed, &config), &mut found);
        }
        missing.retain(|feature| !found.contains(feature));
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn no_order_of_invocations_changes_a_generated_result_and_none_races() {
    for config in configs() {
        let subgroup_size = config.subgroup_size.unwrap_or(32);
        for seed in 0..150 {
            let case = generate(seed, &config);
            let base = MachineOptions { subgroup_size, ..MachineOptions::default() };
            let first = case.run(&base).unwrap();
            for schedule in [Schedule::InOrder, Schedule::Seeded(seed), Schedule::Seeded(!seed)] {
                let options = MachineOptions { schedule, sanitize: true, ..base.clone() };
                let outcome = case.run(&options).unwrap();
                let racing = |f: &Finding| matches!(f, Finding::Race { .. } | Finding::Divergent { .. });
                let races: Vec<_> = outcome.reports.iter().filter(|r| racing(&r.finding)).collect();
                assert!(races.is_empty(), "seed {seed}: {:?}", races[0].diagnostic(&case.program));
                case.compare(Comparison::EXACT, &first.outputs, &outcome.outputs)
                    .unwrap_or_else(|(name, m)| panic!("seed {seed} {schedule:?}: {name}: {m}"));
            }
        }
    }
}

#[test]
fn exact_programs_meet_no_subnormal() {
    for seed in 0..200 {
        let case = generate(seed, &GenConfig::default());
        let options = MachineOptions { watch_subnormals: true, ..MachineOptions::default() };
        assert!(!case.run(&options).unwrap().subnormals, "seed {seed}");
        assert!(case.program.nodes().len() > 2, "seed {seed}");
    }
}

#[test]
fn damaged_programs_are_refused_or_run_and_nothing_panics() {
    let (mut accepted, mut refused, mut unstructured) = (0, 0, 0);
    let config = GenConfig { subgroup_size: Some(4), traps: true, ..GenConfig::default() };
    let mut rng = Rng::with_seed(1);
    for seed in 0..200 {
        let case = generate(seed, &config);
        for _ in 0..60 {
            let Ok((program, _)) = mutate::program(&case.program, &mut rng).finish() else {
                unstructured += 1;
                continue;
            };
            let findings = match check(program) {
                Ok(program) => {
                    accepted += 1;
                    let options = MachineOptions {
                        subgroup_size: 4,
                        step_budget: Some(20_000),
                        memory_limit: 64 << 20,
                        sanitize: rng.bool(),
                        ..MachineOptions::default()
                    };
                    // Inputs may no longer fit, which is an error like any other.
                    let _ = GeneratedCase { program, ..case.clone() }.run(&options);
                    continue;
                }
                Err(findings) => findings,
            };
            refused += 1;
            assert!(!findings.is_empty(), "refused without a finding, seed {seed}");
        }
    }
    assert_eq!(accepted + refused + unstructured, 12_000);
    // Each of the three must be common for the test to mean much.
    assert!(accepted > 1000 && refused > 1000 && unstructured > 1000, "{accepted} {refused} {unstructured}");
}

#[test]
fn a_failing_case_shrinks_to_what_makes_it_fail() {
    // "Fails" if some output holds the number 77 777 that was planted among the literals.
    let options = MachineOptions { step_budget: Some(1 << 20), ..MachineOptions::default() };
    let planted = Expr::Literal(Value::new(77_777u32));
    let fails = |case: &GeneratedCase| {
        case.program.exprs().contains(&planted)
            && case.run(&options).is_ok_and(|outcome| {
                let word = 77_777u32.to_le_bytes();
                outcome.outputs.iter().any(|bytes| bytes.chunks(4).any(|w| w == word))
            })
    };
    let mut shrunk = 0;
    for seed in 0..300 {
        let mut case = generate(seed, &GenConfig::default());
        let mut edits = Edits::default();
        let kept = |id: ExprId| case.program.facts().type_of(id) == DataType::U32;
        for (i, expr) in (0..).map(ExprId::new).zip(case.program.exprs()) {
            if matches!(expr, Expr::Ternary(..) | Expr::Unary(..) | Expr::Cast(..)) && kept(i) {
                edits.constants.insert(i, Value::new(77_777u32));
            }
        }
        let Some(program) = rebuild(&case.program, &edits) else { continue };
        case.program = program;
        if !fails(&case) {
            continue;
        }
        let before = case.program.nodes().len();
        let small = shrink(case, &mut |c| fails(c));
        assert!(fails(&small));
        // A store, and at most the little that makes it count.
        assert!(small.program.nodes().len() <= 3, "seed {seed}: {before} to {:?}", small.program);
        shrunk += 1;
        if shrunk == 5 {
            return;
        }
    }
    panic!("only {shrunk} cases failed");
}

#[test]
fn text_and_bytes_are_damaged_but_stay_close() {
    let mut rng = Rng::with_seed(2);
    let text = "program p { launch domain(1) { } }";
    let mut changed = 0;
    for _ in 0..100 {
        let damaged = mutate::text(text, &mut rng);
        changed += u32::from(damaged != text);
        assert!(damaged.len() < 2 * text.len());
        let damaged = mutate::bytes(text.as_bytes(), &mut rng);
        assert!(damaged.len() < text.len() + 40);
    }
    assert!(changed > 50);
    assert_eq!(mutate::text("", &mut rng), "");
    let _ = mutate::bytes(&[], &mut rng);
}

#[test]
fn optimised_programs_give_the_same_bits() {
    for config in configs() {
        // An optimisation may change a NaN's payload, so none may show.
        let config = GenConfig { exact: true, ..config };
        let options =
            MachineOptions { subgroup_size: config.subgroup_size.unwrap_or(32), ..MachineOptions::default() };
        for seed in 0..300 {
            let case = generate(seed, &config);
            let optimised = GeneratedCase { program: optimize(&case.program), ..case.clone() };
            let (want, got) = (case.run(&options).unwrap(), optimised.run(&options).unwrap());
            assert_eq!(want.trap.is_some(), got.trap.is_some(), "seed {seed}");
            case.compare(Comparison::EXACT, &want.outputs, &got.outputs)
                .unwrap_or_else(|(name, m)| panic!("seed {seed}: {name}: {m}"));
        }
    }
}
