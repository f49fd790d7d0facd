//! Ops over the lanes of a subgroup, in subgroup-uniform control flow: every lane takes part.

use super::{BinaryOp, Law, op_enum, type_set};
use crate::{DataType, TypeSet, Value};

/// The subgroup op table; see [the module](crate::ops) for the row format. `combine` names the binary op
/// that a reduction or scan applies, or is `none`.
#[macro_export]
macro_rules! subgroup_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Add = 0x01 subgroup_add { ty: Reduce(Int), combine: Add, native: Collective(Reduce Add), lower: reduce,
            doc: "The sum over all lanes." }
        Mul = 0x02 subgroup_mul { ty: Reduce(Int), combine: Mul, native: Collective(Reduce Mul), lower: reduce,
            doc: "The product over all lanes." }
        Min = 0x03 subgroup_min { ty: Reduce(Int), combine: Min, native: Collective(Reduce Min), lower: reduce,
            doc: "The smallest value of all lanes." }
        Max = 0x04 subgroup_max { ty: Reduce(Int), combine: Max, native: Collective(Reduce Max), lower: reduce,
            doc: "The largest value of all lanes." }
        And = 0x05 subgroup_and { ty: Reduce(Int), combine: BitAnd, native: Collective(Reduce And), lower: reduce,
            doc: "The bitwise and over all lanes." }
        Or = 0x06 subgroup_or { ty: Reduce(Int), combine: BitOr, native: Collective(Reduce Or), lower: reduce,
            doc: "The bitwise or over all lanes." }
        Xor = 0x07 subgroup_xor { ty: Reduce(Int), combine: BitXor, native: Collective(Reduce Xor), lower: reduce,
            doc: "The bitwise exclusive or over all lanes." }
        InclusiveAdd = 0x08 subgroup_inclusive_add { ty: InclusiveScan(Int), combine: Add, native: Collective(InclusiveScan Add), lower: reduce,
            doc: "The sum over this lane and those below." }
        ExclusiveAdd = 0x09 subgroup_exclusive_add { ty: ExclusiveScan(Int), combine: Add, native: Collective(ExclusiveScan Add), lower: reduce,
            doc: "The sum over the lanes below; 0 in the first." }
        InclusiveMul = 0x0A subgroup_inclusive_mul { ty: InclusiveScan(Int), combine: Mul, native: Collective(InclusiveScan Mul), lower: reduce,
            doc: "The product over this lane and those below." }
        ExclusiveMul = 0x0B subgroup_exclusive_mul { ty: ExclusiveScan(Int), combine: Mul, native: Collective(ExclusiveScan Mul), lower: reduce,
            doc: "The product over the lanes below; 1 in the first." }
        All = 0x10 subgroup_all { ty: Reduce(Bool), combine: BitAnd, native: Vote(All), lower: vote,
            doc: "Whether the predicate holds in every lane." }
        Any = 0x11 subgroup_any { ty: Reduce(Bool), combine: BitOr, native: Vote(Any), lower: vote,
            doc: "Whether the predicate holds in some lane." }
        BroadcastFirst = 0x12 subgroup_broadcast_first { ty: First(Arith), combine: none, native: Gather(BroadcastFirst), lower: gather,
            doc: "The first lane's value." }
        Shuffle = 0x13 subgroup_shuffle { ty: Shuffle(Arith), combine: none, native: Gather(Shuffle), lower: shuffle,
            doc: "The value of the lane that this lane names; 0 if there is no such lane." }
        ShuffleXor = 0x14 subgroup_shuffle_xor { ty: ShuffleXor(Arith), combine: none, native: Gather(Shuffle), lower: shuffle_xor,
            doc: "The value of the lane whose number is this lane's, exclusive or the mask; 0 if there is no such lane." }
        ShuffleUp = 0x15 subgroup_shuffle_up { ty: ShuffleUp(Arith), combine: none, native: Gather(Shuffle), lower: shuffle_up,
            doc: "The value of the lane so many below; 0 if there is no such lane." }
        ShuffleDown = 0x16 subgroup_shuffle_down { ty: ShuffleDown(Arith), combine: none, native: Gather(Shuffle), lower: shuffle_down,
            doc: "The value of the lane so many above; 0 if there is no such lane." }
    } };
}

