//! `--software`: permission to use a software Vulkan driver, and its installation where no driver is usable.
//! `--software=swiftshader`: the second one, which differs in features, subgroup width and limits.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{error::Error, run::status};

/// What the children of a task need in their environment.
pub(crate) type Environment = Vec<(&'static str, OsString)>;

const PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];
/// The Debian package that SwiftShader comes in; it is unpacked, not installed.
const SWIFTSHADER_PACKAGE: &str = "chromium-common";
const SWIFTSHADER_MANIFEST: &str = "vk_swiftshader_icd.json";

/// Which software drivers a task may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Software {
    /// None: the GPU is used, or its absence reported.
    Refused,
    /// Whatever the system has; Mesa's is installed where no driver is usable.
    Permitted,
    /// SwiftShader and nothing else.
    SwiftShader,
}

impl Software {
    /// Reads the flag of a task.
    pub(crate) fn of(flags: &[&str]) -> Option<Self> {
        match flags {
            [] => Some(Self::Refused),
            ["--software"] => Some(Self::Permitted),
            ["--software=swiftshader"] => Some(Self::SwiftShader),
            _ => None,
        }
    }
}

/// Makes sure that the driver which `software` asks for can be found, and gives the environment that permits and
/// selects it.
pub(crate) fn prepare(root: &Path, software: Software) -> Result<Environment, Error> {
    if software == Software::Refused {
        return Ok(Vec::new());
    }
    let mut environment: Environment = vec![("VYRE_ALLOW_SOFTWARE", "1".into())];
    if software == Software::SwiftShader {
        environment.push(("VK_DRIVER_FILES", swiftshader(root)?.into()));
    }
    // Windows has WARP and macOS has Metal without an installation.
    if !cfg!(target_os = "linux") {
        return Ok(environment);
    }
    let named_by_user = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|v| std::env::var_os(v).is_some());
    if !named_by_user && !usable(Path::new("/")) {
        install()?;
        if !usable(Path::new("/")) {
            return Err(Error::StillNoDriver);
        }
    }
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        environment.push(("XDG_RUNTIME_DIR", private_dir(root)?.into()));
    }
    Ok(environment)
}

/// Whether the system at `root` has a Vulkan loader and a driver with something to run on: lavapipe, or any driver
/// where there is a GPU's device node. A hardware driver's manifest alone means nothing: containers and Mesa's
/// packages bring manifests for GPUs that are not there.
fn usable(root: &Path) -> bool {
    let loader = entries(root, &["usr/lib", "usr/lib64", "usr/local/lib", "lib"])
        .into_iter()
        .flat_map(|path| if path.is_dir() { entries(&path, &["."]) } else { vec![path] })
        .any(|path| file_name(&path) == "libvulkan.so.1");
    let manifests = entries(
        root,
        &[
            "etc/vulkan/icd.d",
            "usr/share/vulkan/icd.d",
            "usr/local/share/vulkan/icd.d",
            "usr/local/etc/vulkan/icd.d",
        ],
    );
    let lavapipe = manifests.iter().any(|path| file_name(path).starts_with("lvp_icd"));
    let gpu = entries(root, &["dev/dri", "dev"])
        .iter()
        .any(|path| ["renderD", "nvidia0", "dxg"].iter().any(|node| file_name(path).starts_with(node)));
    loader && (lavapipe || (gpu && !manifests.is_empty()))
}

fn entries(root: &Path, directories: &[&str]) -> Vec<PathBuf> {
    let read = directories.iter().filter_map(|directory| fs::read_dir(root.join(directory)).ok());
    read.flatten().flatten().map(|entry| entry.path()).collect()
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn install() -> Result<(), Error> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(Error::NoInstaller);
    }
    let user = Command::new("id").arg("-u").output().map_err(Error::io("id"))?;
    let sudo: &[&str] = if user.stdout == b"0\n" { &[] } else { &["sudo"] };
    println!(
        "no usable Vulkan driver found: installing Mesa's software driver ({}) with apt-get",
        PACKAGES.join(", ")
    );
    let mut get = [sudo, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    status(Command::new(get[0]).args(&get[1..]).arg("update"))?;
    get.extend(["install", "-y", "--no-install-recommends"]);
    status(Command::new(get[0]).args(&get[1..]).args(PACKAGES))
}

