//! Lowered programs run by an interpreter of descriptors.
#![cfg(test)]

mod interpreter;
mod ops;
mod programs;
