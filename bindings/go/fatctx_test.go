package fatctx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var values = []float32{1.5, -2.25, 3.0, 4.75, -5.5, 6.125}

// pattern returns bytes that tell every place from its neighbours.
func pattern(size, seed int) []byte {
	made := make([]byte, size)
	for at := range made {
		made[at] = byte(at*31 + at>>8 + seed)
	}
	return made
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func addSample(t testing.TB, packer *Packer) {
	t.Helper()
	var weights bytes.Buffer
	for _, value := range values {
		binary.Write(&weights, binary.LittleEndian, math.Float32bits(value))
	}
	weights.Write([]byte{7, 8, 9, 10})
	records := []PackRecord{
		{Type: WeightBlob, Name: "net.weights", Bytes: weights.Bytes(), Tensors: []PackTensor{
			{Name: "layer.weight", DType: F32, Shape: []uint64{2, 3}},
			{Name: "layer.zero_point", DType: U8, Shape: []uint64{4}, OffsetInBlob: 24},
		}},
		{Type: Opaque, Name: "note", Bytes: []byte(strings.Repeat("what the model is for. ", 500)), Codec: CodecLZ4},
		{Type: Opaque, Name: "empty"},
	}
	for _, arch := range []string{"x86-64-v2", "x86-64-v3"} {
		size := 3000 * int(arch[len(arch)-1]-'0')
		records = append(records, PackRecord{
			Type: ContextBinary, Name: "net." + arch, Bytes: pattern(size, size),
			Target: Target{Backend: "cpu", Arch: arch}, Weights: []string{"net.weights"},
		})
	}
	for _, record := range records {
		if err := packer.Add(record); err != nil {
			t.Fatal(err)
		}
	}
}

// sample packs a container with two binaries of 6,000 and 9,000 bytes, their weights and a compressed note.
func sample(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.fatctx")
	packer := must[*Packer](t)(NewPacker(nil))
	defer packer.Close()
	addSample(t, packer)
	must[PackReport](t)(packer.Publish(path))
	return path
}

func open(t testing.TB, path string) *Container {
	t.Helper()
	container := must[*Container](t)(Open(path, nil))
	t.Cleanup(func() { container.Close() })
	return container
}

func find(t testing.TB, container *Container, name string) Record {
	t.Helper()
	return must[Record](t)(container.Find(name))
}

func second[T any](_ T, err error) error { return err }

func wantCode(t testing.TB, err error, code Code) *Error {
	t.Helper()
	var found *Error
	if !errors.As(err, &found) || found.Code != code || !errors.Is(err, code) {
		t.Fatalf("the error is %v, not %v", err, code)
	}
	return found
}

func TestRecordsComeBackWithTheirFacts(t *testing.T) {
	container := open(t, sample(t))

	records := must[[]Record](t)(container.Records())

	byName := map[string]Record{}
	for at, record := range records {
		byName[record.Name] = record
		if at > 0 && records[at-1].ID >= record.ID {
			t.Errorf("record %d comes after %d", record.ID, records[at-1].ID)
		}
	}
	v3 := byName["net.x86-64-v3"]
	if v3.Type != ContextBinary || v3.Type.String() != "context_binary" || v3.Size != 9000 || !v3.Supported || v3.FileOffset == 0 {
		t.Errorf("%+v", v3)
	}
	if v3.Target.Backend != "cpu" || v3.Target.Arch != "x86-64-v3" || v3.Target.Part != "" {
		t.Errorf("%+v", v3.Target)
	}
	if len(v3.Weights) != 1 || v3.Weights[0] != byName["net.weights"].ID {
		t.Errorf("weights: %v", v3.Weights)
	}
	if again := must[Record](t)(container.Record(v3.ID)); again.Name != v3.Name || again.Hash != v3.Hash || v3.Hash == [16]byte{} {
		t.Errorf("%+v", again)
	}
	if byName["note"].Codec != CodecLZ4 {
		t.Errorf("codec: %v", byName["note"].Codec)
	}
}

func TestAViewOutlivesItsContainerAndTheFile(t *testing.T) {
	path := sample(t)
	container := open(t, path)
	view := must[*View](t)(container.AcquireName("net.x86-64-v2"))
	defer view.Close()
	same := must[*View](t)(container.Acquire(find(t, container, "net.x86-64-v2").ID))
	defer same.Close()

	container.Close()
	os.Remove(path)

	if !bytes.Equal(view.Bytes(), pattern(6000, 6000)) {
		t.Error("the view has other bytes")
	}
	if &view.Bytes()[0] != &same.Bytes()[0] {
		t.Error("the record is mapped twice")
	}
	if way := must[string](t)(view.AccessPath()); way != "direct" {
		t.Error(way)
	}
	err := view.Use(func(bytes []byte) error {
		if len(bytes) != 6000 {
			t.Error(len(bytes))
		}
		return io.EOF
	})
	if err != io.EOF {
		t.Error(err)
	}
}

func TestAClosedHandleIsAnErrorAndNotACrash(t *testing.T) {
	path := sample(t)
	container := open(t, path)
	view := must[*View](t)(container.AcquireName("net.x86-64-v2"))
	view.Close()
	container.Close()

	if view.Close() != nil || container.Close() != nil {
		t.Error("closing twice is an error")
	}
	if view.Bytes() != nil {
		t.Error("a closed view has bytes")
	}
	_, err := container.Records()
	if wantCode(t, err, ErrStaleHandle); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "the container is closed") {
		t.Error(err)
	}
	device := must[*Device](t)(ParseDevice("x86-64-v2"))
	device.Close()
	_, err = open(t, path).Select(&ModelOptions{Device: device})
	wantCode(t, err, ErrStaleHandle)
}

