//! Errors: a code to branch on, a line to print, and the place that the complaint is about.

use std::fmt;
use std::os::raw::c_char;

use crate::ffi;
use crate::sys;

/// The result of a call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident,)*) => {
        /// A code of the library. `docs/errors.md` gives cause and remedy of each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
            /// A code of a newer library.
            Other(i32),
        }

        impl ErrorCode {
            /// Returns the code of a number of the C interface.
            pub fn from_number(number: i32) -> ErrorCode {
                match number {
                    $(sys::$constant => ErrorCode::$name,)*
                    other => ErrorCode::Other(other),
                }
            }

            /// Returns the number of the C interface, which never changes.
            pub fn number(self) -> i32 {
                match self {
                    $(ErrorCode::$name => sys::$constant,)*
                    ErrorCode::Other(number) => number,
                }
            }
        }
    };
}

codes! {
    /// The system could not read or write.
    Io = FATCTX_ERROR_IO,
    /// A file, a record or a tensor does not exist.
    NotFound = FATCTX_ERROR_NOT_FOUND,
    /// An argument is not one of the accepted ones.
    InvalidArgument = FATCTX_ERROR_INVALID_ARGUMENT,
    /// The file ends too early.
    Truncated = FATCTX_ERROR_TRUNCATED,
    /// The file has bytes behind its end.
    TrailingData = FATCTX_ERROR_TRAILING_DATA,
    /// The file has another format.
    BadMagic = FATCTX_ERROR_BAD_MAGIC,
    /// This version or this system cannot do it.
    Unsupported = FATCTX_ERROR_UNSUPPORTED,
    /// The file breaks a rule of the format.
    Malformed = FATCTX_ERROR_MALFORMED,
    /// Bytes are not the ones that were written.
    ChecksumMismatch = FATCTX_ERROR_CHECKSUM_MISMATCH,
    /// A limit of the format or of the options is exceeded.
    LimitExceeded = FATCTX_ERROR_LIMIT_EXCEEDED,
    /// A record refers to something that does not fit.
    BadReference = FATCTX_ERROR_BAD_REFERENCE,
    /// No record fits the device.
    NoMatch = FATCTX_ERROR_NO_MATCH,
    /// A compressed record cannot be decoded.
    Codec = FATCTX_ERROR_CODEC,
    /// The container must be signed and is not.
    SignatureMissing = FATCTX_ERROR_SIGNATURE_MISSING,
    /// The signature does not belong to the bytes.
    SignatureBad = FATCTX_ERROR_SIGNATURE_BAD,
    /// The container is older than the required generation.
    Rollback = FATCTX_ERROR_ROLLBACK,
    /// The path does not lead to a regular file.
    NotRegularFile = FATCTX_ERROR_NOT_REGULAR_FILE,
    /// The file changed while it was used.
    Changed = FATCTX_ERROR_CHANGED,
    /// Mapped bytes were lost, because the file was truncated.
    MappingLost = FATCTX_ERROR_MAPPING_LOST,
    /// The file is on a network file system, which the options refuse.
    RemoteFilesystem = FATCTX_ERROR_REMOTE_FILESYSTEM,
    /// Another process is writing to the file.
    Locked = FATCTX_ERROR_LOCKED,
    /// The file or the name exists.
    Exists = FATCTX_ERROR_EXISTS,
    /// The last sync of a commit failed.
    CommitUnknown = FATCTX_ERROR_COMMIT_UNKNOWN,
    /// The disk is full.
    NoSpace = FATCTX_ERROR_NO_SPACE,
    /// The system has no more of a resource.
    NoResource = FATCTX_ERROR_NO_RESOURCE,
    /// A handle was closed. This crate never gives such a handle to the library.
    StaleHandle = FATCTX_ERROR_STALE_HANDLE,
    /// A callback or a signal stopped the work.
    Cancelled = FATCTX_ERROR_CANCELLED,
    /// Memory is exhausted.
    OutOfMemory = FATCTX_ERROR_OUT_OF_MEMORY,
    /// A defect of the library.
    Internal = FATCTX_ERROR_INTERNAL,
    /// The operation is not permitted now.
    OperationNotPermitted = FATCTX_ERROR_OPERATION_NOT_PERMITTED,
    /// A backend could not write its context.
    SerialiseFailed = FATCTX_ERROR_SERIALISE_FAILED,
    /// A library of the backend is missing.
    BackendLibraryMissing = FATCTX_ERROR_BACKEND_LIBRARY_MISSING,
    /// The backend was restarted.
    BackendRestarted = FATCTX_ERROR_BACKEND_RESTARTED,
    /// The time is over.
    TimedOut = FATCTX_ERROR_TIMED_OUT,
    /// A configuration is invalid.
    InvalidConfig = FATCTX_ERROR_INVALID_CONFIG,
    /// A view needs memory that the options do not allow.
    CopyNotAllowed = FATCTX_ERROR_COPY_NOT_ALLOWED,
    /// The file has only a part of its container, and not these bytes.
    NotPresent = FATCTX_ERROR_NOT_PRESENT,
}

