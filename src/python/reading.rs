//! A stream of messages into arrays.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Target, writable_f64};
use super::discrete::from_value;
use super::errors::validation;
use super::fresh::{unwritten, zeros};
use super::intake::{Take, each_message, message_bytes};
use crate::table::{Inbox, Placed, Role, Side};
use crate::wire::Discrete;

/// A role, and the key of each of its slots in a dict of results.
#[derive(Clone, Copy)]
pub struct Shelf<'t> {
    pub role: &'t Role,
    pub keys: &'t [Py<PyAny>],
}

impl Shelf<'_> {
    /// A fresh array of zeros for each slot.
    pub fn zeros<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.role
            .slots()
            .iter()
            .map(|slot| zeros(py, &slot.shape))
            .collect()
    }

    /// Puts a fresh array for each slot into `into` and a flat view of it into `flat`, under the slot's name.
    pub fn allocate(&self, into: &Bound<'_, PyAny>, flat: &Bound<'_, PyAny>) -> PyResult<()> {
        for (key, array) in self.keys.iter().zip(self.zeros(into.py())?) {
            flat.set_item(key, array.call_method1("reshape", (-1,))?)?;
            into.set_item(key, array)?;
        }
        Ok(())
    }
}

/// The arrays that a stream is read into. Nobody else has them before all of it has been read: till then they hold
/// whatever the memory held.
pub struct Reading<'py, 't> {
    py: Python<'py>,
    inbox: Inbox<'t>,
    filled: Vec<Filled<'py, 't>>,
}

struct Filled<'py, 't> {
    keys: &'t [Py<PyAny>],
    targets: Vec<Target<'py>>,
}

/// Where discrete values of a type go.
pub type Discretes<'a, 'py> = &'a [(i32, &'a Bound<'py, PyAny>)];

impl<'py, 't> Reading<'py, 't> {
    pub fn new(
        py: Python<'py>,
        side: Side,
        shelves: &[Shelf<'t>],
        num_double: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let filled = shelves.iter().map(|shelf| Filled::fresh(py, *shelf));
        let filled = filled.collect::<PyResult<_>>()?;
        Self::over(py, side, shelves, filled, num_double)
    }

    /// Reads one role into `targets`, one for each slot and of its size, in place of fresh arrays. There is nothing
    /// to `file`.
    pub fn into_targets(
        py: Python<'py>,
        side: Side,
        shelf: Shelf<'t>,
        targets: Vec<Target<'py>>,
        num_double: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let keys = &[];
        Self::over(
            py,
            side,
            &[shelf],
            vec![Filled { keys, targets }],
            num_double,
        )
    }

    fn over(
        py: Python<'py>,
        side: Side,
        shelves: &[Shelf<'t>],
        filled: Vec<Filled<'py, 't>>,
        num_double: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let roles: Vec<&Role> = shelves.iter().map(|shelf| shelf.role).collect();
        // Only a guess at the peer's chunks: any other size is read too, and whatever this is, stock does not ask.
        let chunk = num_double.extract::<usize>().unwrap_or(1).max(1);
        let inbox = Inbox::new(side, &roles, chunk)?;
        Ok(Self { py, inbox, filled })
    }

    /// Reads every message: of a native call, or bytes, or `VariableMessage` objects.
    pub fn read_all(
        &mut self,
        messages: &Bound<'py, PyAny>,
        discretes: Discretes<'_, 'py>,
    ) -> PyResult<()> {
        let taking = Taking {
            reading: self,
            discretes,
            piecemeal: None,
        };
        each_message(messages, message_bytes, taking)?;
        self.finish()
    }

    #[inline]
    fn read(&mut self, message: &[u8], to: Discretes<'_, 'py>) -> PyResult<()> {
        match self.inbox.place(message)? {
            Placed::Ignored => Ok(()),
            Placed::Discrete(discrete) => file_discrete(self.py, &discrete, to),
            Placed::Doubles {
                role,
                slot,
                start,
                data,
            } => {
                let fits = self.filled[role].targets[slot].copy_in(start, data.as_bytes());
                self.checked(fits)
            }
        }
    }

    /// The inbox has checked the range.
    fn checked(&self, fits: bool) -> PyResult<()> {
        fits.then_some(())
            .ok_or_else(|| validation(self.py, "values that do not fit their array"))
    }

    /// Makes what was not sent zeros.
    fn finish(&mut self) -> PyResult<()> {
        let filled = &self.filled;
        self.inbox
            .finish(|role, slot| filled[role].targets[slot].clear())?;
        Ok(())
    }

    /// Puts the arrays of the role at `place` into `into`.
    pub fn file(&mut self, place: usize, into: &Bound<'py, PyDict>) -> PyResult<()> {
        let filled = &mut self.filled[place];
        for (key, target) in filled.keys.iter().zip(filled.targets.drain(..)) {
            into.set_item(key, target.into_array())?;
        }
        Ok(())
    }
}

/// What the messages of one stream are handed to.
struct Taking<'r, 'a, 'py, 't> {
    reading: &'r mut Reading<'py, 't>,
    discretes: Discretes<'a, 'py>,
    /// Where the next piece goes of the message that is read in pieces.
    piecemeal: Option<Piecemeal>,
}

struct Piecemeal {
    role: usize,
    slot: usize,
    /// In bytes.
    at: usize,
}

impl Take for Taking<'_, '_, '_, '_> {
    #[inline]
    fn message(&mut self, message: &[u8]) -> PyResult<()> {
        self.reading.read(message, self.discretes)
    }

    fn begin(&mut self, beginning: &[u8], size: usize) -> Option<usize> {
        let placed = self.reading.inbox.place_beginning(beginning, size)?;
        self.piecemeal = Some(Piecemeal {
            role: placed.role,
            slot: placed.slot,
            at: placed.start * size_of::<f64>(),
        });
        Some(placed.header)
    }

    fn piece(&mut self, piece: &[u8]) -> PyResult<()> {
        let Some(to) = &mut self.piecemeal else {
            return self.reading.checked(false);
        };
        let target = &self.reading.filled[to.role].targets[to.slot];
        let fits = target.copy_bytes(to.at, piece);
        to.at += piece.len();
        self.reading.checked(fits)
    }
}

impl<'py, 't> Filled<'py, 't> {
    fn fresh(py: Python<'py>, shelf: Shelf<'t>) -> PyResult<Self> {
        let slots = shelf.role.slots().iter();
        let targets = slots.map(|slot| {
            writable_f64(&unwritten(py, &slot.shape)?)
                .ok_or_else(|| validation(py, "NumPy gave an array that cannot be written"))
        });
        Ok(Self {
            keys: shelf.keys,
            targets: targets.collect::<PyResult<_>>()?,
        })
    }
}

/// Files a discrete value with the values of its type, where the call takes that type.
pub fn file_discrete<'py>(
    py: Python<'py>,
    discrete: &Discrete<'_>,
    to: Discretes<'_, 'py>,
) -> PyResult<()> {
    match to.iter().find(|(kind, _)| *kind == discrete.kind) {
        Some((_, into)) => into.set_item(discrete.name, from_value(py, &discrete.value)?),
        None => Ok(()),
    }
}
