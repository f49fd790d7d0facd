//! Options that change generated code; all of them belong to a pipeline's cache key.

/// How a program is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// Whether the optimiser runs.
    pub optimize: bool,
    /// The workgroup size of a domain launch; the compiler's choice if `None`.
    pub workgroup_size: Option<[u32; 3]>,
    /// 0: strict float semantics. 1 and more: contraction and faster forms within the stated bounds.
    pub ulp_budget: u32,
    /// Whether workgroup ids are computed from a grid folded to fit the device's per-axis limit. The
    /// driver sets it for launches that need it.
    pub fold_grid: bool,
    /// Whether accesses may go without a guard on conditions that whoever launches the kernel checks for
    /// each launch: the descriptor's contract. The driver sets it, and keeps a kernel without for
    /// launches that break the contract.
    pub launch_contract: bool,
    /// Whether the workgroup counts are in device memory, unknown to the host. The driver sets it for launches
    /// that need it.
    pub indirect: bool,
    /// As how many windows each buffer is bound, in declaration order: a buffer of more bytes than the device
    /// binds at once is several bindings of [`DeviceProfile::window_bytes`](crate::DeviceProfile::window_bytes)
    /// each, the last of what is left. Buffers beyond the end of the list, or with fewer than two, are bound
    /// whole. The driver sets it for launches that need it.
    pub windows: Vec<u32>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            optimize: true,
            workgroup_size: None,
            ulp_budget: 0,
            fold_grid: false,
            launch_contract: false,
            indirect: false,
            windows: Vec::new(),
        }
    }
}
