#include "runtime/view/view_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "fatctx/base/little_endian.h"
#include "fatctx/view_cache.h"

namespace fatctx {
namespace {

constexpr std::array<char, 8> kMagic = {'F', 'A', 'T', 'C', 'T', 'X', 'V', 'C'};
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kSuffix = ".view";
constexpr std::int64_t kDeadAge = 60;  // seconds; a writer locks its file right after creating it
constexpr std::size_t kCacheReadStep = std::size_t{1} << 20;

// The trailer of a file: first the key, then hashes. Little-endian, without padding.
struct DiskTrailer {
  std::array<char, 8> magic = kMagic;
  le32 version = kVersion;
  le32 page_bytes;
  std::array<std::byte, 16> record_hash = {};
  le64 record_bytes;
  le64 built_bytes;
  std::array<std::byte, 16> plan = {};
  std::array<std::byte, 16> bytes_hash = {};
  std::array<std::byte, 16> trailer_hash = {};  // of all bytes before it
};
static_assert(sizeof(DiskTrailer) == 96);
constexpr std::size_t kKeyBytes = 64;     // of the trailer: the input of the file name
constexpr std::size_t kHashedBytes = 80;  // of the trailer

constinit std::atomic<std::uint64_t> used{0};
constinit std::atomic<std::uint64_t> made{0};
constinit std::atomic<std::uint64_t> rejected_files{0};
constinit std::atomic<std::uint64_t> evicted{0};

ByteView bytes_of(const DiskTrailer& trailer) { return std::as_bytes(std::span(&trailer, 1)); }

DiskTrailer trailer_of(const ViewCacheKey& key) {
  DiskTrailer trailer;
  trailer.page_bytes = key.page_bytes;
  trailer.record_hash = key.record_hash.bytes;
  trailer.record_bytes = key.record_bytes;
  trailer.built_bytes = key.built_bytes;
  trailer.plan = key.plan.bytes;
  return trailer;
}

std::string name_of(const DiskTrailer& trailer) {
  const Hash128 rest = container::hash128(bytes_of(trailer).first(kKeyBytes));
  return to_hex(trailer.record_hash) + "-" + to_hex(std::span(rest.bytes).first(8)) + std::string(kSuffix);
}

// Recognises names of view files, so that no other file in the folder is ever listed or removed.
bool is_view_name(std::string_view name) {
  constexpr std::size_t kHash = 32;
  constexpr std::size_t kRest = 16;
  if (name.size() != kHash + 1 + kRest + kSuffix.size() || !name.ends_with(kSuffix) || name[kHash] != '-') return false;
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::ranges::all_of(name.substr(0, kHash), hex) && std::ranges::all_of(name.substr(kHash + 1, kRest), hex);
}

// The trailer of a file, or the reason why it is not valid.
struct ReadTrailer {
  DiskTrailer trailer;
  std::string wrong;  // empty: it is consistent
};

Result<ReadTrailer> read_trailer(const mapping::OsFile& file, const std::string& name, std::uint64_t size) {
  ReadTrailer read;
  if (size < sizeof(DiskTrailer)) {
    read.wrong = "it is cut";
    return read;
  }
  FATCTX_TRY(file.read_at(size - sizeof(DiskTrailer), std::as_writable_bytes(std::span(&read.trailer, 1))));
  if (read.trailer.magic != kMagic || read.trailer.version != kVersion) {
    read.wrong = "it does not end as a view does";
  } else if (container::hash128(bytes_of(read.trailer).first(kHashedBytes)).bytes != read.trailer.trailer_hash) {
    read.wrong = "its trailer is damaged";
  } else if (read.trailer.built_bytes != size - sizeof(DiskTrailer)) {
    read.wrong = "it has another size than its trailer says";
  } else if (name_of(read.trailer) != name) {
    read.wrong = "it holds another view than its name says";
  }
  return read;
}

Result<Hash128> hash_of(const mapping::OsFile& file, std::uint64_t size) {
  container::Hasher hasher;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size, kCacheReadStep)));
  for (std::uint64_t at = 0; at != size;) {
    const auto part =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(size - at, kCacheReadStep)));
    FATCTX_TRY(file.read_at(at, part));
    hasher.update(part);
    at += part.size();
  }
  return hasher.digest();
}

// Returns why the file is not valid; empty if it is. Errors: truncated (it is being truncated), io.
Result<std::string> what_is_wrong(const CachedView& view, const ViewCacheKey& key) {
  FATCTX_ASSIGN(ReadTrailer read, read_trailer(*view.file, view.name, view.identity.size));
  if (!read.wrong.empty()) return std::move(read.wrong);
  FATCTX_ASSIGN(const Hash128 found, hash_of(*view.file, key.built_bytes));
  return std::string(found.bytes == read.trailer.bytes_hash ? "" : "its bytes are damaged");
}

