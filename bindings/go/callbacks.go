package fatctx

/*
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// watch is the Go side of the callbacks of one call. A panic must not pass through frames of C: it stops the work, and
// goes on when the call has returned.
type watch struct {
	progress func(done, total uint64) error
	sink     func(bytes []byte) error
	findings []*Error
	err      error // of the caller's function
	panicked any
}

// run runs a function of the caller, unless one has failed before, and returns 0 if the work may go on.
func (w *watch) run(function func() error) (stop C.int32_t) {
	if w.err != nil || w.panicked != nil {
		return 1
	}
	defer func() {
		if value := recover(); value != nil {
			w.panicked = value
			stop = 1
		}
	}()
	if w.err = function(); w.err != nil {
		return 1
	}
	return 0
}

// settle returns the error of a call: that of the caller's function, if there is one.
func (w *watch) settle(err error) error {
	if w.panicked != nil {
		panic(w.panicked)
	}
	if w.err != nil {
		return w.err
	}
	return err
}

//export fatctxGoProgress
func fatctxGoProgress(user C.uintptr_t, done, total C.uint64_t) C.int32_t {
	w := cgo.Handle(user).Value().(*watch)
	return w.run(func() error { return w.progress(uint64(done), uint64(total)) })
}

//export fatctxGoBytes
func fatctxGoBytes(user C.uintptr_t, bytes unsafe.Pointer, size C.uint64_t) C.int32_t {
	w := cgo.Handle(user).Value().(*watch)
	return w.run(func() error { return w.sink(bytesAt(bytes, size)) })
}

//export fatctxGoFinding
func fatctxGoFinding(user C.uintptr_t, finding *C.fatctx_error) {
	w := cgo.Handle(user).Value().(*watch)
	w.findings = append(w.findings, errorOf(finding))
}

// bytesAt returns memory of the library as a slice.
func bytesAt(data unsafe.Pointer, size C.uint64_t) []byte {
	if data == nil || size == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(data), int(size))
}
