// Opens a container in four ways, and shows which of them share a mapping: cpp_ways_in model.fatctx
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "fatctx/container.h"

namespace {

using fatctx::Container;
using fatctx::Source;

// Simulates an application package: a larger file with the container at a multiple of 4096 bytes.
std::string make_package(const std::string& model, std::uint64_t offset) {
  const std::string path = model + ".package";
  std::ofstream package(path, std::ios::binary);
  package << std::string(offset, '.') << std::ifstream(model, std::ios::binary).rdbuf() << "another asset";
  return path;
}

fatctx::Status open_all(const std::string& model) {
  // 1. A path. A second open of the same file, by any path, shares the mapping of the first.
  FATCTX_ASSIGN(const Container by_path, Container::open(model));
  FATCTX_ASSIGN(const Container again, Container::open(std::filesystem::canonical(model).string()));
  FATCTX_ASSIGN(const fatctx::OpenReport report, again.report());
  std::printf("path: mapped once: %s\n", report.already_live ? "yes" : "no");

  // 2. A descriptor, and a part of its file. The descriptor may be closed afterwards.
  const std::uint64_t offset = 65536;
  std::FILE* package = std::fopen(make_package(model, offset).c_str(), "rb");
  const fatctx::FileWindow window{.offset = offset, .size = std::filesystem::file_size(model)};
  auto part = Container::open(Source::of_descriptor(fileno(package), window));
  std::fclose(package);
  FATCTX_ASSIGN(const Container inside, std::move(part));
  std::printf("part of a file: %zu records\n", inside.record_count());

  // 3. Bytes in memory. Each view keeps `bytes` alive.
  std::ifstream stream(model, std::ios::binary);
  const auto bytes =
      std::make_shared<std::string>(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  FATCTX_ASSIGN(const Container in_memory, Container::open(Source::of_memory(std::as_bytes(std::span(*bytes)), bytes)));
  std::printf("memory: %zu records\n", in_memory.record_count());

  // 4. A reopen: opens the file that is at the path now. `by_path` and its views do not change.
  FATCTX_ASSIGN(const Container newest, by_path.reopen());
  std::printf("reopened: generation %llu\n", static_cast<unsigned long long>(newest.identity().generation));
  return fatctx::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = open_all(argc > 1 ? argv[1] : "model.fatctx");
  if (!status.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(status.error()).c_str()), 1;
}
