//! From the start of a process to its first result, with the compiled pipeline on disk: Vyre's cache against a
//! raw pipeline cache that the process reads itself.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;

use super::raw::warm;
use super::{Bench, Row, kernels, tiny_bytes};

/// Which of the two a child process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Vyre.
    Vyre,
    /// Raw wgpu.
    Raw,
}

impl Side {
    const ALL: [Self; 2] = [Self::Vyre, Self::Raw];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vyre => "vyre",
            Self::Raw => "raw",
        }
    }

    /// The side with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.name() == name)
    }

    /// The child's work: the tiny program once, and a line when its result is right. The raw side keeps its
    /// pipeline cache in the directory that Vyre's is in.
    ///
    /// # Errors
    /// If the program does not run, or gives something else.
    pub(crate) fn first_result(self) -> Result<(), BackendError> {
        let (input, expected) = tiny_bytes();
        let got = match self {
            Self::Vyre => {
                let backend = WgpuBackend::acquire()?;
                let config = DispatchConfig::default();
                backend.dispatch_checked(&kernels::tiny()?, &[&input], &config)?.concat()
            }
            Self::Raw => warm::first_result(std::env::var_os("VYRE_CACHE_DIR").as_deref(), &input),
        };
        if got != expected {
            return Err(child_failed("it gives something else".to_owned()));
        }
        println!("done");
        Ok(())
    }
}

/// The command that runs a side's work in a process of its own.
pub(crate) type Child<'c> = &'c dyn Fn(Side) -> std::io::Result<Command>;

impl Bench<'_> {
    pub(super) fn warm_start(&self, child: Child<'_>) -> Result<Row, BackendError> {
        let directory = std::env::temp_dir().join(format!("vyre-bench-{}", std::process::id()));
        let row = self.warm_start_in(child, &directory);
        // Nothing else is in it; what cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&directory);
        row
    }

    fn warm_start_in(&self, child: Child<'_>, directory: &Path) -> Result<Row, BackendError> {
        std::fs::create_dir_all(directory).map_err(|error| child_failed(error.to_string()))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // A cache that others may write is not trusted.
            let private = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(directory, private).map_err(|error| child_failed(error.to_string()))?;
        }
        let run = |side| first_line(child, side, directory);
        // The first processes fill the caches.
        for side in Side::ALL {
            run(side)?;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while ours.len() < 5 || (begin.elapsed() < self.effort.per_row && ours.len() < 50) {
            ours.push(run(Side::Vyre)?);
            theirs.push(run(Side::Raw)?);
        }
        let pairs = ours.len();
        let (vyre, raw) = (super::median(ours), super::median(theirs));
        // Children check their results themselves.
        Ok(Row {
            name: "warm start, process start to first result",
            asked: 1.2,
            predicted: None,
            vyre,
            raw,
            pairs,
            operations: None,
            error: None,
            correct: true,
        })
    }
}

/// The time from starting the child to its line.
fn first_line(child: Child<'_>, side: Side, directory: &Path) -> Result<Duration, BackendError> {
    let failed = |error: std::io::Error| child_failed(error.to_string());
    let mut command = child(side).map_err(failed)?;
    command.env("VYRE_CACHE_DIR", directory).stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let mut process = command.spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(failed)?;
    }
    let time = start.elapsed();
    let status = process.wait().map_err(failed)?;
    if status.success() && line.trim() == "done" {
        Ok(time)
    } else {
        Err(child_failed(format!("the process of the {} side ended with {status}", side.name())))
    }
}

fn child_failed(message: String) -> BackendError {
    BackendError::Driver { doing: "timing a warm start", message }
}
