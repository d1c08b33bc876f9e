//! All messages of one direction of a call: encoded whole, then sent.

use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;

use super::Ended;
use super::counters::Count;
use super::ends::Exchange;
use super::framing::{Framer, FramingError, SEGMENT};

/// Up to so many bytes nothing is sent before the last message has been added: an error on the way has then sent
/// nothing, and every value is that of one moment. More would take too much memory beside the arrays it comes from.
pub const WHOLE: usize = 32 << 20;

/// After that, so much is gathered before it is sent.
const SOME: usize = 1 << 20;

/// Frames messages, and sends them through a call.
#[derive(Debug)]
pub struct Writer {
    framer: Framer,
    /// A segment that is being sent.
    leaving: Option<Bytes>,
    /// Whether there was too much to be kept until the end of the messages.
    begun: bool,
    /// Whether nothing that is added can be refused.
    settled: bool,
    /// How many segments were left when the peer took no more at once: it is not asked again before there is another.
    left: usize,
    /// Why no more can be sent.
    refused: Option<FramingError>,
    ended: Option<End>,
}

/// How the sending has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sent,
    /// Something was added that cannot be sent any more.
    Lost,
}

impl Writer {
    /// A writer that frames as `framer` does.
    #[must_use]
    pub fn new(framer: Framer) -> Self {
        Self {
            framer,
            leaving: None,
            begun: false,
            settled: false,
            left: 0,
            refused: None,
            ended: None,
        }
    }

    /// Says that nothing that is added from now on can be refused, unless for its size, and that no message is larger
    /// than `largest`: where that may be sent, it may leave before the last message is added.
    pub fn settled(&mut self, largest: usize) {
        self.settled = self.refused.is_none() && self.framer.takes(largest);
    }

    /// Whether a message of so many bytes is sent while it is added.
    #[must_use]
    pub fn is_cut(&self, size: usize) -> bool {
        self.settled && size > SEGMENT
    }

    /// Whether something that was added may leave.
    #[must_use]
    pub fn may_leave(&self) -> bool {
        self.settled && self.ended.is_none() && self.framer.segments() > self.left
    }

    /// Sends what may leave, as far as the peer takes it without a wait.
    pub fn let_go(&mut self, call: &dyn Exchange) {
        let gone = let_go(&mut self.framer, &mut self.leaving, call);
        self.ended = gone.err().map(|Ended| End::Lost);
        self.left = self.framer.segments();
    }

    /// Adds the message that is made of `parts`. True where what has been added must be sent before more is.
    pub fn add(&mut self, parts: &[&[u8]], call: &dyn Exchange) -> bool {
        if self.ended.is_some() || self.refused.is_some() {
            return false;
        }
        let Self {
            framer, leaving, ..
        } = self;
        let mut gone = Ok(());
        let framed = framer.cut_message(parts, &mut |framer| {
            if self.settled {
                gone = let_go(framer, leaving, call);
            }
        });
        self.refused = framed.err();
        self.ended = gone.err().map(|Ended| End::Lost);
        let full = self.framer.pending() > if self.begun { SOME } else { WHOLE };
        self.begun |= full;
        full
    }

    /// Whether something of what was added will never be sent.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.refused.is_some() || self.ended == Some(End::Lost)
    }

    /// Sends the segments that are filled; at the end of the messages (`last`) all that is left. To be called again
    /// where it has waited until `until`. Whatever becomes of the call, its status tells.
    pub fn send(&mut self, call: &dyn Exchange, last: bool, until: Instant) -> Poll<()> {
        if let Some(error) = self.refused.take() {
            call.refuse(error);
            self.ended = Some(End::Lost);
        }
        if self.ended.is_some() {
            return Poll::Ready(());
        }
        if last {
            self.framer.flush();
        }
        loop {
            let Some(segment) = self.leaving.take().or_else(|| self.framer.segment()) else {
                // Without any message there is still an end to tell.
                return if last {
                    self.end(call, until)
                } else {
                    Poll::Ready(())
                };
            };
            let is_last = last && self.framer.is_empty();
            match call.send(&segment, is_last, until) {
                Poll::Pending => {
                    self.leaving = Some(segment);
                    return Poll::Pending;
                }
                Poll::Ready(Err(Ended)) => self.ended = Some(End::Lost),
                Poll::Ready(Ok(())) => self.ended = is_last.then_some(End::Sent),
            }
            if self.ended.is_some() {
                return Poll::Ready(());
            }
        }
    }

    fn end(&mut self, call: &dyn Exchange, until: Instant) -> Poll<()> {
        call.send(&Bytes::new(), true, until)
            .map(|_| self.ended = Some(End::Sent))
    }
}

