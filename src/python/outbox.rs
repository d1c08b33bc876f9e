//! Values into messages.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::arrays::{Values, is_array, values_of};
use super::discrete::to_value;
use super::errors::{validation, wrong_dtype};
use super::sink::Sink;
use crate::table::{Headers, Role, Slot, kind, label, write_header};
use crate::wire;

/// Whether a variable may be sent that the table does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// A client lets the server judge: its own metadata may be older.
    IfKnown,
    /// A discipline sets what it has declared.
    Required,
}

/// Writes the messages of one request or reply to a sink.
pub struct Outbox<'a, 'py> {
    py: Python<'py>,
    chunk: usize,
    sink: &'a mut dyn Sink,
    scratch: Vec<u8>,
}

impl<'a, 'py> Outbox<'a, 'py> {
    /// An outbox for chunks of `num_double` values.
    pub fn new(num_double: &Bound<'py, PyAny>, sink: &'a mut dyn Sink) -> PyResult<Self> {
        Ok(Self {
            py: num_double.py(),
            chunk: chunk_size(num_double)?,
            sink,
            scratch: Vec::new(),
        })
    }

    /// Writes the values of a dict of variables.
    pub fn variables(
        &mut self,
        role: &Role,
        values: &Pairs<'py>,
        declared: Declared,
    ) -> PyResult<()> {
        let headers = self.headers(role)?;
        for (at, (key, value)) in values.iter().enumerate() {
            let name = text(key)?;
            let values = self.values(role.kind(), &name, "", value)?;
            match role.find_from(at, &name, "") {
                Some(slot) => self.slot(role, &headers, slot, value, &values)?,
                None if declared == Declared::IfKnown => {
                    self.chunks(role.kind(), &name, "", values.bytes())?;
                }
                None => return Err(self.undeclared(role.kind(), &label(&name, ""))),
            }
        }
        Ok(())
    }

    /// Writes the values of every variable of a role, of which `places` tells where each lies in `values`.
    pub fn flat(
        &mut self,
        role: &Role,
        values: &Values<'py>,
        places: &[Range<usize>],
    ) -> PyResult<()> {
        let headers = self.headers(role)?;
        for (at, place) in places.iter().enumerate() {
            self.entries(role, &headers, at, part(values.bytes(), place))?;
        }
        Ok(())
    }

    /// Writes the values of a `PairDict` of partials.
    pub fn partials(&mut self, role: &Role, partials: &Pairs<'py>) -> PyResult<()> {
        let headers = self.headers(role)?;
        for (at, (key, value)) in partials.iter().enumerate() {
            let (function, variable) = pair(key)?;
            let (function, variable) = (text(&function)?, text(&variable)?);
            let Some(slot) = role.find_from(at, &function, &variable) else {
                return Err(self.undeclared(role.kind(), &label(&function, &variable)));
            };
            let values = self.values(role.kind(), &function, &variable, value)?;
            self.slot(role, &headers, slot, value, &values)?;
        }
        Ok(())
    }

    /// Writes discrete values.
    pub fn discrete(&mut self, kind: i32, values: Option<&Bound<'py, PyAny>>) -> PyResult<()> {
        let Some(values) = values else { return Ok(()) };
        for (key, value) in pairs(values)? {
            let name = text(&key)?;
            let value = to_value(&value, &name)?;
            let message = wire::encode_discrete(&name, kind, &value)?;
            self.sink.message(self.py, &[&message])?;
        }
        Ok(())
    }

    fn headers(&self, role: &Role) -> PyResult<Arc<Headers>> {
        Ok(role.headers(self.chunk)?)
    }

    /// The values of one variable, as stock takes them: an array, or a `NumPy` scalar.
    #[inline]
    fn values(
        &self,
        kind: i32,
        name: &str,
        subname: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Values<'py>> {
        match Values::borrowed(value) {
            Some(values) => Ok(values),
            None => self.converted(kind, &label(name, subname), value),
        }
    }

    #[cold]
    fn converted(
        &self,
        kind: i32,
        label: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Values<'py>> {
        // `values_of` puts quotes around the name.
        let name = label.strip_prefix('\'').and_then(|l| l.strip_suffix('\''));
        let name = name.unwrap_or(label);
        if is_array(value) {
            return values_of(value, name);
        }
        let ravel = value.getattr_opt(intern!(self.py, "ravel"))?;
        match (ravel, value.hasattr(intern!(self.py, "size"))?) {
            (Some(ravel), true) => values_of(&ravel.call0()?, name),
            _ => Err(wrong_dtype(
                self.py,
                format!(
                    "{} {label} must be a NumPy array, got {}",
                    kind::noun(kind),
                    value.get_type().name()?
                ),
            )),
        }
    }

    /// Writes the values of a declared variable or partial.
    fn slot(
        &mut self,
        role: &Role,
        headers: &Headers,
        at: usize,
        value: &Bound<'py, PyAny>,
        values: &Values<'py>,
    ) -> PyResult<()> {
        let slot = &role.slots()[at];
        if slot.size != values.len() {
            if slot.unresolved {
                return self.chunks(role.kind(), &slot.name, &slot.subname, values.bytes());
            }
            return Err(self.wrong_size(role.kind(), slot, value, values.len()));
        }
        self.entries(role, headers, at, values.bytes())
    }

