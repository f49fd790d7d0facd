//! Op tables, data types, scalar semantics and device profiles of the Vyre compute IR
#![forbid(unsafe_code)]
