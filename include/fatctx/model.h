// The one way to open a file, choose a target and get views: the interface for applications.
//
// A Model is an opened file of any kind, with the target that was chosen for a device. A Session holds views of the
// chosen records.
// Opening needs no library of a vendor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/load_signal.h"
#include "fatctx/select.h"

namespace fatctx {

// The format of an opened file, recognised by its bytes and never by its name.
enum class ModelFormat : std::uint8_t {
  kContainer,
  kDlc,        // an archive of several SoCs: its context binaries are judged like records of a container
  kRawBinary,  // one context binary for one target: handed out as it is, nothing is selected and nothing checked
};
[[nodiscard]] std::string_view model_format_name(ModelFormat format) noexcept;  // "container", "dlc", "raw_binary"

// The bytes that are accepted as a plain context binary. Such bytes do not name their target, so they cannot be chosen,
// only trusted.
enum class RawBinaries : std::uint8_t {
  kKnown,  // formats that their bytes identify: modules of IREE ("iree-vmfb")
  kAny,    // everything that is neither a container nor a DLC: the caller vouches that it is for this device
  kRefuse,
};
[[nodiscard]] std::string_view raw_binaries_name(RawBinaries raw_binaries) noexcept;  // "known", "any", "refuse"
[[nodiscard]] std::optional<RawBinaries> raw_binaries_from_name(std::string_view name) noexcept;

// The policy for a best matching target that turns out to be damaged.
enum class OnDamage : std::uint8_t {
  kFail,  // begin_session() fails with the damage as its error
  // open() and choose() acquire the records of a session. A record that fails (checksum_mismatch, not_present,
  // malformed, codec, io) excludes its target; a weight blob excludes the targets of all records that refer to it. The
  // best of the other targets is tried next, until one is whole. Selection::damaged and the explanation list every
  // damaged record, and Selection::warnings has "damaged_choice": no replacement is silent. The choice holds for the
  // life of the model; later damage fails begin_session() as with kFail.
  kNext,
};
[[nodiscard]] std::string_view on_damage_name(OnDamage on_damage) noexcept;  // "fail", "next"
[[nodiscard]] std::optional<OnDamage> on_damage_from_name(std::string_view name) noexcept;

// A stored source model and its target device. Lifetime: all of it is valid during the call only.
struct PrepareRequest {
  const Container& container;  // its description and options may tell how
  const RecordInfo& record;    // the source model: name, unit, format
  ByteView source;             // its bytes, decompressed and verified
  const Device& device;
};
// Compiles a source model and returns the context binary. An error or an exception ends the choosing.
using PrepareHook = std::function<Result<std::vector<std::byte>>(const PrepareRequest&)>;

struct ModelOptions {
  // For a DLC and a raw binary only those count that say how the bytes reach the caller (file_mapping,
  // mapping_provider, allocator, private copies), and follow_symlinks and require_local. No checksum covers their
  // bytes, so `verify` and `on_damage` have no effect.
  OpenOptions open = {};
  RawBinaries raw_binaries = RawBinaries::kKnown;
  SelectPolicy policy = {};
  std::optional<Device> device = {};  // empty: the result of device_for() for this machine
  // Called once, by open() and choose(), before any view is handed out. If the consumer cannot take mapped memory, all
  // its sessions share copies, and the open report of container() says so. With FileMapping::kRequire it gets the error
  // copy_not_allowed instead. Not set: the consumer takes mapped memory.
  MappingProbe consumer = {};
  // Called by open() and choose(), on the calling thread, if no context binary of the group fits the device and the
  // group has a source model (tier T7). Called once for each chosen source model. The model holds the result in memory
  // as the binary of all its sessions; nothing is stored. Not set: source models are not used. If it is set,
  // policy.prepare_hook is not required.
  PrepareHook prepare = {};
  // With kNext, open() already reads and checks for the first session. Its copies and composed views stay with the
  // model until the first session takes them.
  OnDamage on_damage = OnDamage::kFail;
  // With a signal a thread of the library opens and chooses; Model::open() answers cancelled or timed_out. If the call
  // is stopped while the system does not answer, the thread is left alone; it gives everything back when the system
  // answers. `prepare` then runs on that thread, perhaps after the call has returned.
  std::optional<LoadSignal> signal = {};
};

class Session;

// A file with the target chosen for a device.
//
// Ownership: copyable; copies share everything. Threads: every member function from any number of threads.
class Model {
 public:
  // Opens a container, a DLC or a raw binary, and chooses a target. A container shares one mapping with its other opens
  // in the process; a DLC and a raw binary are mapped once for each call.
  //
  // Errors: those of Container::open; no_match with the reason for every record in the message; copy_not_allowed; those
  //         of ModelOptions::prepare, and of stream_record() for its input; invalid_argument with policy.prepare_hook
  //         and no hook, if only a source model is left.
  // - With a signal: cancelled, timed_out, operation_not_permitted (it serves another call), no_resource (no thread).
  // - bad_magic: none of the formats, naming the known facts about it.
  // - A DLC: those of list_dlc and select. A raw binary: invalid_argument (a group, a record or `strict` is requested,
  //   and it does not describe itself). Both: signature_missing, unsupported (trusted keys or a generation are
  //   requested, and only a container has them).
  // - With OnDamage::kNext also those of Container::acquire: of the first damaged record, with all others that were
  //   tried in the message, if no target is whole; invalid_argument with VerifyPolicy::kNone, which finds no damage.
  [[nodiscard]] static Result<Model> open(const Source& source, const ModelOptions& options = {});
  // Chooses from a container that is already open. Does not use ModelOptions::open, raw_binaries and signal.
  [[nodiscard]] static Result<Model> choose(const Container& container, const ModelOptions& options = {});