func TestTensorsAreFoundByName(t *testing.T) {
	container := open(t, sample(t))
	weights := find(t, container, "net.weights").ID

	listed := must[[]TensorInfo](t)(container.Tensors(weights))
	tensor := must[*Tensor](t)(container.Tensor(weights, "layer.weight"))
	defer tensor.Close()
	container.Close()

	if len(listed) != 2 || listed[0].Name != "layer.weight" || listed[0].Size != 24 || listed[1].OffsetInBlob != 24 {
		t.Errorf("%+v", listed)
	}
	if tensor.DType != F32 || tensor.DType.String() != "float32" || tensor.Shape[0] != 2 || tensor.Shape[1] != 3 || tensor.Strides[0] != 12 {
		t.Errorf("%+v", tensor.TensorInfo)
	}
	found := must[[]float32](t)(Values[float32](tensor))
	for at, value := range values {
		if found[at] != value {
			t.Errorf("element %d is %v, not %v", at, found[at], value)
		}
	}
	_, err := Values[int32](tensor)
	if wantCode(t, err, ErrInvalidArgument); !strings.Contains(err.Error(), "float32, not int32") {
		t.Error(err)
	}
}

func TestAChoiceComesWithItsReasons(t *testing.T) {
	path := sample(t)
	device := must[*Device](t)(ParseDevice("x86-64-v2"))
	defer device.Close()
	container := open(t, path)

	model := must[*Model](t)(container.Select(&ModelOptions{Device: device}))
	defer model.Close()
	session := must[*Session](t)(model.BeginSession())
	binary := must[*View](t)(session.Binary(""))
	defer binary.Close()
	weights := must[[]*View](t)(session.Weights())
	defer weights[0].Close()
	tensor := must[*Tensor](t)(session.Tensor("layer.zero_point"))
	defer tensor.Close()

	if !bytes.Equal(binary.Bytes(), pattern(6000, 6000)) || len(weights) != 1 || len(weights[0].Bytes()) != 28 {
		t.Error("the session has other bytes")
	}
	if !bytes.Equal(tensor.Bytes(), []byte{7, 8, 9, 10}) {
		t.Error(tensor.Bytes())
	}
	selection := must[Selection](t)(model.Selection())
	if selection.Level != Optimal || len(selection.Chosen) != 1 || selection.Chosen[0] != find(t, container, "net.x86-64-v2").ID {
		t.Errorf("%+v", selection)
	}
	for _, text := range []string{
		must[string](t)(model.Explain()), must[string](t)(model.ExplainJSON()),
		must[string](t)(container.Explain(&ModelOptions{Device: device})),
	} {
		if !strings.Contains(text, "net.x86-64-v2") || !strings.Contains(text, "net.x86-64-v3") {
			t.Error(text)
		}
	}
	if err := session.End(); err != nil {
		t.Error(err)
	}
	if err := session.End(); err != nil {
		t.Error(err)
	}
	if binary.Bytes()[5999] != pattern(6000, 6000)[5999] {
		t.Error("the view ended with its session")
	}
	byPath := must[*Model](t)(OpenModel(path, &ModelOptions{Device: device, Record: "net.x86-64-v3", Force: true}))
	defer byPath.Close()
	if chosen := must[Selection](t)(byPath.Selection()).Chosen; chosen[0] == selection.Chosen[0] {
		t.Error("the override was not used")
	}
}

