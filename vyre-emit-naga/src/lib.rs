//! Emits naga modules, WGSL, SPIR-V, MSL and HLSL from Vyre kernel descriptors
#![forbid(unsafe_code)]
