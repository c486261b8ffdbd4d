#include "faults/os_faults.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

namespace fatctx::faults {
namespace {

constexpr long kMostInterrupts = 50;

// Ways in which a call can be affected, apart from an error.
enum Trait : unsigned { kNone = 0, kInterruptible = 1, kTransfers = 2, kMakesDescriptor = 4, kGivesBack = 8 };

// Most calls find no fault armed and take no lock, because a fork could leave the lock taken.
std::atomic<bool> active{false};
std::mutex mutex;
bool armed = false;
Fault fault;
long calls_before = 0;
long injected = 0;
const char* injected_call = "";
bool counting = false;
std::map<std::string, int> counts;
std::map<std::string, std::uint64_t> transferred;
std::string acted_before;
std::function<void()> act_before;

bool concerns(unsigned traits) {
  if (fault.closes_only != ((traits & kGivesBack) != 0)) return false;
  if (fault.descriptors_only && (traits & kMakesDescriptor) == 0) return false;
  switch (fault.kind) {
    case Kind::kError:
      return true;
    case Kind::kInterrupt:
      return (traits & kInterruptible) != 0;
    case Kind::kShort:
      return (traits & kTransfers) != 0;
  }
  return false;
}

bool strikes(const char* call, unsigned traits) {
  if (!active) return false;
  std::function<void()> act;
  {
    const std::lock_guard lock(mutex);
    if (act_before && acted_before == call) act = std::exchange(act_before, {});  // not for calls that `act` makes
  }
  if (act) {
    act();
    const std::lock_guard lock(mutex);
    act_before = std::move(act);
  }
  const std::lock_guard lock(mutex);
  if (counting) ++counts[call];
  if (!armed || !concerns(traits)) return false;
  if (calls_before++ < fault.call) return false;
  if (injected > 0 && !fault.for_ever) return false;
  if (fault.kind == Kind::kInterrupt && injected >= kMostInterrupts) return false;
  ++injected;
  injected_call = call;
  return true;
}

bool fails(const char* call, unsigned traits) {
  if (!strikes(call, traits)) return false;
  errno = fault.kind == Kind::kInterrupt ? EINTR : fault.error_number;
  return true;
}

}  // namespace

Injected::Injected(const Fault& wanted) {
  const std::lock_guard lock(mutex);
  fault = wanted;
  calls_before = injected = 0;
  injected_call = "";
  active = armed = true;
}
Injected::~Injected() {
  const std::lock_guard lock(mutex);
  active = armed = false;
}
bool Injected::met() const {
  const std::lock_guard lock(mutex);
  return injected != 0;
}
std::string Injected::call() const {
  const std::lock_guard lock(mutex);
  return injected_call;
}

Before::Before(const std::string& call, std::function<void()> act) {
  const std::lock_guard lock(mutex);
  acted_before = call;
  act_before = std::move(act);
  active = true;
}
Before::~Before() {
  const std::lock_guard lock(mutex);
  act_before = {};
  active = false;
}

Counted::Counted() {
  const std::lock_guard lock(mutex);
  counts.clear();
  transferred.clear();
  active = counting = true;
}
Counted::~Counted() {
  const std::lock_guard lock(mutex);
  active = counting = false;
}
std::map<std::string, int> Counted::calls() const {
  const std::lock_guard lock(mutex);
  return counts;
}
std::uint64_t Counted::bytes_read() const {
  const std::lock_guard lock(mutex);
  return transferred["pread"];
}
std::uint64_t Counted::bytes_written() const {
  const std::lock_guard lock(mutex);
  return transferred["pwrite"];
}

ssize_t transfers(const char* call, ssize_t bytes) {
  if (!active || bytes <= 0) return bytes;
  const std::lock_guard lock(mutex);
  if (counting) transferred[call] += static_cast<std::uint64_t>(bytes);
  return bytes;
}

}  // namespace fatctx::faults

using fatctx::faults::fails;
using fatctx::faults::Kind;
using fatctx::faults::strikes;
using fatctx::faults::transfers;

// NOLINTBEGIN: names and signatures are the linker's and the system's.
extern "C" {

int __real_open(const char* path, int flags, mode_t mode);
int __real_openat(int folder, const char* path, int flags, mode_t mode);
int __real_fcntl(int descriptor, int command, long argument);

int __wrap_open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
  va_end(arguments);
  using namespace fatctx::faults;
  return fails("open", kInterruptible | kMakesDescriptor) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
  va_end(arguments);
  using namespace fatctx::faults;
  return fails("openat", kInterruptible | kMakesDescriptor) ? -1 : __real_openat(folder, path, flags, mode);
}

