//! The buffers and parameters of a run, from the command line.

use std::fs;
use std::path::PathBuf;

use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{DataType, Value};

use crate::args::Inputs;
use crate::error::CliError;
use crate::files::{self, Wanted};

/// The bytes of each input buffer, in declaration order.
pub(crate) fn buffers(program: &Program, inputs: &Inputs) -> Result<Vec<Vec<u8>>, CliError> {
    let declared: Vec<_> = program
        .inputs()
        .map(|id| program.buffer(id))
        .map(|buffer| Wanted { name: &buffer.name, element: buffer.element })
        .collect();
    known("input buffer", &inputs.buffers, declared.iter().map(|b| b.name))?;
    all_given(declared.iter().copied(), inputs)?;
    declared.iter().map(|&wanted| given(wanted, inputs)).filter_map(Result::transpose).collect()
}

/// The bytes of one input, if a file is given for it.
pub(crate) fn given(wanted: Wanted<'_>, inputs: &Inputs) -> Result<Option<Vec<u8>>, CliError> {
    let path = inputs.buffers.iter().find(|(name, _)| *name == wanted.name);
    path.map(|(_, path)| files::read(path, wanted, inputs.pad)).transpose()
}

/// Refuses inputs that no file is given for.
pub(crate) fn all_given<'a>(
    wanted: impl Iterator<Item = Wanted<'a>>,
    inputs: &Inputs,
) -> Result<(), CliError> {
    let given = |wanted: &Wanted<'_>| inputs.buffers.iter().any(|(name, _)| *name == wanted.name);
    let missing: Vec<_> =
        wanted.filter(|wanted| !given(wanted)).map(|w| (w.name.to_owned(), w.element)).collect();
    if missing.is_empty() { Ok(()) } else { Err(CliError::MissingInput { inputs: missing }) }
}

/// The paths of the outputs, in declaration order; `None` where one is not asked for.
pub(crate) fn outputs(
    program: &Program,
    asked: &[(String, PathBuf)],
) -> Result<Vec<Option<PathBuf>>, CliError> {
    let declared = program.outputs().map(|id| program.buffer(id).name.as_str());
    paths("output buffer", declared, asked)
}

/// The paths of outputs of these names.
pub(crate) fn paths<'a>(
    role: &'static str,
    declared: impl Iterator<Item = &'a str>,
    asked: &[(String, PathBuf)],
) -> Result<Vec<Option<PathBuf>>, CliError> {
    let declared: Vec<_> = declared.collect();
    known(role, asked, declared.iter().copied())?;
    let path = |name: &&str| asked.iter().find(|(other, _)| other == name).map(|(_, path)| path.clone());
    Ok(declared.iter().map(path).collect())
}

/// The parameters. What is missing, the launch says itself.
pub(crate) fn params(program: &Program, inputs: &Inputs) -> Result<Params, CliError> {
    let declared = program.params().iter().map(|param| (param.name.as_str(), param.ty));
    Ok(scalars(declared, inputs)?.into_iter().collect())
}

/// The parameters that are given of these.
pub(crate) fn scalars<'a>(
    declared: impl Iterator<Item = (&'a str, DataType)>,
    inputs: &Inputs,
) -> Result<Vec<(String, Value)>, CliError> {
    let declared: Vec<_> = declared.collect();
    known("parameter", &inputs.params, declared.iter().map(|&(name, _)| name))?;
    let mut scalars = Vec::new();
    for (declared, ty) in declared {
        if let Some((name, text)) = inputs.params.iter().find(|(name, _)| name == declared) {
            scalars.push((name.clone(), value(name, text, ty)?));
        }
    }
    Ok(scalars)
}

/// Refuses a name that the program does not have.
pub(crate) fn known<'a, T>(
    role: &'static str,
    given: &[(String, T)],
    declared: impl Iterator<Item = &'a str>,
) -> Result<(), CliError> {
    let declared: Vec<&str> = declared.collect();
    match given.iter().find(|(name, _)| !declared.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, _)) => Err(CliError::UnknownName {
            role,
            name: name.clone(),
            known: declared.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// A parameter's value: in Rust's notation, or `@PATH` for the length of a file.
fn value(name: &str, text: &str, ty: DataType) -> Result<Value, CliError> {
    let length;
    let text = match text.strip_prefix('@') {
        None => text,
        Some(path) => {
            let read = |source| CliError::Read { path: PathBuf::from(path), source };
            length = fs::metadata(path).map_err(read)?.len().to_string();
            &length
        }
    };
    let parsed = match ty {
        DataType::Bool => text.parse().ok().map(Value::new::<bool>),
        DataType::U8 => text.parse().ok().map(Value::new::<u8>),
        DataType::I8 => text.parse().ok().map(Value::new::<i8>),
        DataType::U16 => text.parse().ok().map(Value::new::<u16>),
        DataType::I16 => text.parse().ok().map(Value::new::<i16>),
        DataType::U32 => text.parse().ok().map(Value::new::<u32>),
        DataType::I32 => text.parse().ok().map(Value::new::<i32>),
        DataType::U64 => text.parse().ok().map(Value::new::<u64>),
        DataType::I64 => text.parse().ok().map(Value::new::<i64>),
        DataType::F32 => text.parse().ok().map(Value::new::<f32>),
        DataType::F16 | DataType::BF16 | DataType::F64 => text.parse().ok().map(|x| Value::from_f64(ty, x)),
    };
    parsed.ok_or_else(|| CliError::Value {
        option: format!("--param {name}"),
        got: text.to_owned(),
        expected: format!("of type {ty}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_type() {
        let bits = |text, ty| value("p", text, ty).ok().map(Value::bits);
        assert_eq!(bits("4294967295", DataType::U32), Some(0xFFFF_FFFF));
        assert_eq!(bits("-1", DataType::I32), Some(0xFFFF_FFFF));
        assert_eq!(bits("-0.0", DataType::F32), Some(0x8000_0000));
        assert_eq!(bits("true", DataType::Bool), Some(1));
        for (text, ty) in [
            ("-1", DataType::U32),
            ("4294967296", DataType::U32),
            ("2147483648", DataType::I32),
            ("1", DataType::Bool),
            ("one", DataType::F32),
            ("", DataType::U32),
        ] {
            assert!(bits(text, ty).is_none(), "`{text}` as {ty}");
        }
    }

    #[test]
    fn the_length_of_a_file_is_a_value() {
        let path = std::env::temp_dir().join(format!("vyre-wgpu-length-{}", std::process::id()));
        fs::write(&path, [0; 11]).unwrap();
        let text = format!("@{}", path.display());
        let got = value("bytes", &text, DataType::U32).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(got, Value::new(11u32));
        assert!(matches!(value("bytes", &text, DataType::U32), Err(CliError::Read { .. })));
    }
}
