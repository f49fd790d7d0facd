//! Elements of arrays as memory holds them.
//!
//! A buffer of 8- or 16-bit elements is an array of words with several elements each, the first in the lowest
//! bits. A load takes its bits out of the word. A store changes its bits and no others, by two atomics, so that
//! other invocations may store the word's other elements at the same time; where no two invocations store to
//! one word, it is written back as it is.

use vyre_spec::DataType;
use vyre_spec::ops::{AtomicOp, BinaryOp, UnaryOp};

use super::repr::{from_bits, to_bits};
use super::{InstId, half};
use crate::bindings::Storage;
use crate::kernel::{Op, Proof};
use crate::writer::Writer;

/// Elements of a buffer in a word; 1 unless they are narrower than one.
pub(crate) const fn per_word(element: DataType) -> u32 {
    match element.width() {
        8 => 4,
        16 => 2,
        _ => 1,
    }
}

/// The word of an element, and the position of its lowest bit there.
fn locate(w: &mut Writer, logical: DataType, index: InstId) -> (InstId, InstId) {
    let n = per_word(logical);
    let word = w.raw_lit(BinaryOp::Shr, index, n.trailing_zeros());
    let bit = w.raw_lit(BinaryOp::Shl, index, logical.width().trailing_zeros());
    (word, w.raw_lit(BinaryOp::BitAnd, bit, 32 - logical.width()))
}

/// What memory holds of an element in bounds: of a packed one its bits, and no others, as a u32.
pub(crate) fn load_word(w: &mut Writer, storage: &Storage, index: InstId, proof: Proof) -> InstId {
    let place = storage.place;
    if !storage.packed {
        return w.value(Op::Load { place, index, proof }, super::device_type(storage.element));
    }
    let (index, shift) = locate(w, storage.logical, index);
    let word = w.value(Op::Load { place, index, proof }, storage.element);
    let bits = w.raw(BinaryOp::Shr, word, shift);
    w.raw_lit(BinaryOp::BitAnd, bits, (1u32 << storage.logical.width()) - 1)
}

/// Stores what [`to_memory`] gave into an element in bounds.
pub(crate) fn store_word(w: &mut Writer, storage: &Storage, index: InstId, value: InstId, proof: Proof) {
    let place = storage.place;
    if !storage.packed {
        return w.effect(Op::Store { place, index, value, proof });
    }
    let (index, shift) = locate(w, storage.logical, index);
    let ones = w.lit((1u32 << storage.logical.width()) - 1);
    let ones = w.raw(BinaryOp::Shl, ones, shift);
    let others = w.raw1(UnaryOp::Not, ones);
    let value = w.raw(BinaryOp::Shl, value, shift);
    if !storage.atomic {
        let word = w.value(Op::Load { place, index, proof }, storage.element);
        let kept = w.raw(BinaryOp::BitAnd, word, others);
        let value = w.raw(BinaryOp::BitOr, kept, value);
        return w.effect(Op::Store { place, index, value, proof });
    }
    for (op, value) in [(AtomicOp::And, others), (AtomicOp::Or, value)] {
        w.value(Op::Atomic { op, place, index, value, expected: None, proof }, storage.element);
    }
}

/// An element as the program sees it, from a whole word that holds it as the one at `part`, counted from the
/// lowest bits.
pub(crate) fn from_word(w: &mut Writer, storage: &Storage, word: InstId, part: u32) -> InstId {
    let (logical, width) = (storage.logical, storage.logical.width());
    if !storage.packed {
        return from_memory(w, storage, word);
    }
    if half::is_native(w, logical) {
        return half::unpack(w, word, part);
    }
    let above = 32 - width * (part + 1);
    if logical.is_signed_int() {
        let word = w.bitcast(DataType::I32, word);
        let up = if above > 0 { w.raw_lit(BinaryOp::Shl, word, above) } else { word };
        return w.raw_lit(BinaryOp::Shr, up, 32 - width);
    }
    let bits = if part > 0 { w.raw_lit(BinaryOp::Shr, word, part * width) } else { word };
    let bits = if above > 0 { w.raw_lit(BinaryOp::BitAnd, bits, (1u32 << width) - 1) } else { bits };
    from_memory(w, storage, bits)
}

/// A whole word from its elements as the program sees them, from the lowest bits up.
pub(crate) fn to_word(w: &mut Writer, storage: &Storage, elements: &[InstId]) -> InstId {
    if let (true, &[low, high]) = (half::is_native(w, storage.logical), elements) {
        return half::pack(w, low, high);
    }
    let width = storage.logical.width();
    let mut word = None;
    for (part, &element) in (0u32..).zip(elements) {
        let up = match part {
            0 => to_memory(w, storage, element),
            // What is above the last one leaves the word.
            _ if (part + 1) * width == 32 => {
                let bits = unmasked(w, storage.logical, element);
                w.raw_lit(BinaryOp::Shl, bits, part * width)
            }
            _ => {
                let bits = to_memory(w, storage, element);
                w.raw_lit(BinaryOp::Shl, bits, part * width)
            }
        };
        word = Some(word.map_or(up, |word| w.raw(BinaryOp::BitOr, word, up)));
    }
    word.unwrap_or(InstId(u32::MAX))
}

/// The bits of an element, and any above them.
fn unmasked(w: &mut Writer, logical: DataType, element: InstId) -> InstId {
    if logical.is_float() {
        return to_bits(w, logical, element);
    }
    let bits = w.bitcast(DataType::U32, element);
    let mask = (1u64 << logical.width()) - 1;
    match w.insts.get(bits.index()).map(|inst| inst.op) {
        Some(Op::Binary(BinaryOp::BitAnd, a, b)) if w.as_constant(b).is_some_and(|b| b.bits() == mask) => a,
        _ => bits,
    }
}

/// An element as the program sees it, from what memory holds.
pub(crate) fn from_memory(w: &mut Writer, storage: &Storage, word: InstId) -> InstId {
    match storage.logical {
        DataType::Bool => w.raw_lit(BinaryOp::Ne, word, 0u32),
        logical if half::is_native(w, logical) && storage.packed => half::unpack(w, word, 0),
        logical if storage.packed => from_bits(w, logical, word),
        logical => w.bitcast(super::device_type(logical), word),
    }
}

/// An element as memory holds it.
pub(crate) fn to_memory(w: &mut Writer, storage: &Storage, value: InstId) -> InstId {
    match storage.logical {
        DataType::Bool => {
            let (one, zero) = (w.lit(1u32), w.lit(0u32));
            w.select(value, one, zero)
        }
        logical if half::is_native(w, logical) && storage.packed => {
            let zero = w.lit(0.0f32);
            half::pack(w, value, zero)
        }
        logical if storage.packed => to_bits(w, logical, value),
        _ => w.bitcast(super::device_type(storage.element), value),
    }
}
