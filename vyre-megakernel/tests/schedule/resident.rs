//! Buffers that stay on the device: the caller's, and those that are held from run to run.

use super::*;

#[test]
fn residents_take_outputs_where_they_are_or_by_a_copy() {
    let device = Device::new();
    let g = GraphBuilder::new("feedback");
    let n = g.dim("n");
    let (x, y) = (g.input::<u32>("x", [n]), g.input::<u32>("y", [n]));
    let next = g.call(&sum(), [x, y]).unwrap();
    let after = g.call(&sum(), [x, next]).unwrap();
    // The output `x` is computed before the input `x` is read for the last time.
    g.output("x", next);
    g.output("after", after);
    let graph = g.finish().unwrap();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let (x, after) = (device.filled(&[1, 10]), device.filled(&[0, 0]));
        let y = [3u32, 4];
        let bindings = BindingSet::new().resident("x", x).values("y", &y).resident("after", after);
        for (x_is, after_is) in [([4, 14], [5, 24]), ([7, 18], [11, 32])] {
            let schedule = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
            assert!(device.run(&schedule).is_empty());
            assert_eq!(words(&device.contents(x)), x_is);
            assert_eq!(words(&device.contents(after)), after_is);
        }
        // By id, the input alone is meant.
        let id = artifact.graph().value_named("x").unwrap();
        let bindings = BindingSet::new().resident(id, x).values("y", &y);
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!((words(&outputs["x"]), words(&outputs["after"])), (vec![10, 22], vec![17, 40]));
        assert_eq!(words(&device.contents(x)), [7, 18]);

        let short = BindingSet::new().resident("x", x).values("y", &y).resident("after", device.filled(&[0]));
        let refused = schedule(&artifact, &pipelines, &short, &Held::new()).unwrap_err();
        assert_eq!(refused, BindingError::ResidentLength { name: "after".into(), needs: 8, got: 4 });
        let shared = BindingSet::new().resident("x", x).values("y", &y).resident("after", x);
        let refused = schedule(&artifact, &pipelines, &shared, &Held::new()).unwrap_err();
        assert!(matches!(refused, BindingError::SharedOutput { .. }), "{refused}");
    }
}

#[test]
fn residents_change_places_all_at_once() {
    let device = Device::new();
    let g = GraphBuilder::new("exchange");
    let n = g.dim("n");
    let (x, y) = (g.input::<u32>("x", [n]), g.input::<u32>("y", [n]));
    g.output("y", x);
    g.output("x", y);
    g.output("was_x", x);
    g.output("sum", g.call(&sum(), [x, y]).unwrap());
    let graph = g.finish().unwrap();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::default());
    let (x, y) = (device.filled(&[1, 2]), device.filled(&[3, 4]));
    let bindings = BindingSet::new().resident("x", x).resident("y", y);
    for (x_is, y_is) in [([3, 4], [1, 2]), ([1, 2], [3, 4])] {
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!((words(&outputs["was_x"]), words(&outputs["sum"])), (y_is.to_vec(), vec![4, 6]));
        assert_eq!((words(&device.contents(x)), words(&device.contents(y))), (x_is.to_vec(), y_is.to_vec()));
    }
}

/// Retains `total`, and two values that change places in every run.
fn retaining() -> ProgramGraph {
    let g = GraphBuilder::new("retaining");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let total = g.retained::<u32>("total", [n]);
    let (a, b) = (g.retained::<u32>("a", [n]), g.retained::<u32>("b", [n]));
    let next = g.call(&add(), (1u32, total)).unwrap();
    let out = g.call(&sum(), [x, next]).unwrap();
    g.update(total, next);
    g.update(a, b);
    g.update(b, a);
    g.output("out", out);
    g.output("a", a);
    g.finish().unwrap()
}

