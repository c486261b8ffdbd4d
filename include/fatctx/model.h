// Open once, choose, hand out: what an application uses.
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

// What becomes of a model whose best target turns out to be damaged.
enum class OnDamage : std::uint8_t {
  kFail,  // begin_session() fails with what is wrong
  // open() and choose() acquire what a session would hold. A record that cannot be (checksum_mismatch, malformed,
  // codec, io) puts its target out, a weight blob those of all records that refer to it, and the best of the other
  // targets is tried, until one is whole. Selection::damaged lists every record that was found damaged, the explanation
  // too, and Selection::warnings has "damaged_choice": nothing is replaced in silence. The choice holds for the life of
  // the model; damage that comes later fails begin_session() as with kFail.
  kNext,
};
[[nodiscard]] std::string_view on_damage_name(OnDamage on_damage) noexcept;  // "fail", "next"
[[nodiscard]] std::optional<OnDamage> on_damage_from_name(std::string_view name) noexcept;

// A stored source model, and what it is to be compiled for. Lifetime: all of it is valid during the call only.
struct PrepareRequest {
  const Container& container;  // its description and options may tell how
  const RecordInfo& record;    // the source model: name, unit, format
  ByteView source;             // its bytes, decompressed and verified
  const Device& device;
};
// Compiles it, and gives the context binary. What it returns as an error, or throws, ends the choosing.
using PrepareHook = std::function<Result<std::vector<std::byte>>(const PrepareRequest&)>;

struct ModelOptions {
  OpenOptions open = {};
  SelectPolicy policy = {};
  std::optional<Device> device = {};  // empty: what device_for() says of this machine
  // Asked once, by open() and choose(), before any view is handed out. A consumer that cannot take mapped memory gets
  // copies that all its sessions share, and the open report of container() says so; with FileMapping::kRequire it gets
  // the error copy_not_allowed instead. Not set: it takes mapped memory.
  MappingProbe consumer = {};
  // Asked by open() and choose(), on the calling thread, when no context binary of the group fits the device and the
  // group has a source model (tier T7): once for each source model that was chosen. What it gives is held in memory by
  // the model and is the binary of all its sessions; nothing is stored. Not set: source models are not used. Where it
  // is set, policy.prepare_hook needs not be.
  PrepareHook prepare = {};
  // With kNext the time that the first session takes for reading and checking is open()'s; what was made for it
  // (copies, composed views) stays with the model until its first session has it.
  OnDamage on_damage = OnDamage::kFail;
};

class Session;

// A container with the target chosen for a device.
//
// Ownership: copyable; copies share everything. Threads: every member function from any number of threads.
class Model {
 public:
  // Errors: those of Container::open, no_match with the reason for every record in the message, copy_not_allowed; those
  //         of ModelOptions::prepare, and of stream_record() for what it is given; invalid_argument with
  //         policy.prepare_hook and no hook, if a source model is all that is left.
  //         With OnDamage::kNext also those of Container::acquire: of the first damaged record, with all others that
  //         were tried in the message, if no target is whole; invalid_argument with VerifyPolicy::kNone, which finds no
  //         damage.
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

// What one inference session holds: views of the chosen context binaries and of the weights they share.
//
// Ownership: copyable, may outlive Model and Container. Threads: const members from any number of threads.
class Session {
 public:
  // The context binary of `unit`; empty: of the only unit. One that a prepare hook compiled has the record id of its
  // source model, lies in memory of this process (AccessPath::kCopied), and serves every unit if the source model has
  // none. Errors: not_found, listing the units.
  [[nodiscard]] Result<RecordView> binary(std::string_view unit = {}) const;
  // The weight blobs that the chosen binaries refer to, in record order.
  [[nodiscard]] const std::vector<RecordView>& weights() const& noexcept { return weights_; }
  // A tensor of any of these blobs, by name. The first call looks the tables up and asks what Container::acquire asks;
  // later ones, of copies of this session too, find them there. Errors: not_found; those of Container::tensors.
  [[nodiscard]] Result<WeightView> weight(std::string_view name) const;

  // What Container does to one record, done to all that this session holds: binaries first, then weights, each once.
  // A budget and a report are for all of them together; the first error ends it.
  [[nodiscard]] Result<PrefetchReport> prefetch(const PrefetchOptions& options = {}) const;
  [[nodiscard]] Result<PrefetchHandle> prefetch_in_background(PrefetchOptions options = {}) const;
  // Other sessions may hold the same records: theirs come back from the file as well.
  [[nodiscard]] Result<ReleaseReport> release(const ReleaseOptions& options = {}) const;

  // Gives all views of this session back and says whether what was computed from them can be trusted. Without it, the
  // destructor gives them back and nobody is told. Copies of views that the caller made stay valid.
  // If the file has come to look different since the session began, its records are verified again, as by acquire.
  // Errors: those of Container::check; then also those of acquire. After it the session is empty; ending it again
  //         checks the file only.
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
  std::vector<std::uint32_t> record_ids_;  // of all views, each once
  std::uint64_t file_look_ = 0;            // the number of the look of the file when it began
  std::shared_ptr<const void> attached_;   // counts this session and its copies as one
};

}  // namespace fatctx
