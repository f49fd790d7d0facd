//! Ops over the devices of a world, each of which runs the program on buffers of its own. A collective combines
//! the values of the invocations with one and the same index.

use super::{BinaryOp, op_enum, type_set};
use crate::{DataType, TypeSet, Value};

/// The collective op table; see [the module](crate::ops) for the row format. `combine` names the binary op that
/// a reduction applies, in the order of ranks, or is `none`.
#[macro_export]
macro_rules! collective_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        AllReduceAdd = 0x01 all_reduce_add { ty: AllReduce(Arith), combine: Add,
            doc: "The sum over all devices." }
        AllReduceMin = 0x02 all_reduce_min { ty: AllReduce(Arith), combine: Min,
            doc: "The smallest value of all devices." }
        AllReduceMax = 0x03 all_reduce_max { ty: AllReduce(Arith), combine: Max,
            doc: "The largest value of all devices." }
        AllGather = 0x04 all_gather { ty: AllGather(Any), combine: none,
            doc: "The value of the device with this rank; 0 if there is no such device." }
        ReduceScatterAdd = 0x05 reduce_scatter_add { ty: ReduceScatter(Arith), combine: Add,
            doc: "The sum over all devices, on the device with this rank; 0 on every other." }
        ReduceScatterMin = 0x06 reduce_scatter_min { ty: ReduceScatter(Arith), combine: Min,
            doc: "The smallest value of all devices, on the device with this rank; 0 on every other." }
        ReduceScatterMax = 0x07 reduce_scatter_max { ty: ReduceScatter(Arith), combine: Max,
            doc: "The largest value of all devices, on the device with this rank; 0 on every other." }
        Broadcast = 0x08 broadcast { ty: Broadcast(Any), combine: none,
            doc: "The value of the device with this rank, which is the same on all; 0 if there is no such device." }
    } };
}

/// What a collective op takes and how it combines the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveRule {
    /// All devices combined; every device gets the result.
    AllReduce(TypeSet),
    /// The value of a device that each device names by a `u32` rank.
    AllGather(TypeSet),
    /// All devices combined; the device of a `u32` rank gets the result.
    ReduceScatter(TypeSet),
    /// The value of the device of a `u32` rank.
    Broadcast(TypeSet),
}

impl CollectiveRule {
    /// The types that the operand may have; the result has the same.
    pub const fn operands(self) -> TypeSet {
        match self {
            Self::AllReduce(set) | Self::AllGather(set) | Self::ReduceScatter(set) | Self::Broadcast(set) => {
                set
            }
        }
    }

    /// Whether the op takes a second operand, a `u32` rank.
    pub const fn takes_rank(self) -> bool {
        !matches!(self, Self::AllReduce(_))
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
        doc: $doc:literal })*) => {
        op_enum! {
            /// An op over the devices of a world.
            CollectiveOp { $($variant = $tag $name $doc "" 0;)* }
        }

        impl CollectiveOp {
            /// What the op takes and how it combines.
            pub const fn rule(self) -> CollectiveRule {
                match self { $(Self::$variant => CollectiveRule::$rule(type_set!($class)),)* }
            }

            /// The binary op that a reduction applies.
            pub const fn combine(self) -> Option<BinaryOp> {
                match self { $(Self::$variant => combine!($combine),)* }
            }
        }
    };
}

collective_ops!(define);

impl CollectiveOp {
    /// The result on the device of rank `own`, from every device's operand by rank and, for the ops that take one,
    /// this device's rank operand; `None` if the rule refuses the operands' type.
    pub fn eval(self, ty: DataType, values: &[u64], own: u32, rank: u32) -> Option<u64> {
        let rule = self.rule();
        if !rule.operands().contains(ty) {
            return None;
        }
        let zero = Value::zero(ty).bits();
        let total = || {
            let kernel = self.combine()?.kernel(ty)?;
            Some(values.iter().copied().reduce(kernel).unwrap_or(zero))
        };
        match rule {
            CollectiveRule::AllReduce(_) => total(),
            CollectiveRule::ReduceScatter(_) if own == rank => total(),
            CollectiveRule::ReduceScatter(_) => Some(zero),
            CollectiveRule::AllGather(_) | CollectiveRule::Broadcast(_) => {
                Some(values.get(rank as usize).copied().unwrap_or(zero))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_devices_combine_by_rank() {
        let values = [7, 2, 9];
        let at = |op: CollectiveOp, own, rank| op.eval(DataType::U32, &values, own, rank).unwrap();
        for own in 0..3 {
            assert_eq!(at(CollectiveOp::AllReduceAdd, own, 0), 18);
            assert_eq!(at(CollectiveOp::AllReduceMin, own, 0), 2);
            assert_eq!(at(CollectiveOp::AllReduceMax, own, 0), 9);
            assert_eq!(at(CollectiveOp::AllGather, own, 2), 9);
            assert_eq!(at(CollectiveOp::AllGather, own, 3), 0);
            assert_eq!(at(CollectiveOp::Broadcast, own, 1), 2);
            assert_eq!(at(CollectiveOp::ReduceScatterAdd, own, 1), if own == 1 { 18 } else { 0 });
        }
        assert_eq!(CollectiveOp::AllReduceAdd.eval(DataType::Bool, &[1], 0, 0), None);
    }

    #[test]
    fn a_world_of_one_is_the_identity() {
        for &op in CollectiveOp::ALL {
            for ty in [DataType::U8, DataType::I64, DataType::F16, DataType::F32] {
                let value = Value::one(ty).bits();
                assert_eq!(op.eval(ty, &[value], 0, 0), Some(value), "{op:?} {ty:?}");
                let other = if op.rule().takes_rank() { 0 } else { value };
                assert_eq!(op.eval(ty, &[value], 0, 1), Some(other), "{op:?} {ty:?}");
            }
        }
    }
}
