//! `Tables`: the table of a client or server, rebuilt whenever the metadata says something else than before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple, PyType};

use super::table::Table;
use crate::table::{Error, PartialsMeta, Role, VariableMeta, Variables, read_metadata};

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

/// Metadata in serialised form, and what was built from it.
struct Cached<T> {
    metadata: Vec<Vec<u8>>,
    built: Arc<T>,
}

type Slot<T> = Mutex<Option<Arc<Cached<T>>>>;

/// The tables of one client or server.
///
/// Each look-up compares the metadata with what the table was built from, message by message, so a table is never
/// stale, whichever way the metadata was changed: by `philote_mdo`, or by hand. A copy or a pickle of it is empty.
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Bound<'py, PyTuple>) {
        (py.get_type::<Self>(), PyTuple::empty(py))
    }
}

impl Tables {
    fn known_variables(&self, metadata: &Bound<'_, PyAny>) -> PyResult<Arc<KnownVariables>> {
        let metadata = Metadata::new(metadata, variable_bytes)?;
        // The lock is never held while Python code runs.
        let cached = lock(&self.variables).clone();
        if let Some(cached) = cached
            && metadata.is(&cached.metadata)?
        {
            return Ok(Arc::clone(&cached.built));
        }
        let py = metadata.items.py();
        let metadata = metadata.bytes()?;
        let built = Arc::new(KnownVariables::build(py, &metadata)?);
        let cached = Cached {
            metadata,
            built: Arc::clone(&built),
        };
        *lock(&self.variables) = Some(Arc::new(cached));
        Ok(built)
    }

    fn known_partials(
        &self,
        of: &Arc<KnownVariables>,
        metadata: &Bound<'_, PyAny>,
    ) -> PyResult<Arc<KnownPartials>> {
        let metadata = Metadata::new(metadata, partials_bytes)?;
        let cached = lock(&self.partials).clone();
        if let Some(cached) = cached
            && Arc::ptr_eq(&cached.built.of, of)
            && metadata.is(&cached.metadata)?
        {
            return Ok(Arc::clone(&cached.built));
        }
        let py = metadata.items.py();
        let metadata = metadata.bytes()?;
        let built = Arc::new(KnownPartials::build(py, of, &metadata)?);
        let cached = Cached {
            metadata,
            built: Arc::clone(&built),
        };
        *lock(&self.partials) = Some(Arc::new(cached));
        Ok(built)
    }
}

/// The value is replaced whole, so a poisoned lock holds nothing half written.
fn lock<T>(slot: &Slot<T>) -> MutexGuard<'_, Option<Arc<Cached<T>>>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KnownVariables {
    fn build(py: Python<'_>, metadata: &[Vec<u8>]) -> PyResult<Self> {
        let metadata = read_all::<VariableMeta>(metadata)?;
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
    fn build(py: Python<'_>, of: &Arc<KnownVariables>, metadata: &[Vec<u8>]) -> PyResult<Self> {
        let metadata = read_all::<PartialsMeta>(metadata)?;
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

fn read_all<M: prost::Message + Default>(metadata: &[Vec<u8>]) -> Result<Vec<M>, Error> {
    metadata.iter().map(|bytes| read_metadata(bytes)).collect()
}

type ToBytes = for<'py> fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>;

/// A list of metadata messages, and how to serialise one.
struct Metadata<'py> {
    items: Bound<'py, PyList>,
    to_bytes: ToBytes,
}

impl<'py> Metadata<'py> {
    fn new(items: &Bound<'py, PyAny>, to_bytes: ToBytes) -> PyResult<Self> {
        let items = match items.cast::<PyList>() {
            Ok(list) => list.clone(),
            Err(_) => PyList::new(items.py(), items.try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
        };
        Ok(Self { items, to_bytes })
    }

    /// Whether the messages are those of `before`.
    fn is(&self, before: &[Vec<u8>]) -> PyResult<bool> {
        if self.items.len() != before.len() {
            return Ok(false);
        }
        for (at, before) in before.iter().enumerate() {
            // Serialising runs Python code, which may shorten the list.
            let Ok(item) = self.items.get_item(at) else {
                return Ok(false);
            };
            if (self.to_bytes)(&item)?.as_bytes() != before {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bytes(&self) -> PyResult<Vec<Vec<u8>>> {
        let items = self.items.iter();
        items
            .map(|item| Ok((self.to_bytes)(&item)?.as_bytes().to_vec()))
            .collect()
    }
}

/// The serialised form of a `VariableMetaData`, or of a test double that has its attributes.
fn variable_bytes<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = item.py();
    if let Some(bytes) = serialise(item)? {
        return Ok(bytes);
    }
    let meta = VariableMeta {
        // What is no number equals no variable type, as in stock's comparisons.
        kind: item.getattr(intern!(py, "type"))?.extract().unwrap_or(-1),
        name: item
            .getattr(intern!(py, "name"))?
            .extract()
            .unwrap_or_default(),
        shape: item
            .getattr(intern!(py, "shape"))?
            .extract()
            .unwrap_or_default(),
        units: String::new(),
        dynamic_shape: item.getattr(intern!(py, "dynamic_shape"))?.is_truthy()?,
    };
    Ok(PyBytes::new(py, &meta.to_bytes()))
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
    Ok(PyBytes::new(py, &prost::Message::encode_to_vec(&meta)))
}

/// What `SerializeToString` gives, where it gives bytes.
pub fn serialise<'py>(message: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = message.py();
    let Some(serialise) = message.getattr_opt(intern!(py, "SerializeToString"))? else {
        return Ok(None);
    };
    Ok(serialise.call0()?.cast_into::<PyBytes>().ok())
}
