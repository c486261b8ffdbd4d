// Choose opens a container, says which record fits this machine and why, and looks at its bytes: choose model.fatctx
package main

import (
	"fmt"
	"log"
	"os"

	"fatctx"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: choose FILE")
	}
	if err := choose(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func choose(path string) error {
	container, err := fatctx.Open(path, nil) // maps the file once per process
	if err != nil {
		return err
	}
	defer container.Close()
	records, err := container.Records()
	if err != nil {
		return err
	}
	for _, record := range records {
		fmt.Printf("%3d %-14v %s (%d bytes)\n", record.ID, record.Type, record.Name, record.Size)
	}

	model, err := container.Select(nil) // for this machine
	if err != nil {
		return err // with the reason for each record
	}
	defer model.Close()
	reason, err := model.Explain() // why this record and no other
	if err != nil {
		return err
	}
	fmt.Println(reason)

	session, err := model.BeginSession()
	if err != nil {
		return err
	}
	binary, err := session.Binary("")
	if err != nil {
		return err
	}
	defer binary.Close()                                                        // the bytes are mapped until then
	fmt.Printf("binary: %d bytes at %p\n", len(binary.Bytes()), binary.Bytes()) // mapped, not copied
	return session.End()                                                        // can the results be trusted?
}
