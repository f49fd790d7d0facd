//! The range of each op's exact result, before it wraps: a rule for every op that has one.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::fact::Range;
use crate::contract::poly::{Atoms, Poly};

/// The range of an op of one operand of type `ty`.
pub(super) fn unary(op: UnaryOp, ty: DataType, a: &Range, atoms: &Atoms) -> Option<Range> {
    match op {
        UnaryOp::Neg => Some(Range { lo: a.hi.scaled(-1)?, hi: a.lo.scaled(-1)? }),
        UnaryOp::Abs if atoms.never_negative(&a.lo) => Some(a.clone()),
        UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => {
            Some(Range::new(0, i128::from(8 * ty.size())))
        }
        _ => None,
    }
}

/// The range of an op of two operands of type `ty`.
pub(super) fn binary(op: BinaryOp, ty: DataType, a: &Range, b: &Range, atoms: &mut Atoms) -> Option<Range> {
    let natural = |r: &Range, atoms: &Atoms| atoms.never_negative(&r.lo);
    match op {
        BinaryOp::Add => Some(Range { lo: a.lo.add(&b.lo)?, hi: a.hi.add(&b.hi)? }),
        BinaryOp::Sub => Some(Range { lo: a.lo.sub(&b.hi)?, hi: a.hi.sub(&b.lo)? }),
        BinaryOp::Mul => mul(a, b, atoms),
        BinaryOp::Min => Some(Range { lo: atoms.min(&a.lo, &b.lo)?, hi: atoms.min(&a.hi, &b.hi)? }),
        BinaryOp::Max => Some(Range { lo: atoms.max(&a.lo, &b.lo)?, hi: atoms.max(&a.hi, &b.hi)? }),
        BinaryOp::SaturatingAdd => {
            let (all, sum) = (Range::of_type(ty), Range { lo: a.lo.add(&b.lo)?, hi: a.hi.add(&b.hi)? });
            let lo = atoms.min(&sum.lo, &all.hi)?;
            let hi = atoms.max(&sum.hi, &all.lo)?;
            Some(Range { lo: atoms.max(&lo, &all.lo)?, hi: atoms.min(&hi, &all.hi)? })
        }
        BinaryOp::SaturatingSub => {
            let (all, difference) =
                (Range::of_type(ty), Range { lo: a.lo.sub(&b.hi)?, hi: a.hi.sub(&b.lo)? });
            let lo = atoms.min(&difference.lo, &all.hi)?;
            let hi = atoms.max(&difference.hi, &all.lo)?;
            Some(Range { lo: atoms.max(&lo, &all.lo)?, hi: atoms.min(&hi, &all.hi)? })
        }
        BinaryOp::BitAnd => match (natural(a, atoms), natural(b, atoms)) {
            (true, true) => Some(Range { lo: Poly::from(0), hi: atoms.min(&a.hi, &b.hi)? }),
            (true, false) => Some(Range { lo: Poly::from(0), hi: a.hi.clone() }),
            (false, true) => Some(Range { lo: Poly::from(0), hi: b.hi.clone() }),
            (false, false) => None,
        },
        // The rest take naturals, of which every type's op is the same.
        _ if !(natural(a, atoms) && natural(b, atoms)) => None,
        // x / 0 is x, so the quotient never passes the dividend.
        BinaryOp::Div => {
            let positive = atoms.never_negative(&b.lo.plus(-1)?);
            if !positive {
                return Some(Range { lo: Poly::from(0), hi: a.hi.clone() });
            }
            let lo = if b.hi.as_constant().is_some() { atoms.quotient(&a.lo, &b.hi)? } else { Poly::from(0) };
            Some(Range { lo, hi: atoms.quotient(&a.hi, &b.lo)? })
        }
        BinaryOp::Rem => {
            // A dividend below every divisor stays as it is; by 0, a remainder is 0.
            let below = atoms.max(&b.hi.plus(-1)?, &Poly::from(0))?;
            Some(Range { lo: Poly::from(0), hi: atoms.min(&a.hi, &below)? })
        }
        BinaryOp::BitOr | BinaryOp::BitXor => match (a.hi.as_constant(), b.hi.as_constant()) {
            (Some(x), Some(y)) => {
                let bits = 128 - (x | y).leading_zeros();
                Some(Range::new(0, (1i128 << bits.min(126)) - 1))
            }
            _ => Some(Range { lo: Poly::from(0), hi: a.hi.add(&b.hi)? }),
        },
        BinaryOp::Shr => match amount(b, ty) {
            Some(n) => {
                let by = Poly::from(1i128 << n);
                Some(Range { lo: atoms.quotient(&a.lo, &by)?, hi: atoms.quotient(&a.hi, &by)? })
            }
            None => Some(Range { lo: Poly::from(0), hi: a.hi.clone() }),
        },
        BinaryOp::Shl => {
            let (low, high) = match amount(b, ty) {
                Some(n) => (n, n.into()),
                // Amounts are taken modulo the width.
                None => (0, b.hi.as_constant().filter(|n| (0..i128::from(8 * ty.size())).contains(n))?),
            };
            Some(Range { lo: a.lo.scaled(1i128 << low)?, hi: a.hi.scaled(1i128 << high)? })
        }
        BinaryOp::AbsDiff => Some(Range { lo: Poly::from(0), hi: atoms.max(&a.hi, &b.hi)? }),
        _ => None,
    }
}

/// The amount of a shift, if it is a constant.
fn amount(b: &Range, ty: DataType) -> Option<u32> {
    let n = b.as_constant().filter(|&n| n >= 0)?;
    u32::try_from(n).ok().map(|n| n % (8 * ty.size()))
}

fn mul(a: &Range, b: &Range, atoms: &Atoms) -> Option<Range> {
    if atoms.never_negative(&a.lo) && atoms.never_negative(&b.lo) {
        return Some(Range { lo: a.lo.mul(&b.lo)?, hi: a.hi.mul(&b.hi)? });
    }
    for (x, y) in [(a, b), (b, a)] {
        match x.as_constant() {
            Some(n) if n >= 0 => return Some(Range { lo: y.lo.scaled(n)?, hi: y.hi.scaled(n)? }),
            Some(n) => return Some(Range { lo: y.hi.scaled(n)?, hi: y.lo.scaled(n)? }),
            None => {}
        }
    }
    let ends = [&a.lo, &a.hi, &b.lo, &b.hi].map(Poly::as_constant);
    let [Some(a0), Some(a1), Some(b0), Some(b1)] = ends else { return None };
    let products = [a0.checked_mul(b0)?, a0.checked_mul(b1)?, a1.checked_mul(b0)?, a1.checked_mul(b1)?];
    let (lo, hi) = (products.iter().min()?, products.iter().max()?);
    Some(Range::new(*lo, *hi))
}