#[test]
fn held_values_are_updated_where_they_are() {
    let device = Device::new();
    let graph = retaining();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::none());
    let id = |name| graph.value_named(name).unwrap();
    let held = Held::from([
        (id("total"), device.filled(&[0, 0])),
        (id("a"), device.filled(&[1, 2])),
        (id("b"), device.filled(&[3, 4])),
    ]);
    let x = [10u32, 20];
    let bindings = BindingSet::new().values("x", &x);
    for (out, a) in [([11, 21], [1, 2]), ([12, 22], [3, 4]), ([13, 23], [1, 2])] {
        let schedule = schedule(&artifact, &pipelines, &bindings, &held).unwrap();
        // The counter is changed in its own memory. Two values that change places are put aside, both.
        assert_eq!(kinds(&schedule), [1, 0, 4, 2, 2]);
        let outputs = device.run(&schedule);
        assert_eq!((words(&outputs["out"]), words(&outputs["a"])), (out.to_vec(), a.to_vec()));
    }
    assert_eq!(words(&device.contents(held[&id("total")])), [3, 3]);
    // What a run binds replaces what is held; another length than what is held contradicts it.
    let total = [100u32, 200];
    let bound = BindingSet::new().values("x", &x).values("total", &total);
    let outputs = device.run(&schedule(&artifact, &pipelines, &bound, &held).unwrap());
    assert_eq!(words(&outputs["out"]), [111, 221]);
    assert_eq!(words(&device.contents(held[&id("total")])), [101, 201]);
    let other = BindingSet::new().values("x", &[1u32]).values("total", &[1u32]).values("a", &[1u32]);
    let other = other.values("b", &[1u32]);
    let refused = schedule(&artifact, &pipelines, &other, &held).unwrap_err();
    assert!(matches!(refused, BindingError::ResidentLength { needs: 4, got: 8, .. }), "{refused}");
    let longer = BindingSet::new().values("x", &[1u32, 2, 3]);
    let refused = schedule(&artifact, &pipelines, &longer, &held).unwrap_err();
    assert!(matches!(refused, BindingError::Solve(SolveError::Shape { .. })), "{refused}");
}

#[test]
fn without_what_is_held_a_run_is_the_first() {
    let device = Device::new();
    let graph = retaining();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let x = [10u32, 20];
        let bindings = BindingSet::new().values("x", &x).values("a", &[6u32, 7]);
        for _ in 0..2 {
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!((words(&outputs["out"]), words(&outputs["a"])), (vec![11, 21], vec![6, 7]));
        }
        // A caller's buffer is retained in place.
        let total = device.filled(&[50, 50]);
        let bindings = BindingSet::new().values("x", &x).resident("total", total);
        for more in [51, 52] {
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!(words(&outputs["out"]), [10 + more, 20 + more]);
            assert_eq!(words(&device.contents(total)), [more, more]);
        }
    }
}

#[test]
fn one_buffer_of_two_values_is_read_as_it_was_and_never_gets_two() {
    let device = Device::new();
    let graph = retaining();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        // `x` is read after `total`, in the same buffer, has been updated.
        let both = device.filled(&[50, 60]);
        let bindings = BindingSet::new().resident("x", both).resident("total", both);
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!(words(&outputs["out"]), [50 + 51, 60 + 61]);
        assert_eq!(words(&device.contents(both)), [51, 61]);
        let refused = |bindings: &BindingSet<'_>| {
            schedule(&artifact, &pipelines, bindings, &Held::new()).unwrap_err().to_string()
        };
        let x = BindingSet::new().values("x", &[1u32, 2]);
        let one = x.clone().resident("total", both).resident("out", both);
        assert!(refused(&one).starts_with("`out` and `total` are bound to one resident buffer"));
        let two = x.clone().resident("total", both).resident("b", both);
        assert!(refused(&two).starts_with("`total` and `b` are bound to one resident buffer"));
        // `a` is what the run found, but the buffer is to have what `a` becomes.
        assert!(refused(&x.clone().resident("a", both)).starts_with("`a` and `a` are bound"));
        // What is held is updated there: the buffer is read for it, and gets the output.
        let held = Held::from([(graph.value_named("total").unwrap(), device.filled(&[0, 0]))]);
        let outputs = device.run(&schedule(&artifact, &pipelines, &one, &held).unwrap());
        assert!(!outputs.contains_key("out"));
        assert_eq!(words(&device.contents(both)), [1 + 52, 2 + 62]);
    }
}

#[test]
fn constants_are_uploaded_unless_they_are_held() {
    let device = Device::new();
    let g = GraphBuilder::new("constants");
    let w = g.constant("w", &[5u32, 6]);
    let x = g.input::<u32>("x", [2]);
    let y = g.call(&sum(), [x, w]).unwrap();
    g.output("y", y);
    g.output("w", w);
    let graph = g.finish().unwrap();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::default());
    let bindings = BindingSet::new().values("x", &[1u32, 1]);
    let fresh = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
    assert_eq!(kinds(&fresh)[0], 2);
    let held = Held::from([(graph.value_named("w").unwrap(), device.filled(&[5, 6]))]);
    let kept = schedule(&artifact, &pipelines, &bindings, &held).unwrap();
    assert_eq!(kinds(&kept)[0], 1);
    for schedule in [fresh, kept] {
        let outputs = device.run(&schedule);
        assert_eq!((words(&outputs["y"]), words(&outputs["w"])), (vec![6, 7], vec![5, 6]));
    }
}
