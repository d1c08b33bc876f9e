//! The variables of one type, in fixed slots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::headers::Headers;
use super::{Error, error};

/// Where one variable or partial stands, and how large it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The variable, or the function of a partial.
    pub name: Box<str>,
    /// What a partial is taken with respect to; empty for a variable.
    pub subname: Box<str>,
    /// The shape of the array.
    pub shape: Box<[usize]>,
    /// How many values the array has.
    pub size: usize,
    /// Whether the shape is dynamic and not yet set, so that `shape` says nothing.
    pub unresolved: bool,
}

impl Slot {
    /// A slot of that shape.
    ///
    /// # Errors
    /// [`Error::Shape`] for a negative extent, or more bytes than an address space has.
    pub fn new(name: &str, subname: &str, shape: &[i64], unresolved: bool) -> Result<Self, Error> {
        let wrong = || Error::Shape {
            label: error::label(name, subname),
            shape: shape.to_vec(),
        };
        let dims: Option<Box<[usize]>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
        let dims = dims.ok_or_else(wrong)?;
        let size = dims.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
        let size = size.filter(|&size| size <= MAX_VALUES).ok_or_else(wrong)?;
        Ok(Self {
            name: name.into(),
            subname: subname.into(),
            shape: dims,
            size,
            unresolved,
        })
    }

    /// How error texts name this slot.
    #[must_use]
    pub fn label(&self) -> String {
        error::label(&self.name, &self.subname)
    }
}

/// `NumPy` counts the bytes of an array in a signed word.
const MAX_VALUES: usize = isize::MAX as usize / size_of::<f64>();

/// Looks a slot up where the expected one did not come.
#[derive(Debug)]
enum Index {
    /// By name; peers may send a subname with a variable, and stock ignores it.
    Names(HashMap<Box<str>, usize>),
    /// By function, then by variable.
    Pairs(HashMap<Box<str>, HashMap<Box<str>, usize>>),
}

/// All variables of one type (or all partials), in declared order.
#[derive(Debug)]
pub struct Role {
    kind: i32,
    slots: Vec<Slot>,
    index: Index,
    headers: Mutex<Option<Arc<Headers>>>,
}

impl Role {
    /// A role whose slots are told apart by name.
    #[must_use]
    pub fn of_variables(kind: i32, declared: Vec<Slot>) -> Self {
        let mut names: HashMap<Box<str>, usize> = HashMap::with_capacity(declared.len());
        let mut slots: Vec<Slot> = Vec::with_capacity(declared.len());
        for slot in declared {
            let known = names.get(&slot.name).copied();
            if known.is_none() {
                names.insert(slot.name.clone(), slots.len());
            }
            put(&mut slots, known, slot);
        }
        Self::new(kind, slots, Index::Names(names))
    }

    /// A role whose slots are told apart by name and subname.
    #[must_use]
    pub fn of_partials(kind: i32, declared: Vec<Slot>) -> Self {
        let mut pairs: HashMap<Box<str>, HashMap<Box<str>, usize>> = HashMap::new();
        let mut slots: Vec<Slot> = Vec::with_capacity(declared.len());
        for slot in declared {
            let by = pairs.entry(slot.name.clone()).or_default();
            let known = by.get(&slot.subname).copied();
            if known.is_none() {
                by.insert(slot.subname.clone(), slots.len());
            }
            put(&mut slots, known, slot);
        }
        Self::new(kind, slots, Index::Pairs(pairs))
    }

    fn new(kind: i32, slots: Vec<Slot>, index: Index) -> Self {
        Self {
            kind,
            slots,
            index,
            headers: Mutex::new(None),
        }
    }

    /// The variable type of every slot.
    #[must_use]
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// The slots in declared order.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slot of that name.
    #[must_use]
    pub fn find(&self, name: &str, subname: &str) -> Option<usize> {
        match &self.index {
            Index::Names(names) => names.get(name).copied(),
            Index::Pairs(pairs) => pairs.get(name)?.get(subname).copied(),
        }
    }

    /// The slot of that name, tried first where it is expected: names nearly always come in
    /// declared order.
    #[must_use]
    pub fn find_from(&self, expected: usize, name: &str, subname: &str) -> Option<usize> {
        match self.slots.get(expected) {
            Some(slot) if equal(&slot.name, name) && equal(&slot.subname, subname) => {
                Some(expected)
            }
            _ => self.find(name, subname),
        }
    }

    /// The headers for chunks of `chunk` values, built at the first use and at a change of `chunk`.
    ///
    /// # Errors
    /// [`Error::Wire`] where a chunk is larger than a message can be.
    pub fn headers(&self, chunk: usize) -> Result<Arc<Headers>, Error> {
        // A panic cannot leave the option half written, so a poisoned lock is as good as another.
        let mut cached = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(headers) = cached.as_ref().filter(|headers| headers.chunk() == chunk) {
            return Ok(Arc::clone(headers));
        }
        let headers = Arc::new(Headers::build(self, chunk)?);
        *cached = Some(Arc::clone(&headers));
        Ok(headers)
    }
}

/// The subnames of variables are empty, and an empty text lies nowhere: the library's comparison reads no byte of it, but
/// takes 100 ns for an address that is none.
fn equal(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// A second declaration of one name replaces the first and keeps its place, as in the dicts of stock.
fn put(slots: &mut Vec<Slot>, known: Option<usize>, slot: Slot) {
    match known {
        Some(at) => slots[at] = slot,
        None => slots.push(slot),
    }
}
