//! Why two kernels were not made one.

use vyre_foundation::graph::GraphValueId;

/// Why two kernels were not made one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The producer does something that may not be done again, or not elsewhere.
    #[error("the producer has {0}, which is not done twice or elsewhere")]
    Effect(&'static str),
    /// A program has something that ties it to its own launch.
    #[error("a program has {0}, which ties it to a launch of its own")]
    Tied(&'static str),
    /// The producer's element does not follow from its point.
    #[error("the producer does not store each element once, at its own point")]
    NotAtPoint,
    /// The producer is not known to store the whole value.
    #[error("the producer is not known to store every element")]
    NotWhole,
    /// The two run over different domains or workgroups.
    #[error("the two run over different points or workgroups")]
    Launches,
    /// The consumer reads what other invocations or workgroups of the producer computed.
    #[error("the consumer reads elements that another {0} of the producer computes")]
    Elsewhere(&'static str),
    /// One changes in place what the other reads.
    #[error("one changes {0:?} in place while the other needs it")]
    InPlace(GraphValueId),
    /// Another kernel needs one and is needed by the other.
    #[error("another kernel stands between the two")]
    Between,
    /// The number of elements cannot be said in the fused kernel.
    #[error("a length or extent has no form in the fused kernel")]
    Extent,
    /// A limit of the device or of plans would be passed.
    #[error("{what} would be {value}, above {limit}")]
    Limit {
        /// What.
        what: &'static str,
        /// How much it would be.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// The model finds that it does not pay.
    #[error("it would cost {after} instead of {before}, in bytes moved or their worth")]
    Cost {
        /// What the kernels cost as they are.
        before: u64,
        /// What they would cost.
        after: u64,
    },
    /// The search ended before.
    #[error("the search's budget was spent")]
    Budget,
    /// The fused program is none.
    #[error("the checker refuses the fused program: {0}")]
    Refused(String),
}
