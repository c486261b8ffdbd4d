package fatctx

/*
#include <stdlib.h>
#include "fatctx/fatctx.h"

// The bytes of a container in memory are a copy that the library gives back.
static int32_t go_open_memory(void* bytes, uint64_t size, const fatctx_open_options* options,
                              fatctx_container* container, fatctx_error* error) {
  return fatctx_container_open_memory(bytes, size, options, free, bytes, container, error);
}
*/
import "C"

import (
	"io"
	"os"
	"runtime/cgo"
	"unsafe"
)

// Verify is the point in time at which payload is checked. Metadata is always checked.
type Verify uint32

// Points in time at which payload is checked.
const (
	VerifyOnAcquire   Verify = C.FATCTX_VERIFY_RECORD_ON_ACQUIRE // before the first view of a record
	VerifyNone        Verify = C.FATCTX_VERIFY_NONE
	VerifyPrivateCopy Verify = C.FATCTX_VERIFY_PRIVATE_COPY // views are checked copies in memory that nobody can change
)

// OpenOptions are options of an open. Zero values are the defaults.
type OpenOptions struct {
	Verify            Verify
	RefuseSymlinks    bool
	RequireLocal      bool       // refuse network and FUSE file systems
	NeverCopy         bool       // fail where the file cannot be mapped
	MaxCopiedBytes    uint64     // memory that composed views may take together
	CacheFolder       string     // folder of mode 0700 in which processes share these bytes instead
	CacheLimitBytes   uint64     // limit of that folder; 0: 4 GiB
	TrustedKeys       [][32]byte // public keys, one of which must have signed the container; empty: not required
	MinimumGeneration uint64     // an older container is refused
	Generation        uint64     // an earlier state of a container that was appended to; 0: the newest
	MaxMadeBytes      uint64     // the most bytes that one call may make out of the stored bytes; 0: the default
}

func (o *OpenOptions) raw(m *memory) *C.fatctx_open_options {
	if o == nil {
		return nil
	}
	raw := (*C.fatctx_open_options)(m.zeros(C.sizeof_fatctx_open_options))
	C.fatctx_open_options_init(raw, C.sizeof_fatctx_open_options)
	raw.verify = C.uint32_t(o.Verify)
	raw.refuse_symlinks = number(o.RefuseSymlinks)
	raw.require_local = number(o.RequireLocal)
	if o.NeverCopy {
		raw.file_mapping = C.FATCTX_FILE_MAPPING_REQUIRE
	}
	raw.max_copied_bytes = C.uint64_t(o.MaxCopiedBytes)
	raw.cache_folder = m.text(o.CacheFolder)
	raw.cache_limit_bytes = C.uint64_t(o.CacheLimitBytes)
	var keys []byte
	for _, key := range o.TrustedKeys {
		keys = append(keys, key[:]...)
	}
	raw.trusted_keys = (*C.uint8_t)(m.bytes(keys))
	raw.trusted_key_count = C.uint64_t(len(o.TrustedKeys))
	raw.minimum_generation = C.uint64_t(o.MinimumGeneration)
	raw.generation = C.uint64_t(o.Generation)
	raw.max_made_bytes = C.uint64_t(o.MaxMadeBytes)
	return raw
}

// Container is an open container. Any number of goroutines may use it.
type Container struct {
	handle *owned
}

func containerOf(raw C.fatctx_container) *Container {
	return &Container{own(raw.id, "the container", func(id uint64) {
		C.fatctx_container_close(C.fatctx_container{id: C.uint64_t(id)}, nil)
	})}
}

// Open opens a file, or joins this process's mapping of it. Nil options are the defaults.
func Open(path string, options *OpenOptions) (*Container, error) {
	var m memory
	defer m.free()
	raw, file := options.raw(&m), m.text(path)
	var container C.fatctx_container
	err := m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_container_open(file, raw, &container, e) })
	if err != nil {
		return nil, err
	}
	return containerOf(container), nil
}

// OpenFile opens a part of an open file, such as an asset in a package: size bytes from offset, which is a multiple of
// 4,096. A size of 0 is "to the end of the file". The file may be closed afterwards.
func OpenFile(file *os.File, offset, size uint64, options *OpenOptions) (*Container, error) {
	var m memory
	defer m.free()
	raw := options.raw(&m)
	var container C.fatctx_container
	var opened error
	connection, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	err = connection.Control(func(descriptor uintptr) {
		opened = m.call(func(e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_open_descriptor(C.int(descriptor), C.uint64_t(offset), C.uint64_t(size), raw, &container, e)
		})
	})
	if err == nil {
		err = opened
	}
	if err != nil {
		return nil, err
	}
	return containerOf(container), nil
}

