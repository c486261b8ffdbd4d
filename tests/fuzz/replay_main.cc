// Runs a fuzz target over files, without a fuzzer: seeds and old crashes in every build, with any compiler.
//
//   replay [--at-least N] [--seconds N] FOLDER [--if-there FOLDER]...
//
// Prints each file before it runs it, so that the last line names the input of a crash. A missing folder (unless it is
// optional) is a failure, and so are fewer than N inputs in the first folder: a corpus that never runs looks like one
// that passes. An input that costs more time or memory than its size allows (fuzz/cost.h) is a failure, too.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/cost.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> inputs_of(const char* folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const bool text = entry.path().extension() == ".md";  // explains why an input is here
    if (entry.is_regular_file() && !text) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void run(const std::string& path, double seconds) {
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // A copy of exactly this size, so that the address sanitizer detects an access behind its end; null if it is empty.
  std::uint8_t* copy = bytes.empty() ? nullptr : new std::uint8_t[bytes.size()];
  if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
  const fatctx::fuzz::Cost cost(bytes.size(), seconds);
  (void)LLVMFuzzerTestOneInput(copy, bytes.size());
  cost.require_within_budget();
  delete[] copy;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t at_least = 1;
  double seconds = fatctx::fuzz::kSecondsAlways;
  std::size_t total = 0;
  bool first = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--at-least" && i + 1 < argc) {
      at_least = std::stoul(argv[++i]);
      continue;
    }
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::stod(argv[++i]);
      continue;
    }
    const bool if_there = word == "--if-there" && i + 1 < argc;
    const char* const folder = if_there ? argv[++i] : argv[i];
    if (!std::filesystem::is_directory(folder)) {
      if (if_there) continue;
      std::fprintf(stderr, "replay: there is no folder %s\n", folder);
      return 2;
    }
    const std::vector<std::string> inputs = inputs_of(folder);
    if (first && inputs.size() < at_least) {
      std::fprintf(stderr, "replay: %zu inputs in %s; at least %zu belong there\n", inputs.size(), folder, at_least);
      return 1;
    }
    first = false;
    for (const std::string& input : inputs) run(input, seconds);
    total += inputs.size();
  }
  if (total == 0) {
    std::fprintf(stderr, "replay: no inputs; give folders that hold some\n");
    return 2;
  }
  std::printf("%zu inputs\n", total);
  return 0;
}
