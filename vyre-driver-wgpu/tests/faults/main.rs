//! Every method of the backend before, during and after each kind of fault: typed errors, no bytes of others,
//! and the next call after a recovery is right.
//!
//! The calls are in tables, one row for each method, which `coverage` holds against the list of documented
//! methods. Each test takes every row through one kind of fault.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

mod backend_calls;
mod cache;
mod calls;
#[cfg(feature = "parity-testing")]
mod coverage;
mod hostile;
mod inherent_calls;
mod kit;
#[cfg(feature = "parity-testing")]
#[path = "../api_surface/methods.rs"]
mod methods;
mod optimizer_calls;
mod replay;
mod resident_calls;
mod states;
mod steady;
mod sweep;
mod threads;