int __wrap_fcntl(int descriptor, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  using namespace fatctx::faults;
  return fails("fcntl", command == F_DUPFD_CLOEXEC ? kMakesDescriptor : kNone)
             ? -1
             : __real_fcntl(descriptor, command, argument);
}

int __real_close(int descriptor);
int __wrap_close(int descriptor) {
  using namespace fatctx::faults;
  const bool met = strikes("close", kGivesBack);
  const int error_number = fault.error_number;
  const int result = __real_close(descriptor);
  if (met) errno = error_number;
  return met ? -1 : result;
}

#define FAULTS_CALL(name, traits, failed, result, parameters, arguments) \
  result __real_##name parameters;                                       \
  result __wrap_##name parameters {                                      \
    using namespace fatctx::faults;                                      \
    return fails(#name, traits) ? failed : __real_##name arguments;      \
  }

FAULTS_CALL(stat, kNone, -1, int, (const char* path, struct stat* out), (path, out))
FAULTS_CALL(lstat, kNone, -1, int, (const char* path, struct stat* out), (path, out))
FAULTS_CALL(fstat, kNone, -1, int, (int descriptor, struct stat* out), (descriptor, out))
FAULTS_CALL(fstatat, kNone, -1, int, (int folder, const char* path, struct stat* out, int flags),
            (folder, path, out, flags))
FAULTS_CALL(fstatfs, kInterruptible, -1, int, (int descriptor, struct statfs* out), (descriptor, out))
FAULTS_CALL(mmap, kNone, MAP_FAILED, void*,
            (void* address, size_t size, int protection, int flags, int descriptor, off_t offset),
            (address, size, protection, flags, descriptor, offset))
FAULTS_CALL(madvise, kNone, -1, int, (void* address, size_t size, int advice), (address, size, advice))
FAULTS_CALL(mlock, kNone, -1, int, (const void* address, size_t size), (address, size))
FAULTS_CALL(memfd_create, kMakesDescriptor, -1, int, (const char* name, unsigned flags), (name, flags))
FAULTS_CALL(fallocate, kInterruptible, -1, int, (int descriptor, int mode, off_t offset, off_t size),
            (descriptor, mode, offset, size))
FAULTS_CALL(fdatasync, kNone, -1, int, (int descriptor), (descriptor))
FAULTS_CALL(fsync, kNone, -1, int, (int descriptor), (descriptor))
FAULTS_CALL(fchmod, kNone, -1, int, (int descriptor, mode_t mode), (descriptor, mode))
FAULTS_CALL(fdopendir, kNone, nullptr, DIR*, (int descriptor), (descriptor))
FAULTS_CALL(readdir, kNone, nullptr, struct dirent*, (DIR * folder), (folder))
FAULTS_CALL(futimens, kNone, -1, int, (int descriptor, const struct timespec* times), (descriptor, times))
FAULTS_CALL(linkat, kNone, -1, int, (int from, const char* old_path, int to, const char* new_path, int flags),
            (from, old_path, to, new_path, flags))
FAULTS_CALL(renameat2, kNone, -1, int, (int from, const char* old_path, int to, const char* new_path, unsigned flags),
            (from, old_path, to, new_path, flags))

#undef FAULTS_CALL
#define FAULTS_TRANSFER(name, buffer)                                                                     \
  ssize_t __real_##name(int descriptor, buffer data, size_t size, off_t offset);                          \
  ssize_t __wrap_##name(int descriptor, buffer data, size_t size, off_t offset) {                         \
    using namespace fatctx::faults;                                                                       \
    if (fault.kind != Kind::kShort) {                                                                     \
      if (fails(#name, kInterruptible | kTransfers)) return -1;                                           \
      return transfers(#name, __real_##name(descriptor, data, size, offset));                             \
    }                                                                                                     \
    const bool meets = size > 1 && strikes(#name, kTransfers);                                            \
    const size_t most = fault.at_most < 0 ? size / 2 : static_cast<size_t>(fault.at_most);                \
    return transfers(#name, __real_##name(descriptor, data, meets && most < size ? most : size, offset)); \
  }

FAULTS_TRANSFER(pread, void*)
FAULTS_TRANSFER(pwrite, const void*)

}  // extern "C"
// NOLINTEND
