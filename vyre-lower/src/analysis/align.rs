//! Of what power of two an integer is surely a multiple.

use vyre_foundation::ir::{Expr, ExprId, Node, Program};
use vyre_spec::ops::{BinaryOp, TernaryOp};

/// The zeros of 0.
const ALL: u32 = 64;

/// For each expression, how many of its lowest bits are surely zero; 0 where nothing is known. Wrapping takes
/// upper bits only, so it does not matter.
pub(crate) fn trailing_zeros(program: &Program) -> Vec<u32> {
    let mut zeros: Vec<u32> = Vec::with_capacity(program.exprs().len());
    for expr in program.exprs() {
        let of = |id: ExprId| zeros.get(id.index()).copied().unwrap_or(0);
        let n = match *expr {
            Expr::Literal(value) => {
                value.as_int().map_or(0, |n| if n == 0 { ALL } else { n.trailing_zeros() })
            }
            Expr::LoopVar(node) => match *program.node(node) {
                Node::For { start, step, .. } => of(start).min(of(step)),
                _ => 0,
            },
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::BitOr | BinaryOp::BitXor, a, b)
            | Expr::Binary(BinaryOp::Min | BinaryOp::Max | BinaryOp::Rem, a, b) => of(a).min(of(b)),
            Expr::Binary(BinaryOp::BitAnd, a, b) => of(a).max(of(b)),
            Expr::Binary(BinaryOp::Mul, a, b) => of(a).saturating_add(of(b)),
            Expr::Binary(BinaryOp::Shl, a, b) => of(a).saturating_add(literal(program, b).unwrap_or(0)),
            Expr::Binary(BinaryOp::Shr, a, b) => {
                literal(program, b).map_or(0, |amount| of(a).saturating_sub(amount))
            }
            Expr::Binary(BinaryOp::Div, a, b) => {
                let divisor = literal(program, b).filter(|n| n.is_power_of_two());
                divisor.map_or(0, |n| of(a).saturating_sub(n.trailing_zeros()))
            }
            Expr::Ternary(TernaryOp::Select, _, a, b) => of(a).min(of(b)),
            // Both kinds of cast keep the lowest bits of an integer; floats have none that are known.
            Expr::Cast(_, _, a) => of(a),
            _ => 0,
        };
        zeros.push(n.min(ALL));
    }
    zeros
}

fn literal(program: &Program, id: ExprId) -> Option<u32> {
    match *program.expr(id) {
        Expr::Literal(value) => value.as_int().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use vyre_foundation::build::Kernel;
    use vyre_foundation::ir::Node;

    use super::trailing_zeros;

    #[test]
    fn factors_of_two_go_through_sums_products_and_loops() {
        let program = Kernel::build("test", |k| {
            let n = k.param::<u32>("n");
            let out = k.read_write::<u32>("out");
            k.domain([1], |_| {
                k.for_step(16u32, n, 32u32, |i| {
                    for index in
                        [i, i * 4 + 24, (n << 5) | 8, n & 0xFFF0, i / 8, n * 6, n + 16, (n * 12).min(8)]
                    {
                        out.store(index, 0u32);
                    }
                });
            });
        })
        .unwrap();
        let zeros = trailing_zeros(&program);
        let found: Vec<_> = program
            .nodes()
            .iter()
            .filter_map(|node| match *node {
                Node::Store { index, .. } => Some(zeros[index.index()]),
                _ => None,
            })
            .collect();
        // 16 is 2^4; 4 × 2^4 and 24; 2^5 and 8; the mask; 2^4 / 2^3; 6; nothing; 12 and 8.
        assert_eq!(found, [4, 3, 3, 4, 1, 1, 0, 2]);
    }
}
