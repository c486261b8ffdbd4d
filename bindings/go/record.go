package fatctx

/*
#include <stdlib.h>
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"strconv"
	"strings"
	"unsafe"
)

// RecordType is the type of a record.
type RecordType uint32

// Types of records.
const (
	ContextBinary RecordType = C.FATCTX_RECORD_CONTEXT_BINARY
	WeightBlob    RecordType = C.FATCTX_RECORD_WEIGHT_BLOB
	TensorTable   RecordType = C.FATCTX_RECORD_TENSOR_TABLE
	SourceModel   RecordType = C.FATCTX_RECORD_SOURCE_MODEL
	WrapperModel  RecordType = C.FATCTX_RECORD_WRAPPER_MODEL
	Description   RecordType = C.FATCTX_RECORD_DESCRIPTION
	Opaque        RecordType = C.FATCTX_RECORD_OPAQUE
)

// String returns the word of the library: "weight_blob".
func (t RecordType) String() string { return C.GoString(C.fatctx_record_type_name(C.uint32_t(t))) }

// Codec says how the bytes of a record are stored.
type Codec uint32

// Ways in which bytes are stored.
const (
	CodecNone Codec = C.FATCTX_CODEC_NONE
	CodecLZ4  Codec = C.FATCTX_CODEC_LZ4 // for source models and opaque records; such a record has no view
)

// Version is a version of up to four numbers. The zero value means "unknown".
type Version struct {
	Major, Minor uint16
	Patch, Build uint32
}

// ParseVersion reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed.
func ParseVersion(text string) (Version, error) {
	var m memory
	defer m.free()
	copied := m.text(text)
	var raw C.fatctx_version
	err := m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_version_parse(copied, &raw, e) })
	return versionOf(raw), err
}

// String returns "2.48": trailing zero parts are left out.
func (v Version) String() string {
	parts := []uint32{uint32(v.Major), uint32(v.Minor), v.Patch, v.Build}
	for len(parts) > 1 && parts[len(parts)-1] == 0 {
		parts = parts[:len(parts)-1]
	}
	words := make([]string, len(parts))
	for at, part := range parts {
		words[at] = strconv.FormatUint(uint64(part), 10)
	}
	return strings.Join(words, ".")
}

func versionOf(raw C.fatctx_version) Version {
	return Version{uint16(raw.major), uint16(raw.minor), uint32(raw.patch), uint32(raw.build)}
}

func (v Version) raw() C.fatctx_version {
	return C.fatctx_version{
		major: C.uint16_t(v.Major), minor: C.uint16_t(v.Minor), patch: C.uint32_t(v.Patch), build: C.uint32_t(v.Build),
	}
}

// Target is the target that a record was built for. Zero values mean "not stated".
type Target struct {
	Group    string // records that are alternatives to each other
	Unit     string // the part of a model that the record computes
	Backend  string // "htp", "cpu"
	Part     string // the chip: "SM8650"
	Arch     string // "v75", "x86-64-v3"; when packing for "htp" a chip, whose facts are filled in
	Features string // required ones, comma separated
	Variant  string // a free word that tells equal targets apart
	QnnSoc   uint32 // the number of the chip in QNN
	VtcmMB   uint32
	Generic  bool // runs on every device of its backend
	SDK      Version
	API      Version
	Blob     Version
}

// Record has the facts of a record.
type Record struct {
	ID          uint32
	Type        RecordType
	Name        string // unique in the container
	Size        uint64 // bytes
	StoredBytes uint64
	FileOffset  uint64   // of its first slice; 0 for an empty record
	Hash        [16]byte // XXH3-128 of its bytes
	Weights     []uint32 // ids of the weight blobs that it refers to
	Target      Target
	Codec       Codec
	Recipe      bool // stored as a program and the bytes that it copies from
	Supported   bool // false: this version lists the record but cannot hand it out
}

func recordOf(raw *C.fatctx_record_info) Record {
	record := Record{
		ID:          uint32(raw.id),
		Type:        RecordType(raw._type),
		Name:        textOf(raw.name),
		Size:        uint64(raw.size_bytes),
		StoredBytes: uint64(raw.stored_bytes),
		FileOffset:  uint64(raw.file_offset),
		Target: Target{
			Group: textOf(raw.group), Unit: textOf(raw.unit), Backend: textOf(raw.backend), Part: textOf(raw.part),
			Arch: textOf(raw.arch), Features: textOf(raw.features), Variant: textOf(raw.variant),
			QnnSoc: uint32(raw.qnn_soc), VtcmMB: uint32(raw.vtcm_mb), Generic: raw.generic != 0,
			SDK: versionOf(raw.sdk), API: versionOf(raw.api), Blob: versionOf(raw.blob),
		},
		Codec:     Codec(raw.codec),
		Recipe:    raw.recipe != 0,
		Supported: raw.supported != 0,
	}
	for at, part := range raw.hash {
		record.Hash[at] = byte(part)
	}
	if raw.weights != nil {
		for _, id := range unsafe.Slice(raw.weights, int(raw.weight_count)) {
			record.Weights = append(record.Weights, uint32(id))
		}
	}
	return record
}

// read gets a record; its texts borrow from the container, which is open during the call.
func (c *Container) read(get func(container C.fatctx_container, raw *C.fatctx_record_info, e *C.fatctx_error) C.int32_t) (Record, error) {
	var raw C.fatctx_record_info
	raw.struct_size = C.sizeof_fatctx_record_info
	var record Record
	err := c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		code := get(C.fatctx_container{id: id}, &raw, e)
		if code == C.FATCTX_OK {
			record = recordOf(&raw)
		}
		return code
	})
	return record, err
}

// Records returns the records in ascending id.
func (c *Container) Records() ([]Record, error) {
	var count C.uint64_t
	err := c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_record_count(C.fatctx_container{id: id}, &count, e)
	})
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, int(count))
	for index := C.uint64_t(0); index < count; index++ {
		record, err := c.read(func(container C.fatctx_container, raw *C.fatctx_record_info, e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_record_at(container, index, raw, e)
		})
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// Record returns a record by its id.
func (c *Container) Record(id uint32) (Record, error) {
	return c.read(func(container C.fatctx_container, raw *C.fatctx_record_info, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_record(container, C.uint32_t(id), raw, e)
	})
}

// Find returns a record by its name. The error names the nearest name.
func (c *Container) Find(name string) (Record, error) {
	var m memory
	defer m.free()
	text := m.text(name)
	if m.err != nil {
		return Record{}, m.err
	}
	return c.read(func(container C.fatctx_container, raw *C.fatctx_record_info, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_find(container, text, raw, e)
	})
}
