//! The bytes that precede each chunk's doubles. They do not change between calls, so they are built once.

use std::ops::Range;

use super::{Error, Role, Slot};
use crate::wire::{self, Header};

/// Headers are kept for this many chunks of one role at the most (some 3 MB); the rest are built when they are
/// needed. It takes a small `num_double` and a large variable to get there, and then the doubles cost far more.
const MAX_KEPT: usize = 1 << 16;

/// One chunk of one variable, with its header.
#[derive(Debug, Clone)]
pub struct Entry {
    header: Range<usize>,
    /// The slot that the chunk belongs to.
    pub slot: usize,
    /// The values of the slot that it carries.
    pub values: Range<usize>,
}

/// The headers of a role for one chunk size.
#[derive(Debug)]
pub struct Headers {
    chunk: usize,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// For each slot, the place of its first entry and their number; `None` where they are not kept.
    of_slot: Vec<Option<Range<usize>>>,
}

impl Headers {
    /// The headers of all slots of `role`.
    ///
    /// # Errors
    /// [`Error::Wire`] where a chunk is larger than a message can be.
    pub fn build(role: &Role, chunk: usize) -> Result<Self, Error> {
        let mut headers = Self {
            chunk,
            bytes: Vec::new(),
            entries: Vec::new(),
            of_slot: Vec::with_capacity(role.slots().len()),
        };
        for (at, slot) in role.slots().iter().enumerate() {
            let kept = headers.keep(role.kind(), at, slot)?;
            headers.of_slot.push(kept);
        }
        Ok(headers)
    }

    fn keep(&mut self, kind: i32, at: usize, slot: &Slot) -> Result<Option<Range<usize>>, Error> {
        let first = self.entries.len();
        if slot.size.div_ceil(self.chunk) > MAX_KEPT - first {
            return Ok(None);
        }
        for values in wire::chunks(slot.size, self.chunk) {
            let from = self.bytes.len();
            write(kind, &slot.name, &slot.subname, &values, &mut self.bytes)?;
            self.entries.push(Entry {
                header: from..self.bytes.len(),
                slot: at,
                values,
            });
        }
        Ok(Some(first..self.entries.len()))
    }

    /// The chunk size that the headers are for.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// The entry at that place of the sequence in which chunks are expected.
    #[must_use]
    pub fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// The header of an entry.
    #[must_use]
    pub fn header(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.header.clone()]
    }

    /// The entries of a slot, where they are kept.
    #[must_use]
    pub fn of_slot(&self, slot: usize) -> Option<&[Entry]> {
        let kept = self.of_slot.get(slot)?.clone()?;
        Some(&self.entries[kept])
    }

    /// The place after the entry of `slot` that begins at value `start`: what is expected next.
    #[must_use]
    pub fn after(&self, slot: usize, start: usize) -> Option<usize> {
        let kept = self.of_slot.get(slot)?.clone()?;
        Some((kept.start + start / self.chunk + 1).min(kept.end))
    }
}

/// Appends the header of one chunk of a variable; `end` is inclusive.
///
/// # Errors
/// [`Error::Wire`] where the chunk is larger than a message can be.
pub fn write(
    kind: i32,
    name: &str,
    subname: &str,
    values: &Range<usize>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    // No array has more values than an i64 counts, so neither conversion can fail.
    let start = i64::try_from(values.start).unwrap_or(i64::MAX);
    let end = i64::try_from(values.end).unwrap_or(i64::MAX) - 1;
    Ok(Header {
        name,
        subname,
        start,
        end,
        kind,
    }
    .write(values.len(), out)?)
}
