//! What can go wrong between a program and its result.

use std::time::Duration;

use vyre_foundation::diag::Diagnostic;
use vyre_foundation::launch::LaunchError;

use crate::PayloadError;
use crate::speculate::TailProblem;

/// Why a backend could not do what was asked. Each variant says what and where; [`BackendError::help`]
/// says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// No linked backend has this id.
    #[error("no backend `{id}` is linked; linked are: {}", if linked.is_empty() { "none".to_owned() } else { linked.join(", ") })]
    BackendNotLinked {
        /// The id asked for.
        id: String,
        /// The ids of the linked backends.
        linked: Vec<String>,
    },
    /// No device can be used.
    #[error("no usable device was found{}", list(probed))]
    NoDevice {
        /// Each device or driver that was probed, and why it was refused.
        probed: Vec<String>,
        /// What to do.
        remedy: String,
    },
    /// A linked backend lacks a facet.
    #[error("the backend `{backend}` has no {facet}")]
    NoFacet {
        /// The backend's id.
        backend: String,
        /// The facet.
        facet: &'static str,
    },
    /// An environment variable has a value that means nothing.
    #[error("the environment variable {name} has the value `{value}`, but takes {expected}")]
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The program does not pass the checker.
    #[error("the program is wrong: {}", diagnostics.first().map_or_else(String::new, ToString::to_string))]
    InvalidProgram {
        /// Every finding.
        diagnostics: Vec<Diagnostic>,
    },
    /// The launch cannot be carried out.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The device cannot do what the program needs.
    #[error("{device} cannot run the program: {what}")]
    Unsupported {
        /// What is missing: the op and type, and the feature or limit.
        what: String,
        /// The device's name.
        device: String,
        /// What to do.
        remedy: String,
    },
    /// A configuration field cannot be honoured.
    #[error("the configuration field `{field}` cannot be honoured: {why}")]
    Config {
        /// The field.
        field: &'static str,
        /// Why.
        why: String,
    },
    /// The number of bindings is not the program's number of buffers.
    #[error("the program has {needs} buffers, but {got} bindings were passed")]
    BindingCount {
        /// The buffers of the program.
        needs: usize,
        /// The bindings passed.
        got: usize,
    },
    /// A command reaches beyond a buffer.
    #[error("{what}: bytes {offset}..{} reach beyond the buffer's {len} bytes", offset.saturating_add(*bytes))]
    OutOfRange {
        /// The command.
        what: &'static str,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The buffer's bytes.
        len: u64,
    },
    /// A handle is not of this backend, or its buffer is gone.
    #[error("the buffer handle {handle} is {problem}")]
    BadHandle {
        /// The handle.
        handle: String,
        /// `foreign`, `freed` or `stale`.
        problem: &'static str,
    },
    /// A writable buffer is bound twice in one dispatch.
    #[error("buffers `{first}` and `{second}` are bound to one allocation, and one of them is writable")]
    Aliasing {
        /// A buffer of the program.
        first: String,
        /// Another.
        second: String,
    },
    /// The outputs would be larger than the caller allows.
    #[error("the outputs take {needs} bytes, above max_output_bytes = {limit}")]
    OutputTooLarge {
        /// Their bytes.
        needs: u64,
        /// The limit.
        limit: u64,
    },
    /// A slice that describes a relation or table has another length than its description says.
    #[error("`{what}` has {got} entries, but needs {expected}")]
    WrongLength {
        /// The argument.
        what: &'static str,
        /// The entries that it must have.
        expected: u64,
        /// The entries that it has.
        got: u64,
    },
    /// The counts that a fused speculative program carries cannot be.
    #[error("the tail of the speculative program `{program}` cannot be: {problem}")]
    SpeculationTail {
        /// The program's name.
        program: String,
        /// What is wrong with it.
        problem: TailProblem,
    },
    /// A device limit is passed.
    #[error("{what} is {value}, above the device's limit of {limit}")]
    Limit {
        /// What.
        what: String,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// An output cannot be seen as values of the type asked for.
    #[error("the {bytes} bytes of output {output} cannot be read as `{ty}`: {problem}")]
    OutputLayout {
        /// Its position among the outputs.
        output: usize,
        /// Its bytes.
        bytes: usize,
        /// The type.
        ty: &'static str,
        /// Why.
        problem: String,
    },
    /// A chunk of a stream failed.
    #[error("chunk {chunk} of the stream failed: {error}")]
    Chunk {
        /// Its number, from 0.
        chunk: u64,
        /// What happened.
        error: Box<BackendError>,
    },
    /// A dispatch that has a label failed. [`BackendError::code`] and [`BackendError::help`] are those of what
    /// happened.
    #[error("`{label}`: {error}")]
    Labeled {
        /// [`DispatchConfig::label`](crate::DispatchConfig::label).
        label: String,
        /// What happened.
        error: Box<BackendError>,
    },
    /// A target payload is refused.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A barrier of the whole grid stands in a loop that the host cannot unroll.
    #[error("{what}")]
    GridSyncTripCount {
        /// The barrier, the loop, and why.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// The program recorded a fault.
    #[error("the program trapped with code {code} in invocation {invocation}, address {address}")]
    Trap {
        /// The program's own code.
        code: u32,
        /// The linear id of the invocation that was first.
        invocation: u32,
        /// The program's own address.
        address: u32,
    },
    /// The workgroup counts that an indirect dispatch found in device memory pass the device's limit; it ran
    /// nothing.
    #[error("an indirect dispatch found {count} workgroups on the {} axis, above the device's limit", axis.name())]
    IndirectCounts {
        /// The first axis that passes the limit.
        axis: vyre_spec::Axis,
        /// Its count.
        count: u32,
    },
    /// A loop passed its trip limit.
    #[error("a loop passed its trip limit in invocation {invocation}")]
    LoopLimit {
        /// The linear id of the invocation that was first.
        invocation: u32,
    },
    /// The work did not end in time; it may still end, and its buffers are kept until then.
    #[error("the work did not end within {timeout:?}")]
    Timeout {
        /// The time allowed.
        timeout: Duration,
    },
    /// The device has no memory left.
    #[error("the device is out of memory while {doing}{}", bytes.map_or_else(String::new, |b| format!(" ({b} bytes)")))]
    OutOfMemory {
        /// What was being done.
        doing: &'static str,
        /// The bytes asked for, if known.
        bytes: Option<u64>,
    },
    /// The device was lost.
    #[error("the device was lost (generation {generation}): {reason}")]
    DeviceLost {
        /// The device generation that was lost.
        generation: u64,
        /// The driver's words.
        reason: String,
    },
    /// The backend was shut down.
    #[error("the backend `{backend}` was shut down")]
    ShutDown {
        /// Its id.
        backend: &'static str,
    },
    /// A lost device could not be recovered: the adapter that is there now is not as the old one was.
    #[error("the adapter has changed: it was {was}; now there is {now}")]
    AdapterChanged {
        /// The adapter that was opened.
        was: String,
        /// What is there now.
        now: String,
    },
    /// The driver or the graphics layer refused something that it should have taken: a fault of ours or
    /// of the driver's.
    #[error("{doing} failed: {message}")]
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The layer's words.
        message: String,
    },
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

impl BackendError {
    /// A stable code for scripts.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BackendNotLinked { .. } => "B001",
            Self::NoDevice { .. } => "B002",
            Self::Environment { .. } => "B003",
            Self::NoFacet { .. } => "B004",
            Self::InvalidProgram { .. } => "B101",
            Self::Launch(_) => "B102",
            Self::Unsupported { .. } => "B103",
            Self::Config { .. } => "B104",
            Self::BindingCount { .. } => "B105",
            Self::OutOfRange { .. } => "B106",
            Self::BadHandle { .. } => "B107",
            Self::Aliasing { .. } => "B108",
            Self::OutputTooLarge { .. } => "B109",
            Self::Limit { .. } => "B110",
            Self::GridSyncTripCount { .. } => "B113",
            Self::Payload(_) => "B120",
            Self::WrongLength { .. } => "B111",
            Self::SpeculationTail { .. } => "B112",
            Self::OutputLayout { .. } => "B130",
            Self::Chunk { .. } => "B131",
            Self::Labeled { error, .. } => error.code(),
            Self::Trap { .. } => "B201",
            Self::LoopLimit { .. } => "B202",
            Self::IndirectCounts { .. } => "B204",
            Self::Timeout { .. } => "B203",
            Self::OutOfMemory { .. } => "B301",
            Self::DeviceLost { .. } => "B302",
            Self::Driver { .. } => "B303",
            Self::ShutDown { .. } => "B304",
            Self::AdapterChanged { .. } => "B305",
        }
    }

    /// What happened, without the label of the dispatch and the number of the chunk in which it did.
    pub fn cause(&self) -> &Self {
        let mut cause = self;
        while let Self::Labeled { error, .. } | Self::Chunk { error, .. } = cause {
            cause = error;
        }
        cause
    }

    /// The error of a dispatch with this label, if it has one.
    #[must_use]
    pub fn labeled(self, label: Option<&str>) -> Self {
        match label {
            Some(label) if !matches!(self, Self::Labeled { .. }) => {
                Self::Labeled { label: label.to_owned(), error: Box::new(self) }
            }
            _ => self,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::BackendNotLinked { id, .. } => {
                format!("a backend that is only listed in Cargo.toml is not linked: `use` its crate in the program (for `wgpu`, `use vyre_driver_wgpu as _;`), or correct the id `{id}`")
            }
            Self::NoDevice { remedy, .. }
            | Self::Unsupported { remedy, .. }
            | Self::GridSyncTripCount { remedy, .. } => remedy.clone(),
            Self::Environment { name, expected, .. } => format!("set {name} to {expected}, or unset it"),
            Self::NoFacet { .. } => "compile programs on the opened backend, or use another backend".into(),
            Self::InvalidProgram { .. } => "mend each finding; `vyre-wgpu check FILE` shows them in the text".into(),
            Self::Launch(_) => "bind inputs in declaration order, with the lengths and parameters that the program declares".into(),
            Self::Config { field, .. } => format!("leave `{field}` unset, or use a program or backend that honours it"),
            Self::BindingCount { .. } => "bind every buffer of the program, in declaration order".into(),
            Self::OutOfRange { .. } => "keep the range inside the buffer".into(),
            Self::BadHandle { .. } => "allocate the buffer on this backend, and do not use it after it is freed or the device is recovered".into(),
            Self::Aliasing { .. } => "use one ReadWrite buffer for in-place work, or copy".into(),
            Self::OutputTooLarge { .. } => "raise max_output_bytes, or split the work".into(),
            Self::SpeculationTail { .. } => "have the program count every candidate once, as committed or as rolled back, where the plan's `tail` says".into(),
            Self::WrongLength { what, expected, .. } => format!("pass exactly {expected} entries as `{what}`"),
            Self::Limit { .. } => "split the work, or use a device with a higher limit".into(),
            Self::Payload(_) => "compile the programs again for this device, and verify payloads from elsewhere with the key that they were sealed with".into(),
            Self::OutputLayout { .. } => "ask for the type of the output's elements, or visit the bytes".into(),
            Self::Chunk { error, .. } | Self::Labeled { error, .. } => error.help(),
            Self::Trap { .. } => "the code and address are the program's own: see its `trap` statements".into(),
            Self::LoopLimit { .. } => "shorten the loop, split it over several dispatches, or use a device whose driver does not limit loops".into(),
            Self::IndirectCounts { .. } => {
                "write counts within the device's limit of workgroups per axis (65,535 on most), and let each workgroup do more".into()
            }
            Self::Timeout { .. } => "allow more time or split the work; a running kernel cannot be stopped".into(),
            Self::OutOfMemory { .. } => "free buffers, or split the work".into(),
            Self::DeviceLost { .. } => "call `try_recover`, then compile and upload again; if it recurs, the kernel may run too long for the driver's watchdog".into(),
            Self::ShutDown { .. } => "open the backend again; nothing runs on it after `shutdown`".into(),
            Self::AdapterChanged { .. } => "open a new backend: what was compiled or planned for the old adapter does not fit".into(),
            Self::Driver { .. } => "update the driver; if it recurs, report it with the program's text".into(),
        }
    }
}

