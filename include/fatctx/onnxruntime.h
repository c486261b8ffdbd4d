// Attaches the weights of ordinary ONNX models, stored in a container, to ONNX Runtime sessions of any execution
// provider.
//
// A model that keeps its initializers in external data is small; its data file is a weight blob of a container (`fatctx
// pack --weights model.onnx`). attach_weights() gives session options the mapped bytes instead of that file. All
// sessions made with such options share the pages of one mapping. None has a copy on the heap.
// docs/onnxruntime_weights.md compares the routes and says what they cost.
//
// This is a library of its own, fatctx::onnxruntime. It calls ONNX Runtime through the OrtApiBase of the caller and
// links nothing of it: the application brings its ONNX Runtime, 1.23 or newer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"

struct OrtApiBase;         // of onnxruntime_c_api.h: OrtGetApiBase()
struct OrtSessionOptions;  // the result of converting Ort::SessionOptions

namespace fatctx {

// The way in which the bytes reach a session.
enum class AttachRoute : std::uint8_t {
  kAuto,  // kFileBuffers if this ONNX Runtime can borrow, else kInitializers
  // The blob replaces the external data file, which need not exist; the graph is optimised as usual. ONNX Runtime
  // borrows from 1.31 on. An older one would copy every tensor for every session, so it is refused. This route reaches
  // the main graph only. ONNX Runtime still reads the initializers in bodies of If, Loop and Scan from the file.
  // `fatctx export --attached` writes a model whose main graph has all of them.
  kFileBuffers,
  // Each tensor of the blob's table replaces the initializer with its name, inner graphs included, but functions not.
  // Works from 1.23 on.
  // The external data file must exist, at any size: ONNX Runtime checks its path and reads nothing of it, unless it
  // optimises. Its optimiser reads values from the file, so optimising is switched off (see below).
  kInitializers,
};
[[nodiscard]] std::string_view attach_route_name(AttachRoute route) noexcept;  // "auto", "file_buffers", ...

struct AttachFile {
  std::string record;         // name of a weight blob
  std::string location = {};  // the model's name for the file; empty: the blob's option "onnx.location"
};

struct AttachOptions {
  AttachRoute route = AttachRoute::kAuto;
  std::vector<AttachFile> files = {};  // empty: every weight blob with the option "onnx.location"
  // The bytes of the ONNX model, during the call only. Its references to external data are compared with the container.
  // A file without a blob, or a tensor at another position, is then an error, so that no session computes wrong
  // results. Empty: nothing is compared.
  ByteView model = {};
  // kFileBuffers: ONNX Runtime silently copies a tensor for every session if its offset is not a multiple of the size
  // of its elements. False: such a tensor is an error. True: the report counts it.
  bool allow_copies = false;
  // Sets the session entry session.disable_prepacking. If it is not set, every session has a second, rearranged copy of
  // the operands of matrix products and convolutions, which makes them faster. A PrepackedWeightsContainer of the
  // caller's has one copy for all sessions of the process.
  bool disable_prepacking = true;
  // kInitializers: keeps the optimisation level of the session options instead of ORT_DISABLE_ALL. Only for external
  // data files with the bytes of the container: from any other file, sessions compute wrong results.
  bool keep_optimisation_level = false;
};

struct AttachedBlob {
  std::uint32_t record_id = 0;
  std::string record;
  std::string location;  // empty: kInitializers without a name for the file
  // Access path of a view of the whole blob. Also kDirect for kInitializers if there is no such view and the tensors
  // are stored in the file.
  AccessPath access_path = AccessPath::kDirect;
  std::uint64_t size_bytes = 0;      // handed over: the blob, or the tensors of kInitializers
  std::uint64_t tensor_count = 0;    // in its table
  std::uint64_t copied_tensors = 0;  // that every session copies (allow_copies)
  std::uint64_t copied_bytes = 0;    // of these
  std::uint64_t process_bytes = 0;   // memory of this process instead of file pages, once for all sessions
};

struct AttachReport {
  AttachRoute route = AttachRoute::kFileBuffers;  // the one that was taken
  std::string runtime_version;                    // "1.31.1"
  std::uint64_t size_bytes = 0;                   // of all blobs
  std::uint64_t tensor_count = 0;
  bool model_compared = false;  // not for a model without external data, whose weights kInitializers replaces unseen
  std::vector<AttachedBlob> blobs;
};

// A share in the bytes that sessions borrow: views of the container and, with kInitializers, the OrtValues over them.
//
// Ownership:  copyable; copies share. Keeps the mapping alive whatever becomes of the container.
// Threads:    const members from any number of threads; the last copy may go on any thread.
// Lifetime:   must outlive the last run of every session made with the options, and the creation of sessions with them.
//             Sessions and options that nobody uses any more may be destroyed before or after it.
class AttachedWeights {
 public:
  struct Impl;
  explicit AttachedWeights(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] const AttachReport& report() const& noexcept;
  // Waits for the checks of the blobs that VerifyPolicy::kBesideLoad has begun: call it after a session was created and
  // before its first run. ONNX Runtime does not call the library at a run, so nobody else does. Returns at once under
  // other policies. Errors: those of Container::await_checks.
  [[nodiscard]] Status await_checks() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Attaches the weight blobs of `container` to `options`, which must not be used by another thread meanwhile.
// Payload is verified by the container's open policy before a session exists; with VerifyPolicy::kBesideLoad while it
// is created, and AttachedWeights::await_checks() tells the result. Everything is checked before the first call that
// changes `options`; after an error that names ONNX Runtime's own words, throw the options away.
//
// Errors: invalid_argument (a null pointer; a record that is not a weight blob; a blob without a location; two blobs
//         for one location, or with kInitializers two tensors of one name; a tensor that `model` has elsewhere, with
//         kInitializers also one whose name two bodies of `model` use, or with
//         kFileBuffers a `model` without external data; a refusal of ONNX Runtime, with its words, for example options
//         that were attached to already), not_found (no such record; no blob with a location; a location of `model`
//         that no blob has, listing the existing ones), unsupported (an ONNX Runtime that is too old; an initializer of
//         an inner graph with kFileBuffers, and one of a function; a blob without a table, or a type that tables do not
//         have, with kInitializers), copy_not_allowed (naming a tensor that would be copied), malformed (`model` is not
//         an ONNX model); those of Container::describe, acquire and tensors.
// Cost:   reads the blobs once per mapping (VerifyPolicy::kRecordOnAcquire); later calls take microseconds.
[[nodiscard]] Result<AttachedWeights> attach_weights(const OrtApiBase* base, OrtSessionOptions* options,
                                                     const Container& container, const AttachOptions& attach = {});

}  // namespace fatctx
