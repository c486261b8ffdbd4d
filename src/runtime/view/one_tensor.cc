// One tensor of a weight blob by its name: reads and checks what belongs to it, and not the blob and its table.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "container/read/open.h"
#include "container/read/tensor_lookup.h"
#include "fatctx/container.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {
namespace {

struct OneTensor {
  container::FoundTensor found;
  std::shared_ptr<const void> view;  // keeps the mapping
};

// Returns where the record is in the file, if it is there in one piece and as it is.
std::optional<ByteRange> whole_range(const container::Toc& toc, const RecordInfo& record) {
  const bool plain = record.slice_count == 1 && !record.recipe && record.codec == Codec::kNone && record.supported;
  if (!plain) return std::nullopt;
  return toc.in_file(toc.slices[toc.forms[toc.index_of(record)].first_slice]);
}

}  // namespace

Result<WeightView> Container::tensor(std::uint32_t weights_id, std::string_view name) const {
  const std::shared_ptr<const MappedContainer>& mapped = impl_->mapped;
  const container::Toc& toc = mapped->toc();
  FATCTX_ASSIGN(const RecordInfo* const weights, mapped->find(weights_id));
  const std::uint32_t link = weights == nullptr ? container::kNoRow : toc.forms[toc.index_of(*weights)].link;
  const bool described = weights != nullptr && weights->type == RecordType::kWeightBlob && link != container::kNoRow;
  const bool shown = impl_->options.verify != VerifyPolicy::kPrivateCopy && !impl_->copies();
  // XXH3 of pages proves nothing to those who trust a key: the table is then compared as a whole.
  const std::optional<ByteRange> blob =
      described && shown && !toc.authenticated ? whole_range(toc, *weights) : std::nullopt;
  const std::optional<ByteRange> table = blob ? whole_range(toc, toc.records[link]) : std::nullopt;
  if (!table) {
    FATCTX_ASSIGN(const TensorTable all, tensors(weights_id));
    return all.view(name);
  }
  FATCTX_TRY(mapped->recheck());
  const RecordInfo& of_table = toc.records[link];
  const container::Reference& reference = toc.references[toc.forms[link].link];
  auto found =
      container::find_tensor(mapped->file(), *table, weights->size_bytes, reference.table_hash, toc.newer_fields, name);
  if (!found.ok()) {
    Error error = container::in_record(std::move(found).error(), of_table);
    if (error.where.file_offset) error.where.file_offset = table->offset + *error.where.file_offset;
    return in_context(std::move(error), path());
  }
  if (!found.value()) {  // the whole table knows the nearest name
    FATCTX_ASSIGN(const TensorTable all, tensors(weights_id));
    return all.view(name);
  }
  auto one = std::make_shared<OneTensor>(OneTensor{std::move(*found.value()), nullptr});
  const ByteRange in_file{blob->offset + one->found.offset_in_blob, one->found.size_bytes};
  if (impl_->options.verify == VerifyPolicy::kRecordOnAcquire) {
    auto verified = mapped->verify_part(*weights, in_file);
    if (!verified.ok()) return in_context(container::in_record(std::move(verified).error(), *weights), path());
  }
  one->view = attach_view(mapped, *weights, nullptr);
  const ByteView bytes =
      mapped->mapped().subspan(static_cast<std::size_t>(in_file.offset), static_cast<std::size_t>(in_file.size));
  const TensorInfo info = one->found.info();
  return WeightView(std::move(one), info, bytes);
}

}  // namespace fatctx
