//! Finds where each chunk of a stream belongs.
//!
//! Messages nearly always come in declared order, so the header that is due is compared as bytes; only where it
//! differs is the message parsed, and its slot looked up by type and name.

use std::sync::Arc;

use super::fits::{first_value, overlook};
use super::headers::Headers;
use super::progress::Progress;
use super::{Error, Role, error::Chunk, kind};
use crate::wire::{self, Array, Discrete, Doubles, Header, Message};

/// Who reads the stream; stock's two sides differ in what they overlook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Reads a reply: doubles of a type that it did not ask for are overlooked.
    Client,
    /// Reads a request: no doubles may be empty, and outputs belong to implicit disciplines.
    Server,
}

/// Where a message belongs.
#[derive(Debug)]
pub enum Placed<'a> {
    /// Doubles for a slot.
    Doubles {
        /// Which of the roles.
        role: usize,
        /// Which slot of it.
        slot: usize,
        /// The first value of the slot that is written; the rest have been checked to fit.
        start: usize,
        /// The values.
        data: Payload<'a>,
    },
    /// A discrete value.
    Discrete(Discrete<'a>),
    /// Nothing that the reader takes.
    Ignored,
}

/// The doubles of a chunk, as little-endian bytes.
#[derive(Debug)]
pub enum Payload<'a> {
    /// Behind the header that was expected.
    Expected(&'a [u8]),
    /// Out of a parsed message.
    Parsed(Doubles<'a>),
}

impl Payload<'_> {
    /// The bytes, eight for each value.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Expected(bytes) => bytes,
            Self::Parsed(doubles) => doubles.as_bytes(),
        }
    }
}

/// Where a message belongs of which only the beginning has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// Which of the roles.
    pub role: usize,
    /// Which slot of it.
    pub slot: usize,
    /// The first value of the slot that is written; the rest fit.
    pub start: usize,
    /// How long the header is. The doubles follow it.
    pub header: usize,
}

/// The roles that a stream may fill, and what is due next.
pub struct Inbox<'t> {
    side: Side,
    roles: Vec<(&'t Role, Arc<Headers>)>,
    /// What has come of each slot of each role.
    progress: Vec<Vec<Progress>>,
    due_role: usize,
    due_entry: usize,
}

