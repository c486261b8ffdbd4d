#include "container/write/input.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/sharing/stored_bytes.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kCompareUnit = std::size_t{1} << 20;

// A source of loaded bytes; the view keeps them in memory.
class LoadedBytes final : public ByteSource {
 public:
  explicit LoadedBytes(RecordView view) : view_(std::move(view)) {}
  [[nodiscard]] std::string name() const override { return fmt::format("loaded record {}", view_.record_id()); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return view_.size_bytes(); }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    FATCTX_ASSIGN(const ByteView piece, slice(view_.bytes(), {offset, out.size()}));
    std::copy(piece.begin(), piece.end(), out.begin());
    return Done{};
  }

 private:
  const RecordView view_;
};

bool is_in_memory(const PackSource& source) noexcept { return !source.source && !source.loaded && source.path.empty(); }

}  // namespace

Status go_on(const std::atomic<bool>* cancel) {
  if (cancel == nullptr || !cancel->load(std::memory_order_relaxed)) return Done{};
  return Error{ErrorCode::kCancelled, "it was cancelled"};
}

Result<Input> Input::take(PackSource& source, const std::atomic<bool>* cancel) {
  FATCTX_ASSIGN(Input input, open(source, cancel));
  std::vector<std::byte> bytes =
      std::exchange(source.bytes, std::vector<std::byte>());  // clear() would keep the memory
  if (!is_in_memory(source)) return input;
  input.bytes_ = std::move(bytes);
  input.size_ = input.bytes_.size();
  return input;
}

Result<std::uint64_t> Input::size_of(const PackSource& source) {
  if (is_in_memory(source)) return source.bytes.size();
  FATCTX_ASSIGN(const Input input, open(source, nullptr));
  return input.size();
}

Result<Input> Input::open(const PackSource& source, const std::atomic<bool>* cancel) {
  Input input;
  input.cancel_ = cancel;
  if (source.source || source.loaded) {
    input.source_ = source.source;
    if (!input.source_) input.source_ = std::make_shared<const LoadedBytes>(*source.loaded);
    input.name_ = input.source_->name();
    input.size_ = input.source_->size_bytes();
    return input;
  }
  if (source.path.empty()) {
    input.name_ = "bytes in memory";
    return input;
  }
  input.name_ = source.path;
  input.in_memory_ = false;
  auto file = mapping::open_for_reading(source.path);
  if (!file.ok()) return in_context(std::move(file).error(), source.path);
  auto identity = file.value()->identity();
  if (!identity.ok()) return in_context(std::move(identity).error(), source.path);
  input.identity_ = identity.value();
  if (!input.identity_.regular)
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", source.path)};
  input.size_ = input.identity_.size;
  if (!source.part) return input;
  if (!within(*source.part, input.size_)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} bytes at {} are not inside the file, which has {}", source.path, source.part->size,
                             source.part->offset, input.size_)};
  }
  input.offset_ = source.part->offset;
  input.size_ = source.part->size;
  return input;
}

Error Input::changed() const {
  return Error{ErrorCode::kChanged,
               fmt::format("{}: changed while it was being packed; pack again when it is still", name_)};
}

Error Input::not_made(const Error& by_source) const {
  return Error{ErrorCode::kSerialiseFailed, fmt::format("{}: could not be written out: {} ({})", name_,
                                                        by_source.message, error_code_name(by_source.code))};
}

Result<std::shared_ptr<const mapping::OsFile>> Input::opened() const {
  const std::scoped_lock lock(handle_->mutex);
  if (handle_->file) return handle_->file;
  auto file = mapping::open_for_reading(name_);
  if (!file.ok()) return in_context(std::move(file).error(), name_);
  auto now = file.value()->identity();
  if (!now.ok()) return in_context(std::move(now).error(), name_);
  if (now.value() != identity_) return changed();
  handle_->file = std::move(file).value();
  return handle_->file;
}

void Input::close() const noexcept {
  if (source_) source_->close();
  const std::scoped_lock lock(handle_->mutex);
  handle_->file.reset();
}

Status Input::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  FATCTX_TRY(go_on(cancel_));
  if (progress_ != nullptr) FATCTX_TRY(progress_->add_little(buffer.size()));
  if (source_) {
    auto status = source_->read_at(offset, buffer);
    if (status.ok() || !source_->makes_bytes() || status.error().code == ErrorCode::kCancelled ||
        status.error().code == ErrorCode::kOutOfMemory) {
      return status;
    }
    return not_made(status.error());
  }
  if (in_memory_) {
    FATCTX_ASSIGN(const ByteView piece, slice(bytes_, {offset, buffer.size()}));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    return Done{};
  }
  FATCTX_ASSIGN(const std::shared_ptr<const mapping::OsFile> file, opened());
  auto status = file->read_at(offset_ + offset, buffer);  // inside the file: cannot wrap
  if (status.ok()) return status;
  if (status.error().code == ErrorCode::kTruncated) return changed();  // it was long enough when it was opened
  return in_context(std::move(status).error(), name_);
}

Status Input::check_unchanged() const {
  if (source_ && source_->size_bytes() != size_) {
    const Error error{ErrorCode::kChanged, fmt::format("it had {} bytes and has {} now", size_, source_->size_bytes())};
    return source_->makes_bytes() ? not_made(error) : error;
  }
  if (in_memory_) return Done{};
  std::shared_ptr<const mapping::OsFile> file;
  {
    const std::scoped_lock lock(handle_->mutex);
    file = handle_->file;
  }
  auto now = file ? file->identity() : mapping::stat_path(name_);
  if (!now.ok()) return in_context(std::move(now).error(), name_);
  return now.value() == identity_ ? Status(Done{}) : Status(changed());
}

Result<bool> equal_bytes(const Input& a, const Input& b) {
  if (a.size() != b.size()) return false;
  const auto unit = static_cast<std::size_t>(std::min<std::uint64_t>(kCompareUnit, a.size()));
  std::vector<std::byte> left(unit);
  std::vector<std::byte> right(unit);
  bool equal = true;
  for (std::uint64_t at = 0; equal && at < a.size(); at += unit) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(unit, a.size() - at));
    FATCTX_TRY(a.read_at(at, std::span(left).first(size)));
    FATCTX_TRY(b.read_at(at, std::span(right).first(size)));
    equal = sharing::equal_bytes(ByteView(left).first(size), ByteView(right).first(size));
  }
  a.close();
  b.close();
  return equal;
}

Result<Hash128> read_input(const Input& input, const StreamSink& sink) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kCompareUnit, input.size())));
  Hasher hasher;
  for (std::uint64_t at = 0; at < input.size(); at += buffer.size()) {
    const auto piece =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), input.size() - at)));
    FATCTX_TRY(input.read_at(at, piece));
    hasher.update(piece);
    FATCTX_TRY(sink(piece));
  }
  return hasher.digest();
}

Result<Hash128> compress_input(const Input& input, const StreamSink& sink) {
  FrameWriter frame(input.size());
  FATCTX_ASSIGN(const Hash128 hash, read_input(input, [&](ByteView bytes) { return frame.write(bytes, sink); }));
  FATCTX_TRY(frame.finish(sink));
  return hash;
}

}  // namespace fatctx::container
