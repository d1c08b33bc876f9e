//! `Table`: a whole call between Python and the wire, by slot.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::outbox::{Declared, Outbox, arrays_of, pairs};
use super::reading::{Discretes, Reading, Shelf};
use super::sink::written;
use super::tables::{KnownPartials, KnownVariables};
use crate::table::{Side, kind};

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

    fn declared_partials(&self) -> PyResult<Shelf<'_>> {
        let missing = || pyo3::exceptions::PyRuntimeError::new_err("a table without partials");
        let partials = self.partials.as_ref().ok_or_else(missing)?;
        Ok(Shelf {
            role: &partials.role,
            keys: &partials.keys,
        })
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
            outbox.variables(self.outputs().role, &pairs(outputs)?, Declared::Required)?;
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
    fn write_request<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyAny>,
        outputs: Option<&Bound<'py, PyAny>>,
        discrete_inputs: Option<&Bound<'py, PyAny>>,
        discrete_outputs: Option<&Bound<'py, PyAny>>,
        num_double: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inputs = arrays_of(inputs)?;
        let outputs = outputs.map(arrays_of).transpose()?;
        written(py, to, |sink| {
            let mut outbox = Outbox::new(num_double, sink)?;
            outbox.variables(self.inputs().role, &inputs, Declared::IfKnown)?;
            if let Some(outputs) = &outputs {
                outbox.variables(self.outputs().role, outputs, Declared::IfKnown)?;
            }
            outbox.discrete(kind::DISCRETE_INPUT, discrete_inputs)?;
            outbox.discrete(kind::DISCRETE_OUTPUT, discrete_outputs)
        })
    }

    /// Reads a reply that carries outputs: the continuous and the discrete ones.
    fn read_outputs<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let (outputs, discrete) = (PyDict::new(py), PyDict::new(py));
        let discretes = [(kind::DISCRETE_OUTPUT, discrete.as_any())];
        read(self.outputs(), messages, num_double, &discretes, &outputs)?;
        Ok((outputs, discrete))
    }

    /// Reads a reply that carries residuals.
    fn read_residuals<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        num_double: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let residuals = PyDict::new(py);
        read(self.residuals(), messages, num_double, &[], &residuals)?;
        Ok(residuals)
    }

    /// Reads a reply that carries partials into `partials`, an empty `PairDict`.
    fn read_partials(
        &self,
        messages: &Bound<'_, PyAny>,
        num_double: &Bound<'_, PyAny>,
        partials: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        read(
            self.declared_partials()?,
            messages,
            num_double,
            &[],
            partials,
        )
    }
}

fn read<'py>(
    shelf: Shelf<'_>,
    messages: &Bound<'py, PyAny>,
    num_double: &Bound<'_, PyAny>,
    discretes: Discretes<'_, 'py>,
    into: &Bound<'py, PyDict>,
) -> PyResult<()> {
    let mut reading = Reading::new(messages.py(), Side::Client, &[shelf], num_double)?;
    reading.read_all(messages, discretes)?;
    reading.file(0, into)
}
