//! Typed ids of a graph's tables.

use std::fmt;

use crate::ir::ids;

ids! {
    /// A value of a graph.
    GraphValueId "value";
    /// A node of a graph.
    GraphNodeId "node";
    /// A parameter of a graph.
    GraphParamId "param";
    /// A dimension of a graph.
    DimId "d";
}
