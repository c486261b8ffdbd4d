// Tensors by name: views into a weight blob's view.
#include <algorithm>

#include <fmt/format.h>

#include "container/read/open.h"
#include "fatctx/container.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/tensor_places.h"

namespace fatctx {

struct TensorTable::Impl {
  std::shared_ptr<const MappedContainer> owner;
  const container::ParsedTensorTable* table;  // belongs to the owner
  RecordView blob;                            // has no bytes if `places` is used
  std::vector<ByteView> places;  // by index, for a blob that is a recipe; empty: tensors are in the blob's view
};

std::vector<std::uint64_t> WeightView::strides_bytes() const {
  const std::uint32_t bits = dtype_bits(info_.dtype);
  if (bits < 8) return {};
  std::vector<std::uint64_t> strides(info_.shape.size());
  std::uint64_t stride = bits / 8;
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::uint64_t>(info_.shape[i], 1);  // F33 checked the product, with zeros counted as one
  }
  return strides;
}

std::size_t TensorTable::size() const noexcept { return impl_->table->size(); }

TensorInfo TensorTable::at(std::size_t index) const& { return impl_->table->at(index); }

std::uint32_t TensorTable::weights_id() const noexcept { return impl_->blob.record_id(); }

WeightView TensorTable::view_at(std::size_t index) const {
  const TensorInfo info = impl_->table->at(index);
  if (!impl_->places.empty()) return {impl_, info, impl_->places[index]};
  return {impl_, info,
          impl_->blob.bytes().subspan(static_cast<std::size_t>(info.offset_in_blob),
                                      static_cast<std::size_t>(info.size_bytes))};
}

Result<WeightView> TensorTable::view(std::string_view name) const {
  if (const auto index = impl_->table->find(name)) return view_at(*index);
  // The table is sorted: the neighbour of the missing name is the most likely misspelling.
  std::size_t low = 0;
  for (std::size_t high = size(); low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (impl_->table->at(middle).name < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::string hint = size() == 0
                         ? "the blob has no tensors"
                         : fmt::format("the nearest is \"{}\"", impl_->table->at(std::min(low, size() - 1)).name);
  return Error{ErrorCode::kNotFound, fmt::format("no tensor is named \"{}\"; {}", name, hint)};
}

Result<TensorTable> Container::tensors(std::uint32_t weights_id) const {
  FATCTX_ASSIGN(const RecordInfo weights, record(weights_id));
  const container::Toc& toc = impl_->mapped->toc();
  const RecordInfo& own = impl_->mapped->known(weights_id);
  const container::RecordForm& form = toc.forms[toc.index_of(own)];
  if (own.type != RecordType::kWeightBlob || form.link == container::kNoRow) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: record {} \"{}\" has no tensor table; pack it with tensors to get views by name",
                             path(), weights.id, weights.name)};
  }
  const RecordInfo& of_table = toc.records[form.link];
  if (own.recipe && !impl_->copies() && container::check_supported(own, form).ok()) {
    auto table = impl_->mapped->tensor_table(of_table, weights.size_bytes, impl_->options.max_made_bytes);
    if (!table.ok()) return in_context(std::move(table).error(), path());
    FATCTX_ASSIGN(auto places, tensors_in_place(*this, own, *table.value()));
    if (places) {
      RecordView blob(attach_view(impl_->mapped, own, nullptr), weights_id, {});
      return TensorTable(std::make_shared<const TensorTable::Impl>(
          TensorTable::Impl{impl_->mapped, table.value(), std::move(blob), std::move(*places)}));
    }
  }
  FATCTX_ASSIGN(RecordView blob, acquire(weights_id));
  auto table = impl_->mapped->tensor_table(of_table, weights.size_bytes, impl_->options.max_made_bytes);
  if (!table.ok()) return in_context(std::move(table).error(), path());
  return TensorTable(
      std::make_shared<const TensorTable::Impl>(TensorTable::Impl{impl_->mapped, table.value(), std::move(blob), {}}));
}

}  // namespace fatctx
