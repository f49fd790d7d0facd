//! The backend contract of Vyre: pipelines, command lists, typed errors and the backend registry
#![forbid(unsafe_code)]
