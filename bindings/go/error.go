package fatctx

/*
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"
)

// Code is a code of the library, and itself an error, so that errors.Is(err, fatctx.ErrNotFound) works. docs/errors.md
// gives cause and remedy of each. The list is open: a newer library may have other codes.
type Code int32

// The codes of the library.
const (
	ErrIO                    Code = C.FATCTX_ERROR_IO
	ErrNotFound              Code = C.FATCTX_ERROR_NOT_FOUND
	ErrInvalidArgument       Code = C.FATCTX_ERROR_INVALID_ARGUMENT
	ErrTruncated             Code = C.FATCTX_ERROR_TRUNCATED
	ErrTrailingData          Code = C.FATCTX_ERROR_TRAILING_DATA
	ErrBadMagic              Code = C.FATCTX_ERROR_BAD_MAGIC
	ErrUnsupported           Code = C.FATCTX_ERROR_UNSUPPORTED
	ErrMalformed             Code = C.FATCTX_ERROR_MALFORMED
	ErrChecksumMismatch      Code = C.FATCTX_ERROR_CHECKSUM_MISMATCH
	ErrLimitExceeded         Code = C.FATCTX_ERROR_LIMIT_EXCEEDED
	ErrBadReference          Code = C.FATCTX_ERROR_BAD_REFERENCE
	ErrNoMatch               Code = C.FATCTX_ERROR_NO_MATCH
	ErrCodec                 Code = C.FATCTX_ERROR_CODEC
	ErrSignatureMissing      Code = C.FATCTX_ERROR_SIGNATURE_MISSING
	ErrSignatureBad          Code = C.FATCTX_ERROR_SIGNATURE_BAD
	ErrRollback              Code = C.FATCTX_ERROR_ROLLBACK
	ErrNotRegularFile        Code = C.FATCTX_ERROR_NOT_REGULAR_FILE
	ErrChanged               Code = C.FATCTX_ERROR_CHANGED
	ErrMappingLost           Code = C.FATCTX_ERROR_MAPPING_LOST
	ErrRemoteFilesystem      Code = C.FATCTX_ERROR_REMOTE_FILESYSTEM
	ErrLocked                Code = C.FATCTX_ERROR_LOCKED
	ErrExists                Code = C.FATCTX_ERROR_EXISTS
	ErrCommitUnknown         Code = C.FATCTX_ERROR_COMMIT_UNKNOWN
	ErrNoSpace               Code = C.FATCTX_ERROR_NO_SPACE
	ErrNoResource            Code = C.FATCTX_ERROR_NO_RESOURCE
	ErrStaleHandle           Code = C.FATCTX_ERROR_STALE_HANDLE
	ErrCancelled             Code = C.FATCTX_ERROR_CANCELLED
	ErrOutOfMemory           Code = C.FATCTX_ERROR_OUT_OF_MEMORY
	ErrInternal              Code = C.FATCTX_ERROR_INTERNAL
	ErrOperationNotPermitted Code = C.FATCTX_ERROR_OPERATION_NOT_PERMITTED
	ErrSerialiseFailed       Code = C.FATCTX_ERROR_SERIALISE_FAILED
	ErrBackendLibraryMissing Code = C.FATCTX_ERROR_BACKEND_LIBRARY_MISSING
	ErrBackendRestarted      Code = C.FATCTX_ERROR_BACKEND_RESTARTED
	ErrTimedOut              Code = C.FATCTX_ERROR_TIMED_OUT
	ErrInvalidConfig         Code = C.FATCTX_ERROR_INVALID_CONFIG
	ErrCopyNotAllowed        Code = C.FATCTX_ERROR_COPY_NOT_ALLOWED
	ErrNotPresent            Code = C.FATCTX_ERROR_NOT_PRESENT
)

// String returns the word of the library: "checksum_mismatch".
func (c Code) String() string { return C.GoString(C.fatctx_error_code_name(C.int32_t(c))) }

// Error returns the word of the library.
func (c Code) Error() string { return c.String() }

// Error is an error of the library.
type Error struct {
	Code    Code
	Message string // one line without the place
	Rule    string // the broken rule of the format: "F16"; empty if there is none

	FileOffset int64  // the byte of the container that the complaint is about; -1 if there is none
	RecordID   uint32 // the record that the complaint is about; 0 if there is none
	OSError    int    // the number of the system's error; 0 if there is none

	text string
}

// Error returns one line that names the object, the reason and the place.
func (e *Error) Error() string { return e.text }

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// Is compares with the errors of the standard library that mean the same.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Code == ErrNotFound
	case fs.ErrExist:
		return e.Code == ErrExists
	case fs.ErrPermission:
		return e.Code == ErrOperationNotPermitted
	case fs.ErrInvalid:
		return e.Code == ErrInvalidArgument
	case os.ErrClosed:
		return e.Code == ErrStaleHandle
	}
	return false
}

// call runs a call of the library with an error to fill.
func call(function func(e *C.fatctx_error) C.int32_t) error {
	var raw C.fatctx_error
	raw.struct_size = C.sizeof_fatctx_error
	code := function(&raw)
	if code == C.FATCTX_OK {
		return nil
	}
	raw.code = code
	return errorOf(&raw)
}

// refusal returns an error of this package, in the form of the library's.
func refusal(code Code, message string) *Error {
	return &Error{Code: code, Message: message, FileOffset: -1, text: fmt.Sprintf("%s (%s)", message, code)}
}

func errorOf(raw *C.fatctx_error) *Error {
	made := &Error{
		Code:       Code(raw.code),
		Message:    C.GoString(&raw.message[0]),
		Rule:       C.GoString(&raw.rule[0]),
		FileOffset: -1,
	}
	if raw.has_file_offset != 0 {
		made.FileOffset = int64(raw.file_offset)
	}
	if raw.has_record_id != 0 {
		made.RecordID = uint32(raw.record_id)
	}
	if raw.has_os_error != 0 {
		made.OSError = int(raw.os_error)
	}
	var line [2048]byte
	var size C.size_t
	if C.fatctx_error_text(raw, (*C.char)(unsafe.Pointer(&line[0])), C.size_t(len(line)), &size) == C.FATCTX_OK {
		text, _, _ := strings.Cut(string(line[:]), "\x00")
		made.text = text
	} else {
		made.text = made.Message // only a lack of memory keeps the library from writing the line
	}
	return made
}
