// Caches the results of compilers by content: the same model, tool and flags are never compiled twice.
//
//   FOLDER/v2/KEY/...          the files of one step, and entry.json with their hashes and its inputs
//   FOLDER/work/RANDOM/...     steps in progress; each is renamed to KEY as a whole when it is done
//
// An entry appears all at once or not at all, so any number of processes of one user may share a folder. The
// folder has mode 0700 and belongs to the caller, like that of the view cache, and so does each folder in it.
// Every use compares the entry's inputs with the requested ones, and its files with their hashes. An entry
// that differs is not used; notes() reports it, and it is deleted.
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
  std::string hash;  // of the content, in hexadecimal
};

// Hashes each file. Errors: those of reading.
[[nodiscard]] Result<std::vector<HashedFile>> hash_files(const std::vector<std::string>& paths);

// The inputs that determine the result of a step.
struct StepInputs {
  std::vector<std::string> words;  // the kind of the step, the tool and its version, its flags
  std::vector<HashedFile> files;   // its input files: their content counts, not their names
};

// A folder that is deleted with its owner. Move-only.
class WorkFolder {
 public:
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&& other) noexcept;
  ~WorkFolder() { remove(); }

  // Creates an empty folder with a random name in `parent`, which is created if it does not exist. From the
  // first moment on only the owner can look into it. Errors: io, not_found, no_space.
  [[nodiscard]] static Result<WorkFolder> create_in(const std::string& parent);
  // Creates a folder in the system's temporary folder. Errors: io.
  [[nodiscard]] static Result<WorkFolder> create_temporary();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const;

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  void remove() noexcept;

  std::string path_;  // empty: moved from
};

// A cache of finished steps. Threads: const members from any number of threads.
class CompileCache {
 public:
  // Creates a cache in a temporary folder that is deleted with the object. Errors: io.
  [[nodiscard]] static Result<CompileCache> temporary();
  // Opens the cache in `folder`, which it creates with mode 0700 if it does not exist.
  // Errors: operation_not_permitted (the folder, or a folder of the cache in it, is of another user or open to others),
  // io (it cannot be made or written).
  [[nodiscard]] static Result<CompileCache> in_folder(const std::string& folder);
  // Returns XDG_CACHE_HOME/fatctx or HOME/.cache/fatctx; nothing if neither is set to an absolute path.
  [[nodiscard]] static std::optional<std::string> default_folder();

  // Returns the content address of a list of words. It hashes each word with its length, so that no two lists
  // look alike.
  [[nodiscard]] static std::string key_of(const std::vector<std::string>& words);
  [[nodiscard]] static std::string key_of(const StepInputs& inputs);

  // Returns the folder of a finished step with these inputs and unchanged files; nothing if there is none.
  [[nodiscard]] std::optional<std::string> find(const StepInputs& inputs) const;
  [[nodiscard]] Result<WorkFolder> begin() const;
  // Turns the named files of `work` into the entry of `inputs`, drops all others, and returns its folder. If
  // another process was faster, its entry stays.
  // Errors: changed (a file of `inputs` has other bytes by now, so the origin of the result is unknown), io, not_found
  // (a file is missing).
  [[nodiscard]] Result<std::string> publish(const StepInputs& inputs, WorkFolder work,
                                            const std::vector<std::string>& files) const;
  // Returns one line for each entry that was found and not used, with the reason.
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
