//! Names that nothing has yet.

use std::collections::HashMap;

/// The names that are taken, with the last number appended to each.
#[derive(Debug, Default)]
pub(crate) struct FreeNames(HashMap<String, u64>);

impl FreeNames {
    /// Takes a name.
    pub(crate) fn take(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_insert(1);
    }

    /// Takes the name, or the next with a number that is free.
    pub(crate) fn free(&mut self, name: String) -> String {
        let Some(&taken) = self.0.get(&name) else {
            self.0.insert(name.clone(), 1);
            return name;
        };
        let mut number = taken;
        let free = loop {
            number += 1;
            let numbered = format!("{name}_{number}");
            if !self.0.contains_key(&numbered) {
                break numbered;
            }
        };
        self.0.insert(name, number);
        self.0.insert(free.clone(), 1);
        free
    }
}
