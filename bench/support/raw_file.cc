#include "support/raw_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <benchmark/benchmark.h>

#include "support/or_stop.h"

namespace fatctx::bench {

mapping::UniqueFd open_raw(const std::string& path, int flags) {
  mapping::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!file.valid()) stop("cannot open " + path);
  return file;
}

std::uint64_t size_of(const mapping::UniqueFd& file, const std::string& path) {
  struct stat st = {};
  if (::fstat(file.get(), &st) != 0) stop("cannot stat " + path);
  return static_cast<std::uint64_t>(st.st_size);
}

void read_raw(const mapping::UniqueFd& file, std::uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got <= 0) stop("cannot read a file of the bench");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

void read_in_pieces(const mapping::UniqueFd& file, ByteRange range, std::span<std::byte> buffer,
                    const std::function<void(ByteView)>& use) {
  for (std::uint64_t at = 0; at < range.size; at += buffer.size()) {
    const auto piece = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.size - at)));
    read_raw(file, range.offset + at, piece);
    if (use) use(piece);
  }
}

RawMap::RawMap(const std::string& path) : file_(open_raw(path)) {
  const auto size = static_cast<std::size_t>(size_of(file_, path));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (address == MAP_FAILED) stop("cannot map " + path);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

RawMap::~RawMap() { (void)::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

RawOutput::RawOutput(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (!file_.valid()) stop("cannot create " + path);
}

void RawOutput::write(ByteView bytes) {
  write_over(size_, bytes);
  size_ += bytes.size();
}

void RawOutput::write_over(std::uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put <= 0) stop("cannot write a file of the bench");
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void RawOutput::close(bool sync) {
  if (sync && ::fsync(file_.get()) != 0) stop("cannot sync a file of the bench");
  file_ = {};
}

void touch(const std::byte* byte) { benchmark::DoNotOptimize(*static_cast<const volatile std::byte*>(byte)); }

void touch_every_page(ByteView bytes) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes.size(); at += kPage) touch(bytes.data() + at);
}

void map_and_touch(const std::string& path, std::uint64_t offset) {
  const RawMap map(path);
  touch(map.bytes().data() + offset);
}

}  // namespace fatctx::bench