// OpenBytes opens a container in memory. The bytes are copied, because the library keeps them longer than Go allows.
func OpenBytes(bytes []byte, options *OpenOptions) (*Container, error) {
	var m memory
	defer m.free()
	raw := options.raw(&m)
	copied := C.CBytes(bytes)
	var container C.fatctx_container
	err := m.call(func(e *C.fatctx_error) C.int32_t {
		return C.go_open_memory(copied, C.uint64_t(len(bytes)), raw, &container, e)
	})
	if err != nil {
		C.free(copied) // the library gives back only after an open that succeeds
		return nil, err
	}
	return containerOf(container), nil
}

// Close closes the container. Views of it stay valid. Closing twice does nothing.
func (c *Container) Close() error {
	c.handle.close()
	return nil
}

// Reopen opens the same source again: the present file at its path. The container and its views keep the old bytes.
func (c *Container) Reopen() (*Container, error) {
	var reopened C.fatctx_container
	err := c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_reopen(C.fatctx_container{id: id}, &reopened, e)
	})
	if err != nil {
		return nil, err
	}
	return containerOf(reopened), nil
}

// Check checks that the file is still the one that was opened, and that no mapped byte was lost.
func (c *Container) Check() error {
	return c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_check(C.fatctx_container{id: id}, e)
	})
}

// Generation is an earlier state of the file.
type Generation struct {
	Number       uint64
	CommittedEnd uint64 // where it ends in the file
}

// OpenReport has facts about an open.
type OpenReport struct {
	Path              string
	Filesystem        string // "ext4"
	UUID              string
	Generation        uint64
	NewestGeneration  uint64
	Earlier           []Generation // earlier ones whose bytes are still in the file, ascending
	FileSize          uint64
	DeadBytes         uint64 // used by no record
	Sealed            bool
	Signed            bool
	SignatureVerified bool
	AlreadyLive       bool     // another open of this process had mapped the file
	Mapped            bool     // otherwise views are copies, for the reason in CopyReason
	CopyReason        string   // empty if views are not copies
	Degraded          []string // damaged copies of metadata; empty if the file is whole
	FormatVersion     string   // of the file: "1.0"
	NewerFeatures     string   // feature bits that this library does not read; empty if there are none
}

// Report returns the report of the open.
func (c *Container) Report() (OpenReport, error) {
	var raw C.fatctx_open_report
	raw.struct_size = C.sizeof_fatctx_open_report
	var report OpenReport
	err := c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		code := C.fatctx_container_report(C.fatctx_container{id: id}, &raw, e)
		if code != C.FATCTX_OK {
			return code
		}
		report = OpenReport{ // texts borrow from the handle, which is open here
			Path:              textOf(raw.path),
			Filesystem:        textOf(raw.filesystem),
			UUID:              textOf(raw.uuid),
			Generation:        uint64(raw.generation),
			NewestGeneration:  uint64(raw.newest_generation),
			FileSize:          uint64(raw.file_size),
			DeadBytes:         uint64(raw.dead_bytes),
			Sealed:            raw.sealed != 0,
			Signed:            raw.signed_file != 0,
			SignatureVerified: raw.signature_verified != 0,
			AlreadyLive:       raw.already_live != 0,
			Mapped:            raw.mapped != 0,
			CopyReason:        textOf(raw.copy_reason),
			FormatVersion:     textOf(raw.format_version),
			NewerFeatures:     textOf(raw.newer_features),
		}
		if raw.degraded != nil {
			for _, copied := range unsafe.Slice(raw.degraded, int(raw.degraded_count)) {
				report.Degraded = append(report.Degraded, textOf(copied))
			}
		}
		if raw.earlier != nil {
			for _, state := range unsafe.Slice(raw.earlier, int(raw.earlier_generations)) {
				report.Earlier = append(report.Earlier, Generation{uint64(state.number), uint64(state.committed_end)})
			}
		}
		return code
	})
	return report, err
}

// Acquire makes a view of a record's bytes, checked as the open options say.
func (c *Container) Acquire(id uint32) (*View, error) {
	return makeView(func(view *C.fatctx_view) error {
		return c.handle.call(func(container C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_acquire(C.fatctx_container{id: container}, C.uint32_t(id), view, e)
		})
	})
}

// AcquireName makes a view of the record with this name.
func (c *Container) AcquireName(name string) (*View, error) {
	var m memory
	defer m.free()
	text := m.text(name)
	return makeView(func(view *C.fatctx_view) error {
		return m.callOn(c.handle, func(container C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_acquire_name(C.fatctx_container{id: container}, text, view, e)
		})
	})
}

