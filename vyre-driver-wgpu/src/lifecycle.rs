//! An opened backend from one generation of its device to the next: loss, recovery, the end.
//!
//! A call takes the living core once and works with it to its end. What the core of a lost generation is
//! asked fails before it reaches wgpu, so a recovery can exchange everything while other threads are at work.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use vyre_driver::BackendError;
use vyre_spec::DeviceProfile;
use wgpu::{AdapterInfo, Device, Features, Queue};

use crate::acquire::{self, Candidate};
use crate::backend::WGPU_BACKEND_ID;
use crate::buffer::{Segments, Staging, UploadPart};
use crate::cache::Disk;
use crate::core::{Core, Lasting};
use crate::dump::Dumps;
use crate::env::DumpSettings;
use crate::generation::{Cause, GRACE, Generation, MemoryLimits};
use crate::probe;
use crate::profile::{profile_of, with_tiles};
use crate::seam::{Fault, Seam, Site};
use crate::tiles;

/// The living core, or what is left of the last one.
#[derive(Debug)]
enum State {
    Open(Arc<Core>),
    ShutDown {
        /// For those who ask for the device still.
        last: Arc<(Device, Queue)>,
        generation: u64,
    },
}

/// How a backend is opened, but for the choice of the adapter.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) timestamps: bool,
    pub(crate) cache_dir: Option<PathBuf>,
    /// The most bytes that the cache directory may hold.
    pub(crate) cache_limit: u64,
    pub(crate) limits: MemoryLimits,
    pub(crate) dumps: DumpSettings,
}

/// The device of an opened backend, through all its generations.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    state: RwLock<State>,
    /// Held by the one recovery or shutdown at a time.
    turning: Mutex<()>,
    pub(crate) lasting: Arc<Lasting>,
    /// The same in every generation.
    pub(crate) profile: DeviceProfile,
    pub(crate) info: AdapterInfo,
    pub(crate) limits: wgpu::Limits,
    /// Those that are on.
    pub(crate) features: Features,
    pub(crate) seam: Arc<Seam>,
    /// The adapter's, in the list of all.
    pub(crate) index: usize,
    withheld: Withheld,
}

/// What an adapter has and a device is opened without.
#[derive(Clone, Copy, Debug)]
struct Withheld {
    features: Features,
    limits: MemoryLimits,
}

impl Lifecycle {
    /// Opens the first generation on this adapter.
    pub(crate) fn open(candidate: &Candidate, settings: &Opening) -> Result<Self, BackendError> {
        let seam = Arc::new(Seam::of_opening());
        let dumps = Dumps::new(settings.dumps.clone())?;
        let disk = settings.cache_dir.as_deref();
        let disk = disk.map(|dir| Disk::open(dir, settings.cache_limit, Arc::clone(&seam)));
        let lasting = Lasting::with_files(disk, dumps);
        let clock = Features::TIMESTAMP_QUERY
            | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
            | Features::TIMESTAMP_QUERY_INSIDE_PASSES;
        let features = if settings.timestamps { Features::empty() } else { clock };
        let withheld = Withheld { features, limits: settings.limits };
        let (generation, profile) = generation(candidate, withheld, &seam)?;
        lasting.residents.renew(generation.number, |_| Err(shut_down()))?;
        let (info, limits) = (generation.info.clone(), generation.limits.clone());
        let features = generation.features;
        let core = Core::new(Arc::clone(&lasting), generation, profile.clone());
        Ok(Self {
            state: RwLock::new(State::Open(Arc::new(core))),
            turning: Mutex::default(),
            lasting,
            profile,
            info,
            limits,
            features,
            seam,
            index: candidate.report.index,
            withheld,
        })
    }

