package fatctx

/*
#include <stdlib.h>
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// PackOptions are options of a pack. Zero values are the defaults.
type PackOptions struct {
	ModelName string
	Seal      bool // nothing can be appended to the container
	Overwrite bool // replace an existing file, by rename
	SHA256    bool // store SHA-256 of each record and leaf as well
	OnePerSoC bool // refuse a second context binary for a SoC
	Threads   uint32
	// Progress is called by Publish with bytes that are done, and all of them. An error stops the work and is returned.
	Progress func(done, total uint64) error
}

// PackTensor describes a tensor of a weight blob.
type PackTensor struct {
	Name         string
	DType        DType
	Shape        []uint64
	OffsetInBlob uint64
	Alias        bool // shares bytes with another tensor on purpose
}

// PackRecord is a record to pack.
type PackRecord struct {
	Type     RecordType
	Name     string
	Bytes    []byte // copied by Add
	Path     string // instead of Bytes: a file, which must not change until the container is written
	Target   Target
	Weights  []string // names of the weight blobs that it refers to
	Tensors  []PackTensor
	Codec    Codec
	Producer string // the tool that made it, with its version
	Format   string // the format of its bytes: "iree-vmfb"
}

func (r *PackRecord) raw(m *memory) (*C.fatctx_pack_record, error) {
	raw := (*C.fatctx_pack_record)(m.zeros(C.sizeof_fatctx_pack_record))
	C.fatctx_pack_record_init(raw, C.sizeof_fatctx_pack_record)
	raw._type = C.uint32_t(r.Type)
	raw.name = m.text(r.Name)
	if r.Path != "" {
		raw.source_path = m.text(r.Path)
	} else if raw.bytes = m.bytes(r.Bytes); raw.bytes == nil {
		raw.bytes = m.zeros(1) // an empty record has bytes, and they are none
	}
	raw.size = C.uint64_t(len(r.Bytes))
	raw.group, raw.unit, raw.backend = m.text(r.Target.Group), m.text(r.Target.Unit), m.text(r.Target.Backend)
	raw.part, raw.arch, raw.features = m.text(r.Target.Part), m.text(r.Target.Arch), m.text(r.Target.Features)
	raw.variant = m.text(r.Target.Variant)
	raw.qnn_soc, raw.vtcm_mb = C.uint32_t(r.Target.QnnSoc), C.uint32_t(r.Target.VtcmMB)
	raw.generic = number(r.Target.Generic)
	raw.sdk, raw.api, raw.blob = r.Target.SDK.raw(), r.Target.API.raw(), r.Target.Blob.raw()
	raw.codec = C.uint32_t(r.Codec)
	raw.producer, raw.format = m.text(r.Producer), m.text(r.Format)
	if count := len(r.Weights); count > 0 {
		raw.weights = (**C.char)(m.zeros(C.size_t(count) * C.size_t(unsafe.Sizeof(raw.name))))
		raw.weight_count = C.uint64_t(count)
		for at, name := range r.Weights {
			unsafe.Slice(raw.weights, count)[at] = m.text(name)
		}
	}
	if count := len(r.Tensors); count > 0 {
		raw.tensors = (*C.fatctx_pack_tensor)(m.zeros(C.size_t(count) * C.sizeof_fatctx_pack_tensor))
		raw.tensor_count = C.uint64_t(count)
		for at, tensor := range r.Tensors {
			if err := tensor.fill(&unsafe.Slice(raw.tensors, count)[at], m); err != nil {
				return nil, err
			}
		}
	}
	return raw, m.err
}

func (t *PackTensor) fill(raw *C.fatctx_pack_tensor, m *memory) error {
	raw.name = m.text(t.Name)
	raw.rank = C.uint64_t(len(t.Shape))
	if len(t.Shape) > 0 {
		raw.shape = (*C.uint64_t)(m.zeros(C.size_t(len(t.Shape)) * 8))
		copy(unsafe.Slice((*uint64)(unsafe.Pointer(raw.shape)), len(t.Shape)), t.Shape)
	}
	raw.offset_in_blob = C.uint64_t(t.OffsetInBlob)
	raw.dtype = C.uint32_t(t.DType)
	raw.alias = number(t.Alias)
	return m.call(func(e *C.fatctx_error) C.int32_t {
		return C.fatctx_tensor_size_bytes(raw.dtype, raw.shape, raw.rank, &raw.size_bytes, e)
	})
}

// PackReport is the result of a pack.
type PackReport struct {
	FileSize    uint64
	InputBytes  uint64 // sum of the sizes of the records
	StoredBytes uint64 // bytes of payload in the file
	SharedBytes uint64 // bytes of records that needed no storage of their own
	RecordCount uint32
	Sealed      bool
	UUID        string
}

// Packer collects records and writes a container. Equal input gives equal files. It serves one goroutine at a time.
type Packer struct {
	handle *owned
	watch  *watch
}

// NewPacker makes a packer. Nil options are the defaults.
func NewPacker(options *PackOptions) (*Packer, error) {
	if options == nil {
		options = &PackOptions{}
	}
	var m memory
	defer m.free()
	raw := (*C.fatctx_pack_options)(m.zeros(C.sizeof_fatctx_pack_options))
	C.fatctx_pack_options_init(raw, C.sizeof_fatctx_pack_options)
	raw.model_name = m.text(options.ModelName)
	raw.seal, raw.overwrite = number(options.Seal), number(options.Overwrite)
	raw.sha256, raw.one_per_soc = number(options.SHA256), number(options.OnePerSoC)
	raw.threads = C.uint32_t(options.Threads)
	w := &watch{progress: options.Progress}
	var user cgo.Handle
	if options.Progress != nil {
		user = cgo.NewHandle(w)
		watchPack(raw, user)
	}
	var packer C.fatctx_packer
	if err := m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_packer_create(raw, &packer, e) }); err != nil {
		if user != 0 {
			user.Delete()
		}
		return nil, err
	}
	return &Packer{watch: w, handle: own(packer.id, "the packer", func(id uint64) {
		C.fatctx_packer_close(C.fatctx_packer{id: C.uint64_t(id)}, nil)
		if user != 0 {
			user.Delete()
		}
	})}, nil
}

// Add adds a record. Its bytes are copied; its file is read by Publish.
func (p *Packer) Add(record PackRecord) error {
	var m memory
	defer m.free()
	raw, err := record.raw(&m)
	if err != nil {
		return err
	}
	return p.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_packer_add(C.fatctx_packer{id: id}, raw, e)
	})
}

// Publish writes the container, which appears whole or not at all.
func (p *Packer) Publish(path string) (PackReport, error) {
	var m memory
	defer m.free()
	file := m.text(path)
	p.watch.err, p.watch.panicked = nil, nil
	var raw C.fatctx_pack_report
	raw.struct_size = C.sizeof_fatctx_pack_report
	err := p.watch.settle(m.callOn(p.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_packer_publish(C.fatctx_packer{id: id}, file, &raw, e)
	}))
	runtime.KeepAlive(p)
	if err != nil {
		return PackReport{}, err
	}
	return PackReport{
		FileSize: uint64(raw.file_size), InputBytes: uint64(raw.input_bytes), StoredBytes: uint64(raw.stored_bytes),
		SharedBytes: uint64(raw.shared_bytes), RecordCount: uint32(raw.record_count), Sealed: raw.sealed != 0,
		UUID: C.GoString(&raw.uuid[0]),
	}, nil
}

// Close closes the packer.
func (p *Packer) Close() error {
	p.handle.close()
	return nil
}

// AppendOptions are options of an append. Zero values are the defaults.
type AppendOptions struct {
	Replace   bool // a record supersedes a stored one with the same key, which stays readable in its own generation
	OnePerSoC bool // refuse a second context binary for a SoC
	Threads   uint32
}

// AppendReport is the result of a commit.
type AppendReport struct {
	RecordCount     uint32 // that were added
	Generation      uint64 // the new one
	FileSize        uint64
	InputBytes      uint64
	StoredBytes     uint64
	SharedBytes     uint64
	SupersededCount uint32
}

// Appender adds records to a container in place, while others read it. It holds the write lock of the file until it is
// closed, and serves one goroutine at a time.
type Appender struct {
	handle *owned
}

// OpenAppender takes the write lock of a container. Nil options are the defaults.
func OpenAppender(path string, options *AppendOptions) (*Appender, error) {
	if options == nil {
		options = &AppendOptions{}
	}
	var m memory
	defer m.free()
	file := m.text(path)
	var raw C.fatctx_append_options
	raw.struct_size = C.sizeof_fatctx_append_options
	raw.replace, raw.one_per_soc = number(options.Replace), number(options.OnePerSoC)
	raw.threads = C.uint32_t(options.Threads)
	var appender C.fatctx_appender
	err := m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_appender_open(file, &raw, &appender, e) })
	if err != nil {
		return nil, err
	}
	return &Appender{own(appender.id, "the appender", func(id uint64) {
		C.fatctx_appender_close(C.fatctx_appender{id: C.uint64_t(id)}, nil)
	})}, nil
}

// Add adds a record; its weights may also be weight blobs of the file. It writes nothing.
func (a *Appender) Add(record PackRecord) error {
	var m memory
	defer m.free()
	raw, err := record.raw(&m)
	if err != nil {
		return err
	}
	return a.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_appender_add(C.fatctx_appender{id: id}, raw, e)
	})
}

// Commit writes the added records behind the end of the file and names them in its header. After an error other than
// ErrCommitUnknown the file opens as before.
func (a *Appender) Commit() (AppendReport, error) {
	var raw C.fatctx_append_report
	raw.struct_size = C.sizeof_fatctx_append_report
	err := a.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_appender_commit(C.fatctx_appender{id: id}, &raw, e)
	})
	if err != nil {
		return AppendReport{}, err
	}
	return AppendReport{
		RecordCount: uint32(raw.record_count), Generation: uint64(raw.generation), FileSize: uint64(raw.file_size),
		InputBytes: uint64(raw.input_bytes), StoredBytes: uint64(raw.stored_bytes), SharedBytes: uint64(raw.shared_bytes),
		SupersededCount: uint32(raw.superseded_count),
	}, nil
}

// Close gives the lock up and discards everything that was not committed.
func (a *Appender) Close() error {
	a.handle.close()
	return nil
}