  [[nodiscard]] ModelFormat format() const noexcept;
  [[nodiscard]] const std::string& path() const& noexcept;  // as in OpenReport
  // Returns the container; null if the file is a DLC or a raw binary. Lifetime: borrows from this model.
  [[nodiscard]] const Container* container() const& noexcept;
  // Returns the selection. That of a raw binary has no verdicts: nothing was selected.
  [[nodiscard]] const Selection& selection() const& noexcept;
  // Returns the records that were judged, in their order; none of a raw binary. Lifetime: borrows from this model.
  [[nodiscard]] std::span<const Candidate> candidates() const& noexcept;
  // Returns the device that the choice was made for; for a raw binary the one in the options.
  [[nodiscard]] const Device& device() const& noexcept;
  // Returns the graphs of a chosen context binary, as its metadata lists them. Reads the descriptions of a container.
  // Errors: not_found (it was not chosen); those of Container::describe.
  [[nodiscard]] Result<std::vector<std::string>> graphs(std::uint32_t record_id) const;
  [[nodiscard]] std::string explain() const;       // text, several lines
  [[nodiscard]] std::string explain_json() const;  // schema "fatctx.selection/1"; null for a raw binary

  // Acquires the chosen records and their weight blobs, verified by the open policy. Any number of sessions; the
  // second and later cost no IO.
  // Errors: those of Container::acquire; for other files changed, io, truncated, out_of_memory, those of the allocator.
  [[nodiscard]] Result<Session> begin_session() const;

  // The state behind the handle. Only the library's own files complete this type.
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] const Impl& impl() const& noexcept { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A chosen context binary, or a record that it refers to. Lifetime: its texts borrow from the model.
struct SessionRecord {
  std::string_view name;  // of the record, or of the entry of a DLC; the file's name for a raw binary
  RecordType type = RecordType::kContextBinary;
  std::string_view unit;  // of a context binary in a container
  // A view that keeps its bytes in memory. Its id is that of the record; for a DLC 1 for the first entry, 2 for the
  // next, ...; for a raw binary 0.
  RecordView view;
};

// A session of inference: views of the chosen context binaries and of the weights they share.
//
// Ownership: copyable, may outlive Model and Container. Threads: const members from any number of threads.
class Session {
 public:
  // Returns the model that began this session. Lifetime: borrows from this session.
  [[nodiscard]] const Model& model() const& noexcept;
  // Returns one record for each unit, in unit order; empty after end().
  [[nodiscard]] const std::vector<SessionRecord>& binaries() const& noexcept;
  // Returns the weight blobs that the chosen binaries refer to, in record order. A DLC also has the metadata of shared
  // weights, as opaque.
  [[nodiscard]] const std::vector<SessionRecord>& weights() const& noexcept;
  // Returns the context binary of `unit`; empty: of the only unit. A binary that a prepare hook compiled has the record
  // id of its source model and is stored in memory of this process (AccessPath::kCopied). It serves every unit if the
  // source model has none. Errors: not_found, listing the units.
  [[nodiscard]] Result<RecordView> binary(std::string_view unit = {}) const;
  // Returns a tensor of any of these blobs, by name. The first call reads the tables and makes the checks of
  // Container::acquire; later calls, on copies of this session too, reuse them. Errors: not_found; those of
  // Container::tensors.
  [[nodiscard]] Result<WeightView> weight(std::string_view name) const;
  // Waits for the checks of its records that VerifyPolicy::kBesideLoad has begun; call it before the first result is
  // believed. Returns at once under other policies and after end(). Errors: those of Container::await_checks.
  [[nodiscard]] Status await_checks() const;
  // Returns JSON of schema "fatctx.session/1": format, records with their sizes and access paths, and the members of
  // the model's explanation ("fatctx.selection/1"), null for a raw binary. Errors: those of Model::graphs.
  [[nodiscard]] Result<std::string> report_json() const;

  // Call the function of Container for each record of this session: binaries first, then weights, each once. A budget
  // and a report are for all of them together; the first error ends the call.
  [[nodiscard]] Result<PrefetchReport> prefetch(const PrefetchOptions& options = {}) const;
  [[nodiscard]] Result<PrefetchHandle> prefetch_in_background(PrefetchOptions options = {}) const;
  // Other sessions may hold the same records: their bytes, too, are read from the file again.
  [[nodiscard]] Result<ReleaseReport> release(const ReleaseOptions& options = {}) const;

  // Gives all views of this session back and says whether results computed from them can be trusted. The destructor
  // gives them back too, but reports nothing. Copies of this session, and of views that the caller made, stay valid.
  // If the file looks different than when the session began, its records are verified again, as by acquire.
  // Errors: those of Container::check; then also those of acquire. After the call the session is empty; ending it again
  //         only checks the file.
  [[nodiscard]] Status end();

  // The state behind the handle. Only the library's own files complete this type.
  struct Impl;
  explicit Session(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace fatctx
