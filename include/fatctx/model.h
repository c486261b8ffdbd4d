// Opens a file, chooses a target and hands out views: the interface for applications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

// The policy for a best matching target that turns out to be damaged.
enum class OnDamage : std::uint8_t {
  kFail,  // begin_session() fails with the damage as its error
  // open() and choose() acquire the records of a session. A record that fails (checksum_mismatch, malformed, codec, io)
  // excludes its target; a weight blob excludes the targets of all records that refer to it. The best of the other
  // targets is tried next, until one is whole. Selection::damaged and the explanation list every damaged record, and
  // Selection::warnings has "damaged_choice": no replacement is silent. The choice holds for the life of the model;
  // later damage fails begin_session() as with kFail.
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
  OpenOptions open = {};
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
};

class Session;

// A container with the target chosen for a device.
//
// Ownership: copyable; copies share everything. Threads: every member function from any number of threads.
class Model {
 public:
  // Opens `path` and chooses a target.
  // Errors: those of Container::open, no_match with the reason for every record in the message, copy_not_allowed; those
  //         of ModelOptions::prepare, and of stream_record() for its input; invalid_argument with policy.prepare_hook
  //         and no hook, if only a source model is left.
  // With OnDamage::kNext also those of Container::acquire: of the first damaged record, with all others that were tried
  // in the message, if no target is whole; invalid_argument with VerifyPolicy::kNone, which finds no damage.
  [[nodiscard]] static Result<Model> open(const std::string& path, const ModelOptions& options = {});
  // Chooses from a container that is already open.
  [[nodiscard]] static Result<Model> choose(const Container& container, const ModelOptions& options = {});

  [[nodiscard]] const Container& container() const& noexcept;
  [[nodiscard]] const Selection& selection() const& noexcept;
  [[nodiscard]] const Device& device() const& noexcept;
  [[nodiscard]] std::string explain() const;       // text, several lines
  [[nodiscard]] std::string explain_json() const;  // schema "fatctx.selection/1"

  // Acquires the chosen records and their weight blobs, verified by the open policy. Any number of sessions; the
  // second and later cost no IO.
  // Errors: those of Container::acquire.
  [[nodiscard]] Result<Session> begin_session() const;

 private:
  struct Impl;
  [[nodiscard]] static Result<Container> settle_consumer(const Container& container, const MappingProbe& consumer);
  friend class Session;
  [[nodiscard]] static Status check_bytes(const Container& container, const std::vector<std::uint32_t>& record_ids,
                                          std::uint64_t file_look);
  [[nodiscard]] static Status check_finds_damage(const Container& container);
  explicit Model(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A session of inference: views of the chosen context binaries and of the weights they share.
//
// Ownership: copyable, may outlive Model and Container. Threads: const members from any number of threads.
class Session {
 public:
  // Returns the context binary of `unit`; empty: of the only unit. A binary that a prepare hook compiled has the record
  // id of its source model and is stored in memory of this process (AccessPath::kCopied). It serves every unit if the
  // source model has none. Errors: not_found, listing the units.
  [[nodiscard]] Result<RecordView> binary(std::string_view unit = {}) const;
  // Returns the weight blobs that the chosen binaries refer to, in record order.
  [[nodiscard]] const std::vector<RecordView>& weights() const& noexcept { return weights_; }
  // Returns a tensor of any of these blobs, by name. The first call reads the tables and makes the checks of
  // Container::acquire; later calls, on copies of this session too, reuse them. Errors: not_found; those of
  // Container::tensors.
  [[nodiscard]] Result<WeightView> weight(std::string_view name) const;

  // Call the function of Container for each record of this session: binaries first, then weights, each once. A budget
  // and a report are for all of them together; the first error ends the call.
  [[nodiscard]] Result<PrefetchReport> prefetch(const PrefetchOptions& options = {}) const;
  [[nodiscard]] Result<PrefetchHandle> prefetch_in_background(PrefetchOptions options = {}) const;
  // Other sessions may hold the same records: their bytes, too, are read from the file again.
  [[nodiscard]] Result<ReleaseReport> release(const ReleaseOptions& options = {}) const;

  // Gives all views of this session back and says whether results computed from them can be trusted. The destructor
  // gives them back too, but reports nothing. Copies of views that the caller made stay valid.
  // If the file looks different than when the session began, its records are verified again, as by acquire.
  // Errors: those of Container::check; then also those of acquire. After the call the session is empty; ending it again
  //         only checks the file.
  [[nodiscard]] Status end();

 private:
  friend class Model;
  explicit Session(Container container) : container_(std::move(container)) {}

  struct Tables;

  Container container_;
  std::vector<RecordView> binaries_;
  std::vector<std::string_view> units_;  // one per binary; borrow from the container
  std::vector<RecordView> weights_;
  std::shared_ptr<Tables> tables_;         // of the weights
  std::vector<std::uint32_t> record_ids_;  // of all views, without repetition
  std::uint64_t file_look_ = 0;            // the number of the look of the file when it began
  std::shared_ptr<const void> attached_;   // counts this session and its copies as one
};

}  // namespace fatctx
