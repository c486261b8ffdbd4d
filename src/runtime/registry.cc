#include "runtime/registry.h"

#include <new>

#include <fmt/format.h>

#include "container/open.h"
#include "fatctx/base/checked.h"
#include "mapping/buffer_file.h"
#include "mapping/fork_hook.h"
#include "mapping/windowed_file.h"

namespace fatctx {
namespace {

Error not_regular(const std::string& name) {
  return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", name)};
}

// Policies that must hold for a mapping that is joined as well as for a new one.
Status check_policy(const MappedContainer& container, const std::string& name, const OpenOptions& options) {
  if (options.require_local && container.filesystem().remote) {
    return Error{
        ErrorCode::kRemoteFilesystem,
        fmt::format("{}: lies on {}, which may change or lose bytes at any time; copy it to a local disk or open "
                    "without require_local",
                    name, container.filesystem().name)};
  }
  return Done{};
}

// Pages of 4 KiB are what every system maps; a system with larger ones maps from the page below.
constexpr std::uint64_t kWindowAlignment = 4096;

Status check_window(const FileWindow& window, const std::string& name) {
  if (window.offset % kWindowAlignment != 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a container begins on a multiple of {} bytes, or it cannot be mapped; align it when the "
                    "larger file is made",
                    name, kWindowAlignment)};
  }
  if (!checked_add(window.offset, window.size)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} bytes from there are beyond any file", name, window.size)};
  }
  return Done{};
}

Result<std::shared_ptr<const MappedContainer>> map_container(std::unique_ptr<mapping::OsFile> file,
                                                             const std::string& name,
                                                             const mapping::FileIdentity& identity,
                                                             container::OpenedToc opened) {
  const mapping::FilesystemKind filesystem =
      file->descriptor() < 0 ? mapping::FilesystemKind{.name = "memory"} : mapping::filesystem_kind(file->descriptor());
  auto region = mapping::map_file(*file, opened.header.committed_end);
  if (!region.ok()) {
    Error error = in_context(std::move(region).error(), name);
    if (error.code == ErrorCode::kTruncated) error.code = ErrorCode::kChanged;  // it was long enough a moment ago
    return error;
  }
  return std::shared_ptr<const MappedContainer>(std::make_shared<const MappedContainer>(
      name, std::move(file), opened.header, std::move(opened.toc), identity, filesystem, std::move(region).value()));
}

}  // namespace

// Holds the right to open one file; gives it back however the open ends.
class Registry::Opening {
 public:
  // Waits until nobody else opens this file.
  Opening(Registry& registry, const FileKey& key) : registry_(registry), key_(key) {
    std::unique_lock lock(registry_.mutex_);
    registry_.forget_dead();
    // Looked up again after each wait: what was waited for may have been swept away.
    while (registry_.entries_[key_].opening) registry_.changed_.wait(lock);
    Entry& entry = registry_.entries_[key_];
    entry.opening = true;
    live_ = entry.container.lock();
  }
  ~Opening() { finish(nullptr); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  [[nodiscard]] const std::shared_ptr<const MappedContainer>& live() const noexcept { return live_; }

  void finish(const std::shared_ptr<const MappedContainer>& container) {
    if (finished_) return;
    finished_ = true;
    {
      const std::lock_guard lock(registry_.mutex_);
      Entry& entry = registry_.entries_[key_];
      entry.opening = false;
      if (container) entry.container = container;
      if (entry.container.expired()) registry_.entries_.erase(key_);  // a failed open leaves nothing behind
    }
    registry_.changed_.notify_all();
  }

 private:
  Registry& registry_;
  FileKey key_;
  std::shared_ptr<const MappedContainer> live_;
  bool finished_ = false;
};

Registry& Registry::process() {
  static Registry* const registry = [] {
    auto* made = new Registry;  // never deleted, by design
    // Without the hooks a child forked in the middle of an open could wait for ever; opening itself still works.
    (void)mapping::install_fork_hooks({&before_fork, &after_fork_in_parent, &after_fork_in_child});
    return made;
  }();
  return *registry;
}

// The lock is taken around fork so that the child finds the table whole.
void Registry::before_fork() { process().mutex_.lock(); }

void Registry::after_fork_in_parent() { process().mutex_.unlock(); }

void Registry::after_fork_in_child() {
  Registry& registry = process();
  // The threads that were opening do not exist here, nor do those that waited for them.
  for (auto& [key, entry] : registry.entries_) entry.opening = false;
  new (&registry.changed_) std::condition_variable;
  registry.mutex_.unlock();
}

std::shared_ptr<const MappedContainer> Registry::find_unchanged(const mapping::FileIdentity& identity,
                                                                const FileWindow& window) {
  std::shared_ptr<const MappedContainer> live;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({identity.device, identity.inode, window});
    if (found == entries_.end()) return nullptr;
    live = found->second.container.lock();
  }
  // Times cannot be trusted where another machine writes them.
  if (!live || live->filesystem().remote || !(live->identity() == identity)) return nullptr;
  return live;
}

