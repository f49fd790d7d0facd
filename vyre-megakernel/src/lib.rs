//! Whole-program compile requests and artifacts for Vyre
#![forbid(unsafe_code)]