impl From<Vec<Diagnostic>> for BackendError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::InvalidProgram { diagnostics }
    }
}

#[cfg(test)]
mod tests {
    use super::BackendError;

    /// The names and codes of the table in `BackendError::code`, in its order.
    fn codes() -> Vec<(&'static str, &'static str)> {
        let row = |line: &'static str| {
            let (name, code) = line.trim().strip_prefix("Self::")?.split_once(" => \"B")?;
            let name = name.split([' ', '(']).next()?;
            Some((name, code.strip_suffix("\",")?))
        };
        include_str!("error.rs").lines().filter_map(row).collect()
    }

    #[test]
    fn a_label_names_an_error_once_and_leaves_its_code_and_help() {
        let error = BackendError::LoopLimit { invocation: 3 };
        assert_eq!(error.clone().labeled(None), error);
        let named = error.clone().labeled(Some("inner")).labeled(Some("outer"));
        assert_eq!(named.to_string(), format!("`inner`: {error}"));
        assert_eq!((named.code(), named.help()), ("B202", error.help()));
        let chunk = BackendError::Chunk { chunk: 2, error: Box::new(named) };
        assert_eq!(chunk.cause(), &error);
    }

    #[test]
    fn every_code_is_one_errors_own_and_on_its_page() {
        let codes = codes();
        assert!(codes.len() >= 23, "{codes:?}");
        let page = include_str!("../../docs/BACKEND_ERRORS.md");
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| B")).collect();
        let want: Vec<_> = codes.iter().map(|(name, code)| format!("| B{code} | `{name}` | ")).collect();
        for row in &want {
            let found = rows.iter().filter(|line| line.starts_with(row.as_str())).count();
            assert_eq!(found, 1, "docs/BACKEND_ERRORS.md has {found} rows that start with: {row}");
        }
        assert_eq!(rows.len(), want.len(), "docs/BACKEND_ERRORS.md has a row for a code that there is not");
        let mut numbers: Vec<_> = codes.iter().map(|(_, code)| code).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), codes.len(), "a code is used twice: {codes:?}");
    }
}