// Amortised: the table is swept when it has doubled. Requires: the lock is held.
void Registry::forget_dead() {
  if (entries_.size() < next_sweep_) return;
  std::erase_if(entries_, [](const auto& item) { return !item.second.opening && item.second.container.expired(); });
  next_sweep_ = 2 * entries_.size() + 16;
}

std::size_t Registry::live_count() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [key, entry] : entries_)
    if (!entry.container.expired()) ++count;
  return count;
}

Result<Registry::Opened> Registry::open_path(const std::string& path, const OpenOptions& options) {
  const mapping::OpenFlags flags{.follow_symlinks = options.follow_symlinks};
  auto identity = mapping::stat_path(path, flags);
  if (!identity.ok()) return in_context(std::move(identity).error(), path);
  if (!identity.value().regular) return not_regular(path);
  if (auto live = find_unchanged(identity.value(), {})) {
    FATCTX_TRY(check_policy(*live, path, options));
    return Opened{std::move(live), true};
  }
  auto file = mapping::open_for_reading(path, flags);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  return open_file(std::move(file).value(), path, options, {});
}

std::string Registry::descriptor_name(int descriptor, const FileWindow& window) {
  if (window == FileWindow{}) return fmt::format("fd {}", descriptor);
  return fmt::format("fd {} from byte {:#x}", descriptor, window.offset);
}

Result<Registry::Opened> Registry::open_descriptor(int descriptor, const OpenOptions& options,
                                                   const FileWindow& window) {
  const bool whole = window == FileWindow{};
  const std::string name = descriptor_name(descriptor, window);
  FATCTX_TRY(check_window(window, name));
  auto stat = mapping::stat_descriptor(descriptor);
  if (!stat.ok()) return std::move(stat).error();
  if (!stat.value().regular) return not_regular(name);
  const mapping::FileIdentity identity = mapping::window_identity(stat.value(), window.offset, window.size);
  if (auto live = find_unchanged(identity, window)) {
    FATCTX_TRY(check_policy(*live, name, options));
    return Opened{std::move(live), true};
  }
  if (identity.size < window.size || (!whole && identity.size == 0)) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("{}: {} bytes from there were asked for, and the file has {} bytes", name,
                             window.size == 0 ? "all" : fmt::to_string(window.size), stat.value().size)};
  }
  auto opened = mapping::duplicate_for_reading(descriptor);
  if (!opened.ok()) return std::move(opened).error();
  std::unique_ptr<mapping::OsFile> file = std::move(opened).value();
  if (!whole) file = std::make_unique<mapping::WindowedFile>(std::move(file), window.offset, window.size);
  return open_file(std::move(file), name, options, window);
}

Result<std::shared_ptr<const MappedContainer>> Registry::open_memory(ByteView bytes,
                                                                     std::shared_ptr<const void> owner) {
  static const std::string kName = "memory";
  auto file = std::make_unique<mapping::BufferFile>(bytes, std::move(owner));
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  auto opened = container::read_toc(*file, identity.size);
  if (!opened.ok()) return in_context(std::move(opened).error(), kName);
  return map_container(std::move(file), kName, identity, std::move(opened).value());
}

Result<Registry::Opened> Registry::open_file(std::unique_ptr<mapping::OsFile> file, const std::string& name,
                                             const OpenOptions& options, const FileWindow& window) {
  // The descriptor decides from here on: the path may lead elsewhere by now.
  FATCTX_ASSIGN(mapping::FileIdentity identity, file->identity());
  if (!identity.regular) return not_regular(name);
  Opening opening(*this, {identity.device, identity.inode, window});
  if (const auto& live = opening.live()) {
    // Somebody else has opened it while this thread waited, or its times have moved: asked again, because the file
    // may have been appended to while waiting.
    FATCTX_ASSIGN(identity, file->identity());
    if (live->identity() == identity && !live->filesystem().remote) {
      FATCTX_TRY(check_policy(*live, name, options));
      return Opened{live, true};
    }
  }
  auto opened = container::read_toc(*file, identity.size);
  if (!opened.ok()) return in_context(std::move(opened).error(), name);
  if (const auto& live = opening.live(); live && live->same_container(opened.value().header)) {
    FATCTX_TRY(check_policy(*live, name, options));
    live->renew(identity);
    return Opened{live, true};
  }
  FATCTX_ASSIGN(std::shared_ptr<const MappedContainer> container,
                map_container(std::move(file), name, identity, std::move(opened).value()));
  FATCTX_TRY(check_policy(*container, name, options));
  opening.finish(container);
  return Opened{std::move(container), false};
}

}  // namespace fatctx
