#include "tools/compile/compile_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "fatctx/private_folder.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEntrySchema = "fatctx.cache-entry/2";
constexpr const char* kEntryFile = "entry.json";
constexpr const char* kEntries = "v2";
constexpr const char* kWork = "work";

Error folder_error(const std::string& path, std::string_view what, const std::error_code& error) {
  return Error{ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, error.message()), {.os_error = error.value()}};
}

Error not_the_entry(const std::string& why) { return Error{ErrorCode::kChecksumMismatch, why}; }

std::vector<std::string> words_of(const StepInputs& inputs) {
  std::vector<std::string> words = inputs.words;
  for (const HashedFile& file : inputs.files) words.push_back(file.hash);
  return words;
}

// Encodes any bytes as text, one code point each, so that no two lists of words produce the same JSON.
std::string as_text(const std::string& bytes) {
  constexpr unsigned kFirstOfTwo = 0x80;
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < kFirstOfTwo) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0U | (value >> 6U));
      text += static_cast<char>(0x80U | (value & 0x3FU));
    }
  }
  return text;
}

Json inputs_json(const StepInputs& inputs) {
  Json list = Json::array();
  for (const std::string& word : words_of(inputs)) list.push_back(as_text(word));
  return list;
}

// Returns the names of the files of an entry, without its record. Errors: io, checksum_mismatch (something
// that is not a file).
Result<std::set<std::string>> files_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (!fs::is_regular_file(at->symlink_status(unknown))) return not_the_entry(name + " is not a regular file");
    if (name != kEntryFile) names.insert(name);
  }
  if (error) return folder_error(folder.string(), "cannot be listed", error);
  return names;
}

// Checks that a folder holds exactly the files that were stored for these inputs.
Status check_entry(const fs::path& folder, const StepInputs& inputs) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(folder, error))) return not_the_entry("it is a link");
  FATCTX_TRY(check_private_folder(folder.string()));
  FATCTX_ASSIGN(const std::set<std::string> present, files_in(folder));
  const std::string index = (folder / kEntryFile).string();
  FATCTX_ASSIGN(const std::string text, read_text_file(index));
  FATCTX_ASSIGN(const Json document, parse_json(text, index));
  const JsonPlace root(index, document);
  FATCTX_TRY(root.only_keys({"schema", "inputs", "files"}));
  FATCTX_ASSIGN(const JsonPlace schema, root.required("schema"));
  if (schema.value() != Json(kEntrySchema)) return not_the_entry(fmt::format("its schema is not {}", kEntrySchema));
  FATCTX_ASSIGN(const JsonPlace made_from, root.required("inputs"));
  if (made_from.value() != inputs_json(inputs)) {
    return not_the_entry("it was made from another model, with another compiler or with other flags");
  }
  FATCTX_ASSIGN(const JsonPlace files, root.required("files"));
  FATCTX_ASSIGN(const auto members, files.members());
  std::set<std::string> recorded;
  for (const auto& [name, hash] : members) recorded.insert(name);
  if (recorded != present) return not_the_entry(fmt::format("its files are not those that {} lists", kEntryFile));
  for (const auto& [name, hash] : members) {
    FATCTX_ASSIGN(const Hash128 found, content_hash_of_file((folder / name).string()));
    if (hash.value() != Json(to_hex(found.bytes))) return not_the_entry(fmt::format("{} has other bytes", name));
  }
  return Done{};
}

Status check_unchanged(const std::vector<HashedFile>& files) {
  for (const HashedFile& file : files) {
    FATCTX_ASSIGN(const Hash128 now, content_hash_of_file(file.path));
    if (to_hex(now.bytes) == file.hash) continue;
    return Error{ErrorCode::kChanged,
                 fmt::format("{}: was written to while it was compiled; compile again", file.path)};
  }
  return Done{};
}

}  // namespace

Result<std::vector<HashedFile>> hash_files(const std::vector<std::string>& paths) {
  std::vector<HashedFile> files;
  for (const std::string& path : paths) {
    FATCTX_ASSIGN(const Hash128 hash, content_hash_of_file(path));
    files.push_back({path, to_hex(hash.bytes)});
  }
  return files;
}

WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

Result<WorkFolder> WorkFolder::create_in(const std::string& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return folder_error(parent, "cannot make the folder", error);
  FATCTX_ASSIGN(std::string path, make_private_folder_in(fs::absolute(parent).string()));
  return WorkFolder(std::move(path));
}

Result<WorkFolder> WorkFolder::create_temporary() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return folder_error("TMPDIR", "no folder for temporary files", error);
  return create_in(parent.string());
}

