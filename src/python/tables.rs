//! `Tables`: the table of a client or server, rebuilt whenever the metadata says something else than before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple, PyType};

use super::table::Table;
use super::watched::Seen;
use crate::table::{Error, PartialsMeta, Role, Variables, read_partials, read_variable};
use crate::wire::metadata::VariableMetaData;

/// The variables of a discipline, with the dictionary keys that results are filed under.
pub struct KnownVariables {
    pub variables: Variables,
    pub inputs: Vec<Py<PyAny>>,
    pub outputs: Vec<Py<PyAny>>,
    pub residuals: Vec<Py<PyAny>>,
}

/// The partials of a discipline, with the pairs that they are filed under.
pub struct KnownPartials {
    pub role: Role,
    pub keys: Vec<Py<PyAny>>,
    /// The variables that the shapes were taken from.
    of: Arc<KnownVariables>,
}

/// Metadata in serialised form, a list of bytes, and what was built from it.
struct Cached<T> {
    metadata: Py<PyList>,
    /// The list that it was found in last, where that tells whether it was touched since.
    seen: Option<Seen>,
    built: Arc<T>,
}

type Slot<T> = Mutex<Option<Arc<Cached<T>>>>;

/// The tables of one client or server.
///
/// Each look-up compares the metadata with what the table was built from, message by message unless nobody can have
/// changed one, so a table is never stale, whichever way the metadata was changed: by `philote_mdo`, or by hand. A copy
/// or a pickle of it is empty.
#[pyclass(frozen, module = "philote_fast._core")]
#[derive(Default)]
pub struct Tables {
    variables: Slot<KnownVariables>,
    partials: Slot<KnownPartials>,
}

#[pymethods]
impl Tables {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The table of the given metadata; with `partials` it also knows the declared partials.
    #[pyo3(signature = (variables, partials = None))]
    fn get(
        &self,
        variables: &Bound<'_, PyAny>,
        partials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let known = self.known_variables(variables)?;
        let partials = partials.map(|metadata| self.known_partials(&known, metadata));
        Ok(Table::new(known, partials.transpose()?))
    }

    /// The table that was built last, with or without partials; None where there is none. The metadata may say
    /// something else by now: `changed` tells.
    fn latest(&self, with_partials: bool) -> Option<Table> {
        let known = lock(&self.variables).clone()?;
        let known = Arc::clone(&known.built);
        if !with_partials {
            return Some(Table::new(known, None));
        }
        let partials = lock(&self.partials).clone()?;
        let partials = Arc::clone(&partials.built);
        Arc::ptr_eq(&partials.of, &known).then(|| Table::new(known, Some(partials)))
    }

    /// The table of the given metadata, where that is not `table`; else None.
    #[pyo3(signature = (table, variables, partials = None))]
    pub fn changed(
        &self,
        table: &Table,
        variables: &Bound<'_, PyAny>,
        partials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Table>> {
        let now = self.get(variables, partials)?;
        Ok((!now.is_same(table)).then_some(now))
    }

    #[allow(clippy::unused_self)]
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Bound<'py, PyTuple>) {
        (py.get_type::<Self>(), PyTuple::empty(py))
    }
}

impl Tables {
    fn known_variables(&self, metadata: &Bound<'_, PyAny>) -> PyResult<Arc<KnownVariables>> {
        let py = metadata.py();
        look_up(
            &self.variables,
            metadata,
            variable_bytes,
            |_| true,
            |serialised| KnownVariables::build(py, serialised),
        )
    }

    fn known_partials(
        &self,
        of: &Arc<KnownVariables>,
        metadata: &Bound<'_, PyAny>,
    ) -> PyResult<Arc<KnownPartials>> {
        let py = metadata.py();
        look_up(
            &self.partials,
            metadata,
            partials_bytes,
            |partials| Arc::ptr_eq(&partials.of, of),
            |serialised| KnownPartials::build(py, of, serialised),
        )
    }
}

/// What `build` makes of the metadata: what it made last, where that `fits` and the metadata is the same.
fn look_up<T>(
    slot: &Slot<T>,
    metadata: &Bound<'_, PyAny>,
    to_bytes: ToBytes,
    fits: impl Fn(&T) -> bool,
    build: impl FnOnce(&Bound<'_, PyList>) -> PyResult<T>,
) -> PyResult<Arc<T>> {
    // The lock is never held while Python code runs.
    let cached = lock(slot).clone();
    let cached = cached.filter(|cached| fits(&cached.built));
    if let Some(cached) = &cached
        && let Some(seen) = &cached.seen
        && seen.holds(metadata)
    {
        return Ok(Arc::clone(&cached.built));
    }
    // Before the messages are read: who touches them meanwhile is noticed next time.
    let seen = Seen::of(metadata);
    let serialised = all_serialised(metadata, to_bytes)?;
    let built = match cached {
        Some(cached) if serialised.eq(&cached.metadata)? => {
            if seen.is_none() {
                return Ok(Arc::clone(&cached.built));
            }
            Arc::clone(&cached.built)
        }
        _ => Arc::new(build(&serialised)?),
    };
    let now = Arc::new(Cached {
        metadata: serialised.unbind(),
        seen,
        built: Arc::clone(&built),
    });
    let former = lock(slot).replace(now);
    drop(former);
    Ok(built)
}

/// The value is replaced whole, so a poisoned lock holds nothing half written.
fn lock<T>(slot: &Slot<T>) -> MutexGuard<'_, Option<Arc<Cached<T>>>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KnownVariables {
    fn build(py: Python<'_>, metadata: &Bound<'_, PyList>) -> PyResult<Self> {
        let metadata = read_all(metadata, read_variable)?;
        let variables = Variables::new(&metadata)?;
        let keys = |role: &Role| -> Vec<Py<PyAny>> {
            let names = role.slots().iter();
            names
                .map(|slot| PyString::new(py, &slot.name).into_any().unbind())
                .collect()
        };
        Ok(Self {
            inputs: keys(variables.inputs()),
            outputs: keys(variables.outputs()),
            residuals: keys(variables.residuals()),
            variables,
        })
    }
}

