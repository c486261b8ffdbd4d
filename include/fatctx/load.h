// Loads the context binary for a device from a file of any kind with one call: a container, a DLC with context binaries
// for several SoCs, or a plain context binary for one.
//
// load_context() does it while the caller waits, load_contexts() for a list of files in the background. Loading needs
// no library of a vendor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/model.h"
#include "fatctx/select.h"

namespace fatctx {

// The format of a loaded file, recognised by its bytes and never by its name.
enum class LoadedFormat : std::uint8_t {
  kContainer,
  kDlc,        // an archive of several SoCs: its context binaries are judged like records of a container
  kRawBinary,  // one context binary for one target: handed out as it is, nothing is selected and nothing checked
};
[[nodiscard]] std::string_view loaded_format_name(LoadedFormat format) noexcept;  // "container", "dlc", "raw_binary"

// The bytes that are accepted as a plain context binary. Such bytes do not name their target, so they cannot be chosen,
// only trusted.
enum class RawBinaries : std::uint8_t {
  kKnown,  // formats that their bytes identify: modules of IREE ("iree-vmfb")
  kAny,    // everything that is neither a container nor a DLC: the caller vouches that it is for this device
  kRefuse,
};
[[nodiscard]] std::string_view raw_binaries_name(RawBinaries raw_binaries) noexcept;  // "known", "any", "refuse"
[[nodiscard]] std::optional<RawBinaries> raw_binaries_from_name(std::string_view name) noexcept;

// A source of bytes to load from; it offers the same ways to open as Container.
class LoadSource {
 public:
  LoadSource(std::string path) : kind_(Kind::kPath), path_(std::move(path)) {}  // implicit: load_context("m.fatctx")
  LoadSource(const char* path) : LoadSource(std::string(path)) {}
  // Loads from a descriptor. Ownership: it stays the caller's, and may be closed after load_context() or
  // load_contexts() has returned.
  [[nodiscard]] static LoadSource descriptor(int descriptor, const FileWindow& window = {});
  // Loads from memory. Ownership: as Container::open_memory. If there is no owner, a stopped load returns only when
  // nothing reads the bytes any more: at the next step of at most 1 MiB.
  [[nodiscard]] static LoadSource memory(ByteView bytes, std::shared_ptr<const void> owner = nullptr);

 private:
  friend class LoadInput;
  enum class Kind : std::uint8_t { kPath, kDescriptor, kMemory };
  explicit LoadSource(Kind kind) : kind_(kind) {}

  Kind kind_;
  std::string path_;
  int descriptor_ = -1;
  FileWindow window_;
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

// A signal that stops a load from another thread, or after a time. Serves one load at a time, and the next one when
// that has ended.
//
// Ownership: copyable; copies are the same signal. Threads: every member from any number of threads, none of them from
// a signal handler of the system.
class LoadSignal {
 public:
  LoadSignal();
  explicit LoadSignal(std::chrono::milliseconds timeout);

  // Makes the load that uses it answer cancelled within 100 ms, whatever it waits for. If no load uses it, the next one
  // does.
  void cancel();
  [[nodiscard]] bool cancelled() const noexcept;
  // Makes a load that takes longer answer timed_out; 0: no limit. The time counts from the call that loads.
  // Errors: operation_not_permitted (a load uses it).
  [[nodiscard]] Status set_timeout(std::chrono::milliseconds timeout);
  // Takes back a cancel. Errors: operation_not_permitted (a load uses it).
  [[nodiscard]] Status reset();
  [[nodiscard]] bool in_use() const noexcept;

