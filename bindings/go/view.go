package fatctx

/*
#include <stdlib.h>
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// View holds the read-only bytes of a record. It keeps them mapped until it is closed, after the container, the model
// and the session that it came from.
type View struct {
	handle *owned
	raw    C.fatctx_view
}

func makeView(function func(view *C.fatctx_view) error) (*View, error) {
	var raw C.fatctx_view
	if err := function(&raw); err != nil {
		return nil, err
	}
	return &View{raw: raw, handle: own(raw.id, "the view", func(id uint64) {
		C.fatctx_view_close(C.fatctx_view{id: C.uint64_t(id)}, nil)
	})}, nil
}

// Bytes returns the mapped bytes, which must not be written to. They are valid until the view is closed, by Close or by
// the garbage collector: write `defer view.Close()`, which keeps the view until then. A closed view has no bytes.
func (v *View) Bytes() []byte {
	if v.handle.id.Load() == 0 {
		return nil
	}
	return bytesAt(v.raw.data, v.raw.size)
}

// Use calls a function with the bytes, and keeps the view open meanwhile.
func (v *View) Use(function func(bytes []byte) error) error {
	defer runtime.KeepAlive(v.handle)
	return function(v.Bytes())
}

// Close gives the bytes back: slices of them must not be used any more. Closing twice does nothing.
func (v *View) Close() error {
	v.handle.close()
	return nil
}

// AccessPath returns how the view was made: "direct" for pages of the file.
func (v *View) AccessPath() (string, error) {
	var info C.fatctx_view_info
	info.struct_size = C.sizeof_fatctx_view_info
	err := v.handle.call(func(_ C.uint64_t, e *C.fatctx_error) C.int32_t { return C.fatctx_view_describe(v.raw, &info, e) })
	if err != nil {
		return "", err
	}
	return C.GoString(C.fatctx_access_path_name(info.access_path)), nil
}

// DType is the type of the elements of a tensor.
type DType uint32

// Types of elements.
const (
	F32  DType = C.FATCTX_DTYPE_F32
	F64  DType = C.FATCTX_DTYPE_F64
	F16  DType = C.FATCTX_DTYPE_F16
	BF16 DType = C.FATCTX_DTYPE_BF16
	I8   DType = C.FATCTX_DTYPE_I8
	I16  DType = C.FATCTX_DTYPE_I16
	I32  DType = C.FATCTX_DTYPE_I32
	I64  DType = C.FATCTX_DTYPE_I64
	U8   DType = C.FATCTX_DTYPE_U8
	U16  DType = C.FATCTX_DTYPE_U16
	U32  DType = C.FATCTX_DTYPE_U32
	U64  DType = C.FATCTX_DTYPE_U64
	Bool DType = C.FATCTX_DTYPE_BOOL
	I4   DType = C.FATCTX_DTYPE_I4
	U4   DType = C.FATCTX_DTYPE_U4
)

// String returns the word of the library: "float32".
func (t DType) String() string { return C.GoString(C.fatctx_dtype_name(C.uint32_t(t))) }

// TensorInfo has the facts of a tensor.
type TensorInfo struct {
	Name         string
	DType        DType
	Shape        []uint64 // elements per dimension, outermost first
	Strides      []uint64 // bytes from one element to the next; only of a Tensor, and not below a byte
	OffsetInBlob uint64
	Size         uint64 // bytes
	Alias        bool   // shares bytes with another tensor on purpose
}

func numbersAt(data *C.uint64_t, count C.uint64_t) []uint64 {
	if data == nil || count == 0 {
		return nil
	}
	return append([]uint64{}, unsafe.Slice((*uint64)(unsafe.Pointer(data)), int(count))...)
}

func tensorInfoOf(raw *C.fatctx_tensor_info) TensorInfo {
	return TensorInfo{
		Name: textOf(raw.name), DType: DType(raw.dtype), Shape: numbersAt(raw.shape, raw.rank),
		Strides: numbersAt(raw.strides_bytes, raw.rank), OffsetInBlob: uint64(raw.offset_in_blob),
		Size: uint64(raw.size_bytes), Alias: raw.alias != 0,
	}
}

// Tensor is a view of one tensor, with its facts.
type Tensor struct {
	*View
	TensorInfo
}

func makeTensor(function func(view *C.fatctx_view) error) (*Tensor, error) {
	view, err := makeView(function)
	if err != nil {
		return nil, err
	}
	tensor := &Tensor{View: view}
	var raw C.fatctx_tensor_info
	raw.struct_size = C.sizeof_fatctx_tensor_info
	err = view.handle.call(func(_ C.uint64_t, e *C.fatctx_error) C.int32_t {
		code := C.fatctx_view_tensor(view.raw, &raw, e)
		if code == C.FATCTX_OK {
			tensor.TensorInfo = tensorInfoOf(&raw) // borrows from the view, which is open here
		}
		return code
	})
	if err != nil {
		view.Close()
		return nil, err
	}
	return tensor, nil
}

// Tensor makes a view of one tensor of a weight blob. It reads a few pages of the table, and checks the bytes of the
// tensor alone. The error names the nearest name.
func (c *Container) Tensor(weights uint32, name string) (*Tensor, error) {
	var m memory
	defer m.free()
	text := m.text(name)
	return makeTensor(func(view *C.fatctx_view) error {
		return m.callOn(c.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_container_tensor(C.fatctx_container{id: id}, C.uint32_t(weights), text, view, e)
		})
	})
}

// Tensors returns the facts of the tensors of a weight blob, in the order of their names.
func (c *Container) Tensors(weights uint32) ([]TensorInfo, error) {
	var table C.fatctx_tensor_table
	err := c.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_tensors(C.fatctx_container{id: id}, C.uint32_t(weights), &table, e)
	})
	if err != nil {
		return nil, err
	}
	defer C.fatctx_tensor_table_close(table, nil)
	var size C.uint64_t
	err = call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_tensor_table_size(table, &size, nil, e) })
	if err != nil {
		return nil, err
	}
	tensors := make([]TensorInfo, 0, int(size))
	for index := C.uint64_t(0); index < size; index++ {
		var raw C.fatctx_tensor_info
		raw.struct_size = C.sizeof_fatctx_tensor_info
		err := call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_tensor_table_at(table, index, &raw, e) })
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, tensorInfoOf(&raw))
	}
	return tensors, nil
}

// Element is a type of Go that has the bytes of a DType.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func dtypeOf[T Element]() DType {
	var value T
	switch any(value).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	case uint16:
		return U16
	case uint32:
		return U32
	default:
		return U64
	}
}

// Values returns the elements of a tensor in row-major order, where they are mapped; the rules of View.Bytes hold. It
// fails for another element type, and for a tensor that is not aligned in memory or on a big-endian machine.
func Values[T Element](tensor *Tensor) ([]T, error) {
	refuse := func(code Code, reason string) ([]T, error) {
		return nil, refusal(code, fmt.Sprintf("tensor %q %s", tensor.Name, reason))
	}
	if dtype := dtypeOf[T](); dtype != tensor.DType {
		return refuse(ErrInvalidArgument, fmt.Sprintf("has elements of %s, not %s", tensor.DType, dtype))
	}
	one := uint16(1)
	if *(*byte)(unsafe.Pointer(&one)) != 1 {
		return refuse(ErrUnsupported, "is little-endian and this machine is not; swap its bytes")
	}
	bytes := tensor.Bytes()
	if len(bytes) == 0 {
		return []T{}, nil
	}
	var value T
	if uintptr(unsafe.Pointer(&bytes[0]))%unsafe.Alignof(value) != 0 {
		return refuse(ErrUnsupported, fmt.Sprintf("is not aligned to %d bytes; copy its bytes first", unsafe.Alignof(value)))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&bytes[0])), len(bytes)/int(unsafe.Sizeof(value))), nil
}
