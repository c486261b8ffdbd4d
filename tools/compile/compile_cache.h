// Results of compilers, kept by content: the same model, tool and flags are never compiled twice.
//
//   FOLDER/v2/KEY/...          the files of one step, and entry.json with their hashes and what they were made from
//   FOLDER/work/RANDOM/...     steps that are under way; renamed to KEY as a whole when they are done
//
// An entry appears all at once or not at all, so any number of processes of one user may share a folder. The folder has
// mode 0700 and belongs to the caller, as that of the view cache, and so does each folder in it. Every use compares
// what the entry was made from with what is asked for, and the files with their hashes. An entry that differs is not
// used, which notes() says, and is thrown away.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct HashedFile {
  std::string path;
  std::string hash;  // of the content, as hexadecimal digits
};

// Errors: those of reading.
[[nodiscard]] Result<std::vector<HashedFile>> hash_files(const std::vector<std::string>& paths);

// What decides the result of a step.
struct StepInputs {
  std::vector<std::string> words;  // the kind of the step, the tool and its version, its flags
  std::vector<HashedFile> files;   // what it reads: the content counts, not the name
};

// A folder that goes when its owner goes. Move-only.
class WorkFolder {
 public:
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&& other) noexcept;
  ~WorkFolder() { remove(); }

  // A new, empty folder of a random name in `parent`, which is made if it does not exist. Nobody but the owner can look
  // into it, from the first moment on. Errors: io, not_found, no_space.
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
  // Keeps nothing beyond its own life: results are in a temporary folder. Errors: io.
  [[nodiscard]] static Result<CompileCache> temporary();
  // Makes the folder with mode 0700 if it does not exist.
  // Errors: operation_not_permitted (the folder, or a folder of the cache in it, is of another user or open to others),
  // io (it cannot be made or written).
  [[nodiscard]] static Result<CompileCache> in_folder(const std::string& folder);
  // XDG_CACHE_HOME/fatctx or HOME/.cache/fatctx; nothing if neither is set to an absolute path.
  [[nodiscard]] static std::optional<std::string> default_folder();

  // Content addresses: the hash of the words, each with its length, so that no two lists look the same.
  [[nodiscard]] static std::string key_of(const std::vector<std::string>& words);
  [[nodiscard]] static std::string key_of(const StepInputs& inputs);

  // The folder of a finished step that was made from these inputs and whose files are unchanged; nothing otherwise.
  [[nodiscard]] std::optional<std::string> find(const StepInputs& inputs) const;
  [[nodiscard]] Result<WorkFolder> begin() const;
  // Makes the named files of `work` the entry of `inputs`, drops all others, and returns its folder. If another process
  // was faster, its entry stays.
  // Errors: changed (a file of `inputs` has other bytes by now, so that nobody knows what the result was made from),
  // io, not_found (a file is missing).
  [[nodiscard]] Result<std::string> publish(const StepInputs& inputs, WorkFolder work,
                                            const std::vector<std::string>& files) const;
  // One line for each entry that was found and not used, with the reason.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Notes {
    std::mutex mutex;
    std::vector<std::string> lines;
  };

  explicit CompileCache(std::string folder) : folder_(std::move(folder)), notes_(std::make_unique<Notes>()) {}
  [[nodiscard]] Status make_folders() const;
  [[nodiscard]] std::string entry_folder(const std::string& key) const;

  std::string folder_;
  std::unique_ptr<Notes> notes_;
  std::optional<WorkFolder> owned_;  // of a temporary cache
};

}  // namespace fatctx::tools
