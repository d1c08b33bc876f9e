//! From a target to a connection, as often as one is needed.

use std::sync::Arc;
use std::time::Instant;

use super::super::code::LOST_CONNECTION;
use super::super::link::Link;
use super::super::status::Status;
use super::super::target::Address;
use super::super::threads;
use super::bell::lock;
use super::channel::Shared;
use super::connection::Connection;
use super::dial::Dial;
use super::state::Phase;

impl Shared {
    pub fn connect(&self) {
        self.watch.wake();
        if let Err(error) = self.start_standby() {
            return self.all_failed(&format!("no thread for the connection: {error}"));
        }
        match self.target.addresses() {
            Some(addresses) => self.dial(addresses.to_vec()),
            None => self.resolve(),
        }
    }

    /// Resolves the target's name on a thread of its own: the system's resolver may take long.
    fn resolve(&self) {
        let (me, target) = (self.me.clone(), self.target.clone());
        let attempt = lock(&self.state).attempt;
        let started = threads::spawn("philote-fast resolver", move || {
            let resolved = target.resolve();
            let Some(shared) = me.upgrade() else { return };
            if lock(&shared.state).attempt != attempt {
                return;
            }
            match resolved {
                Ok(addresses) => shared.dial(addresses),
                Err(error) => shared.unreachable(&error.to_string()),
            }
        });
        if let Err(error) = started {
            self.all_failed(&format!("no thread for the resolver: {error}"));
        }
    }

    /// Tries these addresses in turn.
    fn dial(&self, mut addresses: Vec<Address>) {
        addresses.reverse();
        lock(&self.state).addresses = addresses;
        self.dial_next();
    }

    fn dial_next(&self) {
        let Some(me) = self.me.upgrade() else { return };
        loop {
            let (address, attempt) = {
                let mut state = lock(&self.state);
                if !matches!(state.phase, Phase::Connecting | Phase::Failing { .. }) {
                    return;
                }
                state.attempt += 1;
                (state.addresses.pop(), state.attempt)
            };
            let Some(address) = address else {
                let text = std::mem::take(&mut lock(&self.state).last_error);
                return self.all_failed(&text);
            };
            let give_up = Instant::now() + self.options.min_backoff;
            match Dial::start(&me, attempt, address, give_up) {
                Ok(link) => return self.dialing(attempt, &link),
                Err(text) => lock(&self.state).last_error = text,
            }
        }
    }

    fn dialing(&self, attempt: u64, link: &Arc<Link>) {
        let in_time = {
            let mut state = lock(&self.state);
            if state.attempt == attempt {
                state.dialing = Some(Arc::clone(link));
            }
            state.attempt == attempt
        };
        if in_time {
            link.pump();
        } else {
            link.kill();
        }
    }

    fn all_failed(&self, last: &str) {
        self.unreachable(&format!(
            "failed to connect to all addresses; last error: {last}"
        ));
    }

    fn unreachable(&self, text: &str) {
        let status = Status::new(LOST_CONNECTION, text);
        let (failed, retry_at) = {
            let mut state = lock(&self.state);
            if matches!(state.phase, Phase::Shut(_)) {
                return;
            }
            state.fail(&status)
        };
        for call in failed {
            call.end(status.clone());
        }
        self.reactor.set_alarm(retry_at);
        self.watch.wake();
    }

    /// An attempt has failed.
    pub fn failed(&self, attempt: u64, text: String) {
        {
            let mut state = lock(&self.state);
            if state.attempt != attempt {
                return;
            }
            state.dialing = None;
            state.last_error = text;
        }
        self.dial_next();
    }

    /// An attempt has succeeded.
    pub fn connected(&self, attempt: u64, connection: &Arc<Connection>) {
        let waiting = {
            let mut state = lock(&self.state);
            if state.attempt != attempt || matches!(state.phase, Phase::Shut(_)) {
                return;
            }
            state.dialing = None;
            state.backoff.reset();
            state.phase = Phase::Ready(Arc::clone(connection));
            state.connections.retain(|other| !other.link.is_over());
            state.connections.push(Arc::clone(connection));
            std::mem::take(&mut state.waiting)
        };
        for call in waiting {
            call.open(self, connection);
        }
        self.watch.wake();
    }

    /// A connection is lost, or takes no more calls. The next call makes another.
    pub fn lost(&self, connection: &Arc<Connection>) {
        {
            let mut state = lock(&self.state);
            match &state.phase {
                Phase::Ready(current) if Arc::ptr_eq(current, connection) => {
                    state.phase = Phase::Idle;
                }
                _ => return,
            }
        }
        self.watch.wake();
    }
}
