//! Artifact sessions for Vyre: compile, admit, materialise, submit
#![forbid(unsafe_code)]