impl<'t> Inbox<'t> {
    /// A reader for a stream that fills `roles`, in that order, in chunks of `chunk` values (a peer may use others).
    ///
    /// # Errors
    /// [`Error::Wire`] where a chunk is larger than a message can be.
    pub fn new(side: Side, roles: &[&'t Role], chunk: usize) -> Result<Self, Error> {
        let fresh = |role: &&Role| vec![Progress::default(); role.slots().len()];
        let progress = roles.iter().map(fresh).collect();
        let roles = roles.iter().map(|role| Ok((*role, role.headers(chunk)?)));
        Ok(Self {
            side,
            progress,
            roles: roles.collect::<Result<_, Error>>()?,
            due_role: 0,
            due_entry: 0,
        })
    }

    /// Where `message` belongs.
    ///
    /// # Errors
    /// An [`Error`] that names the variable, where the message is malformed or does not fit the metadata.
    pub fn place<'a>(&mut self, message: &'a [u8]) -> Result<Placed<'a>, Error> {
        if let Some(placed) = self.place_due(message) {
            return Ok(placed);
        }
        match wire::decode(message)? {
            Message::Empty => Ok(Placed::Ignored),
            Message::Discrete(discrete) => Ok(Placed::Discrete(discrete)),
            Message::Continuous(array) => self.place_array(array),
        }
    }

    /// Where the message of `size` bytes belongs of which only the beginning has come, where that is clear already:
    /// it begins with the header that is due, and all the rest are the doubles. It counts as come.
    ///
    /// The header holds the length of what follows it, so nothing else can be behind the doubles.
    #[inline]
    pub fn place_beginning(&mut self, beginning: &[u8], size: usize) -> Option<Beginning> {
        self.skip_filled();
        let headers = &self.roles.get(self.due_role)?.1;
        let entry = headers.entry(self.due_entry)?;
        let header = headers.header(entry);
        let doubles = entry.values.len() * size_of::<f64>();
        if !beginning.starts_with(header) || size != header.len() + doubles {
            return None;
        }
        let beginning = Beginning {
            role: self.due_role,
            slot: entry.slot,
            start: entry.values.start,
            header: header.len(),
        };
        self.due_entry += 1;
        self.progress[self.due_role][entry.slot].add(entry.values.start, entry.values.len());
        Some(beginning)
    }

    /// Whether every variable that has come has come whole; `absent` is told the role and the slot of each that has
    /// not come at all. To be asked at the end of the stream.
    ///
    /// # Errors
    /// [`Error::Incomplete`] with the first variable of which only a part was sent: it has another size than this
    /// side believes, and zeros in place of the rest would be wrong numbers.
    pub fn finish(&mut self, mut absent: impl FnMut(usize, usize)) -> Result<(), Error> {
        let progress = std::mem::take(&mut self.progress);
        for (at_role, ((role, _), progress)) in self.roles.iter().zip(progress).enumerate() {
            for (at_slot, (slot, progress)) in role.slots().iter().zip(progress).enumerate() {
                if progress.has_nothing() {
                    absent(at_role, at_slot);
                } else if let Some(missing) = progress.missing(slot.size) {
                    return Err(Error::Incomplete {
                        kind: role.kind(),
                        label: slot.label(),
                        size: slot.size,
                        missing,
                    });
                }
            }
        }
        Ok(())
    }

    /// The common case: the message begins with the very header that is due.
    fn place_due<'a>(&mut self, message: &'a [u8]) -> Option<Placed<'a>> {
        let placed = self.place_beginning(message, message.len())?;
        Some(Placed::Doubles {
            role: placed.role,
            slot: placed.slot,
            start: placed.start,
            data: Payload::Expected(message.get(placed.header..)?),
        })
    }

    fn skip_filled(&mut self) {
        while let Some((_, headers)) = self.roles.get(self.due_role)
            && headers.entry(self.due_entry).is_none()
        {
            (self.due_role, self.due_entry) = (self.due_role + 1, 0);
        }
    }

    fn place_array<'a>(&mut self, array: Array<'a>) -> Result<Placed<'a>, Error> {
        let Array { header, data } = array;
        let chunk = || Chunk::new(&header, data.len());
        if !kind::is_known(header.kind) {
            return Err(Error::UnknownKind { chunk: chunk() });
        }
        let Some(role) = self.role_of(header.kind) else {
            return self.overlook(&header, data.len());
        };
        let slots = self.roles[role].0;
        let Some(at) = slots.find(header.name, header.subname) else {
            return Err(match data.len() {
                0 => Error::Empty {
                    side: self.side,
                    chunk: chunk(),
                    size: None,
                },
                _ => Error::Undeclared(chunk()),
            });
        };
        let slot = &slots.slots()[at];
        let start = first_value(self.side, &header, data.len(), slot.size, slot.unresolved)?;
        self.progress[role][at].add(start, data.len());
        (self.due_role, self.due_entry) = match self.roles[role].1.after(at, start) {
            Some(entry) => (role, entry),
            None => (self.due_role, self.due_entry),
        };
        Ok(Placed::Doubles {
            role,
            slot: at,
            start,
            data: Payload::Parsed(data),
        })
    }

    fn role_of(&self, kind: i32) -> Option<usize> {
        self.roles.iter().position(|(role, _)| role.kind() == kind)
    }

    fn overlook<'a>(&self, header: &Header<'_>, count: usize) -> Result<Placed<'a>, Error> {
        overlook(self.side, header, count).map(|()| Placed::Ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::meta;
    use super::super::{Slot, Variables};
    use super::*;

    fn variables() -> Variables {
        let declared = [
            meta(kind::INPUT, "x", &[2, 3]),
            meta(kind::OUTPUT, "x", &[2]),
            meta(kind::INPUT, "y", &[]),
        ];
        Variables::new(&declared).expect("possible shapes")
    }

    fn message(name: &str, kind: i32, start: i64, end: i64, values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = Header {
            name,
            subname: "",
            start,
            end,
            kind,
        };
        header.write(values.len(), &mut bytes).expect("small");
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// What the messages fill, as (role, slot, start, number of values, whether it was expected).
    fn placed(messages: &[Vec<u8>]) -> Vec<(usize, usize, usize, usize, bool)> {
        let variables = variables();
        let roles = [variables.inputs(), variables.outputs()];
        let mut inbox = Inbox::new(Side::Server, &roles, 4).expect("small");
        let places = messages
            .iter()
            .map(|message| match inbox.place(message).expect("fits") {
                Placed::Doubles {
                    role,
                    slot,
                    start,
                    data,
                } => {
                    let expected = matches!(data, Payload::Expected(_));
                    (role, slot, start, data.as_bytes().len() / 8, expected)
                }
                other => panic!("{other:?}"),
            });
        places.collect()
    }

    #[test]
    fn declared_order_is_expected() {
        let messages = [
            message("x", kind::INPUT, 0, 3, &[1.0; 4]),
            message("x", kind::INPUT, 4, 5, &[1.0; 2]),
            message("y", kind::INPUT, 0, 0, &[1.0]),
            message("x", kind::OUTPUT, 0, 1, &[1.0; 2]),
        ];
        let all = [
            (0, 0, 0, 4, true),
            (0, 0, 4, 2, true),
            (0, 1, 0, 1, true),
            (1, 0, 0, 2, true),
        ];
        assert_eq!(placed(&messages), all);
    }

    #[test]
    fn other_orders_chunks_and_conventions_are_found() {
        let messages = [
            message("x", kind::OUTPUT, 0, 2, &[1.0; 2]),
            message("y", kind::INPUT, 0, 1, &[1.0]),
            message("x", kind::INPUT, 4, 5, &[1.0; 2]),
            message("y", kind::INPUT, 0, 0, &[1.0]),
            message("x", kind::INPUT, 1, 5, &[1.0; 5]),
        ];
        let all = [
            (1, 0, 0, 2, false),
            (0, 1, 0, 1, false),
            (0, 0, 4, 2, false),
            (0, 1, 0, 1, true),
            (0, 0, 1, 5, false),
        ];
        assert_eq!(placed(&messages), all);
    }

    #[test]
    fn a_longer_message_behind_the_expected_header_is_parsed() {
        let mut bytes = message("x", kind::INPUT, 0, 3, &[1.0; 4]);
        bytes.extend([0x18, 0]);
        let places = placed(&[bytes, message("x", kind::INPUT, 4, 5, &[1.0; 2])]);
        assert_eq!(places, [(0, 0, 0, 4, false), (0, 0, 4, 2, true)]);
    }

    #[test]
    fn errors_name_variable_range_and_size() {
        let variables = variables();
        let mut inbox = Inbox::new(Side::Server, &[variables.inputs()], 4).expect("small");
        let mut refuse = |bytes: &[u8]| inbox.place(bytes).expect_err("refused").to_string();
        let outside = refuse(&message("x", kind::INPUT, 4, 7, &[1.0; 4]));
        assert!(outside.contains("input 'x' (range 4 to 7") && outside.contains("6 values"));
        let unknown = refuse(&message("q", kind::INPUT, 0, 0, &[1.0]));
        assert!(unknown.contains("'q'") && unknown.contains("not declared"));
        let output = refuse(&message("x", kind::OUTPUT, 0, 0, &[1.0]));
        assert!(output.contains("takes no output"));
        assert!(refuse(&message("x", 17, 0, 0, &[1.0])).contains("type 17"));
        assert!(refuse(&message("x", kind::PARTIAL, 0, 0, &[])).contains("empty"));
    }

    #[test]
    fn a_part_of_a_variable_is_not_enough() {
        let variables = variables();
        let finish = |messages: &[Vec<u8>]| {
            let mut inbox = Inbox::new(Side::Server, &[variables.inputs()], 4).expect("small");
            for message in messages {
                inbox.place(message).expect("fits");
            }
            inbox.finish(|_, _| {}).map_err(|error| error.to_string())
        };
        let first = message("x", kind::INPUT, 0, 3, &[1.0; 4]);
        let last = message("x", kind::INPUT, 4, 5, &[1.0; 2]);
        assert_eq!(finish(&[]), Ok(()));
        assert_eq!(finish(&[first.clone(), last.clone()]), Ok(()));
        assert_eq!(finish(&[last.clone(), first.clone()]), Ok(()));
        let text = "input 'x' is declared with 6 values, but values 4 to 5 were not received";
        assert_eq!(finish(&[first]), Err(text.to_owned()));
        let text = "input 'x' is declared with 6 values, but values 0 to 3 were not received";
        assert_eq!(finish(&[last]), Err(text.to_owned()));
    }

    #[test]
    fn headers_beyond_the_limit_are_not_kept_and_still_found() {
        let slot = |name| Slot::new(name, "", &[40_000], false).expect("possible");
        let role = Role::of_variables(kind::INPUT, vec![slot("a"), slot("b"), slot("c")]);
        let mut inbox = Inbox::new(Side::Server, &[&role], 1).expect("small");
        for name in ["a", "b", "c"] {
            let bytes = message(name, kind::INPUT, 39_999, 39_999, &[1.0]);
            assert!(matches!(
                inbox.place(&bytes),
                Ok(Placed::Doubles { start: 39_999, .. })
            ));
        }
        assert!(role.headers(1).expect("small").of_slot(1).is_none());
        assert_eq!(
            role.headers(40_000)
                .expect("small")
                .of_slot(2)
                .map(<[_]>::len),
            Some(1)
        );
    }
}