func TestADeviceThatNoRecordFits(t *testing.T) {
	container := open(t, sample(t))
	phone := must[*Device](t)(ParseDevice("v75"))
	defer phone.Close()

	_, err := container.Select(&ModelOptions{Device: phone})

	if wantCode(t, err, ErrNoMatch); !strings.Contains(err.Error(), "net.x86-64-v3") {
		t.Error(err)
	}
	_, err = ParseDevice("toaster")
	wantCode(t, err, ErrInvalidArgument)
	if json := must[string](t)(phone.JSON()); !strings.Contains(json, "fatctx.device/1") {
		t.Error(json)
	}
}

func TestOtherWaysIn(t *testing.T) {
	path := sample(t)
	whole := must[[]byte](t)(os.ReadFile(path))
	packaged := filepath.Join(t.TempDir(), "package")
	if err := os.WriteFile(packaged, append(make([]byte, 8192), append(whole, "more"...)...), 0o600); err != nil {
		t.Fatal(err)
	}
	file := must[*os.File](t)(os.Open(packaged))

	part, err := OpenFile(file, 8192, uint64(len(whole)), nil)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	inMemory := must[*Container](t)(OpenBytes(whole, nil))
	for at := range whole {
		whole[at] = 0 // the container has a copy
	}
	copies := must[*Container](t)(Open(path, &OpenOptions{Verify: VerifyPrivateCopy, RequireLocal: false}))
	defer copies.Close()

	for name, container := range map[string]*Container{"part": part, "memory": inMemory, "copies": copies} {
		view := must[*View](t)(container.AcquireName("net.x86-64-v3"))
		container.Close()
		if !bytes.Equal(view.Bytes(), pattern(9000, 9000)) {
			t.Errorf("%s: other bytes", name)
		}
		view.Close()
	}
	_, err = OpenBytes([]byte("no container"), nil)
	if err == nil {
		t.Error("twelve bytes were opened")
	}
}

func TestRecordsAreStreamed(t *testing.T) {
	container := open(t, sample(t))
	note := find(t, container, "note")
	expected := strings.Repeat("what the model is for. ", 500)

	if _, err := container.Acquire(note.ID); err == nil {
		t.Error("a compressed record was mapped")
	} else {
		wantCode(t, err, ErrUnsupported)
	}
	if read := must[[]byte](t)(container.Read(note.ID)); string(read) != expected {
		t.Errorf("%d bytes", len(read))
	}
	var out bytes.Buffer
	if written := must[int64](t)(container.WriteRecord(&out, note.ID)); written != int64(len(expected)) || out.String() != expected {
		t.Error(written)
	}
	stop := errors.New("enough")
	if err := container.Stream(note.ID, func([]byte) error { return stop }); err != stop {
		t.Error(err)
	}
	if empty := must[[]byte](t)(container.Read(find(t, container, "empty").ID)); len(empty) != 0 {
		t.Error(empty)
	}
	view := must[*View](t)(container.AcquireName("empty"))
	defer view.Close()
	if len(view.Bytes()) != 0 {
		t.Error(view.Bytes())
	}
}

func TestAPanicInAFunctionComesBack(t *testing.T) {
	container := open(t, sample(t))
	id := find(t, container, "note").ID

	func() {
		defer func() {
			if value := recover(); value != "in a stream" {
				t.Errorf("recovered %v", value)
			}
		}()
		container.Stream(id, func([]byte) error { panic("in a stream") })
	}()

	must[[]byte](t)(container.Read(id)) // the library goes on
}