// Returns the view files of the folder, the last used first.
Result<std::vector<mapping::CacheFolderFile>> views_in(const mapping::CacheFolder& folder) {
  FATCTX_ASSIGN(std::vector<mapping::CacheFolderFile> files, folder.list());
  std::erase_if(files, [](const mapping::CacheFolderFile& file) { return !is_view_name(file.name); });
  const auto newest_first = [](const mapping::CacheFolderFile& file) {
    return std::tuple(-file.used.seconds, -file.used.nanoseconds, std::string_view(file.name));
  };
  std::ranges::sort(files, {}, newest_first);
  return files;
}

// Removes files from the end of the list, where the oldest uses are.
Result<ViewCacheCollection> collect(const mapping::CacheFolder& folder, std::uint64_t limit_bytes) {
  FATCTX_ASSIGN(const std::vector<mapping::CacheFolderFile> files, views_in(folder));
  ViewCacheCollection done;
  done.left_files = files.size();
  for (const mapping::CacheFolderFile& file : files) done.left_bytes += file.size;
  for (auto oldest = files.rbegin(); oldest != files.rend() && done.left_bytes > limit_bytes; ++oldest) {
    if (!folder.remove(oldest->name)) continue;
    ++done.removed_files;
    --done.left_files;
    done.removed_bytes += oldest->size;
    done.left_bytes -= oldest->size;
  }
  return done;
}

std::uint64_t limit_or_default(std::uint64_t limit_bytes) {
  return limit_bytes == 0 ? kDefaultCacheLimitBytes : limit_bytes;
}

}  // namespace

ViewCacheKey view_cache_key(const RecordInfo& record, std::span<const mapping::MixedPiece> pieces,
                            std::uint64_t built_bytes, std::uint64_t page_bytes) {
  container::Hasher places;
  std::uint64_t at = 0;
  for (const mapping::MixedPiece& piece : pieces) {
    const std::array<le64, 2> place = {le64(at), le64(piece.size)};
    if (piece.built) places.update(std::as_bytes(std::span(place)));
    at += piece.size;
  }
  return {.record_hash = record.hash,
          .record_bytes = record.size_bytes,
          .built_bytes = built_bytes,
          .page_bytes = static_cast<std::uint32_t>(page_bytes),
          .plan = places.digest()};
}

std::string view_cache_name(const ViewCacheKey& key) { return name_of(trailer_of(key)); }

std::uint64_t view_cache_file_bytes(const ViewCacheKey& key) noexcept { return key.built_bytes + sizeof(DiskTrailer); }

Status CachedViewWriter::write(ByteView bytes) {
  FATCTX_TRY(file_->file().write_at(size_, bytes));
  hasher_.update(bytes);
  size_ += bytes.size();
  return Done{};
}

Status CachedViewWriter::finish() {
  const std::vector<std::byte> zeros(static_cast<std::size_t>(key_.built_bytes - size_));  // less than a page
  FATCTX_TRY(write(zeros));
  DiskTrailer trailer = trailer_of(key_);
  trailer.bytes_hash = hasher_.digest().bytes;
  trailer.trailer_hash = container::hash128(bytes_of(trailer).first(kHashedBytes)).bytes;
  return file_->file().write_at(key_.built_bytes, bytes_of(trailer));
}

Status CachedViewWriter::publish() {
  auto published = file_->publish(true);
  // The file has its name. A cache may lose it again by a power failure.
  if (!published.ok() && published.error().code == ErrorCode::kCommitUnknown) return Done{};
  return published;
}

Result<ViewCache> ViewCache::open(const std::string& folder, std::uint64_t limit_bytes) {
  FATCTX_ASSIGN(mapping::CacheFolder opened, mapping::CacheFolder::open(folder));
  return ViewCache(std::move(opened), limit_or_default(limit_bytes));
}

Result<std::optional<CachedView>> ViewCache::find(const ViewCacheKey& key, std::string& rejected) const {
  CachedView view;
  view.name = view_cache_name(key);
  view.path = folder_.path_of(view.name);
  auto opened = folder_.open_file(view.name);
  if (!opened.ok()) {
    if (opened.error().code == ErrorCode::kNotFound) return std::optional<CachedView>();
    if (opened.error().code != ErrorCode::kNotRegularFile) return std::move(opened).error();
    rejected = view.path + ": it is not a regular file";
    if (!folder_.remove(view.name)) return std::move(opened).error();
    rejected_files.fetch_add(1, std::memory_order_relaxed);
    return std::optional<CachedView>();
  }
  view.file = std::move(opened).value();
  FATCTX_ASSIGN(view.identity, view.file->identity());
  std::string wrong;
  if (!view.identity.regular) {
    wrong = "it is not a regular file";
  } else {
    auto found = what_is_wrong(view, key);
    if (!found.ok() && found.error().code != ErrorCode::kTruncated) return std::move(found).error();
    wrong = found.ok() ? std::move(found).value() : "it is cut";
  }
  if (wrong.empty()) return std::optional<CachedView>(std::move(view));
  rejected = view.path + ": " + wrong;
  reject(view);
  return std::optional<CachedView>();
}

void ViewCache::reject(const CachedView& view) const {
  rejected_files.fetch_add(1, std::memory_order_relaxed);
  folder_.remove_if_same(view.name, view.identity);
}

