//! gRPC's status codes, and what other codes mean in them.

use std::fmt;

use h2::Reason;
use http::StatusCode;

/// <https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are gRPC's own")]
pub enum Code {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

/// Every code with its name, at the place of its number.
const ALL: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    /// The code of a number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        let place = usize::try_from(number).ok()?;
        ALL.get(place).map(|&(code, _)| code)
    }

    /// The code that `grpc-status` gives.
    #[must_use]
    pub fn from_header(value: &[u8]) -> Option<Self> {
        let digits = value.len() <= 2 && value.iter().all(u8::is_ascii_digit);
        let text = str::from_utf8(value).ok().filter(|_| digits)?;
        Self::from_number(text.parse().ok()?)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ALL[usize::from(self.number())].1
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl From<StatusCode> for Code {
    /// What an answer without `grpc-status` means:
    /// <https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md>.
    fn from(status: StatusCode) -> Self {
        match status.as_u16() {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            // 200 too: an answer of gRPC's has a grpc-status.
            _ => Self::Unknown,
        }
    }
}

impl From<Reason> for Code {
    /// What a reset stream means: <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>, "Errors".
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::REFUSED_STREAM => Self::Unavailable,
            Reason::CANCEL => Self::Cancelled,
            Reason::ENHANCE_YOUR_CALM => Self::ResourceExhausted,
            Reason::INADEQUATE_SECURITY => Self::PermissionDenied,
            _ => Self::Internal,
        }
    }
}

/// What a connection that cannot be made or is lost means, for whatever reason: the call may be tried again.
pub const LOST_CONNECTION: Code = Code::Unavailable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        for (number, (code, name)) in ALL.into_iter().enumerate() {
            assert_eq!(usize::from(code.number()), number);
            assert_eq!(
                u32::try_from(number).ok().and_then(Code::from_number),
                Some(code)
            );
            assert_eq!(Code::from_header(number.to_string().as_bytes()), Some(code));
            assert_eq!(code.name(), name);
        }
        assert_eq!(Code::from_number(17), None);
        assert_eq!(Code::from_number(u32::MAX), None);
    }

    #[test]
    fn a_garbled_header_is_no_code() {
        for value in [
            "",
            "17",
            "-1",
            "+1",
            " 1",
            "1 ",
            "x",
            "99999999999999999999",
            "1.0",
        ] {
            assert_eq!(Code::from_header(value.as_bytes()), None, "{value:?}");
        }
        assert_eq!(Code::from_header(b"\xff"), None);
    }

    #[test]
    fn http_statuses() {
        let cases = [
            (200, Code::Unknown),
            (302, Code::Unknown),
            (400, Code::Internal),
            (401, Code::Unauthenticated),
            (403, Code::PermissionDenied),
            (404, Code::Unimplemented),
            (415, Code::Unknown),
            (429, Code::Unavailable),
            (500, Code::Unknown),
            (502, Code::Unavailable),
            (503, Code::Unavailable),
            (504, Code::Unavailable),
        ];
        for (status, code) in cases {
            let status = StatusCode::from_u16(status).expect("it is a status");
            assert_eq!(Code::from(status), code);
        }
    }

    #[test]
    fn reasons() {
        assert_eq!(Code::from(Reason::REFUSED_STREAM), Code::Unavailable);
        assert_eq!(Code::from(Reason::CANCEL), Code::Cancelled);
        assert_eq!(
            Code::from(Reason::ENHANCE_YOUR_CALM),
            Code::ResourceExhausted
        );
        assert_eq!(
            Code::from(Reason::INADEQUATE_SECURITY),
            Code::PermissionDenied
        );
        for other in [Reason::NO_ERROR, Reason::PROTOCOL_ERROR, Reason::from(99)] {
            assert_eq!(Code::from(other), Code::Internal);
        }
    }
}
