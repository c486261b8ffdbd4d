#include "container/edit/replacing.h"

#include <utility>

#include <fmt/format.h>

#include "mapping/append_file.h"
#include "mapping/same_file.h"

namespace fatctx::container {

Result<bool> is_in_place(const std::string& source, const std::string& target) {
  const auto from = mapping::stat_path(source);
  if (!from.ok()) return in_context(from.error(), source);
  const auto there = mapping::stat_path(target, {.follow_symlinks = false});
  return source == target || (there.ok() && mapping::is_same_file(there.value(), from.value()));
}

Result<Replacing> Replacing::begin(const std::string& path) {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, mapping::stat_path(path, {.follow_symlinks = false}));
  if (!identity.regular) {
    return Error{ErrorCode::kNotRegularFile,
                 fmt::format("{}: not a regular file; name the file itself, not a link to it", path)};
  }
  Replacing replacing;
  FATCTX_ASSIGN(replacing.locked_, mapping::lock_for_replacing(path));
  return replacing;
}

Status Replacing::check(const std::string& path, const mapping::FileIdentity& source) const {
  FATCTX_ASSIGN(const mapping::FileIdentity now, mapping::stat_path(path, {.follow_symlinks = false}));
  bool same = mapping::is_same_file(now, source) && now.size == source.size && now.modified == source.modified;
  if (same && locked_) {
    FATCTX_ASSIGN(const mapping::FileIdentity locked, locked_->identity());
    same = mapping::is_same_file(locked, now);
  }
  if (same) return Done{};
  return Error{ErrorCode::kChanged,
               fmt::format("{}: it was replaced or written to meanwhile; nothing was done, do it again", path)};
}

}  // namespace fatctx::container
