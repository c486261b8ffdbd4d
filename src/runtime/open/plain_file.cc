#include "runtime/open/plain_file.h"

#include <fmt/format.h>

#include <utility>

#include "mapping/buffer_file.h"
#include "mapping/filesystem_kind.h"
#include "mapping/windowed_file.h"
#include "runtime/open/registry.h"

namespace fatctx {
namespace {

Result<std::shared_ptr<mapping::OsFile>> open_source(const Source& source, const OpenOptions& options) {
  using Opened = std::shared_ptr<mapping::OsFile>;
  if (source.kind() == Source::Kind::kMemory) {
    return Opened(std::make_shared<mapping::BufferFile>(source.bytes(), source.owner()));
  }
  if (source.kind() == Source::Kind::kPath) {
    FATCTX_ASSIGN(auto file, mapping::open_for_reading(source.path(), {.follow_symlinks = options.follow_symlinks}));
    return Opened(std::move(file));
  }
  FATCTX_ASSIGN(std::unique_ptr<mapping::OsFile> whole, mapping::duplicate_for_reading(source.descriptor()));
  if (source.window() == FileWindow{}) return Opened(std::move(whole));
  return Opened(
      std::make_shared<mapping::WindowedFile>(std::move(whole), source.window().offset, source.window().size));
}

}  // namespace

Result<PlainFile> PlainFile::open(const Source& source, const OpenOptions& options) {
  PlainFile plain{.name = source.name(), .file = nullptr, .identity = {}};
  auto file = open_source(source, options);
  if (!file.ok()) return in_context(std::move(file).error(), plain.name);
  plain.file = std::move(file).value();
  FATCTX_ASSIGN(plain.identity, plain.file->identity());
  if (!plain.identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", plain.name)};
  }
  if (options.require_local && plain.file->descriptor() >= 0) {
    const mapping::FilesystemKind kind = mapping::filesystem_kind(plain.file->descriptor());
    if (kind.remote) return remote_filesystem(plain.name, kind.name);
  }
  return plain;
}

Status PlainFile::check_still() const {
  FATCTX_ASSIGN(const mapping::FileIdentity now, file->identity());
  if (now == identity) return Done{};
  return Error{ErrorCode::kChanged,
               fmt::format("{}: changed while it was being read; try again when nothing writes to it", name)};
}

}  // namespace fatctx
