//! `Table`: a whole call between Python and the wire, by slot.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::arrays::{Target, writable_f64};
use super::errors::validation;
use super::flat::Flat;
use super::meters::Span;
use super::outbox::{Declared, Outbox, Pairs, arrays_of, pairs};
use super::reading::{Discretes, Reading, Shelf};
use super::sink::written;
use super::tables::{KnownPartials, KnownVariables};
use crate::table::{Role, Side, kind};

/// The variables, and with them perhaps the partials, of a discipline at one moment. It never changes.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Table {
    known: Arc<KnownVariables>,
    partials: Option<Arc<KnownPartials>>,
}

impl Table {
    pub fn new(known: Arc<KnownVariables>, partials: Option<Arc<KnownPartials>>) -> Self {
        Self { known, partials }
    }

    /// Whether both were built from the same metadata, at the same time.
    pub fn is_same(&self, other: &Self) -> bool {
        let partials = match (&self.partials, &other.partials) {
            (Some(mine), Some(others)) => Arc::ptr_eq(mine, others),
            (None, None) => true,
            _ => false,
        };
        partials && Arc::ptr_eq(&self.known, &other.known)
    }

    fn inputs(&self) -> Shelf<'_> {
        Shelf {
            role: self.known.variables.inputs(),
            keys: &self.known.inputs,
        }
    }

    fn outputs(&self) -> Shelf<'_> {
        Shelf {
            role: self.known.variables.outputs(),
            keys: &self.known.outputs,
        }
    }

    fn residuals(&self) -> Shelf<'_> {
        Shelf {
            role: self.known.variables.residuals(),
            keys: &self.known.residuals,
        }
    }

    fn write_given<'py>(
        &self,
        outbox: &mut Outbox<'_, 'py>,
        role: &Role,
        values: &Given<'py>,
        last: bool,
    ) -> PyResult<()> {
        match values {
            Given::Pairs(pairs) => outbox.variables(role, pairs, Declared::IfKnown, last),
            Given::Flat(flat) => {
                let places = flat.get().places(&self.known, role.kind())?;
                outbox.flat(role, &flat.get().values(flat.py())?, places, last)
            }
        }
    }

    fn declared_partials(&self) -> PyResult<Shelf<'_>> {
        let missing = || pyo3::exceptions::PyRuntimeError::new_err("a table without partials");
        let partials = self.partials.as_ref().ok_or_else(missing)?;
        Ok(Shelf {
            role: &partials.role,
            keys: &partials.keys,
        })
    }
}

/// The values of variables, as a call brings them.
enum Given<'py> {
    /// By name.
    Pairs(Pairs<'py>),
    /// In one array.
    Flat(Bound<'py, Flat>),
}

impl<'py> Given<'py> {
    fn of(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        match values.cast::<Flat>() {
            Ok(flat) => Ok(Self::Flat(flat.clone())),
            Err(_) => Ok(Self::Pairs(arrays_of(values)?)),
        }
    }
}

/// Inputs, outputs where they were asked for, discrete inputs, discrete outputs.
type Request<'py> = (
    Bound<'py, PyDict>,
    Option<Bound<'py, PyDict>>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
);

#[pymethods]
impl Table {
    // The server's half.

    /// Fresh zeros for every input, and for every output where `outputs` is given, with flat views of them.
    #[pyo3(signature = (inputs, flat_inputs, outputs = None, flat_outputs = None))]
    fn allocate_inputs(
        &self,
        inputs: &Bound<'_, PyAny>,
        flat_inputs: &Bound<'_, PyAny>,
        outputs: Option<&Bound<'_, PyAny>>,
        flat_outputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.known.variables.resolved()?;
        self.inputs().allocate(inputs, flat_inputs)?;
        match (outputs, flat_outputs) {
            (Some(values), Some(flat)) => self.outputs().allocate(values, flat),
            _ => Ok(()),
        }
    }

    /// Fills `partials`, a `PairDict`, with fresh zeros for every declared partial.
    fn allocate_partials(&self, partials: &Bound<'_, PyDict>) -> PyResult<()> {
        let shelf = self.declared_partials()?;
        for (key, array) in shelf.keys.iter().zip(shelf.zeros(partials.py())?) {
            partials.set_item(key, array)?;
        }
        Ok(())
    }

