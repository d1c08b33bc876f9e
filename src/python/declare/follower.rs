//! What a metadata list holds, kept true although the list belongs to the user, who may append, delete,
//! rename or replace what is in it.
//!
//! What a look-up finds is checked against the element itself. What it does not find is proven as far
//! as a bounded number of checks per call goes: the list's identity and length, its first element and
//! its last one with its name each time; all names of a short list; and a window of identities that
//! moves over a long one. An element replaced in the middle of a long list can go unnoticed for some
//! calls, one renamed there until its old name is declared again.
//!
//! A name need not be read again where the list counts who touches it, nobody has, and nobody else holds the element.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyType};

use crate::python::watched::{Plain, references};
use crate::table::Names;

/// Lists up to this length have all names read again at each call.
const SHORT: usize = 24;
/// How many elements of a longer list have their identity compared at each call. More than the one or two
/// elements by which a call makes the list longer, or the window would never come round.
const IDENTITIES_PER_CALL: usize = 4;

/// The list is not a plain one, holds something that is not a `VariableMetaData`, or changes while it is read.
pub struct Strange;

impl From<PyErr> for Strange {
    fn from(_: PyErr) -> Self {
        Self
    }
}

/// The names in a list and the elements that they were read from.
#[derive(Default)]
pub struct Follower {
    list: Option<Plain>,
    /// How often the list had been touched when its names were known, and nobody else held one that is read again.
    quiet: Option<u64>,
    /// Held, so that the address of a deleted element cannot come back as another's. As long as `names`.
    elements: Vec<Py<PyAny>>,
    names: Names,
    next_identity: usize,
}

impl Follower {
    /// Appends a new element to the list that `contains` was last asked about.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn append(&mut self, element: Bound<'_, PyAny>, kind: i32, name: &str) -> PyResult<()> {
        let Some(list) = &self.list else {
            return Ok(());
        };
        let quiet = self.quiet.is_some() && list.count() == self.quiet;
        list.append(&element)?;
        self.quiet = list.count().filter(|_| quiet);
        // Another thread may have appended meanwhile; then the next call catches up.
        if list.len(element.py()) == self.len() + 1 {
            self.push(element, kind, name);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn push(&mut self, element: Bound<'_, PyAny>, kind: i32, name: &str) {
        self.elements.push(element.unbind());
        self.names.push(kind, name);
    }

    /// Forgets all, the list itself too.
    pub fn clear(&mut self) {
        self.list = None;
        self.quiet = None;
        self.elements.clear();
        self.names.clear();
    }

    /// Whether the list holds a variable of this type and name. Its elements are to be of type `message`.
    pub fn contains(
        &mut self,
        list: &Bound<'_, PyList>,
        message: &Bound<'_, PyType>,
        kind: i32,
        name: &str,
    ) -> Result<bool, Strange> {
        let mut reader = Reader {
            list,
            message,
            known: self,
        };
        let found = reader.contains(kind, name);
        if found.is_err() {
            // What a strange list refers to may refer back to us.
            self.clear();
        }
        found
    }
}

/// One look through the list.
struct Reader<'a, 'py> {
    list: &'a Bound<'py, PyList>,
    message: &'a Bound<'py, PyType>,
    known: &'a mut Follower,
}

impl<'py> Reader<'_, 'py> {
    fn contains(&mut self, kind: i32, name: &str) -> Result<bool, Strange> {
        self.check_list()?;
        let quiet = self.is_quiet();
        self.check_ends(quiet)?;
        self.check_windows(quiet)?;
        self.catch_up()?;
        self.note_quiet();
        while let Some(position) = self.known.names.find(kind, name) {
            self.read_again(position)?;
            if self.known.names.is(position, kind, name) {
                return Ok(true);
            }
            self.catch_up()?;
        }
        Ok(false)
    }

    /// Another list means starting over, a shorter one forgetting its end.
    fn check_list(&mut self) -> Result<(), Strange> {
        let known = self.known.list.as_ref();
        if !known.is_some_and(|known| known.is(self.list)) {
            self.known.clear();
            self.known.list = Some(Plain::of(self.list).ok_or(Strange)?);
        }
        self.known.names.truncate(self.list.len());
        self.trim();
        Ok(())
    }

