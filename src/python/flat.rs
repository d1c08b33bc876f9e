//! The variables of a discipline in one flat array, as they lie in a vector of OpenMDAO's.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::arrays::{Target, Values, writable_f64};
use super::fresh::unwritten;
use super::tables::KnownVariables;
use crate::table::{Role, kind};

/// All values of a type of variable, in one flat array of Python's.
///
/// Where each variable lies in it is found out once; a call then moves bytes and asks for no name.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Flat {
    /// The array, which must stay a plain one of C-ordered float64.
    #[pyo3(get)]
    array: Py<PyAny>,
    known: Arc<KnownVariables>,
    kind: i32,
    /// Where the values of each slot lie.
    places: Vec<Range<usize>>,
}

impl Flat {
    /// Finds the variables of type `kind` among `values`: names and values, in the order in which they follow each
    /// other in `array`. Nothing where one is missing, has another size than declared, or lies somewhere else.
    pub fn find<'py>(
        known: &Arc<KnownVariables>,
        kind: i32,
        array: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Self>> {
        let (Some(whole), Some(role)) = (writable_f64(array), role_of(known, kind)) else {
            return Ok(None);
        };
        let mut places = vec![None; role.slots().len()];
        let mut next = 0;
        for (at, item) in values.try_iter()?.enumerate() {
            let (name, value): (String, Bound<'py, PyAny>) = item?.extract()?;
            let Some(place) = place_of(&whole, next, &value) else {
                return Ok(None);
            };
            next = place.end;
            if let Some(slot) = role.find_from(at, &name, "") {
                let declared = &role.slots()[slot];
                let fits = !declared.unresolved && declared.size == place.len();
                places[slot] = fits.then_some(place);
            }
        }
        let places: Option<Vec<_>> = places.into_iter().collect();
        let Some(places) = places.filter(|_| next == whole.len()) else {
            return Ok(None);
        };
        Ok(Some(Self {
            array: array.clone().unbind(),
            known: Arc::clone(known),
            kind,
            places,
        }))
    }

    /// Whether this was made for the variables of `known`.
    pub fn is_of(&self, known: &Arc<KnownVariables>) -> bool {
        Arc::ptr_eq(&self.known, known)
    }

    /// Whether its array is `array`.
    pub fn is_over(&self, array: &Bound<'_, PyAny>) -> bool {
        self.array.is(array)
    }

    /// Where the values of each slot of `role` lie.
    ///
    /// # Errors
    /// `ValueError` where this was made for other variables.
    pub fn places(&self, known: &Arc<KnownVariables>, kind: i32) -> PyResult<&[Range<usize>]> {
        if self.is_of(known) && self.kind == kind {
            return Ok(&self.places);
        }
        Err(PyValueError::new_err(
            "the flat array was made for other variables",
        ))
    }

    /// The whole array.
    ///
    /// # Errors
    /// `RuntimeError` where it is no longer what it was.
    pub fn values<'py>(&self, py: Python<'py>) -> PyResult<Values<'py>> {
        let values = Values::borrowed(self.array.bind(py)).filter(|values| self.fits(values.len()));
        values.ok_or_else(changed)
    }

    /// Room for what will be put into the array once all of it has come.
    ///
    /// # Errors
    /// What NumPy raises where there is no memory.
    pub fn scratch<'py>(&self, py: Python<'py>) -> PyResult<Scratch<'py>> {
        let count = self.places.iter().map(ExactSizeIterator::len).sum();
        let array = unwritten(py, &[count])?;
        let whole = writable_f64(&array).ok_or_else(changed)?;
        Ok(Scratch { whole })
    }

    /// Puts what has come into the array.
    ///
    /// # Errors
    /// `RuntimeError` where the array is no longer what it was.
    pub fn take(&self, py: Python<'_>, scratch: &Scratch<'_>) -> PyResult<()> {
        let target = writable_f64(self.array.bind(py)).ok_or_else(changed)?;
        let mut from = 0;
        for run in runs(&self.places) {
            let part = scratch.whole.part(from, run.len()).ok_or_else(changed)?;
            from += run.len();
            if !target.copy_in(run.start, part.bytes()) {
                return Err(changed());
            }
        }
        Ok(())
    }

    fn fits(&self, count: usize) -> bool {
        self.places.iter().all(|place| place.end <= count)
    }
}

/// Values that are on their way into a flat array, slot after slot.
pub struct Scratch<'py> {
    whole: Target<'py>,
}

impl<'py> Scratch<'py> {
    /// The room of each slot of `role`.
    ///
    /// # Errors
    /// `RuntimeError` where this was made for other slots.
    pub fn targets(&self, role: &Role) -> PyResult<Vec<Target<'py>>> {
        let mut from = 0;
        let parts = role.slots().iter().map(|slot| {
            let part = self.whole.part(from, slot.size).ok_or_else(changed);
            from += slot.size;
            part
        });
        parts.collect()
    }
}

fn role_of(known: &KnownVariables, kind: i32) -> Option<&Role> {
    match kind {
        kind::INPUT => Some(known.variables.inputs()),
        kind::OUTPUT => Some(known.variables.outputs()),
        kind::RESIDUAL => Some(known.variables.residuals()),
        _ => None,
    }
}

/// Where `value` lies in `whole`, if that is at `next`. A scalar variable is a Python number, which lies nowhere: it is
/// taken to be there, and the next array or the end shows whether it was.
fn place_of(whole: &Target<'_>, next: usize, value: &Bound<'_, PyAny>) -> Option<Range<usize>> {
    let Some(values) = Values::borrowed(value) else {
        return value.extract::<f64>().ok().map(|_| next..next + 1);
    };
    let expected = whole.part(next, values.len())?;
    let lies_there = values.is_empty() || values.bytes().as_ptr() == expected.bytes().as_ptr();
    lies_there.then(|| next..next + values.len())
}

/// Places that follow each other, as one: nearly always all of them.
fn runs(places: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some(run) if run.end == place.start => run.end = place.end,
            _ => runs.push(place.clone()),
        }
    }
    runs
}

fn changed() -> PyErr {
    PyRuntimeError::new_err("the flat array has changed since its variables were found in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_follow_each_other_are_one_run() {
        assert_eq!(runs(&[0..2, 2..2, 2..5, 9..9]), [0..5, 9..9]);
        assert_eq!(runs(&[3..5, 0..3, 7..8]), [3..5, 0..3, 7..8]);
        assert!(runs(&[]).is_empty());
    }
}
