//! `NativeChannel`.

use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use http::HeaderValue;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::call::NativeCall;
use super::credentials::TlsClientConfig;
use super::pairs;
use super::wait::wait;
use crate::transport::client::{
    CLOSED, CallOptions, Channel, ChannelError, ChannelOptions, Connectivity, Tls,
};
use crate::transport::compression::Encoding;
use crate::transport::fork::Native;
use crate::transport::target::Target;
use crate::transport::tls::server_name;

/// A time that is as good as none: nobody waits for it, and the clock can tell it.
const AGES: Duration = Duration::from_secs(1 << 31);

/// A channel as Python's classes use it.
///
/// A forked child has a channel of its own behind the same object.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct NativeChannel {
    recipe: Recipe,
    first: Incarnation,
}

/// What a channel is made of.
struct Recipe {
    target: Target,
    options: ChannelOptions,
    tls: Option<Tls>,
}

/// The channel of one process, and those of its descendants. No lock: a child could find it taken.
struct Incarnation {
    channel: Native<Arc<Channel>>,
    next: OnceLock<Box<Incarnation>>,
}

/// The options, checked by Python. A `None` is left at gRPC's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given {
    max_receive: Option<usize>,
    max_send: Option<usize>,
    max_metadata: Option<u32>,
    keepalive: Option<f64>,
    keepalive_timeout: Option<f64>,
    keepalive_without_calls: bool,
    initial_backoff: Option<f64>,
    min_backoff: Option<f64>,
    max_backoff: Option<f64>,
    authority: Option<String>,
    tls_name: Option<String>,
    user_agent: String,
    retries: bool,
}

impl Given {
    fn options(self) -> PyResult<ChannelOptions> {
        let default = ChannelOptions::default();
        let seconds = |given: Option<f64>, default| given.map_or(default, duration);
        Ok(ChannelOptions {
            name: default.name,
            max_receive: self.max_receive.unwrap_or(default.max_receive),
            max_send: self.max_send.unwrap_or(default.max_send),
            max_metadata: self.max_metadata.unwrap_or(default.max_metadata),
            keepalive: self.keepalive.map(duration),
            keepalive_timeout: seconds(self.keepalive_timeout, default.keepalive_timeout),
            keepalive_without_calls: self.keepalive_without_calls,
            initial_backoff: seconds(self.initial_backoff, default.initial_backoff),
            min_backoff: seconds(self.min_backoff, default.min_backoff),
            max_backoff: seconds(self.max_backoff, default.max_backoff),
            authority: self.authority,
            tls_name: self.tls_name,
            user_agent: HeaderValue::from_str(&self.user_agent)
                .map_err(|_| PyValueError::new_err("the user agent has illegal characters"))?,
            retries: self.retries,
        })
    }
}

#[pymethods]
impl NativeChannel {
    #[new]
    #[pyo3(signature = (target, options, tls = None))]
    fn new(
        target: &str,
        options: Given,
        tls: Option<&Bound<'_, TlsClientConfig>>,
    ) -> PyResult<Self> {
        let mut options = options.options()?;
        target.clone_into(&mut options.name);
        let target = Target::parse(target).map_err(|e| PyValueError::new_err(e.to_string()))?;
        if tls.is_some() && options.authority.is_none() {
            options.authority.clone_from(&options.tls_name);
        }
        let tls = tls.map(|tls| -> PyResult<Tls> {
            let name = options.tls_name.as_deref().unwrap_or(target.server_name());
            Ok(Tls {
                tls: tls.get().tls().clone(),
                name: server_name(name)?,
            })
        });
        let recipe = Recipe {
            tls: tls.transpose()?,
            target,
            options,
        };
        let first = Incarnation::new(&recipe)?;
        Ok(Self { recipe, first })
    }

    /// What is sent as `:authority`.
    #[getter]
    fn authority(&self) -> &str {
        let options = &self.recipe.options;
        options
            .authority
            .as_deref()
            .unwrap_or(self.recipe.target.authority())
    }

