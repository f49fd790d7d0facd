//! Element files: raw, and NumPy's `.npy`.

use std::fs;
use std::io::Write;
use std::path::Path;

use npyz::{DType, Endianness, NpyFile, Order, TypeChar, WriterBuilder};
use vyre_spec::DataType;

use crate::error::CliError;

/// A header that NumPy writes for arrays of our types has well under 1 KiB, and brackets nest two deep.
const MAX_HEADER: usize = 4096;
const MAX_BRACKETS: usize = 16;

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// What the elements of a file are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// A buffer or value.
    pub(crate) name: &'a str,
    pub(crate) element: DataType,
}

/// The bytes of an input as a dispatch takes them.
pub(crate) fn read(path: &Path, buffer: Wanted<'_>, pad: bool) -> Result<Vec<u8>, CliError> {
    let mut bytes = fs::read(path).map_err(|source| CliError::Read { path: path.to_owned(), source })?;
    if is_npy(path) {
        return elements(path, &bytes, buffer);
    }
    let (len, size) = (bytes.len(), buffer.element.size() as usize);
    if pad {
        bytes.resize(len.next_multiple_of(size), 0);
    } else if len % size != 0 {
        let (buffer, element) = (buffer.name.to_owned(), buffer.element);
        return Err(CliError::PartialElement { path: path.to_owned(), len, buffer, element });
    }
    Ok(bytes)
}

/// The elements of a NumPy file.
fn elements(path: &Path, bytes: &[u8], buffer: Wanted<'_>) -> Result<Vec<u8>, CliError> {
    let refused = |why: String| CliError::NotAnArray { path: path.to_owned(), why };
    sound_header(bytes).map_err(|why| refused(why.to_owned()))?;
    let file = NpyFile::new(bytes).map_err(|error| refused(error.to_string()))?;
    let dtype = file.dtype();
    let wrong_type = || CliError::ArrayType {
        buffer: buffer.name.to_owned(),
        needs: buffer.element,
        path: path.to_owned(),
        got: dtype.descr(),
    };
    let DType::Plain(ty) = &dtype else { return Err(wrong_type()) };
    let wanted = numpy_type(buffer.element);
    if (ty.type_char(), ty.size_field()) != wanted {
        return Err(wrong_type());
    }
    if file.order() == Order::Fortran && file.shape().len() > 1 {
        return Err(CliError::FortranOrder { path: path.to_owned() });
    }
    let needs = file.shape().iter().try_fold(wanted.1, |product, &axis| product.checked_mul(axis));
    let big_endian = ty.endianness() == Endianness::Big;
    let shape = format!("{:?}", file.shape());
    let data = file.into_inner();
    if needs != Some(data.len() as u64) {
        return Err(refused(format!(
            "{} bytes follow its header, which gives the shape {shape}",
            data.len()
        )));
    }
    Ok(match buffer.element {
        DataType::Bool => data.iter().flat_map(|&b| u32::from(b != 0).to_le_bytes()).collect(),
        _ if big_endian => {
            data.chunks_exact(wanted.1 as usize).flat_map(|word| word.iter().rev().copied()).collect()
        }
        _ => data.to_vec(),
    })
}

/// What NumPy calls elements of a type: kind and bytes. Bools are bytes there, and bfloat16, which it has
/// not, is written as the 16-bit integers that hold its bits.
fn numpy_type(element: DataType) -> (TypeChar, u64) {
    let size = u64::from(element.size());
    match element {
        DataType::Bool => (TypeChar::Bool, 1),
        DataType::BF16 => (TypeChar::Uint, size),
        ty if ty.is_float() => (TypeChar::Float, size),
        ty if ty.is_signed_int() => (TypeChar::Int, size),
        _ => (TypeChar::Uint, size),
    }
}

/// Refuses headers that no NumPy array of ours has, before npyz evaluates them as Python literals, with
/// a stack as deep as their brackets.
fn sound_header(bytes: &[u8]) -> Result<(), &'static str> {
    let cut = "the file ends in its header";
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it does not begin with NumPy's mark")?;
    let (len, text) = match rest {
        [1, _, a, b, text @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), text),
        [2 | 3, _, a, b, c, d, text @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, text),
        [1..=3, ..] => return Err(cut),
        _ => return Err("its format is none of 1, 2 and 3"),
    };
    let header = text.get(..len).ok_or(cut)?;
    let brackets = header.iter().filter(|byte| b"([{".contains(byte)).count();
    if len > MAX_HEADER || brackets > MAX_BRACKETS {
        return Err("its header is longer or more deeply nested than that of an array of scalars");
    }
    Ok(())
}

