// Loads the context binary for a device with one call, for one file or for a list of files in the background.
//
// load() is Model::open() and Model::begin_session() in one call that reports its progress and its end. load_all() does
// it for a list of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/model.h"
#include "fatctx/progress.h"
#include "fatctx/source.h"

namespace fatctx {

enum class LoadEventKind : std::uint8_t {
  kGraphInitialised = 0,    // a graph of a context binary can be used
  kContextInitialised = 1,  // a context binary can be used, or the load has failed
};

// A report of progress: for each context binary its graphs, in the order of its metadata, and then the context binary.
// A load that fails reports kContextInitialised with the error as its last event.
struct LoadEvent {
  LoadEventKind kind = LoadEventKind::kContextInitialised;
  std::string record;               // name of the context binary; empty if the load failed
  std::string unit;                 // unit of the context binary
  std::string graph;                // only with kGraphInitialised
  std::optional<Error> error = {};  // why the load failed
};
// Runs on the thread that called load(), or for a list on the thread of the list that loads the item. An
// exception stops the load and leaves load(); an item of a list then answers cancelled.
using LoadNotify = std::function<void(const LoadEvent& event)>;

struct LoadOptions {
  // With its signal, or with `progress`, a thread of the library does the work, as ModelOptions::signal says. Bytes in
  // memory without an owner stay the call's: there a stopped load returns only when nothing reads them any more, at the
  // next step of at most 1 MiB.
  ModelOptions model = {};
  bool prefetch = false;  // also brings the chosen bytes into memory
  LoadNotify notify = {};
  // Called on the thread of `notify`, about every 25 ms, also while nothing happens. Reports the bytes read to check,
  // copy or prefetch the chosen records, and their maximum. An exception stops the load and leaves the call.
  Progress progress = {};
};

// Opens the source, recognises its format, chooses for the device, checks the bytes and returns views of them.
//
// Errors: those of Model::open, Model::begin_session and, with `prefetch`, Session::prefetch.
[[nodiscard]] Result<Session> load(const Source& source, const LoadOptions& options = {});

struct LoadItem {
  Source source;
  LoadOptions options = {};
  // Called once for each item, when it has been loaded, has failed or was cancelled, on a thread of the list. Calls for
  // the items of a list never overlap and follow the order in which these finish: with one thread, list order. May call
  // any function of the list except wait(). Must not throw.
  std::function<void(std::size_t index, const Result<Session>& result)> finished = {};
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
  [[nodiscard]] Result<Session> result(std::size_t index) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Starts loading the items, in list order, and returns. Errors: no_resource (no thread, no descriptor), io.
[[nodiscard]] Result<LoadList> load_all(std::vector<LoadItem> items, const LoadListOptions& options = {});

}  // namespace fatctx
