//! What the op tables offer to a generator, found from their rules and evaluations.

use std::collections::BTreeMap;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, ErrorBound, Value};

use super::values::edge_values;

/// An op with the types of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Recipe {
    Unary(UnaryOp, DataType),
    Binary(BinaryOp, DataType, DataType),
    Ternary(TernaryOp, DataType, DataType),
    /// A conversion; `bits` says that it shows the bits of a float, a NaN's payload included, or makes a
    /// float of any bits.
    Cast {
        op: CastOp,
        from: DataType,
        bits: bool,
    },
}

/// Every op by the type that it gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Recipes(BTreeMap<DataType, Vec<Recipe>>);

impl Recipes {
    /// All of the tables, or of rows that give the same bits on every device.
    pub(super) fn new(exact: bool, types: &[DataType]) -> Self {
        let mut recipes = Self::default();
        let wanted =
            |result: DataType, bound: ErrorBound| !exact || !result.is_float() || bound == ErrorBound::Exact;
        for &op in UnaryOp::ALL {
            for &a in types {
                let shows = exact && nans(a).is_some_and(|[x, y]| differ(op.eval(x), op.eval(y)));
                if let Some(result) = op.rule().result(a).filter(|&r| wanted(r, op.bound()) && !shows) {
                    recipes.add(result, Recipe::Unary(op, a));
                }
            }
        }
        for &op in BinaryOp::ALL {
            for &a in types {
                let b = op.rule().second(a);
                let one = Value::one(a);
                let shows = exact && nans(b).is_some_and(|[x, y]| differ(op.eval(one, x), op.eval(one, y)));
                if let Some(result) = op.rule().result(a, b).filter(|&r| wanted(r, op.bound()) && !shows) {
                    recipes.add(result, Recipe::Binary(op, a, b));
                }
            }
        }
        for &op in TernaryOp::ALL {
            for &b in types {
                let a = op.rule().first(b);
                if let Some(result) = op.rule().result(a, b, b).filter(|&r| wanted(r, op.bound())) {
                    recipes.add(result, Recipe::Ternary(op, a, b));
                }
            }
        }
        for &op in CastOp::ALL {
            for &from in types {
                for to in types.iter().copied().filter(|&to| op.allows(from, to)) {
                    recipes.add(to, Recipe::Cast { op, from, bits: moves_bits(op, from, to) });
                }
            }
        }
        recipes
    }

    fn add(&mut self, result: DataType, recipe: Recipe) {
        self.0.entry(result).or_default().push(recipe);
    }

    /// The ops that give a type.
    pub(super) fn giving(&self, ty: DataType) -> &[Recipe] {
        self.0.get(&ty).map_or(&[], Vec::as_slice)
    }
}

/// The NaN without payload and its negation, whose difference nothing specifies.
fn nans(ty: DataType) -> Option<[Value; 2]> {
    let format = ty.float_format()?;
    let nan = format.quiet_nan();
    Some([nan, nan | format.sign()].map(|bits| Value::from_bits(ty, bits)))
}

fn differ(a: Option<Value>, b: Option<Value>) -> bool {
    a != b && !(a.is_some_and(Value::is_nan) && b.is_some_and(Value::is_nan))
}

/// Whether a conversion from or to a float moves bits rather than values.
pub(super) fn moves_bits(op: CastOp, from: DataType, to: DataType) -> bool {
    let same = |v: Value| op.eval(v, to).is_some_and(|r| r.bits() == v.bits());
    from != to && (from.is_float() || to.is_float()) && edge_values(from).into_iter().all(same)
}

/// Whether the final element does not depend on the order in which invocations apply the op, for operands
/// from `samples`.
pub(super) fn commutes(op: AtomicOp, ty: DataType, samples: &[Value]) -> bool {
    let Some(f) = op.kernel(ty).filter(|_| !op.rule().takes_expected()) else { return false };
    let bits: Vec<u64> = samples.iter().map(|v| v.bits()).collect();
    let either = |old: u64, x: u64, y: u64| f(f(old, x), y) == f(f(old, y), x);
    bits.iter().all(|&old| bits.iter().all(|&x| bits.iter().all(|&y| either(old, x, y))))
}
