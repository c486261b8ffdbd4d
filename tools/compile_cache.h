// Results of compilers, kept by content: the same model, tool and flags are never compiled twice.
//
//   FOLDER/v1/KEY/...          the files of one step, and entry.json with their sizes and hashes
//   FOLDER/work/RANDOM/...     steps that are under way; renamed to KEY as a whole when they are done
//
// An entry appears all at once or not at all, so any number of processes may share a folder. Every use checks the
// files against their hashes; an entry that does not match is thrown away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// The content hashes of files, for a key. Errors: those of reading.
[[nodiscard]] Result<std::vector<std::string>> hash_words(const std::vector<std::string>& files);

// A folder that goes when its owner goes. Move-only.
class WorkFolder {
 public:
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&& other) noexcept;
  ~WorkFolder() { remove(); }

  // A new, empty folder of a random name in `parent`, which is made if it is not there. Errors: io.
  [[nodiscard]] static Result<WorkFolder> create_in(const std::string& parent);
  // Where the system keeps such folders. Errors: io.
  [[nodiscard]] static Result<WorkFolder> create_temporary();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const;

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  void remove() noexcept;

  std::string path_;  // empty: moved away
};

// Threads: const members from any number of threads.
class CompileCache {
 public:
  // Keeps nothing beyond its own life: results lie in a temporary folder. Errors: io.
  [[nodiscard]] static Result<CompileCache> temporary();
  // Errors: io (the folder cannot be made or written).
  [[nodiscard]] static Result<CompileCache> in_folder(const std::string& folder);
  // XDG_CACHE_HOME/fatctx or HOME/.cache/fatctx; nothing if neither is set to an absolute path.
  [[nodiscard]] static std::optional<std::string> default_folder();

  // Content addresses: the hash of the words, each with its length, so that no two lists look the same.
  [[nodiscard]] static std::string key_of(const std::vector<std::string>& words);

  // The folder of a finished step whose files are all there and unchanged; nothing otherwise.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  [[nodiscard]] Result<WorkFolder> begin() const;
  // Makes the named files of `work` the entry `key`, drops all others, and returns its folder. If another process was
  // faster, its entry stays. Errors: io, not_found (a file is missing).
  [[nodiscard]] Result<std::string> publish(const std::string& key, WorkFolder work,
                                            const std::vector<std::string>& files) const;

 private:
  explicit CompileCache(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string entry_folder(const std::string& key) const;

  std::string folder_;
  std::optional<WorkFolder> owned_;  // of a temporary cache
};

}  // namespace fatctx::tools
