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
use crate::transport::writer::WHOLE;
use crate::wire;

/// Whether a variable may be sent that the table does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// A client lets the server judge: its own metadata may be older.
    IfKnown,
    /// A discipline sets what it has declared.
    Required,
}

/// Of so many variables all are checked before the first is written. To keep more of them until then costs more than it
/// gives: they are small, or there is little to gain beside them.
const FEW: usize = 64;

/// What a message has beside its names and values, at most: tags, lengths, the range and the type.
const HEADER: usize = 96;

/// Variables or partials that are given together.
struct Batch<'r, 'n, 'py> {
    role: &'r Role,
    headers: Arc<Headers>,
    declared: Declared,
    /// Whether what is checked is kept until all have been.
    keeps: bool,
    checked: Vec<Given<'n, 'py>>,
    /// How many bytes of what is kept lie in memory of their own, since they had to be converted.
    converted: usize,
}

impl<'r> Batch<'r, '_, '_> {
    fn new(role: &'r Role, headers: Arc<Headers>, declared: Declared, count: usize) -> Self {
        Self {
            role,
            headers,
            declared,
            keeps: count <= FEW,
            checked: Vec::new(),
            converted: 0,
        }
    }
}

/// The values of one variable or partial, as many as are declared where it has a slot.
struct Given<'n, 'py> {
    name: Cow<'n, str>,
    subname: Cow<'n, str>,
    values: Values<'py>,
    slot: Option<usize>,
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

    /// Writes the values of a dict of variables. `last`: nothing follows them.
    pub fn variables(
        &mut self,
        role: &Role,
        values: &Pairs<'py>,
        declared: Declared,
        last: bool,
    ) -> PyResult<()> {
        let mut batch = Batch::new(role, self.headers(role)?, declared, values.len());
        for (at, (key, value)) in values.iter().enumerate() {
            self.one(&mut batch, at, text(key)?, Cow::Borrowed(""), value)?;
        }
        self.rest(&mut batch, last)
    }

    /// Writes the values of every variable of a role, of which `places` tells where each lies in `values`. `last`:
    /// nothing follows them.
    pub fn flat(
        &mut self,
        role: &Role,
        values: &Values<'py>,
        places: &[Range<usize>],
        last: bool,
    ) -> PyResult<()> {
        let headers = self.headers(role)?;
        if last {
            let sizes = role.slots().iter().zip(places);
            let sizes = sizes.map(|(slot, place)| self.at_most(slot.name.len(), place.len()));
            self.sink.settled(sizes.max().unwrap_or(0));
        }
        for (at, place) in places.iter().enumerate() {
            self.entries(role, &headers, at, part(values.bytes(), place))?;
        }
        Ok(())
    }

    /// Writes the values of a `PairDict` of partials; nothing follows them.
    pub fn partials(&mut self, role: &Role, partials: &Pairs<'py>) -> PyResult<()> {
        let keys = partials.iter().map(|(key, _)| pair(key));
        let keys = keys.collect::<PyResult<Vec<_>>>()?;
        let headers = self.headers(role)?;
        let mut batch = Batch::new(role, headers, Declared::Required, partials.len());
        for (at, ((function, variable), (_, value))) in keys.iter().zip(partials).enumerate() {
            self.one(&mut batch, at, text(function)?, text(variable)?, value)?;
        }
        self.rest(&mut batch, true)
    }

    /// Writes a variable or partial that has place `at` among those of the batch, or keeps it until all are checked.
    #[inline]
    fn one<'n>(
        &mut self,
        batch: &mut Batch<'_, 'n, 'py>,
        at: usize,
        name: Cow<'n, str>,
        subname: Cow<'n, str>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let values = self.values(batch.role.kind(), &name, &subname, value)?;
        let slot = self.slot(batch, at, &name, &subname, value, values.len())?;
        if batch.keeps {
            if !values.are_those_of(value) {
                batch.converted += values.bytes().len();
            }
            batch.checked.push(Given {
                name,
                subname,
                values,
                slot,
            });
            // So many leave on the way, and their memory is free again.
            batch.keeps = batch.converted <= WHOLE;
            return if batch.keeps {
                Ok(())
            } else {
                self.rest(batch, false)
            };
        }
        match slot {
            Some(slot) => self.entries(batch.role, &batch.headers, slot, values.bytes()),
            None => self.chunks(batch.role.kind(), &name, &subname, values.bytes()),
        }
    }

    /// Writes what was kept. `last`: nothing follows it.
    fn rest(&mut self, batch: &mut Batch<'_, '_, 'py>, last: bool) -> PyResult<()> {
        if last {
            self.sink.settled(self.largest(batch));
        }
        for given in batch.checked.drain(..) {
            let bytes = given.values.bytes();
            match given.slot {
                Some(slot) => self.entries(batch.role, &batch.headers, slot, bytes)?,
                None => self.chunks(batch.role.kind(), &given.name, &given.subname, bytes)?,
            }
        }
        Ok(())
    }

    /// What no message of what was kept is larger than.
    fn largest(&self, batch: &Batch<'_, '_, 'py>) -> usize {
        let sizes = batch.checked.iter().map(|given| {
            let names = given.name.len() + given.subname.len();
            self.at_most(names, given.values.len())
        });
        sizes.max().unwrap_or(0)
    }

    /// What no message of `count` values is larger than.
    fn at_most(&self, names: usize, count: usize) -> usize {
        let values = count.min(self.chunk).saturating_mul(size_of::<f64>());
        values.saturating_add(names + HEADER)
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

    /// The slot of what has place `at` among those of a batch; None where headers are made for it.
    #[inline]
    fn slot(
        &self,
        batch: &Batch<'_, '_, 'py>,
        at: usize,
        name: &str,
        subname: &str,
        value: &Bound<'py, PyAny>,
        count: usize,
    ) -> PyResult<Option<usize>> {
        let role = batch.role;
        let Some(slot) = role.find_from(at, name, subname) else {
            return match batch.declared {
                Declared::IfKnown => Ok(None),
                Declared::Required => Err(self.undeclared(role.kind(), &label(name, subname))),
            };
        };
        let known = &role.slots()[slot];
        if known.size == count {
            return Ok(Some(slot));
        }
        if known.unresolved {
            return Ok(None);
        }
        Err(self.wrong_size(role.kind(), known, value, count))
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
