#include "runtime/open/registry.h"

#include <fmt/format.h>

#include "base/immortal.h"
#include "container/read/open.h"
#include "fatctx/base/checked.h"
#include "mapping/buffer_file.h"
#include "mapping/fork_hook.h"
#include "mapping/windowed_file.h"
#include "runtime/open/file_mapping.h"

namespace fatctx {
namespace {

Error not_regular(const std::string& name) {
  return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", name)};
}

Status check_policy(const MappedContainer& container, const std::string& name, const OpenOptions& options) {
  if (options.require_local && container.filesystem().remote) {
    return remote_filesystem(name, container.filesystem().name);
  }
  // Its signature was checked with a key of this id when the container was opened.
  auto trusted = container::check_claims(container.header(), trust_of(options));
  if (!trusted.ok()) return in_context(std::move(trusted).error(), name);
  return Done{};
}

// Every system can map at 4 KiB; a system with larger pages maps from the start of the page that contains the offset.
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

std::shared_ptr<const MappedContainer> make_container(std::unique_ptr<mapping::OsFile> file, const std::string& name,
                                                      const mapping::FileIdentity& identity,
                                                      container::OpenedToc opened, const OpenOptions& options) {
  return std::make_shared<const MappedContainer>(name, std::move(file), std::move(opened), identity,
                                                 options.mapping_provider);
}

// Maps the container if the options ask for that and the system can. Returns the reason for copies; empty if it is
// mapped.
Result<std::string> settle_mapping(const MappedContainer& container, const std::string& name,
                                   const OpenOptions& options) {
  FATCTX_ASSIGN(std::string asked, asked_copy_reason(name, options));
  if (!asked.empty()) return asked;
  auto mapped = container.ensure_mapped();
  if (mapped.ok()) return std::string();
  Error error = std::move(mapped).error();
  // Copies only if the system cannot map at all. If memory or addresses are short, a copy would make it worse.
  if (error.code == ErrorCode::kUnsupported) {
    const std::string reason = fmt::format("mapping is not available: {}", error.message);
    if (options.file_mapping == FileMapping::kRequire) {
      FATCTX_TRY(container.need_all());
      return copy_not_allowed(name, reason, container.toc().records);
    }
    count_file_mapping_fallback();
    return reason;
  }
  if (error.code == ErrorCode::kTruncated) error.code = ErrorCode::kChanged;  // it was long enough when it was opened
  return in_context(std::move(error), name);
}

constinit Immortal<Registry> registry_of_the_process;

}  // namespace

container::Trust trust_of(const OpenOptions& options) noexcept {
  return {.keys = options.trusted_keys, .minimum_generation = options.minimum_generation};
}

Error remote_filesystem(const std::string& name, std::string_view filesystem) {
  return Error{ErrorCode::kRemoteFilesystem,
               fmt::format("{}: is on {}, which may change or lose bytes at any time; copy it to a local disk or open "
                           "without require_local",
                           name, filesystem)};
}

Registry& Registry::process() { return registry_of_the_process.get(); }

const bool Registry::fork_hooks_installed = mapping::install_fork_hooks_of<&Registry::table_of_process>();

Registry::FileKey Registry::key_of(const mapping::FileIdentity& identity, const FileWindow& window,
                                   const OpenOptions& options) {
  return {identity.device,
          identity.inode,
          identity.inode_high,
          window,
          options.generation,
          options.mapping_provider.get(),
          !options.trusted_keys.empty()};
}

std::shared_ptr<const MappedContainer> Registry::find_unchanged(const mapping::FileIdentity& identity,
                                                                const FileWindow& window,
                                                                const OpenOptions& options) const {
  auto live = table_.find(key_of(identity, window, options));
  // Times are not reliable if another machine writes the file.
  if (!live || live->filesystem().remote || live->lost() || !live->looks_like(identity)) return nullptr;
  // An append has superseded this mapping, and the caller asks for the newest generation.
  if (options.generation == 0 && live->superseded()) return nullptr;
  return live;
}

// The caller's own policies apply to a shared mapping as well as to a new one.
Result<Registry::Opened> Registry::join(std::shared_ptr<const MappedContainer> container, const std::string& name,
                                        const OpenOptions& options, bool already_live) {
  FATCTX_TRY(check_policy(*container, name, options));
  FATCTX_ASSIGN(std::string copy_reason, settle_mapping(*container, name, options));
  return Opened{std::move(container), already_live, std::move(copy_reason)};
}

Result<Registry::Opened> Registry::open(const Source& source, const OpenOptions& options) {
  switch (source.kind()) {
    case Source::Kind::kPath:
      return open_path(source, options);
    case Source::Kind::kDescriptor:
      return open_descriptor(source, options);
    case Source::Kind::kMemory:
      break;
  }
  return open_memory(source, options);
}

Result<Registry::Opened> Registry::open_path(const Source& source, const OpenOptions& options) {
  const std::string& path = source.path();
  const std::string& name = source.name();
  const mapping::OpenFlags flags{.follow_symlinks = options.follow_symlinks};
  auto identity = mapping::stat_path(path, flags);
  if (!identity.ok()) return in_context(std::move(identity).error(), name);
  if (!identity.value().regular) return not_regular(name);
  if (auto live = find_unchanged(identity.value(), {}, options)) return join(std::move(live), name, options, true);
  auto file = mapping::open_for_reading(path, flags);
  if (!file.ok()) return in_context(std::move(file).error(), name);
  return open_file(std::move(file).value(), name, options, {});
}

Result<Registry::Opened> Registry::open_descriptor(const Source& source, const OpenOptions& options) {
  const int descriptor = source.descriptor();
  const FileWindow& window = source.window();
  const bool whole = window == FileWindow{};
  const std::string& name = source.name();
  FATCTX_TRY(check_window(window, name));
  auto stat = mapping::stat_descriptor(descriptor);
  if (!stat.ok()) return std::move(stat).error();
  if (!stat.value().regular) return not_regular(name);
  const mapping::FileIdentity identity = mapping::window_identity(stat.value(), window.offset, window.size);
  if (auto live = find_unchanged(identity, window, options)) return join(std::move(live), name, options, true);
  if (identity.size < window.size || (!whole && identity.size == 0)) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("{}: {} bytes from there were requested, and the file has {} bytes", name,
                             window.size == 0 ? "all" : fmt::to_string(window.size), stat.value().size)};
  }
  auto opened = mapping::duplicate_for_reading(descriptor);
  if (!opened.ok()) return std::move(opened).error();
  std::unique_ptr<mapping::OsFile> file = std::move(opened).value();
  if (!whole) file = std::make_unique<mapping::WindowedFile>(std::move(file), window.offset, window.size);
  return open_file(std::move(file), name, options, window);
}