impl ErrorCode {
    /// Returns the word of the library: "checksum_mismatch".
    pub fn name(self) -> &'static str {
        ffi::static_text(unsafe { sys::fatctx_error_code_name(self.number()) })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// An error of the library, or of an argument that could not be passed to it.
///
/// Its text is one line that names the object, the reason, the place and the remedy.
///
/// ```
/// let error = fatctx::Container::open("no.fatctx").unwrap_err();
/// assert_eq!(error.code(), fatctx::ErrorCode::NotFound);
/// assert!(error.to_string().starts_with("no.fatctx"));
/// ```
#[derive(Clone)]
pub struct Error {
    // Boxed, so that a Result of this crate is small.
    facts: Box<Facts>,
}

#[derive(Clone)]
struct Facts {
    code: ErrorCode,
    message: String,
    line: String,
    rule: String,
    file_offset: Option<u64>,
    record_id: Option<u32>,
    os_error: Option<i32>,
}

impl Error {
    /// Returns the code, to branch on.
    pub fn code(&self) -> ErrorCode {
        self.facts.code
    }

    /// Returns the message without the place: one line without a final stop.
    pub fn message(&self) -> &str {
        &self.facts.message
    }

    /// Returns the byte of the container that the complaint is about.
    pub fn file_offset(&self) -> Option<u64> {
        self.facts.file_offset
    }

    /// Returns the record that the complaint is about.
    pub fn record_id(&self) -> Option<u32> {
        self.facts.record_id
    }

    /// Returns the broken rule of the format: "F16", a row of `docs/format.md`.
    pub fn rule(&self) -> Option<&str> {
        Some(self.facts.rule.as_str()).filter(|rule| !rule.is_empty())
    }

    /// Returns the number of the system's error.
    pub fn os_error(&self) -> Option<i32> {
        self.facts.os_error
    }

    pub(crate) fn new(code: ErrorCode, message: String) -> Error {
        let line = format!("{message} ({})", code.name());
        let facts =
            Facts { code, message, line, rule: String::new(), file_offset: None, record_id: None, os_error: None };
        Error { facts: Box::new(facts) }
    }

    pub(crate) fn of(raw: &sys::fatctx_error) -> Error {
        let message = text_of(&raw.message);
        let line =
            ffi::text(|buffer, capacity, size, _| unsafe { sys::fatctx_error_text(raw, buffer, capacity, size) });
        let facts = Facts {
            code: ErrorCode::from_number(raw.code),
            // The line is a sum of the other fields; only a lack of memory keeps the library from writing it.
            line: line.unwrap_or_else(|_| message.clone()),
            message,
            rule: text_of(&raw.rule),
            file_offset: Some(raw.file_offset).filter(|_| raw.has_file_offset != 0),
            record_id: Some(raw.record_id).filter(|_| raw.has_record_id != 0),
            os_error: Some(raw.os_error).filter(|_| raw.has_os_error != 0),
        };
        Error { facts: Box::new(facts) }
    }
}

/// Returns the text of an array that ends with NUL.
fn text_of(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|&sign| sign as u8).take_while(|&sign| sign != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.facts.line)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Error").field("code", &self.facts.code).field("line", &self.facts.line).finish()
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    /// Keeps the error inside, with the kind of the standard library that comes closest.
    fn from(error: Error) -> std::io::Error {
        use std::io::ErrorKind;
        let kind = match error.code() {
            ErrorCode::NotFound => ErrorKind::NotFound,
            ErrorCode::Exists => ErrorKind::AlreadyExists,
            ErrorCode::InvalidArgument => ErrorKind::InvalidInput,
            ErrorCode::OperationNotPermitted => ErrorKind::PermissionDenied,
            ErrorCode::TimedOut => ErrorKind::TimedOut,
            ErrorCode::Cancelled => ErrorKind::Interrupted,
            ErrorCode::Unsupported => ErrorKind::Unsupported,
            ErrorCode::OutOfMemory => ErrorKind::OutOfMemory,
            ErrorCode::Truncated => ErrorKind::UnexpectedEof,
            ErrorCode::BadMagic
            | ErrorCode::Malformed
            | ErrorCode::ChecksumMismatch
            | ErrorCode::TrailingData
            | ErrorCode::BadReference
            | ErrorCode::Codec => ErrorKind::InvalidData,
            _ => ErrorKind::Other,
        };
        std::io::Error::new(kind, error)
    }
}
