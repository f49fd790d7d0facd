//! Compiled kernels on disk, shared by all processes that use the directory.
//!
//! What is kept is the driver's own form of a kernel, its *blob*, in one file per kernel. The kernel's code is
//! not: it is lowered anew by each process, and an entry is taken only if it was made from that very code.
//! So no entry, whatever is in it, changes which code is loaded: the worst that a wrong one could do is what
//! the driver does with a wrong blob, and [`private`](super::private) says why no one else can write one.
//!
//! Everything that goes wrong here is counted and taken for a miss. Files are written under temporary names
//! and renamed, so that a reader sees whole entries only, from whatever process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::{private, record};
use crate::seam::{Seam, Site};

/// The bytes that the entries may take together, unless the builder says otherwise.
pub(crate) const DEFAULT_LIMIT: u64 = 512 << 20;
/// No blob is larger than this.
const LARGEST: u64 = 64 << 20;
const ENTRY: &str = "vyreblob";
const TEMPORARY: &str = "vyretmp";
/// A temporary file this old was left by a process that ended.
const ABANDONED: Duration = Duration::from_secs(3600);

/// What the disk cache has done. Every request is a hit or a miss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskCacheStats {
    /// Why the directory that was asked for is not used, if so.
    pub refused: Option<String>,
    /// Requests that an entry answered.
    pub hits: u64,
    /// Requests that none did, for whatever reason.
    pub misses: u64,
    /// Of the misses, those whose entry was damaged, or of another version or other code.
    pub rejected: u64,
    /// Of the misses, those whose entry could not be read.
    pub read_errors: u64,
    /// Entries written.
    pub writes: u64,
    /// Entries that could not be written.
    pub write_errors: u64,
    /// Entries removed to keep the directory within its limit.
    pub evictions: u64,
    /// Entries removed because something that they depend on changed.
    pub invalidations: u64,
}

/// A cache directory.
#[derive(Debug)]
pub(crate) struct Disk {
    dir: PathBuf,
    limit: u64,
    seam: Arc<Seam>,
    stats: Mutex<DiskCacheStats>,
    /// What the entries take, as far as this process knows; `None` before it has looked.
    bytes: Mutex<Option<u64>>,
}

/// Why there is no blob.
enum Miss {
    Absent,
    Rejected,
    Unreadable,
}

impl Disk {
    /// Opens the directory, and creates it if need be. If it cannot be used, says why.
    pub(crate) fn open(dir: &Path, limit: u64, seam: Arc<Seam>) -> Result<Self, String> {
        Ok(Self { dir: private::open(dir)?, limit, seam, stats: Mutex::default(), bytes: Mutex::new(None) })
    }

