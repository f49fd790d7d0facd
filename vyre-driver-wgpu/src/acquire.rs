//! Finding an adapter: enumeration, scoring, refusal.

use std::fmt;

use vyre_driver::BackendError;
use wgpu::{Adapter, Backend, Backends, DeviceType};

/// What a caller asks of the adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The pinned adapter, by enumeration index.
    pub(crate) adapter_index: Option<usize>,
    /// Whether a software adapter may be chosen.
    pub(crate) allow_software: bool,
}

/// Why an adapter was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It runs on the CPU, and software adapters were not permitted.
    #[error("a software adapter, which is used by explicit permission only")]
    Software,
    /// It has no compute shaders.
    #[error("it has no compute shaders")]
    NoCompute,
    /// A limit is below what any program needs.
    #[error("its {limit} is {has}, and {needs} is needed")]
    Limit {
        /// wgpu's name of the limit.
        limit: &'static str,
        /// What the adapter has.
        has: u64,
        /// The least that is enough.
        needs: u64,
    },
}

/// What was found out about one adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterReport {
    /// Its index in enumeration order: what `VYRE_ADAPTER_INDEX` takes.
    pub index: usize,
    /// The name that the driver gives it.
    pub name: String,
    /// The graphics API, such as `vulkan`.
    pub api: String,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// Driver name and version.
    pub driver: String,
    /// Why it was refused, or `None` where it is usable.
    pub refusal: Option<Refusal>,
}

impl fmt::Display for AdapterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "adapter {}: {} ({}, {}, {})", self.index, self.name, self.kind, self.api, self.driver)?;
        match &self.refusal {
            Some(reason) => write!(f, ": refused, {reason}"),
            None => f.write_str(": usable"),
        }
    }
}

/// Why an adapter was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The caller or `VYRE_ADAPTER_INDEX` named it.
    Pinned,
    /// No other was usable.
    Only,
    /// It came first of several.
    Best,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pinned => "its index was asked for",
            Self::Only => "no other adapter is usable",
            Self::Best => {
                "of the usable adapters, discrete GPUs come first, then integrated, virtual, other and \
                 software ones; of equals, those with Vulkan, then Metal, then the first"
            }
        })
    }
}

/// An adapter, and what was found out about it.
pub(crate) struct Candidate {
    pub(crate) adapter: Adapter,
    pub(crate) report: AdapterReport,
    score: u32,
}

/// The least that an adapter must have to be of use: with less, hardly any program fits.
const LEAST_STORAGE_BUFFERS: u64 = 4;
const LEAST_INVOCATIONS: u64 = 64;

/// Enumerates all adapters of all graphics APIs that the build has, in a stable order.
///
/// Each call makes a fresh instance: a driver that was installed since the last failure is found.
pub(crate) fn enumerate(allow_software: bool) -> Vec<Candidate> {
    let descriptor = wgpu::InstanceDescriptor {
        backends: Backends::PRIMARY,
        // No validation layers, and no indirect-call validation: `crate::trusted` says why it is not needed.
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    };
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    adapters
        .into_iter()
        .enumerate()
        .map(|(index, adapter)| {
            let (report, score) = inspect(index, &adapter, allow_software);
            Candidate { adapter, report, score }
        })
        .collect()
}

/// Picks the adapter for `request`: the pinned one, or the best usable one. Also gives what is to be said of the
/// others if it cannot be opened.
pub(crate) fn select(request: &Request) -> Result<(Candidate, Choice, Vec<String>), BackendError> {
    let mut candidates = enumerate(request.allow_software);
    let chosen = match request.adapter_index {
        Some(index) => candidates.get(index).filter(|c| c.report.refusal.is_none()).map(|_| index),
        None => candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.report.refusal.is_none())
            // Of equal scores the first wins.
            .max_by_key(|(position, candidate)| (candidate.score, std::cmp::Reverse(*position)))
            .map(|(position, _)| position),
    };
    let usable = candidates.iter().filter(|candidate| candidate.report.refusal.is_none()).count();
    let choice = match request.adapter_index {
        Some(_) => Choice::Pinned,
        None if usable == 1 => Choice::Only,
        None => Choice::Best,
    };
    match chosen {
        Some(position) => {
            let chosen = candidates.remove(position);
            Ok((chosen, choice, candidates.iter().map(|other| other.report.to_string()).collect()))
        }
        None => Err(refused(request, &candidates)),
    }
}