std::string WorkFolder::file(const std::string& name) const { return (fs::path(path_) / name).string(); }

void WorkFolder::remove() noexcept {
  if (path_.empty()) return;
  std::error_code ignored;  // the remains of a work folder are harmless
  fs::remove_all(path_, ignored);
}

Result<CompileCache> CompileCache::temporary() {
  FATCTX_ASSIGN(WorkFolder owned, WorkFolder::create_temporary());
  CompileCache cache(owned.path());
  cache.owned_ = std::move(owned);
  FATCTX_TRY(cache.make_folders());
  return cache;
}

Result<CompileCache> CompileCache::in_folder(const std::string& folder) {
  CompileCache cache(fs::absolute(folder).string());
  FATCTX_TRY(cache.make_folders());
  FATCTX_TRY(cache.begin());  // reports an existing folder that is not writable before any work starts
  return cache;
}

Status CompileCache::make_folders() const {
  FATCTX_TRY(make_private_folder(folder_));
  for (const char* const name : {kEntries, kWork}) {
    const fs::path folder = fs::path(folder_) / name;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(folder, error))) {
      return Error{ErrorCode::kOperationNotPermitted,
                   fmt::format("cache folder {}: it is a link; remove it", folder.string())};
    }
    FATCTX_TRY(make_private_folder(folder.string()));
  }
  return Done{};
}

std::optional<std::string> CompileCache::default_folder() {
  const auto absolute_folder = [](const char* variable) -> std::optional<fs::path> {
    const char* const value = std::getenv(variable);
    if (value == nullptr || !fs::path(value).is_absolute()) return std::nullopt;
    return fs::path(value);
  };
  if (const auto cache = absolute_folder("XDG_CACHE_HOME")) return (*cache / "fatctx").string();
  if (const auto home = absolute_folder("HOME")) return (*home / ".cache" / "fatctx").string();
  return std::nullopt;
}

std::string CompileCache::key_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}:{}", word.size(), word);
  return to_hex(content_hash(std::as_bytes(std::span(text))).bytes);
}

std::string CompileCache::key_of(const StepInputs& inputs) { return key_of(words_of(inputs)); }

std::string CompileCache::entry_folder(const std::string& key) const {
  return (fs::path(folder_) / kEntries / key).string();
}

std::optional<std::string> CompileCache::find(const StepInputs& inputs) const {
  const std::string folder = entry_folder(key_of(inputs));
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return std::nullopt;
  const auto whole = check_entry(folder, inputs);
  if (whole.ok()) return folder;
  {
    const std::lock_guard lock(notes_->mutex);
    notes_->lines.push_back(
        fmt::format("cache entry {}: {}; it was not used, and is made anew", folder, whole.error().message));
  }
  fs::remove_all(folder, error);  // if it cannot be removed, publish() reports that
  return std::nullopt;
}

Result<WorkFolder> CompileCache::begin() const { return WorkFolder::create_in((fs::path(folder_) / kWork).string()); }

Result<std::string> CompileCache::publish(const StepInputs& inputs, WorkFolder work,
                                          const std::vector<std::string>& files) const {
  FATCTX_TRY(check_unchanged(inputs.files));
  Json hashes = Json::object();
  for (const std::string& name : files) {
    FATCTX_ASSIGN(const Hash128 hash, content_hash_of_file(work.file(name)));
    hashes.add(name, to_hex(hash.bytes));
  }
  // Otherwise the step's inputs, and all other files of its tools, would be kept with each target.
  std::error_code ignored;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(work.path(), ignored)) {
    if (hashes.find(entry.path().filename().string()) == nullptr) others.push_back(entry.path());
  }
  for (const fs::path& other : others) fs::remove_all(other, ignored);
  std::ofstream out(work.file(kEntryFile), std::ios::binary);
  out << write_json({{"schema", kEntrySchema}, {"inputs", inputs_json(inputs)}, {"files", std::move(hashes)}}) << '\n';
  out.close();
  if (!out) return Error{ErrorCode::kIo, fmt::format("{}: cannot be written", work.file(kEntryFile))};

  std::error_code error;
  const std::string folder = entry_folder(key_of(inputs));
  fs::rename(work.path(), folder, error);
  if (!error) return folder;
  if (find(inputs)) return folder;  // another process published the same step; ours is deleted with `work`
  return folder_error(folder, "cannot publish into the cache; remove what has this name", error);
}

std::vector<std::string> CompileCache::notes() const {
  const std::lock_guard lock(notes_->mutex);
  return notes_->lines;
}

}  // namespace fatctx::tools
