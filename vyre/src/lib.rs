//! GPU compute kernels as data: build, prove and run them from Rust with no shader language
#![forbid(unsafe_code)]