func TestDamageIsAFinding(t *testing.T) {
	path := sample(t)
	record := find(t, open(t, path), "net.x86-64-v3")
	whole := must[[]byte](t)(os.ReadFile(path))
	whole[record.FileOffset+100] ^= 1
	damaged := filepath.Join(t.TempDir(), "damaged.fatctx")
	if err := os.WriteFile(damaged, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	container := open(t, damaged)

	report := must[VerifyReport](t)(container.Verify(nil))
	other := must[VerifyReport](t)(container.Verify(&VerifyOptions{Record: find(t, container, "net.x86-64-v2").ID}))
	ofFile := must[VerifyReport](t)(VerifyFile(damaged, &VerifyOptions{Threads: 1}))
	good := must[VerifyReport](t)(VerifyFile(path, &VerifyOptions{Strict: true}))
	_, err := container.Acquire(record.ID)

	if len(report.Findings) == 0 || report.Findings[0].Code != ErrChecksumMismatch || report.CheckedBytes < 9000 {
		t.Errorf("%+v", report)
	}
	if len(other.Findings) != 0 || len(ofFile.Findings) == 0 || len(good.Findings) != 0 {
		t.Error(other, ofFile, good)
	}
	found := wantCode(t, err, ErrChecksumMismatch)
	if found.RecordID != record.ID || found.FileOffset < int64(record.FileOffset) || !strings.HasPrefix(found.Rule, "F") {
		t.Errorf("%+v", found)
	}
	stop := errors.New("enough")
	_, err = container.Verify(&VerifyOptions{Progress: func(done, total uint64) error { return stop }})
	if err != stop {
		t.Error(err)
	}
	skipping := must[*Model](t)(container.Select(&ModelOptions{
		Record: "", SkipDamaged: true, AllowLowerArch: true, Device: must[*Device](t)(ParseDevice("x86-64-v3")),
	}))
	defer skipping.Close()
	if chosen := must[Selection](t)(skipping.Selection()).Chosen[0]; chosen == record.ID {
		t.Error("the damaged record was chosen")
	}
}

func TestErrorsHaveCodesAndCounterparts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.fatctx")

	_, err := Open(path, nil)

	found := wantCode(t, err, ErrNotFound)
	if found.OSError != 2 || found.FileOffset != -1 || !strings.HasPrefix(err.Error(), path) || found.Message == err.Error() {
		t.Errorf("%+v", found)
	}
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, ErrIO) {
		t.Error(err)
	}
	if ErrChecksumMismatch.String() != "checksum_mismatch" || Code(9999).Error() != "unknown" {
		t.Error("codes have other words")
	}
	known := Code(1)
	for known.String() != "unknown" {
		known++
	}
	if known-1 != ErrNotPresent {
		t.Errorf("the library has code %d, and the package ends with %d", known-1, ErrNotPresent)
	}
	_, err = open(t, sample(t)).Find("net.weight")
	wantCode(t, err, ErrNotFound)
	_, err = Open(sample(t), &OpenOptions{TrustedKeys: [][32]byte{{7}}})
	wantCode(t, err, ErrSignatureMissing)
	for _, refused := range []error{
		second(Open("a\x00b", nil)), second(open(t, sample(t)).Find("a\x00b")), second(ParseDevice("v75\x00")),
		second(NewPacker(&PackOptions{ModelName: "a\x00b"})), second(OpenModel("m", &ModelOptions{Group: "a\x00b"})),
	} {
		if wantCode(t, refused, ErrInvalidArgument); !strings.Contains(refused.Error(), "must not contain NUL") {
			t.Error(refused)
		}
	}
	_, err = Open(sample(t), &OpenOptions{MinimumGeneration: 50})
	wantCode(t, err, ErrRollback)
}

func TestWritersAnswerWithErrorsAndLeaveNothing(t *testing.T) {
	folder := t.TempDir()
	stop := errors.New("enough")
	calls := 0
	packer := must[*Packer](t)(NewPacker(&PackOptions{Progress: func(done, total uint64) error {
		calls++
		return stop
	}}))
	defer packer.Close()
	addSample(t, packer)

	_, err := packer.Publish(filepath.Join(folder, "m.fatctx"))

	if err != stop || calls != 1 {
		t.Error(err, calls)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(folder)); len(left) != 0 {
		t.Error(left)
	}
	wantCode(t, packer.Add(PackRecord{Type: Opaque, Name: "note"}), ErrExists)
	wantCode(t, packer.Add(PackRecord{Type: Opaque, Name: "a/b"}), ErrInvalidArgument)
	wantCode(t, packer.Add(PackRecord{Type: WeightBlob, Name: "w", Tensors: []PackTensor{{Name: "t", DType: 99}}}), ErrInvalidArgument)
}

