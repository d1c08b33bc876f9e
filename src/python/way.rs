//! `Way`: a remote component's call from vectors to a vector, once it is known where everything lies.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::flat::Flat;
use super::table::Table;
use super::tables::Tables;
use crate::table::kind;

/// What a call of a remote component was found to move, and where to. It never changes.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Way {
    tables: Py<Tables>,
    table: Py<Table>,
    /// The component's communicator.
    comm: Py<PyAny>,
    given: Lane,
    at: Option<Lane>,
    into: Into,
    kind: i32,
}

/// A vector of OpenMDAO's, and the variables in its array.
struct Lane {
    vector: Py<PyAny>,
    flat: Py<Flat>,
}

enum Into {
    Vector(Lane),
    Blocks(Blocks),
}

/// A Jacobian of OpenMDAO's, and its description of each block.
struct Blocks {
    jacobian: Py<PyAny>,
    /// The method by which values are put into it.
    setter: Py<PyAny>,
    infos: Vec<Py<PyAny>>,
    pairs: Py<PyTuple>,
}

#[pymethods]
impl Way {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "so much has to be known")]
    fn new(
        py: Python<'_>,
        tables: Py<Tables>,
        table: Py<Table>,
        comm: Py<PyAny>,
        given: (Py<PyAny>, Py<Flat>),
        at: Option<(Py<PyAny>, Py<Flat>)>,
        into: (Bound<'_, PyAny>, Bound<'_, PyAny>),
        kind: i32,
    ) -> PyResult<Self> {
        let into = if kind == kind::PARTIAL {
            Into::Blocks(Blocks {
                setter: setter_of(&into.0)?.unbind(),
                jacobian: into.0.unbind(),
                infos: into.1.extract()?,
                pairs: table.get().pairs(py)?.unbind(),
            })
        } else {
            let flat = into.1.cast_into::<Flat>()?.unbind();
            Into::Vector(Lane::new((into.0.unbind(), flat)))
        };
        Ok(Self {
            tables,
            table,
            comm,
            given: Lane::new(given),
            at: at.map(Lane::new),
            into,
            kind,
        })
    }

    /// Whether these are the vectors, or vectors and Jacobian, that it goes by, and they are as they were.
    fn leads(
        &self,
        comm: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        outputs: &Bound<'_, PyAny>,
        into: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        if !self.comm.is(comm) {
            return Ok(false);
        }
        let given = match &self.at {
            Some(at) => self.given.holds(inputs)? && at.holds(outputs)?,
            None => self.given.holds(inputs)? && outputs.is_none(),
        };
        Ok(given
            && match &self.into {
                Into::Vector(lane) => lane.holds(into)? && !is_read_only(into)?,
                Into::Blocks(blocks) => blocks.hold(self.table.get(), into)?,
            })
    }

    /// Writes the request: a list of messages, or the native call that has sent them. `begin` gives what they are
    /// written to, or noted in, if anything.
    fn write<'py>(
        &self,
        py: Python<'py>,
        discrete_inputs: Option<&Bound<'py, PyAny>>,
        discrete_outputs: Option<&Bound<'py, PyAny>>,
        num_double: &Bound<'py, PyAny>,
        begin: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = self.at.as_ref().map(|at| at.flat.bind(py).as_any());
        let begun = begin.call0()?;
        self.table.get().write_request(
            py,
            self.given.flat.bind(py),
            at,
            discrete_inputs,
            discrete_outputs,
            num_double,
            Some(&begun).filter(|begun| !begun.is_none()),
        )
    }

    /// Reads the reply to its place, and gives its discrete outputs. None: by now the metadata says something else, and
    /// nothing was read.
    fn read<'py>(
        &self,
        py: Python<'py>,
        variables: &Bound<'py, PyAny>,
        partials: Option<&Bound<'py, PyAny>>,
        num_double: &Bound<'py, PyAny>,
        replies: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let table = self.table.get();
        let changed = self.tables.get().changed(table, variables, partials)?;
        if changed.is_some() {
            return Ok(None);
        }
        let found = match &self.into {
            Into::Vector(lane) if self.kind == kind::RESIDUAL => {
                table.read_residuals(replies, num_double, Some(lane.flat.get()))?
            }
            Into::Vector(lane) => {
                table
                    .read_outputs(py, replies, num_double, Some(lane.flat.get()))?
                    .1
            }
            Into::Blocks(blocks) => {
                table.read_partials_into(replies, num_double, &blocks.all(py)?)?;
                PyDict::new(py)
            }
        };
        Ok(Some(found))
    }
}

impl Lane {
    fn new((vector, flat): (Py<PyAny>, Py<Flat>)) -> Self {
        Self { vector, flat }
    }

    /// Whether `vector` is it, with the array that it had. What `asarray()` gives is another where the array is
    /// complex, and that one itself where it is not.
    fn holds(&self, vector: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !self.vector.is(vector) {
            return Ok(false);
        }
        let data = vector.getattr_opt(intern!(vector.py(), "_data"))?;
        Ok(data.is_some_and(|data| self.flat.get().is_over(&data)))
    }
}

impl Blocks {
    /// Whether `jacobian` is it, and has an array of the right size for each partial in the place where it had.
    fn hold(&self, table: &Table, jacobian: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = jacobian.py();
        if !self.jacobian.is(jacobian) || !self.setter.is(&setter_of(jacobian)?) {
            return Ok(false);
        }
        let blocks = self.all(py)?;
        if !table.fits_partials(&blocks)? {
            return Ok(false);
        }
        // A Jacobian that was made anew has none of the old: the first and the last tell.
        let pairs = self.pairs.bind(py);
        let last = blocks.len().saturating_sub(1);
        for (at, block) in blocks.iter().enumerate() {
            if (at == 0 || at == last) && !jacobian.get_item(pairs.get_item(at)?)?.is(&block) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arrays. OpenMDAO replaces them when a complex step begins or ends, hence each time anew.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let value = intern!(py, "val");
        let blocks = self.infos.iter().map(|info| info.bind(py).get_item(value));
        PyList::new(py, blocks.collect::<PyResult<Vec<_>>>()?)
    }
}

fn setter_of<'py>(jacobian: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    jacobian
        .get_type()
        .getattr(intern!(jacobian.py(), "__setitem__"))
}

fn is_read_only(vector: &Bound<'_, PyAny>) -> PyResult<bool> {
    vector
        .getattr(intern!(vector.py(), "read_only"))?
        .is_truthy()
}
