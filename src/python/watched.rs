//! Whether a metadata list can have changed since it was read, without reading it again.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A list that counts how often its elements were given away, and how often it had when it was read.
///
/// Nobody can have changed an element since where that count is the same and nobody but the list holds an element,
/// neither then nor now. What escapes this is somebody who has kept the `shape` of a message but not the message.
pub struct Seen {
    list: Py<PyList>,
    touches: u64,
}

impl Seen {
    /// The state of `metadata` now; None where it does not count, or somebody else holds one of its elements.
    ///
    /// # Errors
    /// What a strange list raises.
    pub fn of(metadata: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Ok(list) = metadata.cast::<PyList>() else {
            return Ok(None);
        };
        let Some(touches) = touches(list)? else {
            return Ok(None);
        };
        Ok(holds_alone(list).then(|| Self {
            list: list.clone().unbind(),
            touches,
        }))
    }

    /// Whether it is `metadata`, unchanged.
    ///
    /// # Errors
    /// What a strange list raises.
    pub fn holds(&self, metadata: &Bound<'_, PyAny>) -> PyResult<bool> {
        let list = self.list.bind(metadata.py());
        Ok(list.is(metadata) && touches(list)? == Some(self.touches) && holds_alone(list))
    }
}

/// The list that `object` is: a plain one, or one that counts.
pub fn plain<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyList>> {
    let list = object.cast::<PyList>().ok()?;
    let counts = || matches!(touches(list), Ok(Some(_)));
    (list.is_exact_instance_of::<PyList>() || counts()).then_some(list)
}

/// Appends to a list that is `plain`, and has it count that.
///
/// # Errors
/// Where there is no memory.
pub fn append(list: &Bound<'_, PyList>, element: &Bound<'_, PyAny>) -> PyResult<()> {
    list.append(element)?;
    match touches(list)? {
        Some(touches) => list.setattr(intern!(list.py(), "touches"), touches + 1),
        None => Ok(()),
    }
}

fn touches(list: &Bound<'_, PyList>) -> PyResult<Option<u64>> {
    if list.is_exact_instance_of::<PyList>() {
        return Ok(None);
    }
    let touches = list.getattr_opt(intern!(list.py(), "touches"))?;
    touches.map(|touches| touches.extract()).transpose()
}

/// Whether nobody but the list refers to its elements.
fn holds_alone(list: &Bound<'_, PyList>) -> bool {
    // The list's own reference, and the one that is in this loop's hand.
    list.iter().all(|element| references(&element) == 2)
}

fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: what is bound is alive, and the GIL is held.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) }
}
