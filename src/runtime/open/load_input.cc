#include "runtime/open/load_input.h"

#include <fmt/format.h>

#include <utility>

#include "mapping/buffer_file.h"
#include "mapping/filesystem_kind.h"
#include "mapping/windowed_file.h"
#include "runtime/open/record_reader.h"
#include "runtime/open/registry.h"

namespace fatctx {

LoadSource LoadSource::descriptor(int descriptor, const FileWindow& window) {
  LoadSource source(Kind::kDescriptor);
  source.descriptor_ = descriptor;
  source.window_ = window;
  return source;
}

LoadSource LoadSource::memory(ByteView bytes, std::shared_ptr<const void> owner) {
  LoadSource source(Kind::kMemory);
  source.bytes_ = bytes;
  source.owner_ = std::move(owner);
  return source;
}

Status PlainFile::check_still() const {
  FATCTX_ASSIGN(const mapping::FileIdentity now, file->identity());
  if (now == identity) return Done{};
  return Error{ErrorCode::kChanged,
               fmt::format("{}: changed while it was being read; try again when it is still", name)};
}

Result<LoadInput> LoadInput::hold(LoadSource source) {
  LoadInput input(std::move(source));
  if (input.source_.kind_ == LoadSource::Kind::kDescriptor) {
    auto held = mapping::duplicate_for_reading(input.source_.descriptor_);
    if (!held.ok()) return in_context(std::move(held).error(), input.name());
    input.held_ = std::move(held).value();
  }
  return input;
}

std::string LoadInput::name() const {
  switch (source_.kind_) {
    case LoadSource::Kind::kPath:
      return source_.path_;
    case LoadSource::Kind::kDescriptor:
      return Registry::descriptor_name(source_.descriptor_, source_.window_);
    case LoadSource::Kind::kMemory:
      break;
  }
  return "memory";
}

bool LoadInput::may_outlive_the_call() const noexcept {
  return source_.kind_ != LoadSource::Kind::kMemory || source_.owner_ != nullptr;
}

Result<Container> LoadInput::open_container(const OpenOptions& options) const {
  switch (source_.kind_) {
    case LoadSource::Kind::kPath:
      return Container::open(source_.path_, options);
    case LoadSource::Kind::kDescriptor:
      return open_held(options);
    case LoadSource::Kind::kMemory:
      break;
  }
  return Container::open_memory(source_.bytes_, options, source_.owner_);
}

// The caller knows his own descriptor, and not the copy of it.
Result<Container> LoadInput::open_held(const OpenOptions& options) const {
  auto opened = Container::open_descriptor(held_->descriptor(), options, source_.window_);
  if (opened.ok()) return RecordReader::renamed(opened.value(), name());
  Error error = std::move(opened).error();
  const std::string copy = Registry::descriptor_name(held_->descriptor(), source_.window_);
  if (error.message.starts_with(copy)) error.message.replace(0, copy.size(), name());
  return error;
}

Result<PlainFile> LoadInput::open_plain(const OpenOptions& options) const {
  PlainFile plain{.name = name(), .file = nullptr, .identity = {}};
  switch (source_.kind_) {
    case LoadSource::Kind::kPath: {
      auto file = mapping::open_for_reading(source_.path_, {.follow_symlinks = options.follow_symlinks});
      if (!file.ok()) return in_context(std::move(file).error(), plain.name);
      plain.file = std::move(file).value();
      break;
    }
    case LoadSource::Kind::kDescriptor: {
      auto file = mapping::duplicate_for_reading(held_->descriptor());
      if (!file.ok()) return in_context(std::move(file).error(), plain.name);
      std::unique_ptr<mapping::OsFile> whole = std::move(file).value();
      if (source_.window_ == FileWindow{}) {
        plain.file = std::move(whole);
      } else {
        plain.file =
            std::make_shared<mapping::WindowedFile>(std::move(whole), source_.window_.offset, source_.window_.size);
      }
      break;
    }
    case LoadSource::Kind::kMemory:
      plain.file = std::make_shared<mapping::BufferFile>(source_.bytes_, source_.owner_);
      break;
  }
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

}  // namespace fatctx