    /// Writes the bytes of the values of a slot, which are as many as declared.
    #[inline]
    fn entries(&mut self, role: &Role, headers: &Headers, at: usize, bytes: &[u8]) -> PyResult<()> {
        let Some(entries) = headers.of_slot(at) else {
            let slot = &role.slots()[at];
            return self.chunks(role.kind(), &slot.name, &slot.subname, bytes);
        };
        for entry in entries {
            let payload = part(bytes, &entry.values);
            self.sink
                .message(self.py, &[headers.header(entry), payload])?;
        }
        Ok(())
    }

    /// Writes values in chunks for which there are no prebuilt headers.
    fn chunks(&mut self, kind: i32, name: &str, subname: &str, bytes: &[u8]) -> PyResult<()> {
        for range in wire::chunks(bytes.len() / size_of::<f64>(), self.chunk) {
            self.scratch.clear();
            write_header(kind, name, subname, &range, &mut self.scratch)?;
            let payload = part(bytes, &range);
            self.sink.message(self.py, &[&self.scratch, payload])?;
        }
        Ok(())
    }

    fn undeclared(&self, kind: i32, label: &str) -> PyErr {
        let noun = kind::noun(kind);
        validation(
            self.py,
            format!("{noun} {label} was set, but the discipline does not declare it"),
        )
    }

    fn wrong_size(&self, kind: i32, slot: &Slot, value: &Bound<'py, PyAny>, came: usize) -> PyErr {
        let shape = value
            .getattr(intern!(self.py, "shape"))
            .map(|shape| shape.to_string());
        validation(
            self.py,
            format!(
                "{} {} is declared with the shape {} ({} values), but the value given has the shape {} ({came} values)",
                kind::noun(kind),
                slot.label(),
                shape_text(&slot.shape),
                slot.size,
                shape.unwrap_or_else(|_| "unknown".to_owned()),
            ),
        )
    }
}

fn part<'a>(bytes: &'a [u8], values: &Range<usize>) -> &'a [u8] {
    &bytes[values.start * size_of::<f64>()..values.end * size_of::<f64>()]
}

/// A shape as Python writes it.
fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!(
            "({})",
            shape
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// The chunk size, checked as stock's `get_chunk_indices` does.
fn chunk_size(num_double: &Bound<'_, PyAny>) -> PyResult<usize> {
    let size: Option<i64> = num_double.extract().ok().filter(|&size| size >= 1);
    size.and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| {
            let text = num_double
                .repr()
                .map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
            validation(
                num_double.py(),
                format!("get_chunk_indices: chunk_size must be a positive integer, got {text}."),
            )
        })
}

/// The items of a mapping of which every value is an array, as stock demands of a client.
pub fn arrays_of<'py>(values: &Bound<'py, PyAny>) -> PyResult<Pairs<'py>> {
    let pairs = pairs(values)?;
    let other = pairs.iter().find(|(_, value)| !is_array(value));
    let Some((name, value)) = other else {
        return Ok(pairs);
    };
    Err(validation(
        values.py(),
        format!(
            "Variable '{name}' must be a numpy ndarray, got {}.",
            value.get_type().name()?
        ),
    ))
}

/// Keys and values.
pub type Pairs<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The items of a mapping, taken at once: converting a value may run Python code that changes the mapping.
pub fn pairs<'py>(mapping: &Bound<'py, PyAny>) -> PyResult<Pairs<'py>> {
    match mapping.cast::<PyDict>() {
        Ok(dict) if has_items_of_dict(dict)? => Ok(dict.iter().collect()),
        _ => mapping
            .call_method0("items")?
            .try_iter()?
            .map(|item| item?.extract())
            .collect(),
    }
}

/// Whether `items()`, which stock asks, gives what is stored: a subclass may make something else of it.
fn has_items_of_dict(dict: &Bound<'_, PyDict>) -> PyResult<bool> {
    if dict.is_exact_instance_of::<PyDict>() {
        return Ok(true);
    }
    let py = dict.py();
    let items = intern!(py, "items");
    let own = dict.get_type().getattr(items)?;
    Ok(own.is(&py.get_type::<PyDict>().getattr(items)?))
}

fn text<'a>(name: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    if let Ok(name) = name.cast::<PyString>() {
        return name.to_cow();
    }
    // The protobuf runtime takes the bytes of a text for a text.
    match name.cast::<PyBytes>() {
        Ok(name) => Ok(Cow::Owned(name.call_method1("decode", ())?.extract()?)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "the name of a variable must be a string, got {}",
            name.get_type().name()?
        ))),
    }
}

/// The function and the variable of a partial.
fn pair<'py>(key: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    key.extract().map_err(|_| {
        validation(
            key.py(),
            format!("PairDict keys must be a 2-tuple, got {key}."),
        )
    })
}
