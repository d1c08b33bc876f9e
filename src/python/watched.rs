//! Whether a metadata list can have changed since it was read, without reading it again.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

/// How often the elements of a list were given away, or the list was changed.
///
/// An object of its own, so that who has once looked at a list need not ask it for an attribute again.
#[pyclass(frozen, module = "philote_fast._core")]
#[derive(Default)]
pub struct Touches(AtomicU64);

#[pymethods]
impl Touches {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more.
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives what an iterator gives, and counts at each step: an iterator may be kept for as long as somebody likes.
    fn walk(slf: Py<Self>, steps: Bound<'_, PyIterator>) -> Walk {
        Walk {
            steps: steps.unbind(),
            touches: slf,
        }
    }
}

/// A walk through a list that counts.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Walk {
    steps: Py<PyIterator>,
    touches: Py<Touches>,
}

#[pymethods]
impl Walk {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        self.touches.get().add();
        self.steps.bind(py).clone().next()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.steps)
    }
}

/// A list whose methods do what a list's do: a plain one, or one that counts.
pub struct Plain {
    list: Py<PyList>,
    touches: Option<Py<Touches>>,
}

impl Plain {
    /// What `list` is; None where it is of some other class.
    pub fn of(list: &Bound<'_, PyList>) -> Option<Self> {
        let touches = touches(list);
        (touches.is_some() || list.is_exact_instance_of::<PyList>()).then(|| Self {
            list: list.clone().unbind(),
            touches,
        })
    }

    /// Whether it is `object`.
    pub fn is(&self, object: &Bound<'_, PyAny>) -> bool {
        self.list.is(object)
    }

    /// How long it is.
    pub fn len(&self, py: Python<'_>) -> usize {
        self.list.bind(py).len()
    }

    /// How often it was touched; None where it does not count.
    pub fn count(&self) -> Option<u64> {
        self.touches.as_ref().map(|touches| touches.get().count())
    }

    /// Appends, and counts that.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn append(&self, element: &Bound<'_, PyAny>) -> PyResult<()> {
        self.list.bind(element.py()).append(element)?;
        if let Some(touches) = &self.touches {
            touches.get().add();
        }
        Ok(())
    }
}

/// A list that counts, and how often it had been touched when it was read.
///
/// Nobody can have changed an element since where that count is the same and nobody but the list holds an element,
/// neither then nor now. What escapes this is somebody who has kept the `shape` of a message but not the message.
pub struct Seen {
    list: Py<PyList>,
    touches: Py<Touches>,
    count: u64,
}

impl Seen {
    /// The state of `metadata` now; None where it does not count, or somebody else holds one of its elements.
    pub fn of(metadata: &Bound<'_, PyAny>) -> Option<Self> {
        let list = metadata.cast::<PyList>().ok()?;
        let touches = touches(list)?;
        holds_alone(list).then(|| Self {
            list: list.clone().unbind(),
            count: touches.get().count(),
            touches,
        })
    }

    /// Whether it is `metadata`, unchanged.
    pub fn holds(&self, metadata: &Bound<'_, PyAny>) -> bool {
        let list = self.list.bind(metadata.py());
        list.is(metadata) && self.touches.get().count() == self.count && holds_alone(list)
    }
}

/// What counts for a list of the class `Watched`; a list of another class has no such thing.
fn touches(list: &Bound<'_, PyList>) -> Option<Py<Touches>> {
    if list.is_exact_instance_of::<PyList>() {
        return None;
    }
    let touches = list.getattr_opt(intern!(list.py(), "_touches")).ok()??;
    Some(touches.cast_into::<Touches>().ok()?.unbind())
}

/// Whether nobody but the list refers to its elements.
fn holds_alone(list: &Bound<'_, PyList>) -> bool {
    // The list's own reference, and the one that is in this loop's hand.
    list.iter().all(|element| references(&element) == 2)
}

/// How many references there are to an object.
pub fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: what is bound is alive, and the GIL is held.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) }
}
