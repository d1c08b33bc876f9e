//! `encode_array` and `decode`, and what `decode` gives.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrays::values_of;
use super::buffers::{Buffer, bytes_of};
use super::discrete::from_value;
use super::errors::validation;
use crate::wire::{self, Header, Message};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Continuous>()?;
    module.add_class::<Discrete>()?;
    module.add_function(wrap_pyfunction!(encode_array, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)
}

/// What a message says of a continuous variable.
///
/// Attributes
/// ----------
/// name, subname : str
///     The variable, and for a partial the variable that it differentiates by.
/// start, end : int
///     The first and the last index of the values in the flattened variable.
/// type : int
///     The ``VariableType``.
/// data : numpy.ndarray
///     The values: read-only float64 that shares the memory of the message.
#[pyclass(frozen, module = "philote_fast.wire")]
pub(super) struct Continuous {
    #[pyo3(get)]
    name: Py<PyString>,
    #[pyo3(get)]
    subname: Py<PyString>,
    #[pyo3(get)]
    start: i64,
    #[pyo3(get)]
    end: i64,
    #[pyo3(get, name = "type")]
    kind: i32,
    #[pyo3(get)]
    data: Py<PyAny>,
}

#[pymethods]
impl Continuous {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&str, &str, &str, &str, &str, &str) =
        ("name", "subname", "start", "end", "type", "data");

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Continuous(name={}, subname={}, start={}, end={}, type={}, data={})",
            self.name.bind(py).repr()?,
            self.subname.bind(py).repr()?,
            self.start,
            self.end,
            self.kind,
            self.data.bind(py).repr()?
        ))
    }
}

/// What a message says of a discrete variable.
///
/// Attributes
/// ----------
/// name : str
///     The variable.
/// type : int
///     The ``VariableType``.
/// value : None, bool, int, float, str, list or dict
///     The value.
#[pyclass(frozen, module = "philote_fast.wire")]
pub(super) struct Discrete {
    #[pyo3(get)]
    name: Py<PyString>,
    #[pyo3(get, name = "type")]
    kind: i32,
    #[pyo3(get)]
    value: Py<PyAny>,
}

#[pymethods]
impl Discrete {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&str, &str, &str) = ("name", "type", "value");

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Discrete(name={}, type={}, value={})",
            self.name.bind(py).repr()?,
            self.kind,
            self.value.bind(py).repr()?
        ))
    }
}

/// Encode values of a continuous variable as a ``VariableMessage``.
///
/// Parameters
/// ----------
/// values : array_like
///     The values, of any real dtype and layout; sent as C-ordered float64.
/// name : str
///     The variable, or the function of a partial.
/// subname : str, optional
///     The variable that a partial differentiates by.
/// type : int, optional
///     The ``VariableType``, 0 (an input) by default.
/// start : int, optional
///     The index of the first value in the flattened variable.
/// end : int, optional
///     The index of the last value, by default ``start + len(values) - 1``.
///
/// Returns
/// -------
/// bytes
///     What the protobuf runtime would write, byte for byte.
///
/// Raises
/// ------
/// TypeError
///     If the values are not real numbers.
/// PhiloteValidationError
///     If an index does not fit in an int64, `type` does not fit in an int32, or the message would pass 2 GiB.
#[pyfunction]
#[pyo3(signature = (values, *, name, subname = "", r#type = None, start = None, end = None))]
#[pyo3(text_signature = "(values, *, name, subname='', type=0, start=0, end=None)")]
fn encode_array<'py>(
    values: &Bound<'py, PyAny>,
    name: &str,
    subname: &str,
    r#type: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    let py = values.py();
    let values = values_of(values, name)?;
    let index = |given: &Bound<'py, PyAny>, what| integer::<i64>(given, name, what, "an int64");
    let kind = r#type.map_or(Ok(0), |kind| integer(kind, name, "type", "an int32"))?;
    let start = start.map_or(Ok(0), |start| index(start, "start"))?;
    let end = match end {
        Some(end) => index(end, "end")?,
        None => last_index(start, values.len()).ok_or_else(|| {
            let text = format!("variable '{name}': the last index does not fit in an int64");
            validation(py, text)
        })?,
    };
    let mut header = Vec::with_capacity(64);
    Header {
        name,
        subname,
        start,
        end,
        kind,
    }
    .write(values.len(), &mut header)?;
    bytes_of(py, &[&header, values.bytes()])
}

/// `end` is inclusive: of no values it is the index before `start`.
fn last_index(start: i64, count: usize) -> Option<i64> {
    i64::try_from(count)
        .ok()
        .and_then(|count| start.checked_add(count - 1))
}

fn integer<'py, T>(given: &Bound<'py, PyAny>, name: &str, what: &str, range: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    given.extract().map_err(|error: PyErr| {
        let py = given.py();
        if !error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
            return error;
        }
        validation(
            py,
            format!("variable '{name}': {what} {given} does not fit in {range}"),
        )
    })
}

/// Decode a ``VariableMessage``.
///
/// Parameters
/// ----------
/// buffer : bytes, bytearray, memoryview or any other C-contiguous buffer
///     The message.
///
/// Returns
/// -------
/// Continuous, Discrete or None
///     None if the message carries neither. The values of a ``Continuous`` are a read-only view of `buffer`, which
///     they keep alive, without a copy (a message whose values are not in one piece is gathered).
///
/// Raises
/// ------
/// PhiloteValidationError
///     If the protobuf runtime would refuse the message.
#[pyfunction]
fn decode<'py>(buffer: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = buffer.py();
    let buffer = Buffer::of(buffer)?;
    match wire::decode(buffer.as_bytes())? {
        Message::Empty => Ok(None),
        Message::Continuous(array) => continuous(py, &buffer, &array).map(Some),
        Message::Discrete(discrete) => {
            let value = from_value(py, &discrete.value)?.unbind();
            let name = PyString::new(py, discrete.name).unbind();
            let decoded = Discrete {
                name,
                kind: discrete.kind,
                value,
            };
            Ok(Some(Bound::new(py, decoded)?.into_any()))
        }
    }
}

fn continuous<'py>(
    py: Python<'py>,
    buffer: &Buffer<'py>,
    array: &wire::Array<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let Header {
        name,
        subname,
        start,
        end,
        kind,
    } = array.header;
    let data = if let Some(part) = array.data.borrowed() {
        buffer.view(part)?
    } else {
        let gathered = Buffer::of_bytes(&bytes_of(py, &[array.data.as_bytes()])?);
        gathered.view(gathered.as_bytes())?
    };
    let subname = if subname.is_empty() {
        intern!(py, "").clone()
    } else {
        PyString::new(py, subname)
    };
    let name = PyString::new(py, name).unbind();
    let decoded = Continuous {
        name,
        subname: subname.unbind(),
        start,
        end,
        kind,
        data: data.unbind(),
    };
    Ok(Bound::new(py, decoded)?.into_any())
}
