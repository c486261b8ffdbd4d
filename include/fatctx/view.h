// Read-only views of the bytes of records and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx {

// The way in which a view was made.
enum class AccessPath : std::uint8_t {
  kDirect,  // a pointer into the mapping
  kCopied,  // the whole record, read once and verified, shared by all sessions of the process
  // The pieces of a record that is stored in several parts of the file, mapped side by side without a copy. A
  // record has one such address range per process; all sessions share it.
  kStitched,
  // Whole pages of the record that coincide with whole pages of the file are mapped. The rest is built in sealed
  // memory, once per mapping and process, within OpenOptions::max_copied_bytes. With OpenOptions::cache_folder it is
  // built in a file there, once for all processes. One range of addresses, shared by all sessions.
  kComposed,
};
[[nodiscard]] std::string_view access_path_name(AccessPath path) noexcept;

// A read-only view of the bytes of one record, which shares ownership of their mapping.
//
// Ownership:  copyable; every copy keeps the mapping alive. Container, Model, Session and views may be destroyed in
//             any order and on any thread.
// Threads:    const members from any number of threads.
// Lifetime:   bytes() borrows from *this view*; keep the view as long as the span (or the device) uses it.
// The file:   must not be truncated while mapped (the system answers with SIGBUS); replacing it by rename is safe.
class RecordView {
 public:
  RecordView(std::shared_ptr<const void> owner, std::uint32_t record_id, ByteView bytes,
             AccessPath path = AccessPath::kDirect, std::uint64_t copied_bytes = 0,
             std::uint64_t cached_bytes = 0) noexcept
      : owner_(std::move(owner)),
        record_id_(record_id),
        bytes_(bytes),
        path_(path),
        copied_bytes_(copied_bytes),
        cached_bytes_(cached_bytes) {}
  [[nodiscard]] ByteView bytes() const& noexcept { return bytes_; }
  ByteView bytes() && = delete;  // a span out of a temporary view would dangle
  [[nodiscard]] const std::byte* data() const& noexcept { return bytes_.data(); }
  const std::byte* data() && = delete;
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::uint32_t record_id() const noexcept { return record_id_; }
  [[nodiscard]] AccessPath access_path() const noexcept { return path_; }
  // Returns the size of the process memory that the view shows instead of pages of the file; other views of the record
  // share them. All of a copied view, the built part of a composed one (in whole pages), otherwise 0.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  // Returns how many bytes, in whole pages, come from a file in OpenOptions::cache_folder and not from the container.
  [[nodiscard]] std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  std::uint32_t record_id_;
  ByteView bytes_;
  AccessPath path_;
  std::uint64_t copied_bytes_;
  std::uint64_t cached_bytes_;
};

// A view of one tensor of a weight blob: name, element type, shape, and its bytes in the mapping.
// Ownership, threads, lifetime and the rule about the file are those of RecordView.
class WeightView {
 public:
  WeightView(std::shared_ptr<const void> keep_alive, const TensorInfo& info, ByteView bytes) noexcept
      : keep_alive_(std::move(keep_alive)), info_(info), bytes_(bytes) {}
  [[nodiscard]] std::string_view name() const& noexcept { return info_.name; }
  [[nodiscard]] DType dtype() const noexcept { return info_.dtype; }
  [[nodiscard]] std::span<const std::uint64_t> shape() const& noexcept { return info_.shape; }
  // Returns the bytes from one element to the next in each dimension, row-major. Empty for element types below one
  // byte.
  [[nodiscard]] std::vector<std::uint64_t> strides_bytes() const;
  [[nodiscard]] ByteView bytes() const& noexcept { return bytes_; }
  ByteView bytes() && = delete;
  [[nodiscard]] std::uint64_t offset_in_blob() const noexcept { return info_.offset_in_blob; }
  // Returns true if the tensor shares bytes with another one on purpose.
  [[nodiscard]] bool alias() const noexcept { return info_.alias; }

 private:
  std::shared_ptr<const void> keep_alive_;
  TensorInfo info_;  // its strings and shape borrow from keep_alive_
  ByteView bytes_;
};

// A table of the tensors of one weight blob, parsed and checked on request.
// Ownership: copyable, shares the parsed table. Threads: const members from any number of threads.
class TensorTable {
 public:
  struct Impl;
  explicit TensorTable(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] std::size_t size() const noexcept;
  // Returns a tensor by index. Lifetime: borrows from this table. Requires: index < size(). Order: by name, bytewise.
  [[nodiscard]] TensorInfo at(std::size_t index) const&;
  // Returns the tensor of this name. Errors: not_found, naming the nearest name.
  [[nodiscard]] Result<WeightView> view(std::string_view name) const;
  [[nodiscard]] WeightView view_at(std::size_t index) const;
  [[nodiscard]] std::uint32_t weights_id() const noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace fatctx
