#include "container/edit/stored_container.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "container/read/read_description.h"
#include "container/read/record_ranges.h"
#include "container/read/tensor_table.h"

namespace fatctx::container {
namespace {

// A source of a record's logical bytes, checked leaf by leaf.
class StoredRecord final : public ByteSource {
 public:
  StoredRecord(std::shared_ptr<const StoredContainer> container, const RecordInfo& record)
      : container_(std::move(container)), record_(record) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("{}: record {} \"{}\"", container_->path(), record_.id, record_.name);
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return record_.size_bytes; }
  [[nodiscard]] std::optional<Hash128> hash() const override { return record_.hash; }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::scoped_lock lock(mutex_);
    // kTrust is enough: the packer hashes the whole record when it writes it.
    if (!ranges_)
      ranges_.emplace(container_->file(), container_->toc(), container_->budget(), CheckedBytes::Again::kTrust);
    auto status = ranges_->read(record_, offset, out);
    return status.ok() ? status : Status(in_context(in_record(std::move(status).error(), record_), container_->path()));
  }
  void close() const noexcept override {
    const std::scoped_lock lock(mutex_);
    if (ranges_) ranges_->rest();
  }

 private:
  std::shared_ptr<const StoredContainer> container_;
  const RecordInfo& record_;  // of container_
  mutable std::mutex mutex_;
  mutable std::optional<RecordRanges> ranges_;
};

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

PackKey pack_key(const SelectionKey& key) {
  PackKey packed;
  packed.group = key.group;
  packed.unit = key.unit;
  packed.backend = key.backend;
  packed.qnn_soc = key.qnn_soc;
  packed.part = key.part;
  packed.arch = key.arch;
  packed.features = words_of(key.features);
  packed.vtcm_mb = key.vtcm_mb;
  packed.sdk = key.sdk;
  packed.variant = key.variant;
  packed.api = key.api;
  packed.blob = key.blob;
  packed.generic = key.generic;
  return packed;
}

}  // namespace

Result<std::shared_ptr<const StoredContainer>> StoredContainer::open(const std::string& path, std::uint64_t generation,
                                                                     std::uint64_t max_made_bytes) {
  const auto opened = [&]() -> Result<std::shared_ptr<const StoredContainer>> {
    FATCTX_ASSIGN(std::unique_ptr<mapping::OsFile> file, mapping::open_for_reading(path));
    FATCTX_ASSIGN(mapping::FileIdentity identity, file->identity());
    if (!identity.regular) return Error{ErrorCode::kNotRegularFile, "not a regular file"};
    FATCTX_ASSIGN(OpenedToc toc, read_growing(*file, identity, generation));
    FATCTX_TRY(check_rewritable(toc.header));
    FATCTX_ASSIGN(ContainerDescription description, read_whole_description(*file, toc.toc));
    return std::make_shared<const StoredContainer>(path, std::move(file), identity, std::move(toc),
                                                   std::move(description), max_made_bytes);
  }();
  return opened.ok() ? opened : in_context(opened.error(), path);
}

std::uint64_t StoredContainer::dead_bytes() const noexcept {
  return opened_.header.tail_bytes + opened_.toc.dead_bytes();
}

Result<std::vector<PackTensor>> StoredContainer::tensors_of(const RecordInfo& blob) const {
  const Toc& toc = opened_.toc;
  std::vector<PackTensor> tensors;
  const auto [first, last] = tables_.equal_range(blob.id);
  for (auto at = first; at != last; ++at) {
    const RecordInfo& record = *toc.find(at->second);
    if (!tensors.empty()) {
      return in_record(
          Error{ErrorCode::kUnsupported, fmt::format("record \"{}\" has two tables of tensors", blob.name)}, record);
    }
    FATCTX_ASSIGN(const MetadataBytes read, read_metadata_record(*file_, toc, record, budget_));
    auto table = parse_tensor_table(read.bytes, blob.size_bytes);
    if (!table.ok()) return in_record(std::move(table).error(), record);
    tensors.reserve(table.value().size());
    for (std::size_t i = 0; i < table.value().size(); ++i) {
      const TensorInfo info = table.value().at(i);
      tensors.push_back({.name = std::string(info.name),
                         .dtype = info.dtype,
                         .shape = {info.shape.begin(), info.shape.end()},
                         .offset_in_blob = info.offset_in_blob,
                         .size_bytes = info.size_bytes,
                         .alias = info.alias});
    }
  }
  return tensors;
}

Result<PackRecord> StoredContainer::as_packed(const RecordInfo& record) const {
  const Toc& toc = opened_.toc;
  const RecordForm& form = toc.forms[toc.index_of(record)];
  if (!record.supported) {
    return in_record(Error{ErrorCode::kUnsupported,
                           "this version lists it but cannot read it; remove it, or update fatctx to keep it"},
                     record);
  }
  PackRecord packed;
  packed.type = record.type;
  packed.name = record.name;
  packed.key = pack_key(record.key);
  packed.source.source = std::make_shared<const StoredRecord>(shared_from_this(), record);
  if (!record.recipe) packed.codec = record.codec;
  for (const std::uint32_t weights : record.weights) packed.weights.emplace_back(toc.find(weights)->name);
  if (record.type == RecordType::kWeightBlob) {
    FATCTX_ASSIGN(packed.tensors, tensors_of(record));
  }
  packed.own_extent = record.type == RecordType::kOpaque && record.stored_bytes <= kLeafSize &&
                      record.slice_count != 0 &&
                      toc.segments[toc.slices[form.first_slice].segment].kind == SegmentKind::kPayload;
  if (const RecordDescription* const said = description_.find(record.id)) packed.description = *said;
  return packed;
}

Result<std::vector<PackRecord>> StoredContainer::records(const std::vector<bool>& kept) const {
  const Toc& toc = opened_.toc;
  std::vector<PackRecord> records;
  const WorkBudget once(toc, max_made_bytes_);
  for (std::size_t i = 0; i < toc.records.size(); ++i) {
    const RecordInfo& record = toc.records[i];
    if (kept[i]) {
      auto allowed = once.make(record.size_bytes);
      if (!allowed.ok()) return in_context(in_record(std::move(allowed).error(), record), path_);
    }
    if (!kept[i] || record.type == RecordType::kDescription || record.type == RecordType::kTensorTable) continue;
    auto packed = as_packed(record);
    if (!packed.ok()) return in_context(std::move(packed).error(), path_);
    records.push_back(std::move(packed).value());
  }
  return records;
}

}  // namespace fatctx::container