/// Sends the segments that are filled, as far as that can be done without a wait: what is not taken stays where it is, so
/// that every value is that of this moment.
fn let_go(
    framer: &mut Framer,
    leaving: &mut Option<Bytes>,
    call: &dyn Exchange,
) -> Result<(), Ended> {
    while let Some(segment) = leaving.take().or_else(|| framer.segment()) {
        let now = Instant::now();
        call.record().lap_at(Count::Encoding, now);
        let polled = call.send(&segment, false, now);
        call.record().lap(Count::Waiting);
        match polled {
            Poll::Ready(sent) => sent?,
            Poll::Pending => {
                *leaving = Some(segment);
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::compression::Encoding;
    use super::super::counters::{Meter, Record};
    use super::super::framing::{MessageReader, Side};
    use super::super::{Incoming, Outgoing};
    use super::*;

    /// Takes what is sent; every second time it is asked to wait.
    struct Fake {
        sent: Mutex<Vec<(Bytes, bool)>>,
        refused: Mutex<Option<FramingError>>,
        asked: Mutex<usize>,
        ends_after: Option<usize>,
        /// Takes nothing for now.
        shut: Mutex<bool>,
        record: Record,
    }

    impl Default for Fake {
        fn default() -> Self {
            let meter = Meter::new(Side::Client, "fake", String::new());
            Self {
                sent: Mutex::default(),
                refused: Mutex::default(),
                asked: Mutex::default(),
                shut: Mutex::default(),
                ends_after: None,
                record: Record::new(meter),
            }
        }
    }

    impl Fake {
        fn sent(&self) -> Vec<(Bytes, bool)> {
            self.sent.lock().expect("not poisoned").clone()
        }
    }

    impl Outgoing for Fake {
        fn send(&self, segment: &Bytes, last: bool, _: Instant) -> Poll<Result<(), Ended>> {
            let mut asked = self.asked.lock().expect("not poisoned");
            *asked += 1;
            if *asked % 2 == 1 || *self.shut.lock().expect("not poisoned") {
                return Poll::Pending;
            }
            let mut sent = self.sent.lock().expect("not poisoned");
            if self.ends_after == Some(sent.len()) {
                return Poll::Ready(Err(Ended));
            }
            sent.push((segment.clone(), last));
            Poll::Ready(Ok(()))
        }
    }

    impl Incoming for Fake {
        fn fill(&self, _: &mut MessageReader, _: Instant) -> Poll<bool> {
            Poll::Ready(false)
        }
    }

    impl Exchange for Fake {
        fn record(&self) -> &Record {
            &self.record
        }

        fn framer(&self) -> Framer {
            framer(usize::MAX)
        }

        fn reader(&self) -> MessageReader {
            MessageReader::new(usize::MAX, Encoding::Identity)
        }

        fn is_whole(&self) -> bool {
            self.refused.lock().expect("not poisoned").is_none()
        }

        fn refuse(&self, error: FramingError) {
            *self.refused.lock().expect("not poisoned") = Some(error);
        }
    }

    fn framer(limit: usize) -> Framer {
        Framer::new(limit, Encoding::Identity)
    }

    fn finish(writer: &mut Writer, call: &Fake, last: bool) {
        let until = Instant::now();
        let mut slices = 0;
        while writer.send(call, last, until).is_pending() {
            slices += 1;
            assert!(slices < 1000, "it never ends");
        }
    }

    fn messages(sent: &[(Bytes, bool)]) -> Vec<Vec<u8>> {
        let mut reader = MessageReader::new(usize::MAX, Encoding::Identity);
        for (segment, _) in sent {
            reader.push(segment.clone());
        }
        let mut found = Vec::new();
        while let Some(message) = reader.read().expect("well framed") {
            found.push(message.to_vec());
        }
        assert!(reader.is_clean_end());
        found
    }

    #[test]
    fn small_messages_leave_together_at_the_end() {
        let call = Fake::default();
        let mut writer = Writer::new(call.framer());
        assert!(!writer.add(&[b"one"], &call));
        assert!(!writer.add(&[b"tw", b"o"], &call));
        assert!(call.sent().is_empty());
        finish(&mut writer, &call, true);
        let sent = call.sent();
        assert_eq!(messages(&sent), [b"one", b"two"]);
        assert_eq!(sent.len(), 1);
        assert!(sent[0].1);
    }

    #[test]
    fn no_message_is_an_end_too() {
        let call = Fake::default();
        finish(&mut Writer::new(call.framer()), &call, true);
        assert_eq!(call.sent(), [(Bytes::new(), true)]);
    }

    #[test]
    fn more_than_can_be_kept_leaves_on_the_way_and_in_order() {
        let call = Fake::default();
        let mut writer = Writer::new(call.framer());
        let values: Vec<Vec<u8>> = (0..9_u8).map(|n| vec![n; WHOLE / 4]).collect();
        let mut before_the_end = 0;
        for value in &values {
            if writer.add(&[value], &call) {
                finish(&mut writer, &call, false);
                before_the_end = call.sent().len();
            }
            assert!(writer.framer.pending() <= WHOLE + WHOLE / 4 + 5);
        }
        finish(&mut writer, &call, true);
        let sent = call.sent();
        assert!((1..sent.len()).contains(&before_the_end));
        assert!(messages(&sent) == values);
        let ends: Vec<bool> = sent.iter().map(|(_, last)| *last).collect();
        assert_eq!(ends.iter().filter(|last| **last).count(), 1);
        assert_eq!(ends.last(), Some(&true));
    }

    #[test]
    fn what_is_settled_leaves_at_once_as_far_as_it_is_taken() {
        let call = Fake::default();
        let mut writer = Writer::new(call.framer());
        let values: Vec<Vec<u8>> = (0..9_u8).map(|n| vec![n; 2 * SEGMENT]).collect();
        assert!(!writer.add(&[&values[0]], &call));
        assert!(call.sent().is_empty(), "nothing said that it may leave");
        writer.settled(2 * SEGMENT);
        for value in &values[1..] {
            // The fake takes a segment every second time; nobody waits for it.
            assert!(!writer.add(&[value], &call));
        }
        let before_the_end = call.sent().len();
        finish(&mut writer, &call, true);
        assert!((1..call.sent().len()).contains(&before_the_end));
        assert!(messages(&call.sent()) == values);
    }

    #[test]
    fn of_small_messages_that_are_settled_what_fills_a_segment_may_leave() {
        let call = Fake::default();
        let mut writer = Writer::new(call.framer());
        writer.settled(10_000);
        let values: Vec<Vec<u8>> = (0..30_u8).map(|n| vec![n; 10_000]).collect();
        let mut offered = 0;
        for value in &values {
            assert!(!writer.add(&[value], &call));
            if writer.may_leave() {
                offered += 1;
                writer.let_go(&call);
            }
        }
        assert!(offered > 1);
        let before_the_end = call.sent().len();
        finish(&mut writer, &call, true);
        let sent = call.sent();
        assert!((1..sent.len()).contains(&before_the_end));
        assert!(messages(&sent) == values);
        assert!(sent.iter().all(|(segment, _)| segment.len() <= SEGMENT));
    }

    #[test]
    fn who_takes_no_more_is_asked_again_when_another_segment_is_full() {
        let call = Fake::default();
        *call.shut.lock().expect("not poisoned") = true;
        let mut writer = Writer::new(call.framer());
        writer.settled(10_000);
        let values: Vec<Vec<u8>> = (0..30_u8).map(|n| vec![n; 10_000]).collect();
        for value in &values {
            writer.add(&[value], &call);
            if writer.may_leave() {
                writer.let_go(&call);
            }
        }
        let asked = *call.asked.lock().expect("not poisoned");
        *call.shut.lock().expect("not poisoned") = false;
        finish(&mut writer, &call, true);
        let sent = call.sent();
        assert!((1..=sent.len()).contains(&asked), "asked {asked} times");
        assert!(messages(&sent) == values);
    }

    #[test]
    fn a_message_over_the_limit_ends_the_call_and_nothing_of_it_is_sent() {
        let call = Fake::default();
        let mut writer = Writer::new(framer(3));
        writer.add(&[b"one"], &call);
        writer.add(&[b"four"], &call);
        writer.add(&[b"two"], &call);
        finish(&mut writer, &call, true);
        assert!(call.sent().is_empty());
        let refused = *call.refused.lock().expect("not poisoned");
        let expected = FramingError::TooLargeToSend { size: 4, limit: 3 };
        assert_eq!(refused, Some(expected));
    }

    #[test]
    fn nothing_leaves_early_where_a_message_may_be_too_large() {
        let call = Fake::default();
        let mut writer = Writer::new(framer(2 * SEGMENT));
        let large = vec![1; 2 * SEGMENT];
        writer.settled(2 * SEGMENT + 1);
        for _ in 0..3 {
            writer.add(&[&large], &call);
        }
        assert!(call.sent().is_empty());
        writer.add(&[&large, b"one more"], &call);
        finish(&mut writer, &call, true);
        assert!(call.sent().is_empty());
        assert!(!call.is_whole());
    }

    #[test]
    fn a_call_that_is_over_takes_no_more() {
        let call = Fake {
            ends_after: Some(1),
            ..Fake::default()
        };
        let mut writer = Writer::new(call.framer());
        let large = vec![1; WHOLE / 2];
        for _ in 0..4 {
            if writer.add(&[&large], &call) {
                finish(&mut writer, &call, false);
            }
        }
        finish(&mut writer, &call, true);
        assert_eq!(call.sent().len(), 1);
        assert!(!writer.add(&[&large], &call), "what is added is dropped");
    }
}
