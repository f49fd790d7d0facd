//! Lowered programs run by an interpreter of descriptors.
#![cfg(test)]

mod batches;
mod contracts;
mod device_ops;
mod files;
mod fma;
mod grid_sync;
mod interpreter;
mod launches;
mod loops;
mod merges;
mod ops;
mod programs;
mod random;
mod returns;
mod shapes;
mod tiles;
mod vectors;
mod verifier;
mod windows;
