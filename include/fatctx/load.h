// One call from a file to the context binary for a device, whatever kind of file it is: a container, a DLC with context
// binaries for several SoCs, or a plain context binary for one.
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

// What a file turned out to be, by its bytes and never by its name.
enum class LoadedFormat : std::uint8_t {
  kContainer,
  kDlc,        // an archive of several SoCs: its context binaries are judged as records of a container are
  kRawBinary,  // one context binary for one target: handed out as it is, nothing is selected and nothing checked
};
[[nodiscard]] std::string_view loaded_format_name(LoadedFormat format) noexcept;  // "container", "dlc", "raw_binary"

// Which bytes are taken for a plain context binary. It says nothing of its target, so that it cannot be chosen, only
// trusted.
enum class RawBinaries : std::uint8_t {
  kKnown,  // formats that can be told by their bytes: modules of IREE ("iree-vmfb")
  kAny,    // everything that is neither a container nor a DLC: the caller vouches that it is for this device
  kRefuse,
};
[[nodiscard]] std::string_view raw_binaries_name(RawBinaries raw_binaries) noexcept;  // "known", "any", "refuse"
[[nodiscard]] std::optional<RawBinaries> raw_binaries_from_name(std::string_view name) noexcept;

// Where the bytes come from; the same ways as those of Container.
class LoadSource {
 public:
  LoadSource(std::string path) : kind_(Kind::kPath), path_(std::move(path)) {}  // implicit: load_context("m.fatctx")
  LoadSource(const char* path) : LoadSource(std::string(path)) {}
  // Ownership: stays the caller's, and may be closed when load_context() or load_contexts() has returned.
  [[nodiscard]] static LoadSource descriptor(int descriptor, const FileWindow& window = {});
  // Ownership: as Container::open_memory. Without an owner a load that is stopped returns when nothing reads the bytes
  // any more, which is at the next step of at most 1 MiB, and not before.
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

// Stops a load from another thread, or after a time. Serves one load at a time, and the next one when that has ended.
//
// Ownership: copyable; copies are the same signal. Threads: every member from any number of threads, none of them from
// a signal handler of the system.
class LoadSignal {
 public:
  LoadSignal();
  explicit LoadSignal(std::chrono::milliseconds timeout);

