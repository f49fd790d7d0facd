//! The workspace as cargo sees it, next to its ownership registry.

use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package};

use crate::{
    error::Error,
    registry::{Registry, parse_toml},
};

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// The members, sorted by name.
    pub(crate) members: Vec<Package>,
    pub(crate) registry: Registry,
}

impl Workspace {
    /// Loads the workspace at `dir`, or the one around the current directory. Needs no network: dependencies are
    /// read as the Cargo.toml files declare them, not resolved.
    pub(crate) fn load(dir: Option<&Path>) -> Result<Self, Error> {
        let mut command = MetadataCommand::new();
        command.no_deps().other_options(vec!["--offline".into()]);
        if let Some(dir) = dir {
            command.current_dir(dir);
        }
        let metadata = command.exec()?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let mut members: Vec<_> = metadata.workspace_packages().into_iter().cloned().collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let registry = parse_toml(&root.join("CRATE_OWNERSHIP.toml"))?;
        Ok(Self { root, members, registry })
    }

    /// The member of that name.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members.iter().find(|p| p.name.as_str() == name)
    }
}

/// Names of the features in `package`'s Cargo.toml, sorted, without the implicit ones of optional dependencies.
pub(crate) fn features(package: &Package) -> Vec<String> {
    let implicit = |name: &str, members: &[String]| members == [format!("dep:{name}")];
    let mut names: Vec<_> = package
        .features
        .iter()
        .filter(|(name, members)| !implicit(name, members) && *name != "default")
        .map(|(name, _)| name.clone())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
pub(crate) mod fixture {
    //! A small real workspace in a temporary directory: base < mid < top, and peer beside top.

    use std::{
        fs,
        path::{Path, PathBuf},
        sync::atomic::{AtomicU32, Ordering},
    };

    use super::Workspace;

    pub(crate) struct Fixture(PathBuf);

    /// Its files: each a line `==> path`, then the text.
    const FILES: &str = include_str!("../fixtures/workspace.txt");

    impl Fixture {
        pub(crate) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let unique =
                format!("vyre-xtask-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let fixture = Self(std::env::temp_dir().join(unique));
            for file in FILES.split("==> ").skip(1) {
                let (path, text) = file.split_once('\n').unwrap();
                fixture.write(path, text);
            }
            fixture
        }

        pub(crate) fn path(&self) -> &Path {
            &self.0
        }

        pub(crate) fn load(&self) -> Workspace {
            Workspace::load(Some(&self.0)).unwrap()
        }

        pub(crate) fn read(&self, file: &str) -> String {
            fs::read_to_string(self.0.join(file)).unwrap()
        }

        pub(crate) fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Replaces the first `old`, which must be there.
        pub(crate) fn replace(&self, file: &str, old: &str, new: &str) {
            let text = self.read(file);
            assert!(text.contains(old), "{file} has no `{old}`");
            self.write(file, &text.replacen(old, new, 1));
        }

        /// Declares a plain private edge.
        pub(crate) fn declare(&self, from: &str, to: &str, kind: &str) {
            let edge = format!(
                "[[edge]]\nfrom = \"{from}\"\nto = \"{to}\"\npurpose = \"p\"\nkinds = [\"{kind}\"]\nfeatures = []\n\
                 optional = false\ndefault-features = true\nboundary = \"private\"\nconditions = []\n"
            );
            self.write("CRATE_OWNERSHIP.toml", &(self.read("CRATE_OWNERSHIP.toml") + &edge));
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            // A directory left behind harms nothing; the test's own result matters more.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