func TestAFileIsPackedAndTheReportCounts(t *testing.T) {
	folder := t.TempDir()
	code, path := filepath.Join(folder, "code.bin"), filepath.Join(folder, "m.fatctx")
	if err := os.WriteFile(code, pattern(5000, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	packer := must[*Packer](t)(NewPacker(&PackOptions{ModelName: "net", Seal: true, SHA256: true}))
	defer packer.Close()
	sdk := must[Version](t)(ParseVersion("2.31"))
	record := PackRecord{Type: ContextBinary, Name: "net.v75", Path: code, Producer: "compiler 1",
		Target: Target{Backend: "htp", Arch: "SM8650", Variant: "fast", SDK: sdk}}
	if err := packer.Add(record); err != nil {
		t.Fatal(err)
	}

	report := must[PackReport](t)(packer.Publish(path))

	container := open(t, path)
	opened := must[OpenReport](t)(container.Report())
	if !report.Sealed || !opened.Sealed || report.UUID != opened.UUID || report.FileSize != opened.FileSize || len(report.UUID) != 36 {
		t.Error(report, opened)
	}
	if opened.Path != path || !opened.Mapped || opened.FormatVersion != FormatVersion() || LibraryVersion() == "" {
		t.Errorf("%+v", opened)
	}
	found := find(t, container, "net.v75").Target
	if found.Part != "SM8650" || found.Arch != "v75" || found.QnnSoc != 57 || found.VtcmMB != 8 || found.SDK.String() != "2.31" {
		t.Errorf("%+v", found)
	}
	if info := must[string](t)(container.InfoJSON()); !strings.Contains(info, "fatctx.info/1") || !strings.Contains(info, "compiler 1") {
		t.Error(info)
	}
	_, err := OpenAppender(path, nil)
	if wantCode(t, err, ErrOperationNotPermitted); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func TestAnAppendIsSeenByAReopen(t *testing.T) {
	path := sample(t)
	before := open(t, path)
	generation := must[OpenReport](t)(before.Report()).Generation

	appender := must[*Appender](t)(OpenAppender(path, nil))
	_, locked := OpenAppender(path, nil)
	err := appender.Add(PackRecord{Type: ContextBinary, Name: "net.x86-64-v4", Bytes: pattern(7000, 7),
		Target: Target{Backend: "cpu", Arch: "x86-64-v4"}, Weights: []string{"net.weights"}})
	if err != nil {
		t.Fatal(err)
	}
	report := must[AppendReport](t)(appender.Commit())
	appender.Close()

	wantCode(t, locked, ErrLocked)
	if report.Generation != generation+1 || report.StoredBytes < 7000 {
		t.Errorf("%+v", report)
	}
	if _, err := before.Find("net.x86-64-v4"); err == nil {
		t.Error("an open container changed")
	}
	after := must[*Container](t)(before.Reopen())
	defer after.Close()
	view := must[*View](t)(after.AcquireName("net.x86-64-v4"))
	defer view.Close()
	if !bytes.Equal(view.Bytes(), pattern(7000, 7)) || after.Check() != nil {
		t.Error("the appended record has other bytes")
	}
	if earlier := must[OpenReport](t)(after.Report()).Earlier; len(earlier) == 0 || earlier[len(earlier)-1].Number != generation {
		t.Error(earlier)
	}
}

func TestGoroutinesShareOneMapping(t *testing.T) {
	path := sample(t)
	shared := open(t, path)
	expected := must[*View](t)(shared.AcquireName("net.x86-64-v3"))
	defer expected.Close()
	device := must[*Device](t)(ParseDevice("x86-64-v3"))
	defer device.Close()
	var group sync.WaitGroup

	for number := 0; number < 8; number++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 25; round++ {
				own, err := Open(path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				model, err := own.Select(&ModelOptions{Device: device})
				if err != nil {
					t.Error(err)
					return
				}
				session, err := model.BeginSession()
				if err != nil {
					t.Error(err)
					return
				}
				view, err := session.Binary("")
				if err != nil {
					t.Error(err)
					return
				}
				own.Close()
				model.Close()
				session.Close()
				if &view.Bytes()[0] != &expected.Bytes()[0] || view.Bytes()[8999] != expected.Bytes()[8999] {
					t.Error("another mapping")
				}
				view.Close()
				if _, err := shared.Records(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
}

func TestOneGoroutineClosesWhileOthersCall(t *testing.T) {
	path := sample(t)
	for round := 0; round < 20; round++ {
		container := must[*Container](t)(Open(path, nil))
		var group sync.WaitGroup
		for number := 0; number < 4; number++ {
			group.Add(1)
			go func() {
				defer group.Done()
				if _, err := container.Records(); err != nil && !errors.Is(err, ErrStaleHandle) {
					t.Error(err)
				}
			}()
		}
		container.Close()
		group.Wait()
	}
}

func TestTheGarbageCollectorClosesWhatIsForgotten(t *testing.T) {
	path := sample(t)
	closed := make(chan string, 1)
	func() {
		container := must[*Container](t)(Open(path, nil))
		free := container.handle.free
		container.handle.free = func(id uint64) {
			free(id)
			closed <- "the container"
		}
	}()

	for try := 0; try < 100; try++ {
		runtime.GC()
		select {
		case <-closed:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("the container was not closed")
}