  // The load that uses it answers cancelled within 100 ms, whatever it waits for; without one the next load does.
  void cancel();
  [[nodiscard]] bool cancelled() const noexcept;
  // A load that takes longer answers timed_out; 0: no limit. Counts from the call that loads.
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

// For each context binary its graphs, in the order of its metadata, and then the context binary. A load that fails
// tells of kContextInitialised with the error as its last event.
struct LoadEvent {
  LoadEventKind kind = LoadEventKind::kContextInitialised;
  std::string record;               // of the context binary; empty if the load failed
  std::string unit;                 // of the context binary
  std::string graph;                // of kGraphInitialised
  std::optional<Error> error = {};  // why the load failed
};
// Runs on the thread that called load_context(), or of a list on the thread of the list that loads the item. What it
// throws stops the load and comes out of load_context(); an item of a list then answers cancelled.
using LoadNotify = std::function<void(const LoadEvent& event)>;

struct LoadOptions {
  // How the file is opened and what is chosen. Of a DLC and a raw binary `open` counts for how the bytes come to the
  // caller (file_mapping, mapping_provider, allocator, private copies), follow_symlinks and require_local; nothing
  // tells that their bytes are whole, so that `verify` and `on_damage` mean nothing.
  ModelOptions model = {};
  RawBinaries raw_binaries = RawBinaries::kKnown;
  bool prefetch = false;  // also brings what was chosen into memory
  // With a signal or with `progress` the work is done by a thread of the library, which is left alone if the load is
  // stopped while the system does not answer: it gives everything back when that has ended.
  std::optional<LoadSignal> signal = {};
  LoadNotify notify = {};
  // On the thread of `notify`, about every 25 ms, also while nothing goes on; bytes that were read to check, copy or
  // prefetch what was chosen, and at most as many. What it throws stops the load and comes out of the call.
  Progress progress = {};
};

// A context binary that was chosen, or what it refers to.
struct LoadedRecord {
  std::string name;  // of the record, or of the entry of a DLC; of a raw binary what the file is called
  RecordType type = RecordType::kContextBinary;
  std::string unit;                 // of a context binary in a container
  std::vector<std::string> graphs;  // of a context binary, as its metadata lists them
  // Bytes, and a share in what keeps them there. Its id is that of the record; of a DLC 1 for the first entry, 2 for
  // the next, ...; of a raw binary 0.
  RecordView view;
};

// What was loaded. Holds everything it needs.
//
// Ownership: copyable; copies share everything. Threads: const members from any number of threads.
class LoadedContext {
 public:
  struct Impl;
  explicit LoadedContext(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  [[nodiscard]] LoadedFormat format() const noexcept;
  [[nodiscard]] const std::string& path() const& noexcept;  // as in OpenReport
  // One for each unit, in unit order; never empty.
  [[nodiscard]] const std::vector<LoadedRecord>& binaries() const& noexcept;
  // The context binary of `unit`; empty: the only one. Errors: not_found, listing the units.
  [[nodiscard]] Result<RecordView> binary(std::string_view unit = {}) const;
  // Weight blobs that these refer to, in record order. Of a DLC also the metadata of shared weights, as opaque.
  [[nodiscard]] const std::vector<LoadedRecord>& weights() const& noexcept;
  // Null for a raw binary, of which nothing was selected.
  [[nodiscard]] const Selection* selection() const& noexcept;
  // The choice, to begin further sessions with; null if it was no container.
  [[nodiscard]] const Model* model() const& noexcept;
  // What kind of file it was, and why this record and no other; several lines.
  [[nodiscard]] std::string explain() const;
  // Schema "fatctx.load/1": format, records with their sizes and access paths, and the members of the document that
  // select() explains itself with ("fatctx.selection/1"), null for a raw binary.
  [[nodiscard]] std::string explain_json() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Opens, recognises, chooses for the device, checks and hands out.
//
// A DLC and a raw binary are mapped for each load anew; loads of a container meet in one mapping, as its opens do.
//
// Errors: those of Model::open and Model::begin_session; of a DLC those of list_dlc and select;
//         bad_magic (none of the formats, naming what is known of it); invalid_argument (a group, a record or `strict`
//         is asked for, and a raw binary says nothing of itself); signature_missing, unsupported (trusted keys or a
//         generation are asked for, and the file is no container); changed;
//         cancelled, timed_out, operation_not_permitted (the signal serves another load already); no_resource.
[[nodiscard]] Result<LoadedContext> load_context(const LoadSource& source, const LoadOptions& options = {});

struct LoadItem {
  LoadSource source;
  LoadOptions options = {};
  // Once for each item, when it has been loaded, has failed or was cancelled; on a thread of the list. Of all items of
  // a list one at a time, in the order in which they finish: with one thread, in list order. May call anything of the
  // list but wait(). Must not throw.
  std::function<void(std::size_t index, const Result<LoadedContext>& result)> finished = {};
};

struct LoadListOptions {
  std::uint32_t threads = 0;  // items that are loaded at a time; 0: as many as there are processors, at most 8
};

// Items that are being loaded. One that fails does not stop the others.
//
// Ownership: move-only. The destructor cancels what has not finished and waits until every `finished` has returned;
//            from one of these callbacks it does not wait.
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
  [[nodiscard]] std::size_t finished_count() const;  // whose callback has returned
  // Every item that has not finished answers cancelled, within 100 ms. Does not wait.
  void cancel();
  // Waits until all have finished. Errors: operation_not_permitted (from a callback of this list), cancelled (in a
  // forked child).
  [[nodiscard]] Status wait();
  // Errors: not_found (no such item), operation_not_permitted (it has not finished), what the load answered.
  [[nodiscard]] Result<LoadedContext> result(std::size_t index) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Starts to load the items, in list order, and returns. Errors: no_resource (no thread, no descriptor), io.
[[nodiscard]] Result<LoadList> load_contexts(std::vector<LoadItem> items, const LoadListOptions& options = {});

}  // namespace fatctx