/// Finds an adapter again that was opened before: the same device of the same API, wherever it is listed
/// now. If several are the same, the one with the old index.
pub(crate) fn again(was: &wgpu::AdapterInfo, index: usize) -> Result<Candidate, BackendError> {
    let identity = |info: &wgpu::AdapterInfo| {
        let bus = info.device_pci_bus_id.clone();
        (info.name.clone(), info.vendor, info.device, info.backend, info.device_type, bus)
    };
    // It was permitted when it was opened first.
    let candidates = enumerate(true);
    let now = candidates.iter().map(|candidate| candidate.report.to_string()).collect::<Vec<_>>().join("; ");
    candidates
        .into_iter()
        .filter(|candidate| identity(&candidate.adapter.get_info()) == identity(was))
        .min_by_key(|candidate| candidate.report.index != index)
        .ok_or_else(|| BackendError::AdapterChanged {
            was: format!("{} ({}, {})", was.name, was.backend, driver(was)),
            now: if now.is_empty() { "no adapter".to_owned() } else { now },
        })
}

/// The error that lists what was probed and says what to do about it.
fn refused(request: &Request, candidates: &[Candidate]) -> BackendError {
    let pinned = request.adapter_index;
    let considered = || candidates.iter().filter(|c| pinned.is_none_or(|index| c.report.index == index));
    let software_only = considered().next().is_some()
        && considered().all(|candidate| candidate.report.refusal == Some(Refusal::Software));
    let mut probed: Vec<String> = candidates.iter().map(|c| c.report.to_string()).collect();
    if probed.is_empty() {
        probed.push("no driver offered any adapter".to_owned());
    } else if let Some(index) = pinned.filter(|&index| candidates.iter().all(|c| c.report.index != index)) {
        probed.push(format!("adapter {index}: not there"));
    }
    let remedy = if software_only {
        "install the GPU vendor's driver, or permit the software adapter with VYRE_ALLOW_SOFTWARE=1 or the \
         builder's `allow_software(true)`"
    } else if pinned.is_some() {
        "pick a usable adapter's index, or unset VYRE_ADAPTER_INDEX"
    } else {
        "install a Vulkan driver: the GPU vendor's, or for a machine without a GPU Mesa's lavapipe (Debian \
         and Ubuntu: `apt install mesa-vulkan-drivers`) together with VYRE_ALLOW_SOFTWARE=1"
    };
    BackendError::NoDevice { probed, remedy: remedy.to_owned() }
}

fn inspect(index: usize, adapter: &Adapter, allow_software: bool) -> (AdapterReport, u32) {
    let info = adapter.get_info();
    let software = is_software(&info);
    let limits = adapter.limits();
    let compute = adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS);
    let too_low = |limit, has: u32, needs: u64| {
        (u64::from(has) < needs).then_some(Refusal::Limit { limit, has: u64::from(has), needs })
    };
    let refusal = if software && !allow_software {
        Some(Refusal::Software)
    } else if !compute {
        Some(Refusal::NoCompute)
    } else {
        too_low(
            "max_storage_buffers_per_shader_stage",
            limits.max_storage_buffers_per_shader_stage,
            LEAST_STORAGE_BUFFERS,
        )
        .or_else(|| {
            too_low(
                "max_compute_invocations_per_workgroup",
                limits.max_compute_invocations_per_workgroup,
                LEAST_INVOCATIONS,
            )
        })
    };
    let kind = if software { "software" } else { kind_name(info.device_type) };
    let score = if software { 0 } else { 10 * kind_score(info.device_type) } + api_score(info.backend);
    let (driver, api) = (driver(&info), info.backend.to_string());
    let report = AdapterReport { index, name: info.name, api, kind, driver, refusal };
    (report, score)
}

/// The driver's name and version.
pub(crate) fn driver(info: &wgpu::AdapterInfo) -> String {
    format!("{} {}", info.driver, info.driver_info).trim().to_owned()
}

/// Whether the adapter runs on the CPU. Drivers do not all say so by type.
pub(crate) fn is_software(info: &wgpu::AdapterInfo) -> bool {
    const NAMES: [&str; 4] = ["llvmpipe", "lavapipe", "swiftshader", "basic render driver"];
    let name = info.name.to_ascii_lowercase();
    info.device_type == DeviceType::Cpu || NAMES.iter().any(|known| name.contains(known))
}

fn kind_name(kind: DeviceType) -> &'static str {
    match kind {
        DeviceType::DiscreteGpu => "discrete",
        DeviceType::IntegratedGpu => "integrated",
        DeviceType::VirtualGpu => "virtual",
        DeviceType::Cpu => "software",
        DeviceType::Other => "other",
    }
}

fn kind_score(kind: DeviceType) -> u32 {
    match kind {
        DeviceType::DiscreteGpu => 4,
        DeviceType::IntegratedGpu => 3,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 1,
        DeviceType::Cpu => 0,
    }
}

/// Of two APIs for one GPU, Vulkan comes first: only there does strict float arithmetic hold.
fn api_score(backend: Backend) -> u32 {
    match backend {
        Backend::Vulkan => 2,
        Backend::Metal => 1,
        _ => 0,
    }
}
