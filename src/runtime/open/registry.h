// A registry that keeps one live mapping per file and process.
//
// One stat finds the mapping: device and inode identify the file, equal size and times mean that it is unchanged. A
// path is never the key: two spellings would map twice, and a replaced file would be served stale. docs/decisions
// explains why uuid, generation and TOC hash do not suffice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "container/read/trust.h"
#include "fatctx/open_options.h"
#include "fatctx/source.h"
#include "mapping/file_identity.h"
#include "runtime/open/live_table.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// Returns the trust that the options demand. Lifetime: borrows from the options.
[[nodiscard]] container::Trust trust_of(const OpenOptions& options) noexcept;

// Returns the error that require_local gives for a file on a remote file system.
[[nodiscard]] Error remote_filesystem(const std::string& name, std::string_view filesystem);

// A registry of the containers that are open in this process.
// Threads: every member from any number of threads. A mapping may outlive the registry it came from.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Returns the registry that Container::open uses. It is never destroyed, because atexit handlers may still hold
  // views.
  [[nodiscard]] static Registry& process();

  struct Opened {
    std::shared_ptr<const MappedContainer> container;
    bool already_live = false;
    std::string copy_reason;  // empty: the container is mapped
  };
  // Opens a file through the table. Bytes in memory are checked like a file, but not shared: the same address may hold
  // other bytes later. Errors: as Container::open.
  [[nodiscard]] Result<Opened> open(const Source& source, const OpenOptions& options);

  // Returns the mappings that exist at this moment.
  [[nodiscard]] std::vector<std::shared_ptr<const MappedContainer>> live() const { return table_.live(); }
  // Returns the number of live mappings, for tests and metrics.
  [[nodiscard]] std::size_t live_count() const { return table_.live_count(); }

 private:
  static const bool fork_hooks_installed;
  struct FileKey {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_high = 0;
    FileWindow window;                          // one file may contain two containers
    std::uint64_t generation = 0;               // the requested one; 0: the newest
    const MappingProvider* provider = nullptr;  // a mapping of one provider is not shared with another
    bool authenticated = false;                 // a check with XXH3 does not count where SHA-256 is required
    friend auto operator<=>(const FileKey&, const FileKey&) = default;
  };
  using Table = LiveTable<FileKey, MappedContainer>;

  [[nodiscard]] Result<Opened> open_path(const Source& source, const OpenOptions& options);
  [[nodiscard]] Result<Opened> open_descriptor(const Source& source, const OpenOptions& options);
  [[nodiscard]] static Result<Opened> open_memory(const Source& source, const OpenOptions& options);
  [[nodiscard]] std::shared_ptr<const MappedContainer> find_unchanged(const mapping::FileIdentity& identity,
                                                                      const FileWindow& window,
                                                                      const OpenOptions& options) const;
  [[nodiscard]] static Result<Opened> join(std::shared_ptr<const MappedContainer> container, const std::string& name,
                                           const OpenOptions& options, bool already_live);
  [[nodiscard]] Result<Opened> open_file(std::unique_ptr<mapping::OsFile> file, const std::string& name,
                                         const OpenOptions& options, const FileWindow& window);

  [[nodiscard]] static FileKey key_of(const mapping::FileIdentity& identity, const FileWindow& window,
                                      const OpenOptions& options);
  [[nodiscard]] static Table& table_of_process() { return process().table_; }

  Table table_;
};

}  // namespace fatctx
