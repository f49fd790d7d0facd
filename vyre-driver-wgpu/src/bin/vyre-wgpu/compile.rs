//! `compile`: a graph to an artifact for this machine's device.

use std::fs;

use serde_json::json;
use vyre_driver::{VyreBackend, backend_registration};
use vyre_driver_wgpu::{WGPU_BACKEND_ID, WgpuBackend};
use vyre_megakernel::{ArtifactEnvelope, CompileRequest, Facts, SearchBudget, compile};

use crate::args::Compile;
use crate::error::CliError;
use crate::{artifact, load};

pub(crate) fn run(arguments: &Compile) -> Result<(), CliError> {
    let graph = load::graph(&arguments.file)?;
    let key = arguments.key_file.as_deref().map(artifact::key).transpose()?;
    let mut facts = Facts::new();
    for (name, number) in &arguments.facts.dims {
        facts = facts.with_dim(name, *number);
    }
    for (name, value) in artifact::params(&graph, &arguments.facts)? {
        facts = facts.with_param(name, value);
    }
    let budget = SearchBudget::default();
    let budget = SearchBudget { candidates: arguments.candidates.unwrap_or(budget.candidates), ..budget };
    let backend = WgpuBackend::acquire()?;
    let profile = backend.profile();
    let request = CompileRequest::graph(&graph, profile).with_facts(facts).with_budget(budget).validate()?;
    let compiled = compile(&request)?;
    let registration = backend_registration(WGPU_BACKEND_ID)?;
    let mut envelope = ArtifactEnvelope::new(compiled).with_target(registration, profile)?;
    if let Some(key) = &key {
        envelope = envelope.sealed(key);
    }
    let bytes = envelope.to_bytes();
    let path = &arguments.output;
    fs::write(path, &bytes).map_err(|source| CliError::Write { path: path.clone(), source })?;

    let compiled = envelope.artifact();
    let formats: Vec<_> = envelope.payloads().iter().map(|payload| payload.format.as_str()).collect();
    let (nodes, kernels) = (graph.nodes().len(), compiled.plan().kernels());
    if arguments.json {
        let summary = json!({
            "graph": graph.name(),
            "artifact": compiled.id().to_string(),
            "device": profile.name,
            "nodes": nodes,
            "kernels": kernels,
            "rejected": compiled.rejected().len(),
            "payloads": formats,
            "sealed": envelope.is_sealed(),
            "bytes": bytes.len(),
            "path": path.display().to_string(),
        });
        return crate::print(&format!("{summary:#}\n"));
    }
    crate::print(&format!(
        "`{}` for {}: {nodes} node{} became {kernels} kernel{}\nartifact {} with {}{}, {} bytes, written to {}\n",
        graph.name(),
        profile.name,
        if nodes == 1 { "" } else { "s" },
        if kernels == 1 { "" } else { "s" },
        compiled.id(),
        formats.join(" and "),
        if envelope.is_sealed() { ", sealed" } else { "" },
        bytes.len(),
        path.display()
    ))
}
