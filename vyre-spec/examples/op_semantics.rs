//! What an op means, asked of its row: division by zero, saturation, a conversion that overflows.
use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{DataType, Value};

fn main() {
    for (name, a, b) in [("div", 7u32, 0u32), ("sat_add", u32::MAX, 1), ("shl", 1, 33)] {
        let Some(op) = BinaryOp::from_name(name) else { continue };
        let result = op.eval(Value::new(a), Value::new(b)).and_then(Value::get::<u32>);
        println!("{name}({a}, {b}) = {result:?}: {}", op.doc());
    }
    let Some(convert) = CastOp::from_name("convert") else { return };
    let large = convert.eval(Value::new(1e20f32), DataType::U32);
    println!("convert(1e20) to u32 = {:?}", large.and_then(Value::get::<u32>));
}
