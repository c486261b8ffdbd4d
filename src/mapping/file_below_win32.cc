// Opens first and asks afterwards where the open file is. So it does not matter which links are made meanwhile.
#include "mapping/file_below.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/os_file_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr std::wstring_view kPrefix = L"\\\\?\\";
constexpr std::wstring_view kSharePrefix = L"\\\\?\\UNC\\";

// Opens a file or folder. Without the flag, it follows links.
UniqueHandle open_anything(const std::wstring& path, DWORD access, DWORD flags = 0) noexcept {
  return UniqueHandle(
      ::CreateFileW(path.c_str(), access, kShareAll, nullptr, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION | flags, nullptr));
}

// Returns the path by which the system knows an open file: with the prefix, without links and short names.
Result<std::wstring> final_path(void* handle) {
  std::wstring path(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = ::GetFinalPathNameByHandleW(handle, path.data(), static_cast<DWORD>(path.size()), 0);
    if (size == 0) return os_error(last_error(), "cannot tell where the file is");
    const bool fits = size < path.size();
    path.resize(size);
    if (fits) return path;
  }
}

bool same_name(std::wstring_view a, std::wstring_view b) noexcept {
  return ::CompareStringOrdinal(a.data(), static_cast<int>(a.size()), b.data(), static_cast<int>(b.size()), TRUE) ==
         CSTR_EQUAL;
}

// Returns the part of `path` below `folder`, without a separator in front; empty if it is not below it.
std::wstring_view part_below(std::wstring_view path, std::wstring_view folder) noexcept {
  while (folder.ends_with(L'\\')) folder.remove_suffix(1);
  if (path.size() <= folder.size() + 1 || path[folder.size()] != L'\\') return {};
  if (!same_name(path.substr(0, folder.size()), folder)) return {};
  return path.substr(folder.size() + 1);
}

// Returns a path as people and other programs write it: without the prefix, with slashes.
std::string plain_text(std::wstring_view path) {
  std::wstring plain;
  if (path.starts_with(kSharePrefix)) {
    plain = L"\\\\";
    plain += path.substr(kSharePrefix.size());
  } else {
    plain = path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : path;
  }
  std::string text = utf8_text(plain);
  for (char& c : text) {
    if (c == '\\') c = '/';
  }
  return text;
}

bool is_separator(char c) noexcept { return c == '/' || c == '\\'; }

// Returns the parts of a path between its separators.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    if (end != 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

Error folder_error(const std::string& folder) {
  return os_error(last_error(), fmt::format("cannot look into folder {}", folder));
}

Result<std::wstring> final_folder(const std::string& folder) {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(folder.empty() ? std::string(".") : folder));
  const UniqueHandle handle = open_anything(wide, FILE_READ_ATTRIBUTES);
  if (!handle.valid()) return folder_error(folder);
  return final_path(handle.get());
}

Status check_relative(std::string_view name) {
  if (name.empty()) return Error{ErrorCode::kMalformed, "the file name is empty"};
  if (name.find('\0') != std::string_view::npos) return Error{ErrorCode::kMalformed, "the file name has a zero byte"};
  if (is_separator(name.front()) || (name.size() > 1 && name[1] == ':')) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: the path is absolute, and must be relative", name)};
  }
  if (name.find(':') != std::string_view::npos) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: the path has a colon, which names a stream of a file", name)};
  }
  for (const std::string_view part : parts_of(name)) {
    if (part == "..") {
      return Error{ErrorCode::kMalformed, fmt::format("{}: the path has \"..\", and must stay in its folder", name)};
    }
  }
  return Done{};
}

std::string joined(const std::string& folder, std::string_view name) {
  if (folder.empty() || is_separator(folder.back())) return folder + std::string(name);
  return folder + "/" + std::string(name);
}

struct Resolved {
  std::wstring base;
  std::wstring path;  // in `base` or below it; both as final_path() returns them
};

