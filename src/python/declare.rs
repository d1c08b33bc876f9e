//! Declaring variables: the index of a discipline's metadata list, kept true against edits by hand.
//!
//! Only the plain case is dealt with here. Whatever stock would refuse, or read in a way of its own, is
//! left to stock, so that its errors and their order need no second home.

mod follower;

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple, PyType};

use self::follower::Follower;
use crate::table::kind;
use crate::wire::metadata::VariableMetaData;

/// The variables that one metadata list declares.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Declared {
    message: Py<PyType>,
    from_string: Py<PyAny>,
    namespace: Py<PyDict>,
    expected: Vec<(Py<PyString>, Py<PyAny>)>,
    known: Mutex<Follower>,
}

/// One declaration, checked as far as stock checks it.
struct Declaration<'a> {
    name: &'a str,
    shape: Vec<i64>,
    units: &'a str,
    dynamic_shape: bool,
}

#[pymethods]
impl Declared {
    /// `message` is `VariableMetaData`; `namespace` is that of the stock functions, in which stock would look up each of
    /// the `expected` objects.
    #[new]
    fn new(
        message: &Bound<'_, PyType>,
        namespace: &Bound<'_, PyDict>,
        expected: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let expected = expected
            .iter()
            .map(|(name, object)| Ok((name.cast_into::<PyString>()?.unbind(), object.unbind())))
            .collect::<PyResult<_>>()?;
        Ok(Self {
            from_string: message.getattr("FromString")?.unbind(),
            message: message.clone().unbind(),
            namespace: namespace.clone().unbind(),
            expected,
            known: Mutex::default(),
        })
    }

    /// Declares a variable by appending its metadata to `list`, twice if it has a residual.
    ///
    /// Returns False, with nothing done, if this is for stock to decide: a declaration that is wrong or unusual,
    /// a name that is taken, a list that holds strange things.
    #[pyo3(signature = (list, kind, name, shape, units, dynamic_shape, residual=None, /))]
    #[allow(clippy::too_many_arguments)]
    fn add<'py>(
        &self,
        list: &Bound<'py, PyAny>,
        kind: i32,
        name: &Bound<'py, PyAny>,
        shape: &Bound<'py, PyAny>,
        units: &Bound<'py, PyAny>,
        dynamic_shape: &Bound<'py, PyAny>,
        residual: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<bool> {
        let py = list.py();
        // Locked: another thread or a finalizer is declaring into the same list at this moment.
        let (Ok(list), Some(mut known)) = (list.cast::<PyList>(), self.lock()) else {
            return Ok(false);
        };
        let Some(declaration) = Declaration::new(name, shape, units, dynamic_shape) else {
            return Ok(false);
        };
        if !self.stock_is_whole(py)? {
            return Ok(false);
        }
        let Ok(residual) = residual.map_or(Ok(false), PyAnyMethods::is_truthy) else {
            return Ok(false);
        };
        let message = self.message.bind(py);
        if !matches!(
            known.contains(list, message, kind, declaration.name),
            Ok(false)
        ) {
            return Ok(false);
        }
        self.append(&mut known, py, &declaration, kind)?;
        if residual {
            self.append(&mut known, py, &declaration, kind::RESIDUAL)?;
        }
        Ok(true)
    }
}

impl Declared {
    fn lock(&self) -> Option<MutexGuard<'_, Follower>> {
        match self.known.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(poisoned)) => {
                let mut known = poisoned.into_inner();
                known.clear();
                Some(known)
            }
        }
    }

    /// Whether the functions that stock would call are still the real ones, not test doubles.
    fn stock_is_whole(&self, py: Python<'_>) -> PyResult<bool> {
        let namespace = self.namespace.bind(py);
        for (name, object) in &self.expected {
            if !namespace.get_item(name)?.is_some_and(|now| now.is(object)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn append(
        &self,
        known: &mut Follower,
        py: Python<'_>,
        declaration: &Declaration<'_>,
        kind: i32,
    ) -> PyResult<()> {
        let bytes = declaration.encode(kind);
        let message = self.from_string.bind(py).call1((bytes.as_slice(),))?;
        known.append(message, kind, declaration.name)
    }
}

impl<'a> Declaration<'a> {
    /// Reads the arguments; None where stock would object, or is better left to decide.
    fn new(
        name: &'a Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
        units: &'a Bound<'_, PyAny>,
        dynamic_shape: &Bound<'_, PyAny>,
    ) -> Option<Self> {
        let dynamic_shape = dynamic_shape.cast_exact::<PyBool>().ok()?.is_true();
        let name = name.cast::<PyString>().ok()?.to_str().ok()?;
        let units = units.cast::<PyString>().ok()?.to_str().ok()?;
        let shape = if dynamic_shape {
            Vec::new()
        } else {
            extents(shape)?
        };
        (!name.is_empty()).then_some(Self {
            name,
            shape,
            units,
            dynamic_shape,
        })
    }

    fn encode(&self, kind: i32) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + self.name.len() + self.units.len());
        VariableMetaData {
            kind,
            name: self.name,
            shape: &self.shape,
            units: self.units,
            dynamic_shape: self.dynamic_shape,
        }
        .write(&mut out);
        out
    }
}

/// The extents of a tuple of positive integers.
fn extents(shape: &Bound<'_, PyAny>) -> Option<Vec<i64>> {
    let shape = shape.cast_exact::<PyTuple>().ok()?;
    shape
        .iter_borrowed()
        .map(|extent| {
            let extent = extent.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
            (extent > 0).then_some(extent)
        })
        .collect()
}