/// SwiftShader's manifest, after unpacking the package that it comes in where that was not done before.
fn swiftshader(root: &Path) -> Result<PathBuf, Error> {
    let directory = root.join("target/xtask/swiftshader");
    if let Some(manifest) = find(&directory, SWIFTSHADER_MANIFEST) {
        return Ok(manifest);
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(Error::NoInstaller);
    }
    println!("unpacking SwiftShader from Debian's {SWIFTSHADER_PACKAGE} into {}", directory.display());
    fs::create_dir_all(&directory).map_err(Error::io(&directory))?;
    status(Command::new("apt-get").current_dir(&directory).args(["download", SWIFTSHADER_PACKAGE]))?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
    for package in entries(&directory, &["."]).into_iter().filter(is_package) {
        status(Command::new("dpkg").arg("-x").arg(&package).arg(&directory))?;
        fs::remove_file(&package).map_err(Error::io(&package))?;
    }
    find(&directory, SWIFTSHADER_MANIFEST).ok_or(Error::NoSwiftShader { package: SWIFTSHADER_PACKAGE })
}

/// The first file of this name below a directory.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let mut unvisited = vec![directory.to_owned()];
    while let Some(directory) = unvisited.pop() {
        for path in entries(&directory, &["."]) {
            if file_name(&path) == name {
                return fs::canonicalize(path).ok();
            }
            // Links are not followed: they may lead round in a circle.
            if path.is_dir() && !path.is_symlink() {
                unvisited.push(path);
            }
        }
    }
    None
}

/// A directory that only this user can read, inside `target`.
fn private_dir(root: &Path) -> Result<PathBuf, Error> {
    let path = root.join("target/xtask/runtime");
    fs::create_dir_all(&path).map_err(Error::io(&path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(Error::io(&path))?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::Fixture;

    #[test]
    fn a_file_is_found_below_a_directory_and_links_are_not_followed() {
        let tree = Fixture::new();
        tree.write("usr/lib/chromium/vk.json", "{}");
        #[cfg(unix)]
        std::os::unix::fs::symlink(tree.path(), tree.path().join("usr/circle")).unwrap();
        let found = find(tree.path(), "vk.json").unwrap();
        assert!(found.ends_with("usr/lib/chromium/vk.json"), "{}", found.display());
        assert_eq!(find(tree.path(), "absent.json"), None);
    }

    #[test]
    fn only_known_flags_are_taken() {
        assert_eq!(Software::of(&[]), Some(Software::Refused));
        assert_eq!(Software::of(&["--software"]), Some(Software::Permitted));
        assert_eq!(Software::of(&["--software=swiftshader"]), Some(Software::SwiftShader));
        assert_eq!(Software::of(&["--software=warp"]), None);
        assert_eq!(Software::of(&["--software", "--software"]), None);
    }

    #[test]
    fn a_driver_is_usable_with_a_loader_and_something_to_run_on() {
        let system = Fixture::new();
        assert!(!usable(system.path()), "nothing there");
        system.write("usr/share/vulkan/icd.d/nvidia_icd.json", "{}");
        system.write("usr/lib/x86_64-linux-gnu/libvulkan.so.1", "");
        assert!(!usable(system.path()), "a driver without its GPU");
        system.write("dev/dri/renderD128", "");
        assert!(usable(system.path()), "a driver and a GPU");
        let system = Fixture::new();
        system.write("usr/share/vulkan/icd.d/lvp_icd.json", "{}");
        assert!(!usable(system.path()), "lavapipe without a loader");
        system.write("usr/lib64/libvulkan.so.1", "");
        assert!(usable(system.path()), "lavapipe and a loader");
    }
}
