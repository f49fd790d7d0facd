//! The hash of the tables that make equal expressions one.
//!
//! These tables are looked up millions of times, and never walked, so their order is nobody's. Each word is
//! mixed in by one multiplication whose halves are folded together. Hashing starts from a random key, since
//! programs come from outside too: whoever does not know it cannot choose expressions that collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map for looking up only.
pub(crate) type LookupMap<K, V> = HashMap<K, V, Keyed>;

/// Makes hashers that start from one random key.
#[derive(Clone, Debug)]
pub(crate) struct Keyed {
    key: [u64; 2],
}

impl Default for Keyed {
    fn default() -> Self {
        let random = RandomState::new();
        Self { key: [random.hash_one(0u8), random.hash_one(1u8) | 1] }
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        let [state, factor] = self.key;
        Folding { state, factor }
    }
}

/// The state of one hash.
#[derive(Debug)]
pub(crate) struct Folding {
    state: u64,
    factor: u64,
}

/// The digits of the golden ratio: odd, and without a pattern.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Both halves of a product, in one word.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, x: u8) {
        self.write_u64(x.into());
    }

    fn write_u16(&mut self, x: u16) {
        self.write_u64(x.into());
    }

    fn write_u32(&mut self, x: u32) {
        self.write_u64(x.into());
    }

    fn write_u64(&mut self, x: u64) {
        self.state = fold(self.state ^ x, self.factor).wrapping_add(GOLDEN);
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    fn write_isize(&mut self, x: isize) {
        self.write_u64(x as u64);
    }

    fn finish(&self) -> u64 {
        fold(self.state, GOLDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Expr, ExprId};
    use vyre_spec::Value;
    use vyre_spec::ops::BinaryOp;

    /// Hashes of expressions that differ little spread as random numbers do: of 2^16 into 2^16 places about
    /// 1/e of the places stay empty, by their high bits and by their low ones, which are what tables use.
    #[test]
    fn similar_expressions_spread() {
        let keyed = Keyed::default();
        let chain = |i: u32| Expr::Binary(BinaryOp::Add, ExprId::new(i), ExprId::new(i + 1));
        let literal = |i: u32| Expr::Literal(Value::new(i));
        for make in [&chain as &dyn Fn(u32) -> Expr, &literal] {
            for shift in [0, 48] {
                let mut taken = vec![false; 1 << 16];
                for i in 0..1 << 16 {
                    taken[(keyed.hash_one(make(i)) >> shift) as usize & 0xFFFF] = true;
                }
                let empty = taken.iter().filter(|taken| !**taken).count();
                // 24,109 expected, with a deviation of about 80.
                assert!((23_000..25_200).contains(&empty), "{empty} empty by bits from {shift}");
            }
        }
    }
}
