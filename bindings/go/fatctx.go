// Package fatctx opens memory-mapped containers of compiled models.
//
// A container holds a context binary for every chip and the weights that they share. The package maps the file once per
// process, chooses the records for the machine with a reason, and gives views of the mapped bytes.
//
//	container, err := fatctx.Open("model.fatctx", nil)
//	if err != nil {
//		return err
//	}
//	defer container.Close()
//	model, err := container.Select(nil) // for this machine
//	if err != nil {
//		return err // names the reason for each record
//	}
//	defer model.Close()
//
// # Views and the garbage collector
//
// The slice of View.Bytes is memory of the library and not of Go. It is valid until the view is closed, and the garbage
// collector closes a view that nothing refers to any more, even if its slice is still in use. So write
//
//	defer view.Close()
//
// which keeps the view until then. The bytes are read-only: a write to them ends the program.
//
// Containers, models, sessions and views do not depend on each other: a view keeps its bytes mapped after all the others
// are closed. All of them may be used by any number of goroutines.
//
// # The library
//
// cgo finds it by pkg-config, as fatctx.pc. PKG_CONFIG_PATH names the folder of that file.
package fatctx

/*
#cgo pkg-config: fatctx
#include <stdlib.h>
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
)

// LibraryVersion returns the version of the library: "0.1.0".
func LibraryVersion() string { return C.GoString(C.fatctx_library_version()) }

// FormatVersion returns the version of the format that the library writes: "1.0".
func FormatVersion() string { return C.GoString(C.fatctx_format_version()) }

// InstallMappingGuard installs the guard against SIGBUS for the whole process. Bytes of a file that was truncated while
// it was mapped then read as zeros, and later calls for that container answer ErrMappingLost.
func InstallMappingGuard() error {
	return call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_mapping_guard_install(e) })
}

// owned is a handle of the library. It is closed once, by close or by the garbage collector.
type owned struct {
	id   atomic.Uint64
	what string
	free func(id uint64)
}

func own(id C.uint64_t, what string, free func(id uint64)) *owned {
	made := &owned{what: what, free: free}
	made.id.Store(uint64(id))
	runtime.SetFinalizer(made, (*owned).close)
	return made
}

func (o *owned) close() {
	if id := o.id.Swap(0); id != 0 {
		runtime.SetFinalizer(o, nil)
		o.free(id)
	}
}

// call runs a call of the library with the number of the handle, which is not closed by the garbage collector meanwhile.
func (o *owned) call(function func(id C.uint64_t, e *C.fatctx_error) C.int32_t) error {
	id := o.id.Load()
	if id == 0 {
		return refusal(ErrStaleHandle, o.what+" is closed")
	}
	err := call(func(e *C.fatctx_error) C.int32_t { return function(C.uint64_t(id), e) })
	runtime.KeepAlive(o)
	return err
}

// text gets a text of a call that writes it as snprintf does.
func (o *owned) text(write func(id C.uint64_t, buffer *C.char, capacity C.size_t, size *C.size_t, e *C.fatctx_error) C.int32_t) (string, error) {
	buffer := make([]byte, 4096)
	for {
		var size C.size_t
		err := o.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return write(id, (*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer)), &size, e)
		})
		if err != nil {
			return "", err
		}
		if int(size) < len(buffer) {
			return string(buffer[:size]), nil
		}
		buffer = make([]byte, int(size)+1)
	}
}

// memory is memory of C for the arguments of one call: C must not keep or find pointers into the memory of Go.
type memory struct {
	blocks []unsafe.Pointer
	err    error // of a text that C cannot take
}

// call runs a call of the library, unless one of its texts cannot be passed.
func (m *memory) call(function func(e *C.fatctx_error) C.int32_t) error {
	if m.err != nil {
		return m.err
	}
	return call(function)
}

// callOn does the same with the number of a handle.
func (m *memory) callOn(o *owned, function func(id C.uint64_t, e *C.fatctx_error) C.int32_t) error {
	if m.err != nil {
		return m.err
	}
	return o.call(function)
}

// zeros returns memory of zeros.
func (m *memory) zeros(size C.size_t) unsafe.Pointer {
	block := C.calloc(1, size)
	if block == nil {
		panic("fatctx: memory is exhausted")
	}
	m.blocks = append(m.blocks, block)
	return block
}

// text returns a copy of a text that ends with NUL, or null for an empty one.
func (m *memory) text(text string) *C.char {
	if text == "" {
		return nil
	}
	if strings.IndexByte(text, 0) >= 0 {
		m.err = refusal(ErrInvalidArgument, fmt.Sprintf("%q: a text must not contain NUL", text))
		return nil
	}
	copied := C.CString(text)
	m.blocks = append(m.blocks, unsafe.Pointer(copied))
	return copied
}

// bytes returns a copy of bytes, or null if there are none.
func (m *memory) bytes(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	copied := C.CBytes(bytes)
	m.blocks = append(m.blocks, copied)
	return copied
}

func (m *memory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
}

func textOf(text C.fatctx_text) string {
	if text.data == nil {
		return ""
	}
	return C.GoStringN(text.data, C.int(text.size))
}

func number(flag bool) C.uint32_t {
	if flag {
		return 1
	}
	return 0
}
