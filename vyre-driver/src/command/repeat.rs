//! Repetitions: lists in lists, no deeper than [`MAX_REPEAT_DEPTH`].

use std::ops::Deref;

use super::Command;

/// How deep [`Command::Repeat`] may be nested.
pub const MAX_REPEAT_DEPTH: usize = 4;

/// The commands of a [`Command::Repeat`].
///
/// It is never deeper than [`MAX_REPEAT_DEPTH`], so that whatever walks, clones, prints or drops it may recurse. What
/// would be deeper is let go of when it is made: nothing is left in it, and [`Command::check`] refuses it.
#[derive(Clone, Debug)]
pub struct Repeated<'a> {
    commands: Vec<Command<'a>>,
    /// How many repetitions are inside each other, this one included.
    depth: usize,
}

impl Repeated<'_> {
    /// Whether it was nested too deep.
    pub(super) fn is_too_deep(&self) -> bool {
        self.depth > MAX_REPEAT_DEPTH
    }

    /// Whether there is anything to run: a command that is not itself a repetition of nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.commands.iter().all(|command| match command {
            Command::Repeat { commands, count } => *count == 0 || commands.is_idle(),
            _ => false,
        })
    }
}

impl<'a> From<Vec<Command<'a>>> for Repeated<'a> {
    fn from(commands: Vec<Command<'a>>) -> Self {
        let depth_of = |command: &Command<'_>| match command {
            Command::Repeat { commands, .. } => commands.depth,
            _ => 0,
        };
        let depth = commands.iter().map(depth_of).max().unwrap_or(0) + 1;
        if depth > MAX_REPEAT_DEPTH {
            return Self { commands: Vec::new(), depth: MAX_REPEAT_DEPTH + 1 };
        }
        Self { commands, depth }
    }
}

impl<'a> Deref for Repeated<'a> {
    type Target = [Command<'a>];

    fn deref(&self) -> &Self::Target {
        &self.commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackendError, BufferRef, CommandList, Resource, Span};

    fn fill() -> Command<'static> {
        let to = Span { buffer: BufferRef::Transient(0), offset: 0, len: 0 };
        Command::Fill { to, byte: 0 }
    }

    fn nested(depth: usize) -> Command<'static> {
        (0..depth).fold(fill(), |inner, _| Command::repeat(vec![inner], 1))
    }

    #[test]
    fn hundreds_of_thousands_of_levels_are_refused_cloned_printed_and_dropped() {
        let deep = nested(300_000);
        let refused = |command: &Command<'_>| match command.check() {
            Err(BackendError::Config { field, why }) => (field, why),
            other => panic!("{other:?}"),
        };
        let why = ("repeat", "repetitions are nested deeper than 4".to_owned());
        assert_eq!(refused(&deep), why);
        assert_eq!(refused(&deep.clone()), why);
        assert!(format!("{deep:?}").len() < 1000);
        // Beside others, and further down than it itself may be.
        let beside = Command::repeat(vec![fill(), deep, nested(2)], 0);
        assert_eq!(refused(&beside), why);
        let mut list = CommandList::new();
        list.push(beside);
        assert_eq!(list.uses().count(), 0);
        assert_eq!(nested(MAX_REPEAT_DEPTH).check(), Ok(()));
        assert_eq!(refused(&nested(MAX_REPEAT_DEPTH + 1)), why);
    }

    #[test]
    fn a_repetition_of_nothing_is_idle() {
        let idle = |command: &Command<'_>| match command {
            Command::Repeat { commands, .. } => commands.is_idle(),
            _ => false,
        };
        assert!(idle(&Command::repeat(vec![], 9)));
        assert!(idle(&Command::repeat(
            vec![Command::repeat(vec![], 9), Command::repeat(vec![fill()], 0)],
            9
        )));
        assert!(!idle(&Command::repeat(vec![Command::repeat(vec![], 9), fill()], 0)));
        assert!(!idle(&nested(3)));
    }

    #[test]
    fn every_command_of_a_repetition_is_a_use() {
        let resident = |slot| {
            let owner = crate::BackendInstance::next();
            Span {
                buffer: BufferRef::Resident(Resource { owner, generation: 0, slot, len: 4 }),
                offset: 0,
                len: 4,
            }
        };
        let (a, b) = (resident(1), resident(2));
        let inner = Command::repeat(vec![Command::Copy { from: a, to: b }], 0);
        let mut list = CommandList::new();
        list.push(Command::repeat(vec![inner, Command::Fill { to: a, byte: 1 }], 7));
        let uses: Vec<_> = list.uses().collect();
        assert_eq!(uses, [(a.buffer, false), (b.buffer, true), (a.buffer, true)]);
    }
}