    /// Whether no name can have changed of those that are read again at each call.
    fn is_quiet(&self) -> bool {
        self.known.quiet.is_some() && self.known.quiet == self.count() && self.holds_alone()
    }

    fn note_quiet(&mut self) {
        self.known.quiet = self.count().filter(|_| self.holds_alone());
    }

    fn count(&self) -> Option<u64> {
        self.known.list.as_ref().and_then(Plain::count)
    }

    /// Whether the elements whose names are read again at each call are held by the list and here alone.
    fn holds_alone(&self) -> bool {
        let py = self.list.py();
        let first = if self.is_short() {
            0
        } else {
            self.known.len() - 1
        };
        let read_again = &self.known.elements[first..];
        read_again
            .iter()
            .all(|element| references(element.bind(py)) == 2)
    }

    fn is_short(&self) -> bool {
        self.known.len() <= SHORT
    }

    /// What was deleted or inserted in the middle of a list has moved its end.
    fn check_ends(&mut self, quiet: bool) -> Result<(), Strange> {
        let Some(last) = self.known.len().checked_sub(1) else {
            return Ok(());
        };
        if self.is_same(0)? && self.is_same(last)? {
            return if quiet { Ok(()) } else { self.check_name(last) };
        }
        self.known.names.clear();
        self.trim();
        Ok(())
    }

    fn check_windows(&mut self, quiet: bool) -> Result<(), Strange> {
        if self.is_short() {
            // Less may be known after each step.
            let mut position = 0;
            while position < self.known.len() {
                if !(quiet && self.is_same(position)?) {
                    self.read_again(position)?;
                }
                position += 1;
            }
            return Ok(());
        }
        for _ in 0..IDENTITIES_PER_CALL {
            let position = step(&mut self.known.next_identity, self.known.elements.len());
            if !self.is_same(position)? {
                self.read_again(position)?;
            }
        }
        Ok(())
    }

    /// Reads the elements that follow those that are known.
    fn catch_up(&mut self) -> Result<(), Strange> {
        while self.known.len() < self.list.len() {
            let element = self.list.get_item(self.known.len())?;
            let (kind, name) = self.read(&element)?;
            self.known.push(element, kind, name.to_str()?);
        }
        Ok(())
    }

    fn is_same(&self, position: usize) -> Result<bool, Strange> {
        let known = self.known.elements.get(position);
        let element = self.list.get_item(position)?;
        Ok(known.is_some_and(|known| known.is(&element)))
    }

    /// Takes note if an element that is still in its place has been renamed.
    fn check_name(&mut self, position: usize) -> Result<(), Strange> {
        let element = self.list.get_item(position)?;
        let name = element.getattr(intern!(element.py(), "name"))?;
        let name = name.cast_into::<PyString>().map_err(|_| Strange)?;
        if self.known.names.is_named(position, name.to_str()?) {
            return Ok(());
        }
        self.read_again(position)
    }

    /// Reads one element again and takes note of what is new about it.
    fn read_again(&mut self, position: usize) -> Result<(), Strange> {
        let element = self.list.get_item(position)?;
        let (kind, name) = self.read(&element)?;
        let name = name.to_str()?;
        if !self.known.names.is(position, kind, name) {
            self.known.names.replace(position, kind, name);
            self.trim();
        }
        if let Some(known) = self.known.elements.get_mut(position) {
            *known = element.unbind();
        }
        Ok(())
    }

    fn read(&self, element: &Bound<'py, PyAny>) -> Result<(i32, Bound<'py, PyString>), Strange> {
        if !element.get_type().is(self.message) {
            return Err(Strange);
        }
        let py = element.py();
        let kind = element.getattr(intern!(py, "type"))?.extract()?;
        let name = element.getattr(intern!(py, "name"))?;
        Ok((kind, name.cast_into::<PyString>().map_err(|_| Strange)?))
    }

    /// Lets go of the elements whose names were forgotten.
    fn trim(&mut self) {
        self.known.elements.truncate(self.known.names.len());
    }
}

/// Takes a window's place and moves it on; `len` is not zero, or the place is not used.
fn step(next: &mut usize, len: usize) -> usize {
    let position = if *next < len { *next } else { 0 };
    *next = position + 1;
    position
}