    /// Begin a call.
    #[pyo3(signature = (path, metadata, timeout, wait_for_ready, compression))]
    fn start(
        &self,
        path: String,
        metadata: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        wait_for_ready: bool,
        compression: u32,
    ) -> PyResult<NativeCall> {
        let channel = self.channel()?;
        let call = channel.start(CallOptions {
            path,
            metadata: pairs::from_python(metadata)?,
            deadline: timeout.map(deadline),
            wait_for_ready,
            encoding: Encoding::from_number(compression)
                .ok_or_else(|| PyValueError::new_err("no such compression"))?,
        });
        let call =
            call.ok_or_else(|| PyValueError::new_err("Cannot invoke RPC on closed channel!"))?;
        Ok(NativeCall::new(call, Arc::clone(channel)))
    }

    /// Return the number of the connectivity, and begin to connect where that is asked for.
    fn state(&self, try_to_connect: bool) -> PyResult<u8> {
        Ok(self.channel()?.connectivity(try_to_connect) as u8)
    }

    /// Wait for another state than the known one, or for watched calls to end.
    #[pyo3(signature = (known_state, timeout))]
    fn wait_events(
        &self,
        py: Python<'_>,
        known_state: u8,
        timeout: f64,
    ) -> PyResult<(u8, Vec<u64>)> {
        let channel = self.channel()?;
        let known = connectivity(known_state)?;
        let end = deadline(timeout);
        let polled = wait(py, |until| {
            match channel.wait_events(known, until.min(end)) {
                Poll::Ready((state, calls)) => Poll::Ready((state, calls)),
                Poll::Pending if Instant::now() >= end => Poll::Ready((known, Vec::new())),
                Poll::Pending => Poll::Pending,
            }
        });
        let (state, calls) = polled?;
        Ok((state as u8, calls.iter().map(|call| call.id()).collect()))
    }

    /// End the wait for events.
    fn poke(&self) -> PyResult<()> {
        self.channel()?.poke();
        Ok(())
    }

    /// End every call and the connection.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let channel = self.channel()?;
        py.detach(|| channel.close(CLOSED));
        Ok(())
    }
}

impl NativeChannel {
    /// The channel of this process.
    fn channel(&self) -> PyResult<&Arc<Channel>> {
        let mut incarnation = &self.first;
        loop {
            if let Some(channel) = incarnation.channel.get() {
                return Ok(channel);
            }
            let next = &incarnation.next;
            incarnation = if let Some(next) = next.get() {
                next
            } else {
                let made = Box::new(Incarnation::new(&self.recipe)?);
                // Another thread's is as good.
                next.get_or_init(|| made)
            };
        }
    }
}

impl Incarnation {
    fn new(recipe: &Recipe) -> PyResult<Self> {
        let Recipe {
            target,
            options,
            tls,
        } = recipe;
        let channel = Channel::new(target.clone(), options.clone(), tls.clone());
        let channel = channel.map_err(|error| match error {
            ChannelError::Authority { .. } => PyValueError::new_err(error.to_string()),
            ChannelError::System(_) => PyRuntimeError::new_err(error.to_string()),
        })?;
        Ok(Self {
            channel: Native::new(Arc::new(channel)),
            next: OnceLock::new(),
        })
    }
}

/// When a time that Python tells is over.
pub fn deadline(seconds: f64) -> Instant {
    Instant::now() + duration(seconds)
}

/// A time that Python tells. Less than nothing, or no number at all, is nothing.
fn duration(seconds: f64) -> Duration {
    let seconds = seconds.max(0.0);
    Duration::try_from_secs_f64(seconds).map_or(AGES, |time| time.min(AGES))
}

fn connectivity(number: u8) -> PyResult<Connectivity> {
    [
        Connectivity::Idle,
        Connectivity::Connecting,
        Connectivity::Ready,
        Connectivity::TransientFailure,
        Connectivity::Shutdown,
    ]
    .get(usize::from(number))
    .copied()
    .ok_or_else(|| PyValueError::new_err("no such state"))
}
