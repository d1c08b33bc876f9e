//! `get_chunk_indices` and `get_partials_shape`.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};

use super::elements::is_numpy_integer;
use super::errors::validation;
use crate::wire;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChunkIndices>()?;
    module.add_function(wrap_pyfunction!(get_chunk_indices, module)?)?;
    // Another object of the same function: patching exchanges objects wherever they are bound, and must not
    // touch a name that the user has bound to ours.
    module.add(
        "patched_chunk_indices",
        wrap_pyfunction!(get_chunk_indices, module)?,
    )?;
    module.add_function(wrap_pyfunction!(get_partials_shape, module)?)
}

/// The pairs of indices that `get_chunk_indices` gives, made as they are asked for.
#[pyclass(module = "philote_fast.wire")]
pub(super) struct ChunkIndices {
    left: Box<dyn Iterator<Item = Range<usize>> + Send + Sync>,
}

#[pymethods]
impl ChunkIndices {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<(usize, usize)> {
        self.left.next().map(|range| (range.start, range.end))
    }

    fn __length_hint__(&self) -> usize {
        self.left.size_hint().0
    }
}

/// Split a flattened variable into chunks.
///
/// Parameters
/// ----------
/// num_values : int
///     How many values the variable has.
/// chunk_size : int
///     How many values a chunk has at most.
///
/// Returns
/// -------
/// iterator of (int, int)
///     Where each chunk begins, and where it ends (exclusive).
///
/// Raises
/// ------
/// PhiloteValidationError
///     If `num_values` is not an integer of at least 0, or `chunk_size` not one of at least 1.
#[pyfunction]
fn get_chunk_indices<'py>(
    num_values: &Bound<'py, PyAny>,
    chunk_size: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = num_values.py();
    let num = match integer(num_values)? {
        Integer::Is(num) => num,
        Integer::TooLarge => {
            let text = format!(
                "get_chunk_indices: num_values must be at most {}, got {}.",
                i64::MAX,
                num_values.repr()?
            );
            return Err(validation(py, text));
        }
        _ => {
            return Err(wrong(
                "num_values must be a non-negative integer",
                num_values,
            ));
        }
    };
    let size = match integer(chunk_size)? {
        Integer::Is(size @ 1..) => size,
        Integer::TooLarge => usize::MAX,
        _ => return Err(wrong("chunk_size must be a positive integer", chunk_size)),
    };
    if num == 1 {
        return Ok(chunks_of_a_scalar(py)?.try_iter()?.into_any());
    }
    if (1..=size).contains(&num) {
        // One chunk, whose iterator Python makes faster than a class could.
        return Ok(one_chunk(py, num)?.try_iter()?.into_any());
    }
    let left = Box::new(wire::chunks(num, size));
    Ok(Bound::new(py, ChunkIndices { left })?.into_any())
}

fn one_chunk(py: Python<'_>, num: usize) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, [PyTuple::new(py, [0, num])?])
}

/// By far the most common, so it is made once.
fn chunks_of_a_scalar(py: Python<'_>) -> PyResult<&Bound<'_, PyTuple>> {
    static CHUNKS: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let chunks = CHUNKS.get_or_try_init(py, || one_chunk(py, 1).map(Bound::unbind))?;
    Ok(chunks.bind(py))
}

enum Integer {
    Is(usize),
    TooLarge,
    Negative,
    Not,
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Integer> {
    if !value.is_instance_of::<PyInt>() && !is_numpy_integer(value) {
        return Ok(Integer::Not);
    }
    match value.extract::<i64>() {
        Ok(number) => Ok(usize::try_from(number).map_or(Integer::Negative, Integer::Is)),
        Err(_) if value.lt(0)? => Ok(Integer::Negative),
        Err(_) => Ok(Integer::TooLarge),
    }
}

fn wrong(rule: &str, value: &Bound<'_, PyAny>) -> PyErr {
    match value.repr() {
        Ok(shown) => validation(
            value.py(),
            format!("get_chunk_indices: {rule}, got {shown}."),
        ),
        Err(error) => error,
    }
}

/// Find the shape of the partials of a function by a variable.
///
/// Parameters
/// ----------
/// function_shape, variable_shape : iterable of int
///     The declared shapes.
///
/// Returns
/// -------
/// tuple of int
///     One shape after the other. A shape of ``(1,)`` adds nothing, unless both are; ``()`` and ``(1, 1)`` are kept.
#[pyfunction]
fn get_partials_shape<'py>(
    function_shape: &Bound<'py, PyAny>,
    variable_shape: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let shape = wire::partials_shape(&dimensions(function_shape)?, &dimensions(variable_shape)?);
    PyTuple::new(function_shape.py(), shape)
}

fn dimensions(shape: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    shape.try_iter()?.map(|item| item?.extract()).collect()
}
