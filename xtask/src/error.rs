//! Why a task failed. Each message says what to do.

use std::path::PathBuf;

use crate::ownership::Violation;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no task takes the arguments `{args}`\n\n{}", crate::USAGE)]
    Usage { args: String },
    #[error("cargo metadata failed: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Toml { path: PathBuf, source: Box<toml::de::Error> },
    #[error("{} ownership violation(s):\n{}", .0.len(), lines(.0))]
    Ownership(Vec<Violation>),
    #[error("{}: out of date; run `cargo xtask {task} --write` and commit the result", path.display())]
    Stale { path: PathBuf, task: &'static str },
    #[error("{}: the generated section has a start marker without an end marker", path.display())]
    Markers { path: PathBuf },
    #[error(
        "{package}: the features of its Cargo.toml are {declared:?} but [crate.features] in CRATE_OWNERSHIP.toml \
         describes {described:?}; give each feature one line there"
    )]
    Features { package: String, declared: Vec<String>, described: Vec<String> },
    #[error("{package}: its example {} does not exist; correct [crate.example] in CRATE_OWNERSHIP.toml", path.display())]
    Example { package: String, path: PathBuf },
    #[error(
        "docs/CLI.toml: {bin} has the commands {listed:?} there but {shown:?} in its --help; make the two agree"
    )]
    Commands { bin: String, listed: Vec<String>, shown: Vec<String> },
    #[error("`{command}` failed{}", code.map_or(String::new(), |c| format!(" with status {c}")))]
    Command { command: String, code: Option<i32> },
    #[error(
        "no usable GPU: the demo failed for the reason it gives above. Install the Vulkan driver of this machine's \
         GPU, or permit a software driver: `cargo xtask {task} --software`"
    )]
    NoDevice { task: &'static str },
    #[error(
        "no Vulkan driver and no apt-get to install one with. Install a Vulkan loader (libvulkan.so.1) and Mesa's \
         lavapipe driver with this system's package manager, then run this again"
    )]
    NoInstaller,
    #[error(
        "apt-get installed mesa-vulkan-drivers and libvulkan1, but no lavapipe manifest or no libvulkan.so.1 is \
         where the Vulkan loader looks; see `ls /usr/share/vulkan/icd.d`"
    )]
    StillNoDriver,
    #[error(
        "the package {package} holds no SwiftShader manifest on this system; point VK_DRIVER_FILES at another copy of \
         vk_swiftshader_icd.json and run the task with --software"
    )]
    NoSwiftShader { package: &'static str },
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

fn lines(violations: &[Violation]) -> String {
    violations.iter().map(|v| format!("  {v}")).collect::<Vec<_>>().join("\n")
}
