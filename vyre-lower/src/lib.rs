//! Lowering of checked Vyre programs to kernel descriptors: guards, legalisation and launch planning.
#![forbid(unsafe_code)]

pub mod kernel;