    /// Reads a whole request into fresh arrays.
    fn read_request<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
        with_outputs: bool,
    ) -> PyResult<Request<'py>> {
        let span = Span::new(messages)?;
        self.known.variables.resolved()?;
        let shelves = [self.inputs(), self.outputs()];
        let shelves = if with_outputs {
            &shelves[..]
        } else {
            &shelves[..1]
        };
        let mut reading = Reading::new(py, Side::Server, shelves, num_double)?;
        let (discrete_inputs, discrete_outputs) = (PyDict::new(py), PyDict::new(py));
        reading.read_all(
            messages,
            &[
                (kind::DISCRETE_INPUT, discrete_inputs.as_any()),
                (kind::DISCRETE_OUTPUT, discrete_outputs.as_any()),
            ],
        )?;
        let inputs = PyDict::new(py);
        reading.file(0, &inputs)?;
        let outputs = with_outputs.then(|| PyDict::new(py));
        if let Some(outputs) = &outputs {
            reading.file(1, outputs)?;
        }
        span.done();
        Ok((inputs, outputs, discrete_inputs, discrete_outputs))
    }

    /// Writes a reply that carries outputs: a list of messages, or `to`, the native call that has sent them.
    #[pyo3(signature = (outputs, discrete_outputs, num_double, to = None))]
    fn write_outputs<'py>(
        &self,
        py: Python<'py>,
        outputs: &Bound<'py, PyAny>,
        discrete_outputs: Option<&Bound<'py, PyAny>>,
        num_double: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        written(py, to, |sink| {
            let mut outbox = Outbox::new(num_double, sink)?;
            let outputs = pairs(outputs)?;
            let last = !any(&[discrete_outputs])?;
            outbox.variables(self.outputs().role, &outputs, Declared::Required, last)?;
            outbox.discrete(kind::DISCRETE_OUTPUT, discrete_outputs)
        })
    }

    /// Writes a reply that carries residuals; see `write_outputs`.
    #[pyo3(signature = (residuals, num_double, to = None))]
    fn write_residuals<'py>(
        &self,
        py: Python<'py>,
        residuals: &Bound<'py, PyAny>,
        num_double: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        written(py, to, |sink| {
            let residuals = pairs(residuals)?;
            Outbox::new(num_double, sink)?.variables(
                self.residuals().role,
                &residuals,
                Declared::Required,
                true,
            )
        })
    }

    /// Writes a reply that carries partials; see `write_outputs`.
    #[pyo3(signature = (partials, num_double, to = None))]
    fn write_partials<'py>(
        &self,
        py: Python<'py>,
        partials: &Bound<'py, PyAny>,
        num_double: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let role = self.declared_partials()?.role;
        written(py, to, |sink| {
            Outbox::new(num_double, sink)?.partials(role, &pairs(partials)?)
        })
    }

    // The client's half.

    /// Writes a request: a list of messages, or `to`, the native call that has sent them.
    #[pyo3(signature = (inputs, outputs, discrete_inputs, discrete_outputs, num_double, to = None))]
    #[expect(clippy::too_many_arguments, reason = "a request has four parts")]
    pub fn write_request<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyAny>,
        outputs: Option<&Bound<'py, PyAny>>,
        discrete_inputs: Option<&Bound<'py, PyAny>>,
        discrete_outputs: Option<&Bound<'py, PyAny>>,
        num_double: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inputs = Given::of(inputs)?;
        let outputs = outputs.map(Given::of).transpose()?;
        written(py, to, |sink| {
            let mut outbox = Outbox::new(num_double, sink)?;
            let last = !any(&[discrete_inputs, discrete_outputs])?;
            let no_outputs = outputs.is_none();
            self.write_given(&mut outbox, self.inputs().role, &inputs, last && no_outputs)?;
            if let Some(outputs) = &outputs {
                self.write_given(&mut outbox, self.outputs().role, outputs, last)?;
            }
            outbox.discrete(kind::DISCRETE_INPUT, discrete_inputs)?;
            outbox.discrete(kind::DISCRETE_OUTPUT, discrete_outputs)
        })
    }

    /// Reads a reply that carries outputs: the continuous and the discrete ones. With `into` the continuous ones are
    /// put there once all have come, and not into the dict.
    #[pyo3(signature = (messages, num_double, into = None))]
    pub fn read_outputs<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
        into: Option<&Flat>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let discrete = PyDict::new(py);
        let discretes = [(kind::DISCRETE_OUTPUT, discrete.as_any())];
        let outputs = self.read(self.outputs(), messages, num_double, &discretes, into)?;
        Ok((outputs, discrete))
    }

    /// Reads a reply that carries residuals; for `into` see `read_outputs`.
    #[pyo3(signature = (messages, num_double, into = None))]
    pub fn read_residuals<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
        into: Option<&Flat>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.read(self.residuals(), messages, num_double, &[], into)
    }

    /// Reads a reply that carries partials into `partials`, an empty `PairDict`.
    fn read_partials(
        &self,
        messages: &Bound<'_, PyAny>,
        num_double: &Bound<'_, PyAny>,
        partials: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let span = Span::new(messages)?;
        let shelf = self.declared_partials()?;
        let mut reading = Reading::new(messages.py(), Side::Client, &[shelf], num_double)?;
        reading.read_all(messages, &[])?;
        reading.file(0, partials)?;
        span.done();
        Ok(())
    }

    /// Reads a reply that carries partials into `blocks`, an array for each declared partial. They are written to
    /// as the values come.
    pub fn read_partials_into<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
        blocks: &Bound<'py, PyList>,
    ) -> PyResult<()> {
        let py = messages.py();
        let span = Span::new(messages)?;
        let shelf = self.declared_partials()?;
        let unfit = || validation(py, "the arrays are not those of the declared partials");
        let targets = targets_of(shelf.role, blocks).ok_or_else(unfit)?;
        let mut reading = Reading::into_targets(py, Side::Client, shelf, targets, num_double)?;
        reading.read_all(messages, &[])?;
        span.done();
        Ok(())
    }

    /// Whether `blocks` are arrays that the declared partials can be read into.
    pub fn fits_partials(&self, blocks: &Bound<'_, PyList>) -> PyResult<bool> {
        Ok(targets_of(self.declared_partials()?.role, blocks).is_some())
    }

    /// The pair of each declared partial, in the order of the slots.
    pub fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.declared_partials()?.keys)
    }

    /// Finds the variables of type `kind` in `array`, which holds `values`, names and values, one after the other.
    /// None where that is not so.
    fn place<'py>(
        &self,
        kind: i32,
        array: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Flat>> {
        Flat::find(&self.known, kind, array, values)
    }

    /// Whether another table is made of the same variables.
    fn has_variables_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.known, &other.known)
    }

    /// Whether another table is made of the same variables and partials.
    #[pyo3(name = "is_same")]
    fn is_same_as(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

impl Table {
    fn read<'py>(
        &self,
        shelf: Shelf<'_>,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
        discretes: Discretes<'_, 'py>,
        into: Option<&Flat>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = messages.py();
        let span = Span::new(messages)?;
        let values = PyDict::new(py);
        if let Some(flat) = into {
            flat.places(&self.known, shelf.role.kind())?;
            let scratch = flat.scratch(py)?;
            let targets = scratch.targets(shelf.role)?;
            Reading::into_targets(py, Side::Client, shelf, targets, num_double)?
                .read_all(messages, discretes)?;
            flat.take(py, &scratch)?;
        } else {
            let mut reading = Reading::new(py, Side::Client, &[shelf], num_double)?;
            reading.read_all(messages, discretes)?;
            reading.file(0, &values)?;
        }
        span.done();
        Ok(values)
    }
}

/// Whether there is anything in one of these.
fn any(values: &[Option<&Bound<'_, PyAny>>]) -> PyResult<bool> {
    for values in values.iter().flatten() {
        if values.is_truthy()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The room of each slot of `role`, where there is an array of its size for each.
fn targets_of<'py>(role: &Role, blocks: &Bound<'py, PyList>) -> Option<Vec<Target<'py>>> {
    let slots = role.slots();
    if blocks.len() != slots.len() {
        return None;
    }
    let room = blocks.iter().zip(slots);
    room.map(|(block, slot)| writable_f64(&block).filter(|target| target.len() == slot.size))
        .collect()
}
