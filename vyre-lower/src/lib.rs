//! Lowers checked Vyre programs to kernel descriptors with explicit guards
#![forbid(unsafe_code)]
