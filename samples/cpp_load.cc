// Loads the context binary for this device from a file, in four ways: cpp_load model.fatctx
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fatctx/load.h"

namespace {

// Represents a call of a backend: it takes a pointer and a size, valid as long as the view exists.
void create_context(const fatctx::RecordView& binary) {
  std::printf("%llu bytes at %p\n", static_cast<unsigned long long>(binary.size_bytes()),
              static_cast<const void*>(binary.data()));
}

// Waits until the load has finished.
fatctx::Status plain(const std::string& path) {
  FATCTX_ASSIGN(const fatctx::Session loaded, fatctx::load(path));
  FATCTX_ASSIGN(const fatctx::RecordView binary, loaded.binary());
  std::printf("plain: ");
  create_context(binary);
  std::printf("format: %s\n", std::string(fatctx::model_format_name(loaded.model().format())).c_str());
  std::printf("%s", loaded.model().explain().c_str());
  return fatctx::Done{};
}

// Gives up after ten seconds, or when another thread cancels.
fatctx::Status cancellable(const std::string& path) {
  fatctx::LoadSignal signal(std::chrono::seconds(10));
  std::thread user([signal]() mutable { signal.cancel(); });  // represents a user who presses a button
  user.join();
  fatctx::LoadOptions options;
  options.model.signal = signal;
  const auto stopped = fatctx::load(path, options);
  std::printf("cancellable: %s\n", stopped.ok() ? "loaded" : fatctx::to_text(stopped.error()).c_str());

  FATCTX_TRY(signal.reset());
  FATCTX_ASSIGN(const fatctx::Session loaded, fatctx::load(path, options));
  std::printf("again: ");
  create_context(loaded.binaries().front().view);
  return fatctx::Done{};
}

// Registers callbacks: for each graph, for the context, and for the bytes read so far.
fatctx::Status with_callback(const std::string& path) {
  fatctx::LoadOptions options;
  options.notify = [](const fatctx::LoadEvent& event) {
    if (event.kind == fatctx::LoadEventKind::kGraphInitialised) std::printf("graph: %s\n", event.graph.c_str());
    if (event.kind == fatctx::LoadEventKind::kContextInitialised) std::printf("context: %s\n", event.record.c_str());
  };
  options.progress = [](std::uint64_t done, std::uint64_t total) {
    std::printf("read: %llu of %llu bytes\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(total));
  };
  FATCTX_ASSIGN(const fatctx::Session loaded, fatctx::load(path, options));
  create_context(loaded.binaries().front().view);
  return fatctx::Done{};
}

// Loads several files in the background. A missing file does not stop the others.
fatctx::Status batch(const std::string& path) {
  std::vector<fatctx::LoadItem> items;
  for (const std::string& file : {path, path + ".missing", path}) {
    items.push_back({.source = file, .finished = [](std::size_t index, const fatctx::Result<fatctx::Session>& result) {
                       std::printf("item %zu: %s\n", index, result.ok() ? "loaded" : "failed");
                     }});
  }
  FATCTX_ASSIGN(fatctx::LoadList list, fatctx::load_all(std::move(items), {.threads = 1}));
  FATCTX_TRY(list.wait());
  FATCTX_ASSIGN(const fatctx::Session last, list.result(2));
  create_context(last.binaries().front().view);
  return fatctx::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "model.fatctx";
  for (const auto way : {plain, cancellable, with_callback, batch}) {
    const fatctx::Status status = way(path);
    if (!status.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(status.error()).c_str()), 1;
  }
}