    /// The living core.
    ///
    /// # Errors
    /// [`BackendError::ShutDown`]. A lost device's core is living: its calls say that it is lost.
    pub(crate) fn core(&self) -> Result<Arc<Core>, BackendError> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open(core) => Ok(Arc::clone(core)),
            State::ShutDown { .. } => Err(shut_down()),
        }
    }

    /// The device of the latest generation, and its number.
    pub(crate) fn latest(&self) -> (Arc<(Device, Queue)>, u64) {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open(core) => (Arc::clone(core.generation.device_queue()), core.generation.number),
            State::ShutDown { last, generation } => (Arc::clone(last), *generation),
        }
    }

    /// Declares the device lost.
    pub(crate) fn declare_lost(&self) -> Result<(), BackendError> {
        let core = self.core()?;
        core.generation.mark_lost(Cause::Declared, "declared lost by `force_device_lost`");
        core.drop_caches();
        Ok(())
    }

    /// Opens the next generation if this one is lost, or has work that does not end.
    pub(crate) fn recover(&self) -> Result<(), BackendError> {
        let _turn = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.core()?;
        if !old.generation.give_up_if_stuck() {
            return Ok(());
        }
        let candidate = acquire::again(&self.info, self.index)?;
        let (generation, mut profile) = generation(&candidate, self.withheld, &self.seam)?;
        if let Some(Fault::OtherDriver) = self.seam.take(Site::Reopen) {
            profile.driver.push_str(" (another, injected by a test)");
        }
        if let Some((was, now)) = difference(&self.profile, &profile) {
            return Err(BackendError::AdapterChanged { was, now });
        }
        let core = Core::new(Arc::clone(&self.lasting), generation, profile);
        self.lasting.residents.renew(core.generation.number, |bytes| restored(&core, bytes))?;
        self.lasting.forget_pipelines(Some(core.generation.number));
        let core = Arc::new(core);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::Open(core);
        // What the old core caches goes; what its work still needs stays with the work.
        old.drop_caches();
        Ok(())
    }

    /// Ends the backend: frees what it holds. Waits for work under way a little; what has not ended then
    /// keeps its memory until the end of the process.
    pub(crate) fn shut_down(&self) -> Result<(), BackendError> {
        let _turn = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(core) = self.core() else { return Ok(()) };
        let last = Arc::clone(core.generation.device_queue());
        let end = State::ShutDown { last, generation: core.generation.number };
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = end;
        self.lasting.residents.clear();
        core.drop_caches();
        core.generation.wait_idle(GRACE).map(|_| ())
    }

    /// Makes ready what a first dispatch would have to wait for, and runs one empty submission.
    pub(crate) fn prepare(&self) -> Result<(), BackendError> {
        let core = self.core()?;
        core.builtins()?;
        let submission = core.generation.submit(Some("prepare"), |_| {})?;
        core.generation.wait(submission)
    }

    /// Waits for everything that was submitted.
    pub(crate) fn flush(&self) -> Result<(), BackendError> {
        self.core()?.generation.wait_all()
    }
}

/// The error of every use after a shutdown.
pub(crate) fn shut_down() -> BackendError {
    BackendError::ShutDown { backend: WGPU_BACKEND_ID }
}

fn generation(
    candidate: &Candidate,
    withheld: Withheld,
    seam: &Arc<Seam>,
) -> Result<(Arc<Generation>, DeviceProfile), BackendError> {
    let open =
        |probed| Generation::open(candidate, probed, withheld.features, withheld.limits, Arc::clone(seam));
    // What is withheld is not probed either.
    if withheld.features.intersects(tiles::FEATURES) {
        let generation = open(Features::empty())?;
        let profile = profile_of(&generation, probe::quirks(&generation)?);
        return Ok((generation, profile));
    }
    let known = tiles::found(&candidate.adapter.get_info(), candidate.report.index);
    let probe = |generation: &Arc<Generation>| {
        let tiles = tiles::probe(candidate, generation);
        (tiles, generation.is_lost())
    };
    let (generation, tiles) = tiles::opened(known, open, probe)?;
    let profile = profile_of(&generation, probe::quirks(&generation)?);
    let profile = with_tiles(profile, &generation, tiles.right);
    Ok((generation, profile))
}

/// A buffer of `core` with these contents.
fn restored(core: &Core, bytes: &[u8]) -> Result<Segments, BackendError> {
    let generation = &core.generation;
    let segments = Segments::acquire(generation, &core.pool, bytes.len() as u64)?;
    let mut start = 0;
    let parts = segments.layout().lens().map(|len| {
        let part = UploadPart { piece: 0, start, len: len as usize };
        start += len as usize;
        part
    });
    let staging = Staging::new(generation, &core.pool, &[bytes], parts.collect())?;
    generation.submit(Some("restore"), |encoder| {
        for (part, buffer) in segments.parts().iter().enumerate() {
            staging.copy(encoder, part, buffer.buffer(), 0);
        }
        staging.recycle(encoder);
    })?;
    Ok(segments)
}

/// Where two profiles differ, as it was and as it is now; `None` if they are equal.
fn difference(was: &DeviceProfile, now: &DeviceProfile) -> Option<(String, String)> {
    if was == now {
        return None;
    }
    let named = |profile: &DeviceProfile| format!("{} ({}, {})", profile.name, profile.api, profile.driver);
    let (old, new) = (named(was), named(now));
    Some(if old == new { (old, format!("{new} with other features, limits or quirks")) } else { (old, new) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_profile_is_named_by_what_changed() {
        let was = DeviceProfile::reference();
        assert_eq!(difference(&was, &was.clone()), None);
        let now = DeviceProfile { driver: "2.0".into(), ..was.clone() };
        let (_, text) = difference(&was, &now).unwrap();
        assert!(text.contains("2.0"), "{text}");
        let now = DeviceProfile { max_buffer_bytes: 1, ..was.clone() };
        let (_, text) = difference(&was, &now).unwrap();
        assert!(text.contains("limits"), "{text}");
    }
}
