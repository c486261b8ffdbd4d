package fatctx_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"fatctx"
)

// packed writes a container with the code for two processors, and returns its path.
func packed(folder string) string {
	path := filepath.Join(folder, "model.fatctx")
	packer, err := fatctx.NewPacker(&fatctx.PackOptions{ModelName: "net"})
	if err != nil {
		log.Fatal(err)
	}
	defer packer.Close()
	for _, arch := range []string{"x86-64-v2", "x86-64-v3"} {
		err := packer.Add(fatctx.PackRecord{
			Type: fatctx.ContextBinary, Name: "net." + arch, Bytes: []byte("code of " + arch),
			Target: fatctx.Target{Backend: "cpu", Arch: arch},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	if _, err := packer.Publish(path); err != nil {
		log.Fatal(err)
	}
	return path
}

// Opens a container, chooses for a device, and looks at the bytes of the chosen record.
func Example() {
	folder, err := os.MkdirTemp("", "fatctx-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	container, err := fatctx.Open(packed(folder), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer container.Close()
	device, err := fatctx.ParseDevice("x86-64-v3") // nil options choose for this machine
	if err != nil {
		log.Fatal(err)
	}
	model, err := container.Select(&fatctx.ModelOptions{Device: device})
	if err != nil {
		log.Fatal(err) // names the reason for each record
	}
	session, err := model.BeginSession()
	if err != nil {
		log.Fatal(err)
	}
	binary, err := session.Binary("")
	if err != nil {
		log.Fatal(err)
	}
	defer binary.Close() // the bytes are mapped until then
	fmt.Println(string(binary.Bytes()))
	// Output: code of x86-64-v3
}

func ExampleError() {
	_, err := fatctx.Open("none.fatctx", nil)

	var found *fatctx.Error
	if errors.As(err, &found) {
		fmt.Println(found.Code, found.OSError)
	}
	fmt.Println(errors.Is(err, fatctx.ErrNotFound), errors.Is(err, os.ErrNotExist))
	// Output:
	// not_found 2
	// true true
}
