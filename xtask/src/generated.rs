//! Committed generated text: rewritten by `--write`, compared by `--check`.

use std::{fs, path::Path};

use crate::error::Error;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

impl Mode {
    pub(crate) fn of(flag: &str) -> Self {
        if flag == "--write" { Self::Write } else { Self::Check }
    }
}

pub(crate) const END: &str = "<!-- End of the generated section. -->";

/// Makes the file at `path` hold `text`, or reports that it does not. `task` is the one that writes it.
pub(crate) fn put(path: &Path, text: &str, mode: Mode, task: &'static str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|current| current == text) {
        return Ok(());
    }
    if mode == Mode::Check {
        return Err(Error::Stale { path: path.to_owned(), task });
    }
    println!("wrote {}", path.display());
    fs::write(path, text).map_err(Error::io(path))
}

/// `current` with `section` between the marker `begin` and [`END`]; at its end when it has no markers yet. `path` is for
/// the error.
pub(crate) fn splice(path: &Path, current: &str, begin: &str, section: &str) -> Result<String, Error> {
    let section = format!("{begin}\n\n{}\n\n{END}", section.trim());
    let Some((before, rest)) = current.split_once(begin) else {
        return Ok(format!("{}\n\n{section}\n", current.trim_end()).trim_start().to_owned());
    };
    match rest.split_once(END) {
        Some((_, after)) => Ok(format!("{before}{section}{after}")),
        None => Err(Error::Markers { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<!-- begin -->";

    #[test]
    fn a_section_replaces_only_itself() {
        let path = Path::new("README.md");
        let first = splice(path, "# a\n\nby hand\n", BEGIN, "one").unwrap();
        assert_eq!(first, format!("# a\n\nby hand\n\n{BEGIN}\n\none\n\n{END}\n"));
        let second = splice(path, &(first + "\nand after\n"), BEGIN, "two").unwrap();
        assert_eq!(second, format!("# a\n\nby hand\n\n{BEGIN}\n\ntwo\n\n{END}\n\nand after\n"));
        assert!(matches!(splice(path, BEGIN, BEGIN, "x"), Err(Error::Markers { .. })));
    }
}