/// Writes the bytes of an output buffer.
pub(crate) fn write(path: &Path, element: DataType, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: path.to_owned(), source };
    if !is_npy(path) {
        return fs::write(path, bytes).map_err(failed);
    }
    let (kind, size) = numpy_type(element);
    let words = match element {
        DataType::Bool => bytes.chunks_exact(4).map(|word| u8::from(word != [0; 4])).collect(),
        _ => bytes.to_vec(),
    };
    let letter = match kind {
        TypeChar::Bool => "|b",
        TypeChar::Float => "<f",
        TypeChar::Int => "<i",
        _ => "<u",
    };
    let ty = format!("{}{size}", if size == 1 { letter.replace('<', "|") } else { letter.to_owned() });
    let invalid = |error| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error));
    let dtype = DType::Plain(ty.parse().map_err(invalid)?);
    let file = fs::File::create(path).map_err(failed)?;
    let length = (bytes.len() / element.size() as usize) as u64;
    let header =
        npyz::WriteOptions::new_header_only().dtype(dtype).shape(&[length]).writer(file).write_header_only();
    header.and_then(|mut file| file.write_all(&words)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(element: DataType) -> Wanted<'static> {
        Wanted { name: "x", element }
    }

    /// A file as NumPy's format description lays it out.
    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read_as(element: DataType, file: &[u8]) -> Result<Vec<u8>, CliError> {
        elements(Path::new("x.npy"), file, buffer(element))
    }

    #[test]
    fn arrays_of_any_shape_and_byte_order_are_flattened() {
        let file =
            npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1), }\n", &[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(read_as(DataType::U32, &file).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
        let file = npy("{'descr': '>f4', 'fortran_order': False, 'shape': (), }\n", &1.5f32.to_be_bytes());
        assert_eq!(read_as(DataType::F32, &file).unwrap(), 1.5f32.to_le_bytes());
        let file = npy("{'descr': '|b1', 'fortran_order': True, 'shape': (3,), }\n", &[1, 0, 1]);
        assert_eq!(read_as(DataType::Bool, &file).unwrap(), [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        let file = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }\n", &[]);
        assert!(read_as(DataType::I32, &file).unwrap().is_empty());
    }

    #[test]
    fn other_types_orders_and_lengths_are_refused() {
        let header = |ty: &str, order: &str, shape: &str| {
            format!("{{'descr': '{ty}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
        };
        for ty in ["<f8", "<i4", "<u8", "|b1", "<f2"] {
            let file = npy(&header(ty, "False", "(1,)"), &[0; 8]);
            let refused = read_as(DataType::U32, &file).unwrap_err();
            assert!(matches!(&refused, CliError::ArrayType { got, .. } if got.contains(ty)), "{refused}");
        }
        let file = npy(&header("<u4", "True", "(2, 2)"), &[0; 16]);
        assert!(matches!(read_as(DataType::U32, &file), Err(CliError::FortranOrder { .. })));
        for shape in ["(3,)", "(1,)", "(4611686018427387904, 4)", "(4294967296, 4294967296)"] {
            let file = npy(&header("<u4", "False", shape), &[0; 8]);
            let refused = read_as(DataType::U32, &file).unwrap_err();
            assert!(matches!(refused, CliError::NotAnArray { .. }), "{shape}: {refused}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }\n", &[0; 8]);
        for len in 0..good.len() {
            let refused = read_as(DataType::U32, &good[..len]);
            assert!(matches!(refused, Err(CliError::NotAnArray { .. })), "cut at {len}");
        }
        let deep = npy(&"(".repeat(4000), &[]);
        assert!(matches!(read_as(DataType::U32, &deep), Err(CliError::NotAnArray { .. })));
        let other = npy("[1, 2, 3]\n", &[]);
        assert!(matches!(read_as(DataType::U32, &other), Err(CliError::NotAnArray { .. })));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let path = std::env::temp_dir().join(format!("vyre-wgpu-files-{}.npy", std::process::id()));
        for (element, bytes) in [
            (DataType::F32, [1.5f32, -0.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            (DataType::Bool, vec![1, 0, 0, 0, 0, 0, 0, 0]),
            (DataType::U32, vec![]),
        ] {
            write(&path, element, &bytes).unwrap();
            assert_eq!(read(&path, buffer(element), false).unwrap(), bytes);
        }
        fs::remove_file(&path).unwrap();
    }
}
