//! Whether a directory is ours alone.
//!
//! What lies in the cache is handed to the driver, which trusts it: whoever can write it could have code of
//! his own run on the device with our rights. The checksums keep out damage, not malice, since an attacker
//! can compute them too. So a directory is used only if nobody but us, and root, can change what lies in it
//! or exchange it for another.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Creates `dir` if need be, and returns its path without links if it is ours alone; else why it is not
/// used.
pub(super) fn open(dir: &Path) -> Result<PathBuf, String> {
    let failed = |doing: &str, error: &io::Error| format!("{}: {doing}: {error}", dir.display());
    create(dir).map_err(|error| failed("creating it", &error))?;
    let real = dir.canonicalize().map_err(|error| failed("finding it", &error))?;
    if !fs::metadata(&real).map_err(|error| failed("looking at it", &error))?.is_dir() {
        return Err(format!("{}: it is no directory", dir.display()));
    }
    check(&real)?;
    Ok(real)
}

#[cfg(unix)]
fn create(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn create(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

/// Checks the directory and everything above it.
#[cfg(unix)]
fn check(dir: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    const ROOT: u32 = 0;
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    let us = us(dir)?;
    for (depth, place) in dir.ancestors().enumerate() {
        let found = fs::metadata(place).map_err(|error| format!("{}: {error}", place.display()))?;
        let (owner, mode) = (found.uid(), found.mode());
        if owner != us && owner != ROOT {
            return Err(format!("{} belongs to another user", place.display()));
        }
        // In a sticky directory, others can add names but not exchange ours.
        let open = mode & OTHERS_WRITE != 0 && (depth == 0 || mode & STICKY == 0);
        if open || (depth == 0 && owner != us) {
            return Err(format!(
                "{} can be written by others (mode {:o}); `chmod go-w` makes it ours",
                place.display(),
                mode & 0o7777
            ));
        }
    }
    Ok(())
}

/// The user that we are, as the owner of a file that we create: the standard library does not say it.
#[cfg(unix)]
fn us(dir: &Path) -> Result<u32, String> {
    use std::os::unix::fs::MetadataExt;
    let probe = dir.join(super::disk::temporary_name("probe"));
    let owner = create_new(&probe).and_then(|file| file.metadata()).map(|found| found.uid());
    let _ = fs::remove_file(&probe);
    owner.map_err(|error| format!("{}: it cannot be written: {error}", dir.display()))
}

/// The standard library does not tell who else can write a directory here.
#[cfg(not(unix))]
fn check(dir: &Path) -> Result<(), String> {
    Err(format!("{}: whether others can write it is not known on this system", dir.display()))
}

/// A new file that others can neither read nor write.
#[cfg(unix)]
pub(super) fn create_new(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A new file.
#[cfg(not(unix))]
pub(super) fn create_new(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cache::disk::tests::Scratch;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_is_made_is_private() {
        let scratch = Scratch::new();
        let dir = scratch.path().join("a/b");
        assert_eq!(open(&dir).unwrap(), dir.canonicalize().unwrap());
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        open(&dir).unwrap();
    }

    #[test]
    fn directories_that_others_can_write_are_refused_with_what_to_do() {
        let scratch = Scratch::new();
        let dir = scratch.path().join("a/b");
        fs::create_dir_all(&dir).unwrap();
        for mode in [0o770, 0o702, 0o777, 0o1777] {
            set_mode(&dir, mode);
            let why = open(&dir).unwrap_err();
            assert!(why.contains("by others") && why.contains("chmod"), "{mode:o}: {why}");
        }
        set_mode(&dir, 0o755);
        open(&dir).unwrap();
        // Whoever can write above it can put another one in its place.
        set_mode(&scratch.path().join("a"), 0o775);
        assert!(open(&dir).unwrap_err().contains("by others"));
        // Not where the sticky bit protects it.
        set_mode(&scratch.path().join("a"), 0o1777);
        open(&dir).unwrap();
        // A link is followed: it is the place that counts.
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        assert_eq!(open(&link).unwrap(), dir.canonicalize().unwrap());
        set_mode(&dir, 0o722);
        assert!(open(&link).is_err());
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let scratch = Scratch::new();
        let file = scratch.path().join("file");
        fs::write(&file, b"x").unwrap();
        assert!(open(&file).is_err());
        assert!(open(&file.join("below")).is_err());
    }
}
