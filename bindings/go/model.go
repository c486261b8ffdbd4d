package fatctx

/*
#include <stdlib.h>
#include "fatctx/fatctx.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Device is a machine, as it was detected or described.
type Device struct {
	handle *owned
}

func makeDevice(m *memory, function func(device *C.fatctx_device, e *C.fatctx_error) C.int32_t) (*Device, error) {
	var raw C.fatctx_device
	if err := m.call(func(e *C.fatctx_error) C.int32_t { return function(&raw, e) }); err != nil {
		return nil, err
	}
	return &Device{own(raw.id, "the device", func(id uint64) {
		C.fatctx_device_close(C.fatctx_device{id: C.uint64_t(id)}, nil)
	})}, nil
}

// DetectDevice asks this machine. An unknown machine is a device whose facts are empty, and not an error.
func DetectDevice() (*Device, error) {
	return makeDevice(&memory{}, func(device *C.fatctx_device, e *C.fatctx_error) C.int32_t {
		return C.fatctx_device_detect(nil, device, e)
	})
}

// ParseDevice reads a device that is given by hand: "x86-64-v3", "v75", "SM8750", or JSON of schema "fatctx.device/1".
func ParseDevice(description string) (*Device, error) {
	var m memory
	defer m.free()
	text := m.text(description)
	return makeDevice(&m, func(device *C.fatctx_device, e *C.fatctx_error) C.int32_t {
		return C.fatctx_device_parse(text, device, e)
	})
}

// JSON returns the facts of the device, schema "fatctx.device/1".
func (d *Device) JSON() (string, error) {
	return d.handle.text(func(id C.uint64_t, buffer *C.char, capacity C.size_t, size *C.size_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_device_json(C.fatctx_device{id: id}, buffer, capacity, size, e)
	})
}

// Close closes the device. Models that were chosen for it do not need it any more.
func (d *Device) Close() error {
	d.handle.close()
	return nil
}

// ModelOptions are options of a choice. Zero values are the defaults: this machine, the only group.
type ModelOptions struct {
	Open           *OpenOptions // of OpenModel
	Device         *Device      // nil: this machine
	Group          string       // empty: the only one
	Record         string       // the context binary to take; empty: the best one
	Force          bool         // with Record: skip the comparison with the device
	Strict         bool         // only records that fully use the device
	AllowLowerArch bool
	RefuseGeneric  bool
	MixTargets     bool   // units of different targets, if no target has all of them
	SkipDamaged    bool   // take the best target of which every record is whole
	MaxSDK         string // refuse records of a newer SDK: "2.50"
}

func (o *ModelOptions) raw(m *memory) *C.fatctx_model_options {
	if o == nil {
		return nil
	}
	raw := (*C.fatctx_model_options)(m.zeros(C.sizeof_fatctx_model_options))
	C.fatctx_model_options_init(raw, C.sizeof_fatctx_model_options)
	raw.open = o.Open.raw(m)
	if o.Device != nil {
		raw.device.id = C.uint64_t(o.Device.handle.id.Load())
	}
	raw.group = m.text(o.Group)
	raw.record_override = m.text(o.Record)
	raw.force = number(o.Force)
	raw.strict = number(o.Strict)
	raw.allow_lower_arch = number(o.AllowLowerArch)
	raw.refuse_generic = number(o.RefuseGeneric)
	raw.mix_targets = number(o.MixTargets)
	if o.SkipDamaged {
		raw.on_damage = C.FATCTX_ON_DAMAGE_NEXT
	}
	raw.max_sdk = m.text(o.MaxSDK)
	return raw
}

// check refuses a closed device, which the library would take for "this machine".
func (o *ModelOptions) check() error {
	if o == nil || o.Device == nil {
		return nil
	}
	return o.Device.handle.call(func(C.uint64_t, *C.fatctx_error) C.int32_t { return C.FATCTX_OK })
}

// Level says how well a record fits the device.
type Level uint32

// Levels, from the best to the worst.
const (
	Optimal             Level = C.FATCTX_LEVEL_OPTIMAL
	PreferRecompilation Level = C.FATCTX_LEVEL_PREFER_RECOMPILATION
	Fallback            Level = C.FATCTX_LEVEL_FALLBACK
	Unsupported         Level = C.FATCTX_LEVEL_UNSUPPORTED
)

// String returns the word of the library: "OPTIMAL".
func (l Level) String() string { return C.GoString(C.fatctx_level_name(C.uint32_t(l))) }

// Model is an opened file with the target that was chosen for a device.
type Model struct {
	handle *owned
}

func makeModel(options *ModelOptions, function func(m *memory, raw *C.fatctx_model_options, model *C.fatctx_model) error) (*Model, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	var m memory
	defer m.free()
	var model C.fatctx_model
	err := function(&m, options.raw(&m), &model)
	runtime.KeepAlive(options) // and with it the device
	if err != nil {
		return nil, err
	}
	return &Model{own(model.id, "the model", func(id uint64) {
		C.fatctx_model_close(C.fatctx_model{id: C.uint64_t(id)}, nil)
	})}, nil
}

// OpenModel opens a container, a DLC or a plain binary, and chooses. Nil options are the defaults.
func OpenModel(path string, options *ModelOptions) (*Model, error) {
	return makeModel(options, func(m *memory, raw *C.fatctx_model_options, model *C.fatctx_model) error {
		file := m.text(path)
		return m.call(func(e *C.fatctx_error) C.int32_t { return C.fatctx_model_open(file, raw, model, e) })
	})
}

// Select chooses the records for a device. If none fits, the error is ErrNoMatch, with the reason for each record.
func (c *Container) Select(options *ModelOptions) (*Model, error) {
	return makeModel(options, func(m *memory, raw *C.fatctx_model_options, model *C.fatctx_model) error {
		return m.callOn(c.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_model_choose(C.fatctx_container{id: id}, raw, model, e)
		})
	})
}

// Explain explains the choice in several lines, also if no record fits.
func (c *Container) Explain(options *ModelOptions) (string, error) {
	if err := options.check(); err != nil {
		return "", err
	}
	var m memory
	defer m.free()
	raw := options.raw(&m)
	if m.err != nil {
		return "", m.err
	}
	defer runtime.KeepAlive(options)
	return c.handle.text(func(id C.uint64_t, buffer *C.char, capacity C.size_t, size *C.size_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_container_explain(C.fatctx_container{id: id}, raw, C.FATCTX_FORMAT_TEXT, buffer, capacity, size, e)
	})
}

// Close closes the model. Its sessions and their views stay valid.
func (m *Model) Close() error {
	m.handle.close()
	return nil
}

// Explain explains in several lines why this record was chosen and no other.
func (m *Model) Explain() (string, error) { return m.explain(C.FATCTX_FORMAT_TEXT) }

// ExplainJSON explains the same as JSON, schema "fatctx.selection/1".
func (m *Model) ExplainJSON() (string, error) { return m.explain(C.FATCTX_FORMAT_JSON) }

func (m *Model) explain(format C.uint32_t) (string, error) {
	return m.handle.text(func(id C.uint64_t, buffer *C.char, capacity C.size_t, size *C.size_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_model_explain(C.fatctx_model{id: id}, format, buffer, capacity, size, e)
	})
}

// Selection is the result of a choice.
type Selection struct {
	Level  Level // the lowest one among the chosen
	Tier   int
	Chosen []uint32 // record ids, one per unit
	Group  string   // the group that was judged
}

// Selection returns the result of the choice.
func (m *Model) Selection() (Selection, error) {
	var raw C.fatctx_selection
	raw.struct_size = C.sizeof_fatctx_selection
	var selection Selection
	err := m.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		code := C.fatctx_model_selection(C.fatctx_model{id: id}, &raw, e)
		if code != C.FATCTX_OK {
			return code
		}
		selection = Selection{Level: Level(raw.level), Tier: int(raw.tier), Group: textOf(raw.group)}
		if raw.chosen != nil {
			for _, chosen := range unsafe.Slice(raw.chosen, int(raw.chosen_count)) {
				selection.Chosen = append(selection.Chosen, uint32(chosen))
			}
		}
		return code
	})
	return selection, err
}

// Session has views of the chosen binaries and of the weights that they share.
type Session struct {
	handle *owned
}

// BeginSession begins a session. The second and later ones cost no reading.
func (m *Model) BeginSession() (*Session, error) {
	var raw C.fatctx_session
	err := m.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_model_begin_session(C.fatctx_model{id: id}, &raw, e)
	})
	if err != nil {
		return nil, err
	}
	return &Session{own(raw.id, "the session", func(id uint64) {
		C.fatctx_session_close(C.fatctx_session{id: C.uint64_t(id)}, nil)
	})}, nil
}

// Binary returns the context binary of a unit; an empty name is the only unit. The error lists the units.
func (s *Session) Binary(unit string) (*View, error) {
	var m memory
	defer m.free()
	text := m.text(unit)
	return makeView(func(view *C.fatctx_view) error {
		return m.callOn(s.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_session_binary(C.fatctx_session{id: id}, text, view, e)
		})
	})
}

// Weights returns views of the weight blobs that the binaries refer to. The caller closes each.
func (s *Session) Weights() ([]*View, error) {
	var info C.fatctx_session_info
	info.struct_size = C.sizeof_fatctx_session_info
	err := s.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
		return C.fatctx_session_describe(C.fatctx_session{id: id}, &info, e)
	})
	if err != nil {
		return nil, err
	}
	views := make([]*View, 0, int(info.weights_count))
	for index := C.uint64_t(0); index < info.weights_count; index++ {
		view, err := makeView(func(view *C.fatctx_view) error {
			return s.handle.call(func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
				return C.fatctx_session_weights(C.fatctx_session{id: id}, index, view, e)
			})
		})
		if err != nil {
			for _, made := range views {
				made.Close()
			}
			return nil, err
		}
		views = append(views, view)
	}
	return views, nil
}

// Tensor returns a tensor of any of these blobs.
func (s *Session) Tensor(name string) (*Tensor, error) {
	var m memory
	defer m.free()
	text := m.text(name)
	return makeTensor(func(view *C.fatctx_view) error {
		return m.callOn(s.handle, func(id C.uint64_t, e *C.fatctx_error) C.int32_t {
			return C.fatctx_session_tensor(C.fatctx_session{id: id}, text, view, e)
		})
	})
}

// End closes the session and says whether results computed from its views can be trusted. Views stay valid.
func (s *Session) End() error {
	id := s.handle.id.Swap(0)
	if id == 0 {
		return nil
	}
	runtime.SetFinalizer(s.handle, nil)
	return call(func(e *C.fatctx_error) C.int32_t {
		return C.fatctx_session_end(C.fatctx_session{id: C.uint64_t(id)}, e)
	})
}

// Close closes the session without the checks of End.
func (s *Session) Close() error {
	s.handle.close()
	return nil
}
