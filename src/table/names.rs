//! Which names a list of variables has, by type: a hash look-up in place of a scan.

use std::collections::hash_map::Entry;
use std::sync::Arc;

// Names come from the discipline's own code, not from a peer: nobody chooses them so that they collide.
use rustc_hash::FxHashMap;

/// The number of `VariableType`s that the protocol knows.
const KINDS: usize = 6;

/// Names and types of the variables in a list, in its order.
#[derive(Debug, Default)]
pub struct Names {
    entries: Vec<(i32, Arc<str>)>,
    /// For each type, the first position of each name.
    positions: [FxHashMap<Arc<str>, usize>; KINDS],
    /// Whether some variable occurs twice. A list edited by hand may have that; then the second position
    /// is not in `positions`, and taking out the first one means starting over.
    repeated: bool,
}

impl Names {
    /// The number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no variable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the variable at `position` has this name.
    #[must_use]
    pub fn is_named(&self, position: usize, name: &str) -> bool {
        let entry = self.entries.get(position);
        entry.is_some_and(|(_, n)| **n == *name)
    }

    /// Whether the variable at `position` has this type and name.
    #[must_use]
    pub fn is(&self, position: usize, kind: i32, name: &str) -> bool {
        self.entries
            .get(position)
            .is_some_and(|(k, n)| *k == kind && **n == *name)
    }

    /// The position of a variable.
    #[must_use]
    pub fn find(&self, kind: i32, name: &str) -> Option<usize> {
        let kind = usize::try_from(kind).ok()?;
        self.positions.get(kind)?.get(name).copied()
    }

    /// Appends a variable.
    pub fn push(&mut self, kind: i32, name: &str) {
        let name: Arc<str> = Arc::from(name);
        self.enter(self.entries.len(), kind, &name);
        self.entries.push((kind, name));
    }

    /// Forgets the variables from position `len` on, or all where that is the only safe way.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.entries.len() {
            return;
        }
        if self.repeated {
            self.clear();
            return;
        }
        for (kind, name) in self.entries.drain(len..) {
            if let Some(map) = by_kind(&mut self.positions, kind) {
                map.remove(&name);
            }
        }
    }

    /// Says that the variable at `position` has another type or name now. Where the old one was not
    /// unique, all are forgotten.
    pub fn replace(&mut self, position: usize, kind: i32, name: &str) {
        if self.repeated {
            self.clear();
            return;
        }
        let name: Arc<str> = Arc::from(name);
        let Some(entry) = self.entries.get_mut(position) else {
            return;
        };
        let (old_kind, old_name) = std::mem::replace(entry, (kind, Arc::clone(&name)));
        if let Some(map) = by_kind(&mut self.positions, old_kind) {
            map.remove(&old_name);
        }
        self.enter(position, kind, &name);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.positions.iter_mut().for_each(FxHashMap::clear);
        self.repeated = false;
    }

    fn enter(&mut self, position: usize, kind: i32, name: &Arc<str>) {
        let Some(map) = by_kind(&mut self.positions, kind) else {
            return;
        };
        match map.entry(Arc::clone(name)) {
            Entry::Occupied(_) => self.repeated = true,
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
        }
    }
}

/// The map of a type; a type that the protocol does not know is never asked for and has none.
fn by_kind(
    positions: &mut [FxHashMap<Arc<str>, usize>; KINDS],
    kind: i32,
) -> Option<&mut FxHashMap<Arc<str>, usize>> {
    positions.get_mut(usize::try_from(kind).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[(i32, &str)]) -> Names {
        let mut names = Names::default();
        for (kind, name) in all {
            names.push(*kind, name);
        }
        names
    }

    #[test]
    fn a_name_is_found_by_type() {
        let names = names(&[(0, "x"), (3, "x"), (17, "z")]);
        assert_eq!(names.find(0, "x"), Some(0));
        assert_eq!(names.find(3, "x"), Some(1));
        assert_eq!(names.find(2, "x"), None);
        assert_eq!(names.find(17, "z"), None);
        assert_eq!(names.find(-1, "x"), None);
        assert!(names.is(2, 17, "z"));
    }

    #[test]
    fn truncated_names_are_gone() {
        let mut names = names(&[(0, "x"), (0, "y")]);
        names.truncate(1);
        assert_eq!((names.find(0, "x"), names.find(0, "y")), (Some(0), None));
    }

    #[test]
    fn a_renamed_variable_is_found_by_its_new_name() {
        let mut names = names(&[(0, "x"), (0, "y")]);
        names.replace(0, 3, "z");
        assert_eq!((names.find(0, "x"), names.find(3, "z")), (None, Some(0)));
    }

    #[test]
    fn a_repeated_name_means_starting_over() {
        let mut changed = names(&[(0, "x"), (0, "x")]);
        changed.replace(0, 0, "y");
        assert!(changed.is_empty());
        let mut cut = names(&[(0, "x"), (0, "x")]);
        cut.truncate(1);
        assert!(cut.is_empty());
    }

    #[test]
    fn renaming_into_a_name_in_use_is_a_repetition() {
        let mut names = names(&[(0, "x"), (0, "y")]);
        names.replace(1, 0, "x");
        assert_eq!(names.find(0, "x"), Some(0));
        names.replace(0, 0, "z");
        assert!(names.is_empty());
    }
}
