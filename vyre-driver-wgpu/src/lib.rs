//! The wgpu backend of Vyre: runs checked compute programs on Vulkan, DX12 and Metal devices
