//! The kinds of rows.

/// What rows are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tiny,
    Saxpy,
    Sequence,
    Reduction,
    Matmul,
    Loop,
    Tiles,
    Indirect,
    Graphs,
    Queue,
    Warm,
    Guards,
}

impl Kind {
    /// All of them, in the table's order.
    const ALL: [Self; 12] = [
        Self::Tiny,
        Self::Saxpy,
        Self::Sequence,
        Self::Reduction,
        Self::Matmul,
        Self::Loop,
        Self::Tiles,
        Self::Indirect,
        Self::Graphs,
        Self::Queue,
        Self::Warm,
        Self::Guards,
    ];

    /// The kind that has this name, or what names there are.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("one of {}", Self::ALL.map(Self::name).join(", ")))
    }

    /// The kind's name for users.
    const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Saxpy => "saxpy",
            Self::Sequence => "sequence",
            Self::Reduction => "reduction",
            Self::Matmul => "matmul",
            Self::Loop => "loop",
            Self::Tiles => "tiles",
            Self::Indirect => "indirect",
            Self::Graphs => "graphs",
            Self::Queue => "queue",
            Self::Warm => "warm",
            Self::Guards => "guards",
        }
    }
}
