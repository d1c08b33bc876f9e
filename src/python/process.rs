//! A request into arrays that the caller brings, as stock's `process_inputs` takes them.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use super::arrays::{new_f64, writable_f64};
use super::intake::{each_message, message_bytes};
use super::reading::file_discrete;
use crate::table::{Chunk, Error, Side, first_value, kind, overlook};
use crate::wire::{self, Array, Message};

/// Reads a request into flat arrays by name, and discrete values into dicts.
///
/// For servers that override a part of the way from request to discipline; the rest read by slot.
#[pyfunction]
pub fn read_into<'py>(
    messages: &Bound<'py, PyAny>,
    flat_inputs: &Bound<'py, PyAny>,
    flat_outputs: Option<&Bound<'py, PyAny>>,
    discrete_inputs: &Bound<'py, PyAny>,
    discrete_outputs: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = messages.py();
    let discretes = [
        (kind::DISCRETE_INPUT, discrete_inputs),
        (kind::DISCRETE_OUTPUT, discrete_outputs),
    ];
    each_message(
        messages,
        message_bytes,
        |message: &[u8]| match wire::decode(message)? {
            Message::Empty => Ok(()),
            Message::Discrete(discrete) => file_discrete(py, &discrete, &discretes),
            Message::Continuous(array) => read_array(&array, flat_inputs, flat_outputs),
        },
    )
}

fn read_array<'py>(
    array: &Array<'_>,
    flat_inputs: &Bound<'py, PyAny>,
    flat_outputs: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = flat_inputs.py();
    let (header, count) = (&array.header, array.data.len());
    let flat = match header.kind {
        kind::INPUT => Some(flat_inputs),
        kind::OUTPUT => flat_outputs,
        other if kind::is_known(other) => None,
        _ => {
            return Err(Error::UnknownKind {
                chunk: Chunk::new(header, count),
            }
            .into());
        }
    };
    let Some(flat) = flat else {
        return Ok(overlook(Side::Server, header, count)?);
    };
    let target = match flat.get_item(header.name) {
        Ok(target) => target,
        Err(error) if error.is_instance_of::<PyKeyError>(py) => {
            return Err(Error::Undeclared(Chunk::new(header, count)).into());
        }
        Err(error) => return Err(error),
    };
    let start = first_value(Side::Server, header, count, target.len()?, false);
    store(&target, start?, array)
}

fn store(target: &Bound<'_, PyAny>, start: usize, array: &Array<'_>) -> PyResult<()> {
    let (py, bytes) = (target.py(), array.data.as_bytes());
    if writable_f64(target).is_some_and(|target| target.copy_in(start, bytes)) {
        return Ok(());
    }
    // Another dtype or layout: NumPy's own assignment converts.
    let (from, to) = (
        isize::try_from(start)?,
        isize::try_from(start + array.data.len())?,
    );
    target.set_item(PySlice::new(py, from, to, 1), new_f64(py, bytes)?)
}
