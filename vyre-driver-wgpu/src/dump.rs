//! What the compiler makes of a program, written to files for people to look at.
//!
//! The files of one compilation begin with the program's name and 16 digits of its cache key, so that each
//! program, with each set of options, has files of its own, and the same ones every time. Where a program
//! becomes several kernels, those after the first are numbered. A file that cannot
//! be written fails nothing: the first such error is in the backend's statistics.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use vyre_driver::BackendError;
use vyre_emit_naga::{Emitted, to_wgsl};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::opt::optimize;
use vyre_foundation::text::print;
use vyre_lower::Lowered;
use vyre_lower::kernel::KernelDescriptor;
use vyre_spec::CompileOptions;

use crate::cache::hex;
use crate::env::DumpSettings;

/// Where dumps go, and what went wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Dumps {
    settings: DumpSettings,
    failure: Mutex<Option<String>>,
}

/// One compilation.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'p> {
    pub(crate) program: &'p Checked<Program>,
    pub(crate) options: &'p CompileOptions,
    pub(crate) key: [u8; 32],
    /// Which of the program's kernels, from 0.
    pub(crate) part: u32,
}

impl Dumps {
    /// Creates the directories.
    ///
    /// # Errors
    /// [`BackendError::Environment`] for one that cannot be.
    pub(crate) fn new(settings: DumpSettings) -> Result<Self, BackendError> {
        for (name, dir) in settings.named() {
            fs::create_dir_all(dir).map_err(|error| BackendError::Environment {
                name: name.to_owned(),
                value: dir.display().to_string(),
                expected: format!("a directory that can be made ({error})"),
            })?;
        }
        Ok(Self { settings, failure: Mutex::default() })
    }

    /// The first dump that could not be written, and why.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// After lowering and emission: the descriptor, and if all phases are wanted, the text of each.
    pub(crate) fn lowered(&self, subject: Subject<'_>, descriptor: &KernelDescriptor, emitted: &Emitted) {
        if let Some(dir) = &self.settings.descriptors {
            self.write(dir, subject, "kdesc", || descriptor.to_string());
        }
        if let Some(dir) = &self.settings.phases {
            if subject.part == 0 {
                self.write(dir, subject, "1-program.vyre", || print(subject.program));
            }
            if subject.part == 0 && subject.options.optimize {
                self.write(dir, subject, "2-optimized.vyre", || print(&optimize(subject.program)));
            }
            self.write(dir, subject, "3-kernel.kdesc", || descriptor.to_string());
            self.write(dir, subject, "4-module.wgsl", || {
                to_wgsl(emitted).unwrap_or_else(|error| format!("// not expressible in WGSL: {error}\n"))
            });
        }
    }

    /// After the SPIR-V was written.
    pub(crate) fn words(&self, subject: Subject<'_>, words: &[u32]) {
        if let Some(dir) = &self.settings.phases {
            self.write(dir, subject, "5-module.spirv.txt", || listing(words));
        }
    }

    /// After a failure: the error, and the descriptor, or the program if it was not even lowered.
    pub(crate) fn failed(
        &self,
        subject: Subject<'_>,
        error: &BackendError,
        lowered: impl FnOnce() -> Option<Lowered>,
    ) {
        // What happens to the device is no failure of the compilation.
        let Some(dir) = &self.settings.failures else { return };
        if matches!(error, BackendError::DeviceLost { .. } | BackendError::OutOfMemory { .. }) {
            return;
        }
        self.write(dir, subject, "failed.txt", || {
            let what = lowered().map_or_else(
                || print(subject.program),
                |lowered| lowered.kernels.iter().map(|kernel| kernel.to_string()).collect(),
            );
            format!("{}: {error}\n{}\n\n{what}", error.code(), error.help())
        });
    }

    fn write(&self, dir: &Path, subject: Subject<'_>, ending: &str, text: impl FnOnce() -> String) {
        let path = dir.join(format!("{}.{ending}", stem(subject)));
        if let Err(error) = fs::write(&path, text()) {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| format!("{}: {error}", path.display()));
        }
    }
}

/// The part of the file names that says what was compiled: letters, digits and `_`, then the key.
fn stem(subject: Subject<'_>) -> String {
    let name: String = subject
        .program
        .name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(64)
        .collect();
    let key = hex(subject.key.get(..8).unwrap_or_default());
    match subject.part {
        0 => format!("{name}-{key}"),
        part => format!("{name}-{key}-kernel{}", part + 1),
    }
}

/// One line per instruction: its word offset, its opcode's number and its operand words.
fn listing(words: &[u32]) -> String {
    const HEADER: usize = 5;
    let mut text = String::new();
    let (header, mut rest) = words.split_at(HEADER.min(words.len()));
    let _ = writeln!(text, "header {}", hex_words(header));
    let mut offset = header.len();
    while let Some(&first) = rest.first() {
        let len = ((first >> 16) as usize).clamp(1, rest.len());
        let (instruction, after) = rest.split_at(len);
        let operands = hex_words(instruction.get(1..).unwrap_or_default());
        let _ = writeln!(text, "{offset:6} op {:3} {operands}", first & 0xFFFF);
        offset += len;
        rest = after;
    }
    text
}

fn hex_words(words: &[u32]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("{word:x}")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spirv_is_listed_by_instruction_and_any_words_end() {
        let module = [0x0723_0203, 0x0001_0300, 0, 9, 0, 0x0002_0011, 1, 0x0001_00FD];
        let text = listing(&module);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "header 7230203 10300 0 9 0");
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["5", "op", "17", "1"]);
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["7", "op", "253"]);
        assert_eq!(lines.len(), 3);
        // A length beyond the end, or of nothing.
        assert_eq!(listing(&[0, 0, 0, 0, 0, 0, 0xFFFF_0001, 3]).lines().count(), 3);
        assert_eq!(listing(&[1]).lines().count(), 1);
    }
}
