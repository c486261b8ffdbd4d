// One live mapping per file and process.
//
// Found by one stat: device and inode name the file, equal size and times mean that it is unchanged. Never by path:
// two spellings would map twice, and a replaced file would be served stale. docs/decisions has why uuid, generation
// and TOC hash alone do not decide.
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

// Lifetime: borrows from the options.
[[nodiscard]] container::Trust trust_of(const OpenOptions& options) noexcept;

// What require_local answers.
[[nodiscard]] Error remote_filesystem(const std::string& name, std::string_view filesystem);

// Threads: every member from any number of threads. A mapping may outlive the registry it came from.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The one that Container::open uses. Never destroyed: views may live in atexit handlers.
  [[nodiscard]] static Registry& process();

  struct Opened {
    std::shared_ptr<const MappedContainer> container;
    bool already_live = false;
    std::string copy_reason;  // empty: mapped
  };
  // Opens a file through the table, or bytes in memory, which are checked like a file and shared with nobody: the same
  // address may hold other bytes tomorrow. Errors: as Container::open.
  [[nodiscard]] Result<Opened> open(const Source& source, const OpenOptions& options);

  // What is alive at this moment.
  [[nodiscard]] std::vector<std::shared_ptr<const MappedContainer>> live() const { return table_.live(); }
  // How many mappings are alive, for tests and metrics.
  [[nodiscard]] std::size_t live_count() const { return table_.live_count(); }

 private:
  static const bool fork_hooks_installed;
  struct FileKey {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_high = 0;
    FileWindow window;                          // two containers may lie in one file
    std::uint64_t generation = 0;               // that was asked for; 0: the newest
    const MappingProvider* provider = nullptr;  // what one provider has mapped is not another's to hand out
    bool authenticated = false;                 // what was compared with XXH3 says nothing where SHA-256 is asked for
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