void ViewCache::mark_used(const CachedView& view) const noexcept { folder_.mark_used(*view.file); }

Result<std::unique_ptr<CachedViewWriter>> ViewCache::begin(const ViewCacheKey& key) const {
  const std::uint64_t needed = view_cache_file_bytes(key);
  FATCTX_TRY(check_cache_limit(path(), needed, limit_bytes_));
  FATCTX_ASSIGN(const std::size_t swept, folder_.sweep_temporaries(kDeadAge));
  (void)swept;
  FATCTX_ASSIGN(const ViewCacheCollection room, collect(folder_, limit_bytes_ - needed));
  evicted.fetch_add(room.removed_files, std::memory_order_relaxed);
  if (room.left_bytes > limit_bytes_ - needed) {
    return Error{ErrorCode::kNoSpace,
                 fmt::format("cache folder {} may hold {} bytes, and {} bytes in it cannot be removed; remove them, or "
                             "raise cache_limit_bytes",
                             path(), limit_bytes_, room.left_bytes)};
  }
  FATCTX_ASSIGN(std::unique_ptr<mapping::PendingFile> file, folder_.create_file(view_cache_name(key)));
  auto writer = std::make_unique<CachedViewWriter>(std::move(file), key);
  FATCTX_TRY(writer->reserve());
  return writer;
}

Status check_cache_limit(const std::string& folder, std::uint64_t file_bytes, std::uint64_t limit_bytes) {
  const std::uint64_t limit = limit_or_default(limit_bytes);
  if (file_bytes <= limit) return Done{};
  return Error{
      ErrorCode::kNoSpace,
      fmt::format("its composed view takes {} bytes in cache folder {}, and cache_limit_bytes is {}; raise it, "
                  "or name no cache folder and allow memory with max_copied_bytes",
                  file_bytes, folder, limit)};
}

ViewCacheCounts view_cache_counts() noexcept {
  return {.used = used.load(std::memory_order_relaxed),
          .made = made.load(std::memory_order_relaxed),
          .rejected = rejected_files.load(std::memory_order_relaxed),
          .evicted = evicted.load(std::memory_order_relaxed)};
}

void count_cache_use(bool made_now) noexcept { (made_now ? made : used).fetch_add(1, std::memory_order_relaxed); }

Result<std::vector<ViewCacheFile>> list_view_cache(const std::string& folder) {
  FATCTX_ASSIGN(const mapping::CacheFolder opened, mapping::CacheFolder::open(folder));
  FATCTX_ASSIGN(const std::vector<mapping::CacheFolderFile> files, views_in(opened));
  std::vector<ViewCacheFile> listed;
  for (const mapping::CacheFolderFile& file : files) {
    ViewCacheFile one;
    one.name = file.name;
    one.size_bytes = file.size;
    one.made_seconds = file.made.seconds;
    one.used_seconds = file.used.seconds;
    auto view = opened.open_file(file.name);
    if (!view.ok()) {
      if (view.error().code == ErrorCode::kNotFound) continue;  // another process was faster
      return std::move(view).error();
    }
    FATCTX_ASSIGN(const ReadTrailer read, read_trailer(*view.value(), file.name, file.size));
    one.whole = read.wrong.empty();
    if (one.whole) {
      one.record_hash.bytes = read.trailer.record_hash;
      one.record_bytes = read.trailer.record_bytes;
      one.built_bytes = read.trailer.built_bytes;
      one.page_bytes = read.trailer.page_bytes;
    }
    listed.push_back(std::move(one));
  }
  return listed;
}

Result<ViewCacheCollection> collect_view_cache(const std::string& folder, std::uint64_t limit_bytes) {
  FATCTX_ASSIGN(const mapping::CacheFolder opened, mapping::CacheFolder::open(folder));
  FATCTX_ASSIGN(const std::size_t temporaries, opened.sweep_temporaries(kDeadAge));
  FATCTX_ASSIGN(ViewCacheCollection done, collect(opened, limit_bytes));
  done.removed_temporaries = temporaries;
  return done;
}

std::string to_json(const std::string& folder, const std::vector<ViewCacheFile>& files) {
  Json list = Json::array();
  std::uint64_t total = 0;
  for (const ViewCacheFile& file : files) {
    total += file.size_bytes;
    Json one = {{"name", file.name}, {"size_bytes", file.size_bytes}, {"whole", file.whole}};
    if (file.whole) {
      one.add("record_xxh3_128", to_hex(file.record_hash.bytes));
      one.add("record_bytes", file.record_bytes);
      one.add("built_bytes", file.built_bytes);
      one.add("page_bytes", file.page_bytes);
    }
    one.add("made_seconds", file.made_seconds);
    one.add("used_seconds", file.used_seconds);
    list.push_back(std::move(one));
  }
  return write_json(
      {{"schema", "fatctx.cache/1"}, {"folder", folder}, {"size_bytes", total}, {"files", std::move(list)}});
}

}  // namespace fatctx
