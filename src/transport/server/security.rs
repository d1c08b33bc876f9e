//! What is known of the other end of a connection.

use tokio_rustls::rustls::ServerConnection;

/// What `context.auth_context()` gives: names with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    /// In the order in which they are told.
    pub properties: Vec<(&'static str, Vec<Vec<u8>>)>,
}

impl Security {
    /// Of a connection without TLS.
    #[must_use]
    pub fn none() -> Self {
        Self {
            properties: vec![
                ("transport_security_type", vec![b"insecure".to_vec()]),
                ("security_level", vec![b"TSI_SECURITY_NONE".to_vec()]),
            ],
        }
    }

    pub(super) fn of(_connection: &ServerConnection) -> Self {
        Self {
            properties: vec![
                ("transport_security_type", vec![b"ssl".to_vec()]),
                (
                    "security_level",
                    vec![b"TSI_PRIVACY_AND_INTEGRITY".to_vec()],
                ),
            ],
        }
    }
}