// Stream hands the bytes of a record to a function, piece by piece, each checked before. A piece is valid during its call
// only. A compressed record gives its original bytes. An error of the function stops the stream and is returned.
func (c *Container) Stream(id uint32, sink func(bytes []byte) error) error {
	w := &watch{sink: sink}
	user := cgo.NewHandle(w)
	defer user.Delete()
	return w.settle(c.handle.call(func(container C.uint64_t, e *C.fatctx_error) C.int32_t {
		return streamRecord(container, id, user, e)
	}))
}

// Read reads a record into memory of Go.
func (c *Container) Read(id uint32) ([]byte, error) {
	bytes := []byte{}
	err := c.Stream(id, func(piece []byte) error {
		bytes = append(bytes, piece...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return bytes, nil
}

// WriteRecord writes the bytes of a record to a writer and returns their number.
func (c *Container) WriteRecord(writer io.Writer, id uint32) (int64, error) {
	var written int64
	err := c.Stream(id, func(piece []byte) error {
		count, err := writer.Write(piece)
		written += int64(count)
		return err
	})
	return written, err
}

// InfoJSON returns file, records and their description as JSON, schema "fatctx.info/1".
func (c *Container) InfoJSON() (string, error) {
	return c.handle.text(func(id C.uint64_t, buffer *C.char, capacity C.size_t, size *C.size_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_info_json(C.fatctx_container{id: id}, nil, buffer, capacity, size, e)
	})
}

// VerifyOptions are options of a verification. Zero values check the whole file.
type VerifyOptions struct {
	Strict      bool   // as if the file were for delivery
	Record      uint32 // check this record only, of an open container
	Threads     uint32 // 0: the number of processors, at most 8
	RangeOffset uint64 // check only these bytes: of the file, or of the record
	RangeSize   uint64 // 0: everything
	Open        *OpenOptions
	// Progress is called with bytes that are done, and all of them. An error stops the work and is returned.
	Progress func(done, total uint64) error
}

// VerifyReport is the result of a verification.
type VerifyReport struct {
	CheckedBytes      uint64
	Findings          []*Error // everything that is wrong; empty if the file is whole
	AbsentBytes       uint64   // of the findings: bytes of the file that are not present
	Signed            bool
	SignatureVerified bool
}

func verify(options *VerifyOptions, check func(*memory, *C.fatctx_verify_options, *C.fatctx_verify_report) error) (VerifyReport, error) {
	var m memory
	defer m.free()
	if options == nil {
		options = &VerifyOptions{}
	}
	w := &watch{progress: options.Progress}
	user := cgo.NewHandle(w)
	defer user.Delete()
	raw := (*C.fatctx_verify_options)(m.zeros(C.sizeof_fatctx_verify_options))
	raw.struct_size = C.sizeof_fatctx_verify_options
	raw.record_id = C.uint32_t(options.Record)
	raw.strict = number(options.Strict)
	raw.threads = C.uint32_t(options.Threads)
	raw.range_offset = C.uint64_t(options.RangeOffset)
	raw.range_size = C.uint64_t(options.RangeSize)
	raw.open = options.Open.raw(&m)
	watchVerify(raw, options.Progress != nil, user)
	var report C.fatctx_verify_report
	report.struct_size = C.sizeof_fatctx_verify_report
	if err := w.settle(check(&m, raw, &report)); err != nil {
		return VerifyReport{}, err
	}
	return VerifyReport{
		CheckedBytes:      uint64(report.checked_bytes),
		Findings:          w.findings,
		AbsentBytes:       uint64(report.absent_bytes),
		Signed:            report.signed_file != 0,
		SignatureVerified: report.signature_verified != 0,
	}, nil
}

// Verify checks the container. Damage is a finding and not an error. Nil options check the whole file.
func (c *Container) Verify(options *VerifyOptions) (VerifyReport, error) {
	return verify(options, func(m *memory, raw *C.fatctx_verify_options, report *C.fatctx_verify_report) error {
		return m.callOn(c.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_verify(C.fatctx_container{id: id}, raw, report, e)
		})
	})
}

// VerifyFile checks a file, also one that is too damaged to be opened.
func VerifyFile(path string, options *VerifyOptions) (VerifyReport, error) {
	return verify(options, func(m *memory, raw *C.fatctx_verify_options, report *C.fatctx_verify_report) error {
		file := m.text(path)
		return m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_verify_file(file, raw, report, e) })
	})
}
