//! Capability records: values made from a backend's [`DeviceProfile`].

use vyre_spec::{DataType, DeviceProfile};

use crate::{Feature, VyreBackend};

/// What an optimiser wants to know of a device, as plain values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdapterCaps {
    /// The backend's id.
    pub backend: String,
    /// The device's name.
    pub name: String,
    /// Whether it is a software implementation.
    pub is_software: bool,
    /// Subgroup ops with a fixed size.
    pub supports_subgroup_ops: bool,
    /// Workgroup counts from a device buffer.
    pub supports_indirect_dispatch: bool,
    /// Parameters substituted before compilation.
    pub supports_specialization_constants: bool,
    /// The lanes of a subgroup, where fixed.
    pub subgroup_size: Option<u32>,
    /// Invocations per axis of a workgroup, at most.
    pub max_workgroup_size: [u32; 3],
    /// Invocations of a workgroup, at most.
    pub max_workgroup_invocations: u32,
    /// Workgroups per axis of a dispatch, at most.
    pub max_workgroups_per_axis: u32,
    /// Bytes of shared memory of a workgroup, at most.
    pub max_shared_bytes: u32,
    /// Bytes of one storage binding, at most.
    pub max_storage_binding_bytes: u64,
}

impl AdapterCaps {
    /// The view of a profile.
    pub fn of(profile: &DeviceProfile) -> Self {
        let has = |feature: Feature| feature.missing_in(profile).is_none();
        Self {
            backend: profile.backend.clone(),
            name: profile.name.clone(),
            is_software: profile.is_software,
            supports_subgroup_ops: has(Feature::Subgroup),
            supports_indirect_dispatch: has(Feature::IndirectDispatch),
            supports_specialization_constants: has(Feature::SpecializationConstants),
            subgroup_size: profile.subgroup_size,
            max_workgroup_size: profile.max_workgroup_size,
            max_workgroup_invocations: profile.max_workgroup_invocations,
            max_workgroups_per_axis: profile.max_workgroups_per_axis,
            max_shared_bytes: profile.max_shared_bytes,
            max_storage_binding_bytes: profile.max_storage_binding_bytes,
        }
    }
}

/// The capabilities of a backend by name, so that what reads it need not change when features or limits are
/// added: names are never given another meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BackendCapabilities {
    /// Of this form; a higher one only adds names.
    pub version: u32,
    /// The backend's id.
    pub backend: String,
    /// Whether it has each [`Feature`], in their order, by [`Feature::name`].
    pub features: Vec<(&'static str, bool)>,
    /// Limits in their own units, by name, sorted.
    pub limits: Vec<(&'static str, u64)>,
    /// The types that a cast may give, by name, in wire-tag order.
    pub cast_targets: Vec<&'static str>,
}

impl BackendCapabilities {
    /// The version of the form that this crate writes.
    pub const VERSION: u32 = 1;

    /// Those of an opened backend.
    pub fn of<B: VyreBackend + ?Sized>(backend: &B) -> Self {
        let profile = backend.profile();
        let [x, y, z] = profile.max_workgroup_size.map(u64::from);
        let casts = DataType::ALL.into_iter().filter(|ty| backend.missing_type(*ty).is_none());
        Self {
            version: Self::VERSION,
            backend: backend.id().to_owned(),
            features: Feature::ALL.map(|f| (f.name(), backend.missing(f).is_none())).to_vec(),
            limits: vec![
                ("buffer_bytes", profile.max_buffer_bytes),
                ("immediate_bytes", profile.max_immediate_bytes.into()),
                ("shared_bytes", profile.max_shared_bytes.into()),
                ("storage_binding_bytes", profile.max_storage_binding_bytes),
                ("storage_bindings", profile.max_storage_bindings.into()),
                ("subgroup_size", profile.subgroup_size.unwrap_or(0).into()),
                ("workgroup_invocations", profile.max_workgroup_invocations.into()),
                ("workgroup_size_x", x),
                ("workgroup_size_y", y),
                ("workgroup_size_z", z),
                ("workgroups_per_axis", profile.max_workgroups_per_axis.into()),
            ],
            cast_targets: casts.map(DataType::name).collect(),
        }
    }

    /// Whether the backend has the feature of this name; `None` if this form does not know it.
    pub fn feature(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|(known, _)| *known == name).map(|&(_, has)| has)
    }

    /// The limit of this name; `None` if this form does not know it.
    pub fn limit(&self, name: &str) -> Option<u64> {
        self.limits.iter().find(|(known, _)| *known == name).map(|&(_, limit)| limit)
    }
}

/// What a program is validated against before it is compiled. Every backend has it.
pub trait BackendValidationCapabilities {
    /// The backend's id, as diagnostics name it.
    fn backend_name(&self) -> &'static str;

    /// Whether a cast to this type can be lowered.
    fn supports_cast_target(&self, target: &DataType) -> bool;

    /// Whether subgroup ops can be lowered.
    fn supports_subgroup_ops(&self) -> bool;

    /// Whether workgroup counts may come from a device buffer.
    fn supports_indirect_dispatch(&self) -> bool;

    /// Whether parameters can be substituted before compilation.
    fn supports_specialization_constants(&self) -> bool;

    /// Whether collectives between devices can be lowered.
    fn supports_distributed_collectives(&self) -> bool;

    /// All of it as one value.
    fn backend_capabilities(&self) -> BackendCapabilities;
}

impl<B: VyreBackend + ?Sized> BackendValidationCapabilities for B {
    fn backend_name(&self) -> &'static str {
        self.id()
    }

    fn supports_cast_target(&self, target: &DataType) -> bool {
        self.missing_type(*target).is_none()
    }

    fn supports_subgroup_ops(&self) -> bool {
        self.missing(Feature::Subgroup).is_none()
    }

    fn supports_indirect_dispatch(&self) -> bool {
        self.missing(Feature::IndirectDispatch).is_none()
    }

    fn supports_specialization_constants(&self) -> bool {
        self.missing(Feature::SpecializationConstants).is_none()
    }

    fn supports_distributed_collectives(&self) -> bool {
        self.missing(Feature::Collectives).is_none()
    }

    fn backend_capabilities(&self) -> BackendCapabilities {
        BackendCapabilities::of(self)
    }
}