    pub(crate) fn stats(&self) -> DiskCacheStats {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, change: impl FnOnce(&mut DiskCacheStats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The blob of the kernel with this code, of the program with this key.
    pub(crate) fn load(&self, key: &[u8; 32], code: &[u8; 32]) -> Option<Vec<u8>> {
        let found = self.read(&self.path(key, code)).and_then(|bytes| {
            record::decode(key, code, &bytes)
                .filter(|blob| blob.len() as u64 <= LARGEST)
                .ok_or(Miss::Rejected)
        });
        self.count(|stats| match &found {
            Ok(_) => stats.hits += 1,
            Err(miss) => {
                stats.misses += 1;
                match miss {
                    Miss::Absent => {}
                    Miss::Rejected => stats.rejected += 1,
                    Miss::Unreadable => stats.read_errors += 1,
                }
            }
        });
        found.ok()
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, Miss> {
        if self.seam.take(Site::CacheRead).is_some() {
            return Err(Miss::Unreadable);
        }
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Miss::Absent,
            _ => Miss::Unreadable,
        };
        let file = fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        // A file of any size may lie there.
        file.take(LARGEST + 1024).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    /// Keeps a blob. A failure is only counted: the kernel is compiled again next time.
    pub(crate) fn store(&self, key: &[u8; 32], code: &[u8; 32], blob: &[u8]) {
        if blob.len() as u64 > LARGEST.min(self.limit) {
            return;
        }
        let entry = record::encode(key, code, blob);
        match self.write(&self.path(key, code), &entry) {
            Ok(()) => {
                self.count(|stats| stats.writes += 1);
                self.keep_within_limit(entry.len() as u64);
            }
            Err(_) => self.count(|stats| stats.write_errors += 1),
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.seam.take(Site::CacheWrite).is_some() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let temporary = self.dir.join(temporary_name(TEMPORARY));
        let written = private::create_new(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            // Also where it was never made.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes every entry of the programs with these keys, in lower-case hexadecimal; says how many.
    pub(crate) fn remove(&self, keys: &BTreeSet<String>) -> u64 {
        let mut removed = 0;
        for name in self.entries().keys() {
            let condemned = name.split_once('-').is_some_and(|(key, _)| keys.contains(key));
            if condemned && fs::remove_file(self.dir.join(name)).is_ok() {
                removed += 1;
            }
        }
        self.count(|stats| stats.invalidations += removed);
        removed
    }

    /// The names of the entries, with when they were written and their bytes. Removes abandoned temporary
    /// files on the way.
    fn entries(&self) -> BTreeMap<String, (SystemTime, u64)> {
        let mut entries = BTreeMap::new();
        for found in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let Ok(name) = found.file_name().into_string() else { continue };
            let Ok(metadata) = found.metadata() else { continue };
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.ends_with(&format!(".{ENTRY}")) {
                entries.insert(name, (written, metadata.len()));
            } else if name.ends_with(&format!(".{TEMPORARY}"))
                && written.elapsed().is_ok_and(|age| age > ABANDONED)
            {
                let _ = fs::remove_file(found.path());
            }
        }
        entries
    }

    /// After an entry of `added` bytes: if the directory may be too large, looks, and removes the oldest
    /// entries until a quarter of the limit is free.
    fn keep_within_limit(&self, added: u64) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *bytes {
            *known += added;
            if *known <= self.limit {
                return;
            }
        }
        // Other processes add and remove as well.
        let entries = self.entries();
        let mut total: u64 = entries.values().map(|(_, len)| len).sum();
        if total > self.limit {
            let mut by_age: Vec<_> =
                entries.into_iter().map(|(name, (time, len))| (time, name, len)).collect();
            by_age.sort();
            let mut evicted = 0;
            for (_, name, len) in by_age {
                if total <= self.limit / 4 * 3 {
                    break;
                }
                if fs::remove_file(self.dir.join(name)).is_ok() {
                    evicted += 1;
                }
                // Gone either way, by us or by another process, or not to be removed at all.
                total -= len;
            }
            self.count(|stats| stats.evictions += evicted);
        }
        *bytes = Some(total);
    }

    fn path(&self, key: &[u8; 32], code: &[u8; 32]) -> PathBuf {
        let short = code.get(..8).unwrap_or_default();
        self.dir.join(format!("{}-{}.{ENTRY}", hex(key), hex(short)))
    }
}

/// A name that no other process and no other call makes.
pub(super) fn temporary_name(extension: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    format!("{}-{}-{now}.{extension}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::seam::Fault;

    /// A directory of its own that is removed at the end.
    pub(crate) struct Scratch(PathBuf);

    impl Scratch {
        pub(crate) fn new() -> Self {
            let dir = std::env::temp_dir().join(temporary_name("vyre-test"));
            fs::create_dir(&dir).unwrap();
            #[cfg(unix)]
            fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
            Self(dir)
        }

        pub(crate) fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn open(scratch: &Scratch, limit: u64) -> Disk {
        Disk::open(scratch.path(), limit, Arc::default()).unwrap()
    }

    fn numbered(n: u8) -> [u8; 32] {
        [n; 32]
    }

    fn files(scratch: &Scratch) -> Vec<PathBuf> {
        fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_one_process_stores_another_finds() {
        let scratch = Scratch::new();
        let (writer, reader) = (open(&scratch, DEFAULT_LIMIT), open(&scratch, DEFAULT_LIMIT));
        let (key, code) = (numbered(1), numbered(2));
        assert_eq!(writer.load(&key, &code), None);
        writer.store(&key, &code, b"blob");
        assert_eq!(reader.load(&key, &code).as_deref(), Some(&b"blob"[..]));
        // Neither another program's kernel nor another kernel of this program.
        assert_eq!(reader.load(&numbered(9), &code), None);
        assert_eq!(reader.load(&key, &numbered(9)), None);
        let stats = reader.stats();
        assert_eq!((stats.hits, stats.misses, stats.rejected, stats.read_errors), (1, 2, 0, 0));
        // Nothing else is left in the directory.
        assert_eq!(files(&scratch).len(), 1);
    }

    #[test]
    fn damage_of_every_kind_is_a_counted_miss_and_mended() {
        let scratch = Scratch::new();
        let disk = open(&scratch, DEFAULT_LIMIT);
        let (key, code) = (numbered(1), numbered(2));
        disk.store(&key, &code, &[5; 300]);
        let path = files(&scratch).remove(0);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[200] ^= 4;
        for damage in [&flipped[..], &whole[..150], b"", b"VYREBLB1", &[&whole[..], &[0]].concat()] {
            fs::write(&path, damage).unwrap();
            assert_eq!(disk.load(&key, &code), None);
            disk.store(&key, &code, &[5; 300]);
            assert_eq!(disk.load(&key, &code).unwrap(), [5; 300]);
        }
        let stats = disk.stats();
        assert_eq!((stats.hits, stats.misses, stats.rejected), (5, 5, 5));
        // An entry under another one's name.
        let other = disk.path(&numbered(3), &code);
        fs::copy(&path, &other).unwrap();
        assert_eq!(disk.load(&numbered(3), &code), None);
        assert_eq!(disk.stats().rejected, 6);
        // What cannot be read or replaced: a directory in its place.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(disk.load(&key, &code), None);
        disk.store(&key, &code, &[5; 300]);
        let stats = disk.stats();
        assert_eq!((stats.read_errors, stats.write_errors), (1, 1));
        assert!(files(&scratch).iter().all(|file| !file.ends_with(TEMPORARY)));
    }

    #[test]
    fn a_full_or_failing_disk_is_counted_and_survived() {
        let scratch = Scratch::new();
        let seam = Arc::new(Seam::default());
        let disk = Disk::open(scratch.path(), DEFAULT_LIMIT, Arc::clone(&seam)).unwrap();
        let (key, code) = (numbered(1), numbered(2));
        seam.arm(Site::CacheWrite, 0, Fault::Io);
        disk.store(&key, &code, b"blob");
        assert_eq!(files(&scratch).len(), 0);
        disk.store(&key, &code, b"blob");
        seam.arm(Site::CacheRead, 0, Fault::Io);
        assert_eq!(disk.load(&key, &code), None);
        assert_eq!(disk.load(&key, &code).unwrap(), b"blob");
        let stats = disk.stats();
        assert_eq!((stats.write_errors, stats.read_errors, stats.hits), (1, 1, 1));
        // The directory goes away under us.
        fs::remove_dir_all(scratch.path()).unwrap();
        assert_eq!(disk.load(&key, &code), None);
        disk.store(&key, &code, b"blob");
        assert_eq!(disk.stats().write_errors, 2);
    }

    #[test]
    fn the_oldest_entries_go_when_the_directory_is_full() {
        let scratch = Scratch::new();
        let disk = open(&scratch, 10_000);
        for n in 0..30 {
            disk.store(&numbered(n), &numbered(0), &[n; 900]);
            let path = disk.path(&numbered(n), &numbered(0));
            // File times may be coarse.
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + u64::from(n));
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
            let total: u64 = files(&scratch).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
            assert!(total <= 10_000, "{total}");
        }
        assert_eq!(disk.load(&numbered(29), &numbered(0)).unwrap(), [29; 900]);
        assert_eq!(disk.load(&numbered(0), &numbered(0)), None);
        let stats = disk.stats();
        assert_eq!(stats.writes - stats.evictions, files(&scratch).len() as u64);
        // What does not fit at all is not written.
        disk.store(&numbered(40), &numbered(0), &[1; 20_000]);
        assert_eq!(disk.load(&numbered(40), &numbered(0)), None);
    }

    #[test]
    fn removal_takes_all_kernels_of_one_program() {
        let scratch = Scratch::new();
        let disk = open(&scratch, DEFAULT_LIMIT);
        for code in 1..4 {
            disk.store(&numbered(1), &numbered(code), b"blob");
            disk.store(&numbered(2), &numbered(code), b"blob");
        }
        let keys = BTreeSet::from([hex(&numbered(1)), "no key".to_owned(), String::new()]);
        assert_eq!(disk.remove(&keys), 3);
        assert_eq!(disk.remove(&keys), 0);
        assert_eq!(disk.load(&numbered(1), &numbered(1)), None);
        assert_eq!(disk.load(&numbered(2), &numbered(3)).unwrap(), b"blob");
        assert_eq!(disk.stats().invalidations, 3);
    }
}