Result<Resolved> resolve(const std::string& folder, std::string_view name) {
  FATCTX_TRY(check_relative(name));
  Resolved resolved;
  FATCTX_ASSIGN(resolved.base, final_folder(folder));
  const std::string whole = joined(plain_text(resolved.base), name);
  FATCTX_ASSIGN(const std::wstring wide, wide_path(whole));
  const UniqueHandle handle = open_anything(wide, FILE_READ_ATTRIBUTES);
  if (!handle.valid()) return os_error(last_error(), fmt::format("cannot find {}", whole));
  FATCTX_ASSIGN(resolved.path, final_path(handle.get()));
  if (part_below(resolved.path, resolved.base).empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: a link leads out of the folder, to {}", name, plain_text(resolved.path))};
  }
  FATCTX_ASSIGN(const FileIdentity identity, stat_descriptor(descriptor_of(handle.get())));
  if (!identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", plain_text(resolved.path))};
  }
  return resolved;
}

}  // namespace

Result<std::string> file_below(const std::string& folder, std::string_view name) {
  FATCTX_ASSIGN(const Resolved resolved, resolve(folder, name));
  return plain_text(resolved.path);
}

Result<std::unique_ptr<OsFile>> open_without_links(const std::string& folder, const std::string& relative) {
  FATCTX_ASSIGN(const std::wstring base, final_folder(folder));
  const std::string whole = joined(folder, relative);
  FATCTX_ASSIGN(const std::wstring wide, wide_path(whole));
  UniqueHandle handle = open_anything(wide, GENERIC_READ, FILE_FLAG_OPEN_REPARSE_POINT);
  if (!handle.valid()) return os_error(last_error(), fmt::format("cannot open {}", whole));
  FATCTX_ASSIGN(const std::wstring path, final_path(handle.get()));
  std::wstring wanted;
  for (const std::string_view part : parts_of(relative)) {
    FATCTX_ASSIGN(const std::wstring step, wide_text(part));
    if (!wanted.empty()) wanted += L'\\';
    wanted += step;
  }
  if (is_link(handle.get()) || !same_name(part_below(path, base), wanted)) {
    return Error{
        ErrorCode::kMalformed,
        fmt::format("{}: it leads to {}: a part of the path became a link while the file was opened; links that "
                    "change are not followed",
                    whole, plain_text(path))};
  }
  return std::unique_ptr<OsFile>(std::make_unique<Win32File>(std::move(handle), whole));
}

Result<OpenedBelow> open_file_below(const std::string& folder, std::string_view name) {
  FATCTX_ASSIGN(const Resolved resolved, resolve(folder, name));
  const std::string path = plain_text(resolved.path);
  FATCTX_ASSIGN(std::unique_ptr<OsFile> file,
                open_without_links(plain_text(resolved.base), plain_text(part_below(resolved.path, resolved.base))));
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  return OpenedBelow{.path = path, .file = std::move(file), .identity = identity};
}

FoldersOfFile folders_of(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  const std::string written = slash == std::string::npos ? std::string() : path.substr(0, slash == 0 ? 1 : slash);
  const auto wide = wide_path(path);
  if (!wide.ok()) return {.written = written, .real = written};
  const UniqueHandle handle = open_anything(wide.value(), FILE_READ_ATTRIBUTES);
  if (!handle.valid()) return {.written = written, .real = written};
  const auto real = final_path(handle.get());
  const auto known = final_folder(written);
  if (!real.ok()) return {.written = written, .real = written};
  const std::wstring parent = real.value().substr(0, real.value().find_last_of(L'\\'));
  if (known.ok() && same_name(known.value(), parent)) return {.written = written, .real = written};
  return {.written = written, .real = plain_text(parent)};
}

// Here the system takes ".." away before it looks at links.
std::string absolute_path(const std::string& path) {
  const auto wide = wide_path(path);
  return wide.ok() ? plain_text(wide.value()) : path;
}

std::string path_below(const std::string& path, const std::string& folder) {
  const auto file = wide_path(path);
  const auto base = wide_path(folder.empty() ? std::string("/") : folder);
  if (!file.ok() || !base.ok()) return {};
  return plain_text(part_below(file.value(), base.value()));
}

}  // namespace fatctx::mapping
