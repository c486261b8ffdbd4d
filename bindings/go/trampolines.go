package fatctx

/*
#include "fatctx/fatctx.h"

// Go passes its side of a callback as a number, because C must not keep pointers into the memory of Go.
extern int32_t fatctxGoProgress(uintptr_t user, uint64_t done, uint64_t total);
extern int32_t fatctxGoBytes(uintptr_t user, void* bytes, uint64_t size);
extern void fatctxGoFinding(uintptr_t user, fatctx_error* finding);

static int32_t on_progress(void* user, uint64_t done, uint64_t total) {
  return fatctxGoProgress((uintptr_t)user, done, total);
}
static int32_t on_bytes(void* user, const void* bytes, uint64_t size) {
  return fatctxGoBytes((uintptr_t)user, (void*)bytes, size);
}
static void on_finding(void* user, const fatctx_error* finding) {
  fatctxGoFinding((uintptr_t)user, (fatctx_error*)finding);
}

static int32_t go_stream(uint64_t id, uint32_t record, uintptr_t user, fatctx_error* error) {
  fatctx_container container = {id};
  return fatctx_container_stream(container, record, on_bytes, (void*)user, error);
}
static void go_verify_watch(fatctx_verify_options* options, uint32_t progress, uintptr_t user) {
  options->finding = on_finding;
  options->progress = progress ? on_progress : 0;
  options->user = (void*)user;
}
static void go_pack_watch(fatctx_pack_options* options, uintptr_t user) {
  options->progress = on_progress;
  options->progress_user = (void*)user;
}
*/
import "C"

import "runtime/cgo"

func streamRecord(id C.uint64_t, record uint32, user cgo.Handle, e *C.fatctx_error) C.int32_t {
	return C.go_stream(id, C.uint32_t(record), C.uintptr_t(user), e)
}

func watchVerify(options *C.fatctx_verify_options, progress bool, user cgo.Handle) {
	C.go_verify_watch(options, number(progress), C.uintptr_t(user))
}

func watchPack(options *C.fatctx_pack_options, user cgo.Handle) {
	C.go_pack_watch(options, C.uintptr_t(user))
}