impl KnownPartials {
    fn build(
        py: Python<'_>,
        of: &Arc<KnownVariables>,
        metadata: &Bound<'_, PyList>,
    ) -> PyResult<Self> {
        let metadata = read_all(metadata, read_partials)?;
        let role = of.variables.partials(&metadata)?;
        let pairs = role
            .slots()
            .iter()
            .map(|slot| (&*slot.name, &*slot.subname));
        let keys = pairs.map(|pair| Ok(pair.into_pyobject(py)?.into_any().unbind()));
        Ok(Self {
            keys: keys.collect::<PyResult<_>>()?,
            role,
            of: Arc::clone(of),
        })
    }
}

fn read_all<M>(
    metadata: &Bound<'_, PyList>,
    read: fn(&[u8]) -> Result<M, Error>,
) -> PyResult<Vec<M>> {
    let messages = metadata.iter();
    messages
        .map(|bytes| Ok(read(bytes.cast::<PyBytes>()?.as_bytes())?))
        .collect()
}

type ToBytes = for<'py> fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>;

/// Every metadata message of a list, serialised.
fn all_serialised<'py>(
    metadata: &Bound<'py, PyAny>,
    to_bytes: ToBytes,
) -> PyResult<Bound<'py, PyList>> {
    if let Some(serialised) = all_at_once(metadata)? {
        return Ok(serialised);
    }
    let items = metadata.try_iter()?.map(|item| to_bytes(&item?));
    PyList::new(metadata.py(), items.collect::<PyResult<Vec<_>>>()?)
}

/// The common case, in half the time: `map` calls the method of the messages' class. This is done at each call of
/// an RPC, for each variable.
fn all_at_once<'py>(metadata: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
    static MAP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = metadata.py();
    // The elements as they are now, past what a subclass may make of its own.
    let Ok(list) = metadata.cast::<PyList>() else {
        return Ok(None);
    };
    let list = list.get_slice(0, list.len());
    let Ok(first) = list.get_item(0) else {
        return Ok(None);
    };
    let Some(serialise) = first
        .get_type()
        .getattr_opt(intern!(py, "SerializeToString"))?
    else {
        return Ok(None);
    };
    let map = MAP
        .import(py, "builtins", "map")?
        .call1((serialise, list))?;
    let all = match py.get_type::<PyList>().call1((map,)) {
        Ok(all) => all.cast_into::<PyList>()?,
        // Test doubles among the messages.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    let are_bytes = all.iter().all(|one| one.is_exact_instance_of::<PyBytes>());
    Ok(are_bytes.then_some(all))
}

/// The serialised form of a `VariableMetaData`, or of a test double that has its attributes.
pub fn variable_bytes<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = item.py();
    if let Some(bytes) = serialise(item)? {
        return Ok(bytes);
    }
    let name: String = item
        .getattr(intern!(py, "name"))?
        .extract()
        .unwrap_or_default();
    let shape: Vec<i64> = item
        .getattr(intern!(py, "shape"))?
        .extract()
        .unwrap_or_default();
    let meta = VariableMetaData {
        // What is no number equals no variable type, as in stock's comparisons.
        kind: item.getattr(intern!(py, "type"))?.extract().unwrap_or(-1),
        name: &name,
        shape: &shape,
        units: "",
        dynamic_shape: item.getattr(intern!(py, "dynamic_shape"))?.is_truthy()?,
    };
    let mut bytes = Vec::new();
    meta.write(&mut bytes);
    Ok(PyBytes::new(py, &bytes))
}

/// The serialised form of a `PartialsMetaData`, or of a test double that has its attributes.
fn partials_bytes<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = item.py();
    if let Some(bytes) = serialise(item)? {
        return Ok(bytes);
    }
    let meta = PartialsMeta {
        name: item.getattr(intern!(py, "name"))?.extract()?,
        subname: item.getattr(intern!(py, "subname"))?.extract()?,
    };
    let mut bytes = Vec::new();
    meta.write(&mut bytes);
    Ok(PyBytes::new(py, &bytes))
}

/// What `SerializeToString` gives, where it gives bytes.
pub fn serialise<'py>(message: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = message.py();
    let Some(serialise) = message.getattr_opt(intern!(py, "SerializeToString"))? else {
        return Ok(None);
    };
    Ok(serialise.call0()?.cast_into::<PyBytes>().ok())
}
