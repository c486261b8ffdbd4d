#include "tools/compile_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fatctx/content_hash.h"
#include "tools/json_cursor.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEntrySchema = "fatctx.cache-entry/1";
constexpr const char* kEntryFile = "entry.json";
constexpr int kNameAttempts = 16;

Error folder_error(const std::string& path, std::string_view what, const std::error_code& error) {
  return Error{ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, error.message()), {.os_error = error.value()}};
}

std::string random_name() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// Whether the files of an entry are those that were stored.
Result<bool> entry_is_whole(const fs::path& folder) {
  const std::string index = (folder / kEntryFile).string();
  FATCTX_ASSIGN(const std::string text, read_text_file(index));
  FATCTX_ASSIGN(const nlohmann::json document, parse_json(text, index));
  const JsonCursor root(index, document);
  FATCTX_TRY(root.only_keys({"schema", "files"}));
  FATCTX_ASSIGN(const JsonCursor schema, root.required("schema"));
  if (schema.value() != kEntrySchema) return false;
  FATCTX_ASSIGN(const JsonCursor files, root.required("files"));
  FATCTX_ASSIGN(const auto members, files.members());
  for (const auto& [name, hash] : members) {
    FATCTX_ASSIGN(const Hash128 found, content_hash_of_file((folder / name).string()));
    if (hash.value() != to_hex(found.bytes)) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> hash_words(const std::vector<std::string>& files) {
  std::vector<std::string> words;
  for (const std::string& file : files) {
    FATCTX_ASSIGN(const Hash128 hash, content_hash_of_file(file));
    words.push_back(to_hex(hash.bytes));
  }
  return words;
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
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const fs::path path = fs::absolute(parent) / ("fatctx-" + random_name());
    if (fs::create_directory(path, error)) {
      fs::permissions(path, fs::perms::owner_all, error);
      if (error) return folder_error(path.string(), "cannot set permissions", error);
      return WorkFolder(path.string());
    }
    if (error) return folder_error(path.string(), "cannot make the folder", error);
  }
  return Error{ErrorCode::kIo, fmt::format("{}: no free name for a work folder", parent)};
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
  std::error_code ignored;  // what is left of a work folder harms nobody
  fs::remove_all(path_, ignored);
}

Result<CompileCache> CompileCache::temporary() {
  FATCTX_ASSIGN(WorkFolder owned, WorkFolder::create_temporary());
  CompileCache cache(owned.path());
  cache.owned_ = std::move(owned);
  return cache;
}

Result<CompileCache> CompileCache::in_folder(const std::string& folder) {
  const fs::path entries = fs::path(folder) / "v1";
  std::error_code error;
  fs::create_directories(entries, error);
  if (error) return folder_error(entries.string(), "cannot make the folder", error);
  CompileCache cache(fs::absolute(folder).string());
  FATCTX_TRY(cache.begin());  // an existing folder that cannot be written is found before any work is done
  return cache;
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

std::string CompileCache::entry_folder(const std::string& key) const {
  return (fs::path(folder_) / "v1" / key).string();
}

std::optional<std::string> CompileCache::find(const std::string& key) const {
  const std::string folder = entry_folder(key);
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::nullopt;
  const auto whole = entry_is_whole(folder);
  if (whole.ok() && whole.value()) return folder;
  fs::remove_all(folder, error);  // damaged: made again; if it cannot be removed, publish() says so
  return std::nullopt;
}

Result<WorkFolder> CompileCache::begin() const { return WorkFolder::create_in((fs::path(folder_) / "work").string()); }

Result<std::string> CompileCache::publish(const std::string& key, WorkFolder work,
                                          const std::vector<std::string>& files) const {
  nlohmann::ordered_json index;
  index["schema"] = kEntrySchema;
  index["files"] = nlohmann::ordered_json::object();
  for (const std::string& name : files) {
    FATCTX_ASSIGN(const Hash128 hash, content_hash_of_file(work.file(name)));
    index["files"][name] = to_hex(hash.bytes);
  }
  // What the step was made from, and whatever else its tools left, would be kept with each target.
  std::error_code ignored;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(work.path(), ignored)) {
    if (!index["files"].contains(entry.path().filename().string())) others.push_back(entry.path());
  }
  for (const fs::path& other : others) fs::remove_all(other, ignored);
  std::ofstream out(work.file(kEntryFile), std::ios::binary);
  out << index.dump(2) << '\n';
  out.close();
  if (!out) return Error{ErrorCode::kIo, fmt::format("{}: cannot be written", work.file(kEntryFile))};

  std::error_code error;
  const std::string folder = entry_folder(key);
  fs::create_directories(fs::path(folder).parent_path(), error);
  fs::rename(work.path(), folder, error);
  if (!error) return folder;
  if (find(key)) return folder;  // another process published the same step; ours goes with `work`
  return folder_error(folder, "cannot publish into the cache", error);
}

}  // namespace fatctx::tools
