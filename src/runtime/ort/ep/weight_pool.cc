#include "runtime/ort/ep/weight_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "container/format/hash.h"
#include "runtime/ort/attach/element_types.h"
#include "runtime/ort/ep/weight_location.h"

namespace fatctx::ort {
namespace {

constexpr std::uint64_t kTensorAlignment = 64;  // within a blob; kernels read whole vectors
constexpr std::uint64_t kStep = 1 << 20;

PackTensor describe(const ExternalTensor& tensor, std::uint64_t offset) {
  PackTensor described{.name = tensor.name, .shape = {}, .offset_in_blob = offset, .size_bytes = tensor.size_bytes};
  if (const auto dtype = dtype_of(tensor.type)) {
    described.dtype = *dtype;
    for (const std::int64_t size : tensor.shape) described.shape.push_back(static_cast<std::uint64_t>(size));
  } else {
    described.dtype = DType::kU8;  // stores its bytes
    described.shape = {tensor.size_bytes};
  }
  return described;
}

}  // namespace

// The new blob: pieces of files with zeros between them.
class WeightPool::Source : public ByteSource {
 public:
  Source(std::string name, std::vector<Piece> pieces, std::uint64_t size)
      : name_(std::move(name)), pieces_(std::move(pieces)), size_(size) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return size_; }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    std::ranges::fill(out, std::byte{0});
    const std::uint64_t end = offset + out.size();
    // Finds the last piece that begins at or before the offset.
    auto piece = std::ranges::upper_bound(pieces_, offset, {}, [](const Piece& p) { return p.place.offset; });
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->place.offset < end; ++piece) {
      const std::uint64_t from = std::max(offset, piece->place.offset);
      const std::uint64_t to = std::min(end, piece->place.offset + piece->size_bytes);
      if (from >= to) continue;
      FATCTX_TRY(
          piece->file->read_at(piece->offset + (from - piece->place.offset), out.subspan(from - offset, to - from)));
    }
    return Done{};
  }

 private:
  std::string name_;
  std::vector<Piece> pieces_;
  std::uint64_t size_;
};

Result<WeightPool::File> WeightPool::file(const std::string& path) {
  if (const auto found = files_.find(path); found != files_.end()) return found->second;
  FATCTX_ASSIGN(auto opened, mapping::open_for_reading(path));
  return files_.emplace(path, std::move(opened)).first->second;
}

Status WeightPool::read(const Piece& piece, std::uint64_t at, std::span<std::byte> out) {
  return piece.stored ? piece.stored->read_at(piece.offset + at, out) : piece.file->read_at(piece.offset + at, out);
}

Result<Hash128> WeightPool::hash(const Piece& piece) {
  container::Hasher hasher;
  std::vector<std::byte> bytes(std::min(kStep, piece.size_bytes));
  for (std::uint64_t at = 0; at < piece.size_bytes; at += kStep) {
    const auto part = std::span(bytes).first(std::min(kStep, piece.size_bytes - at));
    FATCTX_TRY(read(piece, at, part));
    hasher.update(part);
  }
  return hasher.digest();
}

Result<bool> WeightPool::equal(const Piece& a, const Piece& b) {
  if (a.size_bytes != b.size_bytes) return false;
  std::vector<std::byte> bytes_a(std::min(kStep, a.size_bytes));
  std::vector<std::byte> bytes_b(bytes_a.size());
  for (std::uint64_t at = 0; at < a.size_bytes; at += kStep) {
    const std::uint64_t size = std::min(kStep, a.size_bytes - at);
    const auto part_a = std::span(bytes_a).first(size);
    const auto part_b = std::span(bytes_b).first(size);
    FATCTX_TRY(read(a, at, part_a));
    FATCTX_TRY(read(b, at, part_b));
    if (!std::ranges::equal(part_a, part_b)) return false;
  }
  return true;
}

// Returns the equal piece, or null. Compares the bytes, because equal hashes do not prove equality.
Result<const WeightPool::Piece*> WeightPool::find(const Piece& piece, const Hash128& hash) const {
  const auto [first, last] = pieces_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    FATCTX_ASSIGN(const bool same, equal(known->second, piece));
    if (same) return &known->second;
  }
  return nullptr;
}

void WeightPool::begin(std::string blob) {
  blob_ = std::move(blob);
  size_ = 0;
  files_.clear();
  fresh_.clear();
  tensors_.clear();
}

Status WeightPool::know(const PackRecord& blob) {
  for (const PackTensor& tensor : blob.tensors) {
    Piece piece{.file = nullptr,
                .stored = blob.source.source,
                .offset = tensor.offset_in_blob,
                .size_bytes = tensor.size_bytes,
                .place = {.blob = blob.name, .offset = tensor.offset_in_blob}};
    FATCTX_ASSIGN(const Hash128 digest, hash(piece));
    pieces_.emplace(digest, std::move(piece));
  }
  return Done{};
}

void WeightPool::packed(const std::shared_ptr<const ByteSource>& source) {
  for (auto& [digest, piece] : pieces_) {
    if (piece.place.blob != blob_) continue;
    piece.file.reset();
    piece.stored = source;
    piece.offset = piece.place.offset;
  }
}

Result<PlaceInBlob> WeightPool::place(const ExternalTensor& tensor, const std::string& path) {
  FATCTX_ASSIGN(File opened, file(path));
  Piece piece{.file = std::move(opened), .offset = tensor.offset, .size_bytes = tensor.size_bytes};
  FATCTX_ASSIGN(const Hash128 digest, hash(piece));
  FATCTX_ASSIGN(const Piece* const known, find(piece, digest));
  if (known != nullptr) {
    // Adds a second name for the same bytes of the new blob. An existing blob stays unchanged.
    if (known->place.blob == blob_) tensors_.push_back(describe(tensor, known->place.offset));
    return known->place;
  }
  piece.place = {.blob = blob_, .offset = (size_ + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment};
  size_ = piece.place.offset + piece.size_bytes;
  tensors_.push_back(describe(tensor, piece.place.offset));
  fresh_.push_back(piece);
  return pieces_.emplace(digest, std::move(piece))->second.place;
}

PackRecord WeightPool::record() const {
  PackRecord record;
  record.type = RecordType::kWeightBlob;
  record.name = blob_;
  record.source.source = std::make_shared<Source>(blob_, fresh_, size_);
  record.tensors = tensors_;
  std::map<std::uint64_t, int> names;
  for (const PackTensor& tensor : tensors_) ++names[tensor.offset_in_blob];
  for (PackTensor& tensor : record.tensors) tensor.alias = names[tensor.offset_in_blob] > 1;
  record.description.format = "onnx-external-data";
  record.description.options.push_back({.key = std::string(kLocationOption), .value = blob_, .owner = "onnx"});
  return record;
}

}  // namespace fatctx::ort