/// What a subgroup op takes and how it combines the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubgroupRule {
    /// All lanes combined; every lane gets the result.
    Reduce(TypeSet),
    /// Each lane combined with those below.
    InclusiveScan(TypeSet),
    /// The lanes below combined; in the first, what changes nothing when combined.
    ExclusiveScan(TypeSet),
    /// The first lane's value.
    First(TypeSet),
    /// The value of a lane given by a `u32` operand.
    Shuffle(TypeSet),
    /// The value of the lane at this lane's number exclusive or a `u32` operand.
    ShuffleXor(TypeSet),
    /// The value of the lane at this lane's number less a `u32` operand.
    ShuffleUp(TypeSet),
    /// The value of the lane at this lane's number plus a `u32` operand.
    ShuffleDown(TypeSet),
}

impl SubgroupRule {
    /// The types that the operand may have; the result has the same.
    pub const fn operands(self) -> TypeSet {
        match self {
            Self::Reduce(set)
            | Self::InclusiveScan(set)
            | Self::ExclusiveScan(set)
            | Self::First(set)
            | Self::Shuffle(set)
            | Self::ShuffleXor(set)
            | Self::ShuffleUp(set)
            | Self::ShuffleDown(set) => set,
        }
    }

    /// Whether the op takes a second operand, a `u32` lane or mask.
    pub const fn takes_lane(self) -> bool {
        matches!(self, Self::Shuffle(_) | Self::ShuffleXor(_) | Self::ShuffleUp(_) | Self::ShuffleDown(_))
    }
}

macro_rules! combine {
    (none) => {
        None
    };
    ($op:ident) => {
        Some(BinaryOp::$op)
    };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), combine: $combine:ident,
        native: $native:ident($($nname:ident)*), lower: $lower:ident, doc: $doc:literal })*) => {
        op_enum! {
            /// An op over the lanes of a subgroup.
            SubgroupOp { $($variant = $tag $name $doc "" 0;)* }
        }

        impl SubgroupOp {
            /// What the op takes and how it combines.
            pub const fn rule(self) -> SubgroupRule {
                match self { $(Self::$variant => SubgroupRule::$rule(type_set!($class)),)* }
            }

            /// The binary op that a reduction or scan applies.
            pub const fn combine(self) -> Option<BinaryOp> {
                match self { $(Self::$variant => combine!($combine),)* }
            }
        }
    };
}

subgroup_ops!(define);

impl SubgroupOp {
    /// The bits that change nothing when combined: zero, or one where the op's laws say so.
    pub fn neutral(self, ty: DataType) -> u64 {
        let zero = self.combine().is_none_or(|op| op.laws().contains(&Law::RightZeroInt));
        if zero { Value::zero(ty).bits() } else { Value::one(ty).bits() }
    }

    /// Every lane's result, from every lane's operand and, for shuffles, lane operand (empty otherwise);
    /// `None` if the rule refuses the operands' type.
    pub fn eval(self, ty: DataType, values: &[u64], lanes: &[u32]) -> Option<Vec<u64>> {
        let rule = self.rule();
        if !rule.operands().contains(ty) {
            return None;
        }
        let zero = Value::zero(ty).bits();
        let at = |lane: usize| values.get(lane).copied().unwrap_or(zero);
        let scan = || {
            let kernel = self.combine().and_then(|op| op.kernel(ty))?;
            let mut running = None;
            let mut prefixes = Vec::with_capacity(values.len());
            for &value in values {
                let next = running.map_or(value, |r| kernel(r, value));
                prefixes.push(next);
                running = Some(next);
            }
            Some(prefixes)
        };
        Some(match rule {
            SubgroupRule::Reduce(_) => {
                let total = scan()?.last().copied().unwrap_or(zero);
                vec![total; values.len()]
            }
            SubgroupRule::InclusiveScan(_) => scan()?,
            SubgroupRule::ExclusiveScan(_) => {
                let mut prefixes = scan()?;
                prefixes.pop();
                std::iter::once(self.neutral(ty)).chain(prefixes).take(values.len()).collect()
            }
            SubgroupRule::First(_) => vec![at(0); values.len()],
            SubgroupRule::Shuffle(_) => {
                (0..values.len()).map(|i| at(lanes.get(i).map_or(i, |&l| l as usize))).collect()
            }
            SubgroupRule::ShuffleUp(_) => (0..values.len())
                .map(|i| i.checked_sub(lanes.get(i).map_or(0, |&l| l as usize)).map_or(zero, at))
                .collect(),
            SubgroupRule::ShuffleDown(_) => {
                (0..values.len()).map(|i| at(i + lanes.get(i).map_or(0, |&l| l as usize))).collect()
            }
            SubgroupRule::ShuffleXor(_) => {
                (0..values.len()).map(|i| at(lanes.get(i).map_or(i, |&l| i ^ l as usize))).collect()
            }
        })
    }
}