 private:
  friend class LoadRun;
  struct State;
  std::shared_ptr<State> state_;
};

enum class LoadEventKind : std::uint8_t {
  kGraphInitialised = 0,    // a graph of a context binary can be used
  kContextInitialised = 1,  // a context binary can be used, or the load has failed
};

// A report of progress: for each context binary its graphs, in the order of its metadata, and then the context binary.
// A load that fails reports kContextInitialised with the error as its last event.
struct LoadEvent {
  LoadEventKind kind = LoadEventKind::kContextInitialised;
  std::string record;               // of the context binary; empty if the load failed
  std::string unit;                 // of the context binary
  std::string graph;                // of kGraphInitialised
  std::optional<Error> error = {};  // why the load failed
};
// Runs on the thread that called load_context(), or for a list on the thread of the list that loads the item. An
// exception stops the load and leaves load_context(); an item of a list then answers cancelled.
using LoadNotify = std::function<void(const LoadEvent& event)>;

struct LoadOptions {
  // Options for opening the file and for the choice. For a DLC and a raw binary only those of `open` count that say how
  // the bytes reach the caller (file_mapping, mapping_provider, allocator, private copies), and follow_symlinks and
  // require_local. No checksum covers their bytes, so `verify` and `on_damage` have no effect.
  ModelOptions model = {};
  RawBinaries raw_binaries = RawBinaries::kKnown;
  bool prefetch = false;  // also brings the chosen bytes into memory
  // With a signal or with `progress` a thread of the library does the work. If the load is stopped while the system
  // does not answer, the thread is left alone; it gives everything back when the system answers.
  std::optional<LoadSignal> signal = {};
  LoadNotify notify = {};
  // Called on the thread of `notify`, about every 25 ms, also while nothing happens. Reports the bytes read to check,
  // copy or prefetch the chosen records, and their maximum. An exception stops the load and leaves the call.
  Progress progress = {};
};

// A chosen context binary, or a record that it refers to.
struct LoadedRecord {
  std::string name;  // of the record, or of the entry of a DLC; the file's name for a raw binary
  RecordType type = RecordType::kContextBinary;
  std::string unit;                 // of a context binary in a container
  std::vector<std::string> graphs;  // of a context binary, as its metadata lists them
  // A view that keeps its bytes in memory. Its id is that of the record; for a DLC 1 for the first entry, 2 for the
  // next, ...; for a raw binary 0.
  RecordView view;
};

// The result of a load. Holds everything it needs.
//
// Ownership: copyable; copies share everything. Threads: const members from any number of threads.
class LoadedContext {
 public:
  struct Impl;
  explicit LoadedContext(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  [[nodiscard]] LoadedFormat format() const noexcept;
  [[nodiscard]] const std::string& path() const& noexcept;  // as in OpenReport
  // Returns one record for each unit, in unit order; never empty.
  [[nodiscard]] const std::vector<LoadedRecord>& binaries() const& noexcept;
  // Returns the context binary of `unit`; empty: the only one. Errors: not_found, listing the units.
  [[nodiscard]] Result<RecordView> binary(std::string_view unit = {}) const;
  // Returns the weight blobs that these refer to, in record order. For a DLC also the metadata of shared weights, as
  // opaque.
  [[nodiscard]] const std::vector<LoadedRecord>& weights() const& noexcept;
  // Returns the selection; null for a raw binary, for which nothing was selected.
  [[nodiscard]] const Selection* selection() const& noexcept;
  // Returns the choice, for beginning further sessions; null if the file was not a container.
  [[nodiscard]] const Model* model() const& noexcept;
  // Returns the kind of file, and the reason for choosing this record; several lines.
  [[nodiscard]] std::string explain() const;
  // Returns JSON of schema "fatctx.load/1": format, records with their sizes and access paths, and the members of
  // select()'s explanation ("fatctx.selection/1"), null for a raw binary.
  [[nodiscard]] std::string explain_json() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Opens the source, recognises its format, chooses for the device, checks the bytes and returns them.
//
// A DLC and a raw binary are mapped for each load anew; loads of a container share one mapping, as its opens do.
//
// Errors: those of Model::open and Model::begin_session; for a DLC those of list_dlc and select; bad_magic (none of the
//         formats, naming the known facts about it); invalid_argument (a group, a record or `strict` is requested, and
//         a raw binary does not describe itself); signature_missing, unsupported (trusted keys or a generation are
//         requested, and the file is not a container); changed; cancelled, timed_out, operation_not_permitted (the
//         signal serves another load already); no_resource.
[[nodiscard]] Result<LoadedContext> load_context(const LoadSource& source, const LoadOptions& options = {});

struct LoadItem {
  LoadSource source;
  LoadOptions options = {};
  // Called once for each item, when it has been loaded, has failed or was cancelled, on a thread of the list. Calls for
  // the items of a list never overlap and follow the order in which these finish: with one thread, list order. May call
  // any function of the list except wait(). Must not throw.
  std::function<void(std::size_t index, const Result<LoadedContext>& result)> finished = {};
};

struct LoadListOptions {
  std::uint32_t threads = 0;  // items that are loaded at a time; 0: as many as there are processors, at most 8
};

// A list of items that are being loaded. A failed item does not stop the others.
//
// Ownership: move-only. The destructor cancels unfinished items and waits until every `finished` has returned; from one
//            of these callbacks it does not wait.
// Threads:   every member from any number of threads.
// fork:      a child has no such threads; there wait() answers cancelled and the destructor does not wait.
class LoadList {
 public:
  struct Impl;
  explicit LoadList(std::unique_ptr<Impl> impl) noexcept;
  LoadList(LoadList&&) noexcept;
  LoadList& operator=(LoadList&&) noexcept;
  ~LoadList();

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t finished_count() const;  // items whose callback has returned
  // Makes every unfinished item answer cancelled, within 100 ms. Does not wait.
  void cancel();
  // Waits until all have finished. Errors: operation_not_permitted (from a callback of this list), cancelled (in a
  // forked child).
  [[nodiscard]] Status wait();
  // Returns the result of an item. Errors: not_found (no such item), operation_not_permitted (it has not finished),
  // those of the load.
  [[nodiscard]] Result<LoadedContext> result(std::size_t index) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Starts loading the items, in list order, and returns. Errors: no_resource (no thread, no descriptor), io.
[[nodiscard]] Result<LoadList> load_contexts(std::vector<LoadItem> items, const LoadListOptions& options = {});

}  // namespace fatctx
