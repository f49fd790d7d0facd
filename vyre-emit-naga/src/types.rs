//! naga types for element types, made once each.

use naga::{
    ArraySize, CooperativeRole, CooperativeSize, Handle, Module, Scalar, ScalarKind, Span, Type, TypeInner,
    VectorSize,
};
use vyre_spec::{DataType, TileRole, TileType};

/// The naga scalar in which the device computes values of a type: lowering leaves no narrower ones.
pub(crate) fn scalar(ty: DataType) -> Scalar {
    match ty {
        DataType::Bool => Scalar::BOOL,
        DataType::U8 | DataType::U16 | DataType::U32 => Scalar::U32,
        DataType::I8 | DataType::I16 | DataType::I32 => Scalar::I32,
        DataType::U64 => Scalar::U64,
        DataType::I64 => Scalar::I64,
        DataType::F16 | DataType::BF16 | DataType::F32 => Scalar::F32,
        DataType::F64 => Scalar::F64,
    }
}

/// The scalar kind and width of a conversion to an element type.
pub(crate) fn kind(ty: DataType) -> (ScalarKind, u8) {
    let Scalar { kind, width } = scalar(ty);
    (kind, width)
}

/// Adds a type; an equal one is used again.
fn insert(module: &mut Module, inner: TypeInner) -> Handle<Type> {
    module.types.insert(Type { name: None, inner }, Span::UNDEFINED)
}

/// A scalar type.
pub(crate) fn value(module: &mut Module, ty: DataType) -> Handle<Type> {
    insert(module, TypeInner::Scalar(scalar(ty)))
}

/// Three `u32`, the type of ids.
pub(crate) fn id_vector(module: &mut Module) -> Handle<Type> {
    insert(module, TypeInner::Vector { size: VectorSize::Tri, scalar: Scalar::U32 })
}

/// The scalar of elements in memory: 16-bit floats are there, but values of them are wider.
fn in_memory(ty: DataType) -> Scalar {
    if ty == DataType::F16 { Scalar::F16 } else { scalar(ty) }
}

/// An array's element: atomic or plain.
fn element(module: &mut Module, ty: DataType, atomic: bool) -> Handle<Type> {
    let scalar = in_memory(ty);
    insert(module, if atomic { TypeInner::Atomic(scalar) } else { TypeInner::Scalar(scalar) })
}

/// An array of `len` elements, or of a run-time number without one.
pub(crate) fn array(module: &mut Module, ty: DataType, atomic: bool, len: Option<u32>) -> Handle<Type> {
    let base = element(module, ty, atomic);
    let stride = u32::from(in_memory(ty).width);
    insert(module, TypeInner::Array { base, size: size(len), stride })
}

/// An array of none is no type; nothing can address one, so a single element stands for it.
fn size(len: Option<u32>) -> ArraySize {
    len.map_or(ArraySize::Dynamic, |len| {
        ArraySize::Constant(std::num::NonZeroU32::new(len).unwrap_or(std::num::NonZeroU32::MIN))
    })
}

/// A vector of two or four elements, as in memory.
pub(crate) fn vector(module: &mut Module, ty: DataType, width: u32) -> Handle<Type> {
    let size = if width == 2 { VectorSize::Bi } else { VectorSize::Quad };
    insert(module, TypeInner::Vector { size, scalar: in_memory(ty) })
}

/// An array of `len` vectors, or of a run-time number without one.
pub(crate) fn vectors(module: &mut Module, ty: DataType, width: u32, len: Option<u32>) -> Handle<Type> {
    let base = vector(module, ty, width);
    let stride = width * u32::from(in_memory(ty).width);
    insert(module, TypeInner::Array { base, size: size(len), stride })
}

/// A tile; `None` if naga has none of its shape.
pub(crate) fn tile(module: &mut Module, ty: TileType) -> Option<Handle<Type>> {
    let (rows, columns) = (side(ty.rows)?, side(ty.columns)?);
    let scalar = in_memory(ty.element);
    Some(insert(module, TypeInner::CooperativeMatrix { columns, rows, scalar, role: role(ty.role) }))
}

/// A tile's number of rows or columns.
pub(crate) const fn side(n: u32) -> Option<CooperativeSize> {
    match n {
        8 => Some(CooperativeSize::Eight),
        16 => Some(CooperativeSize::Sixteen),
        _ => None,
    }
}

/// What a tile is in a product.
pub(crate) const fn role(role: TileRole) -> CooperativeRole {
    match role {
        TileRole::A => CooperativeRole::A,
        TileRole::B => CooperativeRole::B,
        TileRole::Accumulator => CooperativeRole::C,
    }
}
