//! Which buffers are proven to be stored whole.

use super::*;

/// What a copy loop over `data` into a `writeonly` buffer as long proves of that buffer, after `change`.
fn stores_whole(change: impl FnOnce(&mut Kernel, BufferId, NodeId)) -> bool {
    let mut k = Kernel::domain();
    let length = k.arena.extent(Extent::Length(BufferId::new(0)));
    let out = k.arena.buffer(Buffer {
        name: "out".into(),
        element: DataType::U32,
        access: Access::WriteOnly,
        count: Count::Extent(length),
        coherent: false,
    });
    let (body, point) = (k.body, k.built_in(BuiltIn::Point(Axis::X)));
    let (_, value) = k.load(body, point);
    let store = k.arena.push(body, Node::Store { place: Place::Buffer(out), index: point, value });
    change(&mut k, out, store);
    k.finish().0.unwrap().facts().stores_whole(out)
}

#[test]
fn a_buffer_is_stored_whole_where_every_point_stores_its_element() {
    assert!(stores_whole(|_, _, _| {}));
    // The buffer is longer than the domain.
    assert!(!stores_whole(|k, out, _| {
        let (a, b) = (k.arena.extent(Extent::Length(BufferId::new(0))), k.arena.extent(Extent::Literal(1)));
        let longer = k.arena.extent(Extent::Add(a, b));
        k.arena.set_count(out, Count::Extent(longer));
    }));
    // Some invocations return first, or later: their order is not looked at.
    assert!(!stores_whole(|k, _, _| {
        let (body, point, three) = (k.body, k.built_in(BuiltIn::Point(Axis::X)), k.lit(3));
        let condition = k.binary(BinaryOp::Lt, point, three);
        let then = k.if_then(body, condition);
        k.arena.push(then, Node::Return);
    }));
}

#[test]
fn conditional_stores_and_stores_elsewhere_prove_nothing() {
    let proves = |at: fn(&mut Kernel, RegionId) -> (RegionId, ExprId)| {
        let mut k = Kernel::domain();
        let (body, data) = (k.body, k.data);
        let (region, index) = at(&mut k, body);
        k.arena.push(region, Node::Store { place: data, index, value: index });
        k.finish().0.unwrap().facts().stores_whole(BufferId::new(0))
    };
    assert!(proves(|k, body| (body, k.built_in(BuiltIn::Point(Axis::X)))));
    assert!(!proves(|k, body| {
        let (point, three) = (k.built_in(BuiltIn::Point(Axis::X)), k.lit(3));
        let condition = k.binary(BinaryOp::Lt, point, three);
        (k.if_then(body, condition), point)
    }));
    assert!(!proves(|k, body| {
        let (point, three) = (k.built_in(BuiltIn::Point(Axis::X)), k.lit(3));
        (body, k.binary(BinaryOp::Min, point, three))
    }));
    assert!(!proves(|k, body| {
        let point = k.built_in(BuiltIn::Point(Axis::X));
        let zero = k.lit(0);
        (k.for_loop(body, zero).1, point)
    }));
}