Result<Registry::Opened> Registry::open_memory(const Source& source, const OpenOptions& options) {
  const std::string& name = source.name();
  auto file = std::make_unique<mapping::BufferFile>(source.bytes(), source.owner());
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  auto opened = container::read_generation(*file, identity.size, options.generation, trust_of(options),
                                           container::TocPart::kHeadIfLarge);
  if (!opened.ok()) return in_context(std::move(opened).error(), name);
  return join(make_container(std::move(file), name, identity, std::move(opened).value(), options), name, options,
              false);
}

Result<Registry::Opened> Registry::open_file(std::unique_ptr<mapping::OsFile> file, const std::string& name,
                                             const OpenOptions& options, const FileWindow& window) {
  // From here on only the descriptor counts: the path may name another file by now.
  FATCTX_ASSIGN(mapping::FileIdentity identity, file->identity());
  if (!identity.regular) return not_regular(name);
  Table::Claim opening(table_, key_of(identity, window, options));
  std::shared_ptr<const MappedContainer> live = opening.live();
  if (live && live->lost()) live = nullptr;  // never share a mapping that contains zeros for lost bytes
  if (live) {
    // Another thread has opened the file while this one waited, or its times have changed. Queries the identity again,
    // because the file may have been appended to meanwhile.
    FATCTX_ASSIGN(identity, file->identity());
    const bool newest = options.generation != 0 || !live->superseded();
    if (newest && live->looks_like(identity) && !live->filesystem().remote) return join(live, name, options, true);
  }
  auto read =
      container::read_growing(*file, identity, options.generation, trust_of(options), container::TocPart::kHeadIfLarge);
  if (!read.ok()) return in_context(std::move(read).error(), name);
  container::OpenedToc opened = std::move(read).value();
  if (live && live->same_container(opened.header)) {
    FATCTX_ASSIGN(Opened joined, join(live, name, options, true));
    live->renew(identity);
    return joined;
  }
  FATCTX_ASSIGN(Opened made, join(make_container(std::move(file), name, identity, std::move(opened), options), name,
                                  options, false));
  opening.finish(made.container);
  return made;
}

}  // namespace fatctx
