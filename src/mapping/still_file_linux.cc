#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "mapping/bus_guard.h"
#include "mapping/direct_file.h"
#include "mapping/filesystem_kind.h"
#include "mapping/mapped_region.h"
#include "mapping/page_range.h"
#include "mapping/read_through.h"
#include "mapping/still_file.h"

namespace fatctx::mapping {
namespace {

constexpr std::uint64_t kLeastShown = std::uint64_t{64} << 10;  // below that a copy costs less than the calls

struct UnmapShown {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};

// A map of a range for one look, watched by the guard.
struct Window {
  std::unique_ptr<void, UnmapShown> address;
  ByteView bytes;  // the bytes of the range; the map begins with the page of the first one
};

std::optional<Window> map_window(int descriptor, ByteRange range) noexcept {
  const std::uint64_t before = range.offset % page_size();
  const auto length = static_cast<std::size_t>(before + range.size);
  void* const address =
      ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(range.offset - before));
  if (address == MAP_FAILED) return std::nullopt;
  return Window{std::unique_ptr<void, UnmapShown>(address, UnmapShown{length}),
                ByteView(static_cast<const std::byte*>(address), length).subspan(static_cast<std::size_t>(before))};
}

// Returns whether every byte of the range is in the page cache. Asks about the file if the system can, else about the
// pages of the map: the owner of a file, who alone gets a lease, is told the truth.
bool is_cached(const OsFile& file, ByteRange range, ByteView bytes) {
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  if (const auto cached = cached_bytes(file, range)) return *cached >= pages.size();
  std::vector<unsigned char> in_memory(pages.size() / page_size());
  if (::mincore(pages.start(), pages.size(), in_memory.data()) != 0) return false;
  for (const unsigned char page : in_memory) {
    if ((page & 1U) == 0) return false;
  }
  return true;
}

}  // namespace

// A lease for one look.
class StillFile::Held {
 public:
  Held(StillFile& file, int descriptor) noexcept : file_(file), descriptor_(descriptor), held_(file.take(descriptor)) {}
  ~Held() {
    if (held_) file_.give_back(descriptor_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  StillFile& file_;
  int descriptor_;
  bool held_;
};

bool StillFile::take(int descriptor) noexcept {
  if (lease_ == Lease::kNever || refused_.load(std::memory_order_relaxed)) return false;
  // Before the lock, which a thread of the parent may have held at the fork.
  const std::int64_t self = ::getpid();
  std::int64_t process = -1;
  if (!process_.compare_exchange_strong(process, self) && process != self) return false;
  const std::lock_guard lock(mutex_);
  if (holders_ != 0) {
    // Not while a writer waits: threads that take turns would keep it waiting.
    if (::fcntl(descriptor, F_GETLEASE) != F_RDLCK) return false;
  } else {
    // The signal for a waiting writer would be SIGIO, which ends a process that does not expect it. SIGURG is ignored
    // unless somebody handles it. A look is short, so nobody must react.
    if (::fcntl(descriptor, F_SETSIG, SIGURG) != 0 || ::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) {
      if (errno != EAGAIN) refused_.store(true, std::memory_order_relaxed);  // EAGAIN: open for writing at the moment
      return false;
    }
  }
  ++holders_;
  return true;
}

void StillFile::give_back(int descriptor) noexcept {
  const std::lock_guard lock(mutex_);
  if (--holders_ == 0) (void)::fcntl(descriptor, F_SETLEASE, F_UNLCK);
}

// The server of a remote file may cut it without asking this system.
bool StillFile::is_local(int descriptor) noexcept {
  std::uint8_t known = local_.load(std::memory_order_relaxed);
  if (known == 0) {
    known = filesystem_kind(descriptor).remote ? 1 : 2;
    local_.store(known, std::memory_order_relaxed);
  }
  return known == 2;
}

Result<bool> StillFile::show(const OsFile& file, ByteRange range, const MappedPlace& mapped, const Look& look) {
  const int descriptor = file.descriptor();
  if (range.size < kLeastShown || descriptor < 0 || !is_local(descriptor)) return false;
  std::optional<Window> window;
  if (mapped.bytes.empty()) {
    window = map_window(descriptor, range);
    if (!window) return false;
  }
  const ByteView bytes = window ? window->bytes : mapped.bytes;
  const Held held(*this, descriptor);
  const bool guarded = !held.held() && (window || mapped.region != nullptr) && bus_guard_in_charge();
  if (!held.held() && !guarded) return false;
  // The last page of a file shows zeros behind its end, so this needs the size as well.
  const auto now = stat_descriptor(descriptor);
  if (!now.ok() || !within(range, now.value().size) || !is_cached(file, range, bytes)) return false;
  if (held.held()) {
    look(bytes);
    return true;
  }
  std::optional<BusWatch> watch;
  if (window) watch.emplace(bytes);
  look(bytes);
  if (!(watch ? watch->lost() : mapped.region->lost())) return true;
  return bad_page_error(file, range.offset + range.size - 1 - file.base(), 0);
}

}  // namespace fatctx::mapping
