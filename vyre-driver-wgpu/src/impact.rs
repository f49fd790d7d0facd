//! Invalidation of cached pipelines by the rules that they came from.

use std::collections::BTreeSet;

use vyre_driver::impact::{RuleChange, check_length};
use vyre_driver::{BackendError, DispatchConfig, checked, prepared};
use vyre_foundation::ir::Program;

use crate::backend::WgpuBackend;
use crate::compile;

impl WgpuBackend {
    /// What the compiled form of a program is cached under, in memory as in the lists of keys that
    /// [`WgpuBackend::invalidate_impacted_pipeline_cache`] takes.
    ///
    /// # Errors
    /// [`BackendError::InvalidProgram`], or a configuration that the program's launch cannot honour.
    pub fn pipeline_cache_key(
        &self,
        program: &Program,
        config: &DispatchConfig,
    ) -> Result<[u8; 32], BackendError> {
        let program = checked(program)?;
        let (options, launch) = config.split(&program, self)?;
        Ok(compile::cached_under(&*self.core()?, &prepared(&program, &launch)?, &options))
    }

    /// Removes from the pipeline cache in memory the entries that a change of rules invalidates: those of
    /// `pipeline_keys` whose rule in `pipeline_lineage_cell` is reached by a changed rule, or derives from one
    /// that is. [`vyre_driver::impact`] has the exact definition and the shape of each argument. A key that is
    /// not in the cache is no error. Pipelines that callers hold stay usable.
    ///
    /// # Errors
    /// [`BackendError::WrongLength`] with the argument and the length that it must have; nothing is removed
    /// then.
    #[allow(clippy::too_many_arguments, reason = "the documented signature")]
    pub fn invalidate_impacted_pipeline_cache(
        &self,
        intervention_mask: &[u32],
        rule_adj: &[u32],
        state: &[u32],
        join_rules: &[u32],
        n: u32,
        max_iterations: u32,
        pipeline_lineage_cell: &[u32],
        pipeline_keys: &[[u8; 32]],
    ) -> Result<(), BackendError> {
        let change = RuleChange { intervention_mask, rule_adj, state, join_rules, n, max_iterations };
        let condemned: BTreeSet<[u8; 32]> =
            impacted(&change, pipeline_lineage_cell, "pipeline_keys", pipeline_keys)?.copied().collect();
        if !condemned.is_empty() {
            self.core()?.lasting.forget_keys(&condemned);
        }
        Ok(())
    }

    /// [`WgpuBackend::invalidate_impacted_pipeline_cache`] for one changed rule that no other depends on:
    /// removes the entries whose lineage cell is `changed_op_handle`.
    ///
    /// # Errors
    /// As there.
    pub fn invalidate_pipeline_cache_for_changed_op(
        &self,
        changed_op_handle: u32,
        pipeline_lineage_cell: &[u32],
        pipeline_keys: &[[u8; 32]],
    ) -> Result<(), BackendError> {
        // The changed op as the only rule; every other is none of them, which is to say not tracked.
        let lineage: Vec<u32> =
            pipeline_lineage_cell.iter().map(|&rule| u32::from(rule != changed_op_handle)).collect();
        self.invalidate_impacted_pipeline_cache(&[1], &[0], &[0], &[0], 1, 0, &lineage, pipeline_keys)
    }

    /// Removes from the cache on disk the entries that a change of rules invalidates, as
    /// [`WgpuBackend::invalidate_impacted_pipeline_cache`] does in memory. `cache_keys` are keys of
    /// [`WgpuBackend::pipeline_cache_key`] in hexadecimal, in the order of `pipeline_lineage_cell`; one that is
    /// not in the cache, or no key at all, is no error. Other processes that use the directory see the same.
    ///
    /// # Errors
    /// [`BackendError::WrongLength`] with the argument and the length that it must have; nothing is removed
    /// then.
    #[allow(clippy::too_many_arguments, reason = "the documented signature")]
    pub fn invalidate_impacted_disk_cache(
        &self,
        intervention_mask: &[u32],
        rule_adj: &[u32],
        state: &[u32],
        join_rules: &[u32],
        n: u32,
        max_iterations: u32,
        pipeline_lineage_cell: &[u32],
        cache_keys: &[String],
    ) -> Result<(), BackendError> {
        let change = RuleChange { intervention_mask, rule_adj, state, join_rules, n, max_iterations };
        let condemned: BTreeSet<_> = impacted(&change, pipeline_lineage_cell, "cache_keys", cache_keys)?
            .map(|key| key.to_ascii_lowercase())
            .collect();
        if let Some(disk) = self.core()?.lasting.disk().filter(|_| !condemned.is_empty()) {
            disk.remove(&condemned);
        }
        Ok(())
    }
}

/// The keys of the entries that go.
///
/// # Errors
/// [`BackendError::WrongLength`].
fn impacted<'k, K>(
    change: &RuleChange<'_>,
    lineage: &[u32],
    name: &'static str,
    keys: &'k [K],
) -> Result<impl Iterator<Item = &'k K> + use<'k, K>, BackendError> {
    change.check()?;
    check_length(name, lineage.len() as u64, keys)?;
    let goes = change.impact(lineage)?.goes;
    Ok(keys.iter().zip(goes).filter(|(_, goes)| *goes).map(|(key, _)| key))
}
