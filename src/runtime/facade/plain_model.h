// The file behind a model that is not a container: a DLC or a raw binary.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/import_dlc.h"
#include "runtime/facade/model_impl.h"
#include "runtime/open/plain_file.h"
#include "runtime/view/plain_bytes.h"

namespace fatctx {

// An opened DLC or raw binary. Threads: const members from any number of threads.
// Virtual functions are those that every model calls: a build that opens containers only needs this header alone.
class PlainModel {
 public:
  virtual ~PlainModel() = default;
  // Recognises the format and chooses context binaries. Errors: those of Model::open for a file that is not a
  // container.
  [[nodiscard]] static Result<Model> open(PlainFile file, const ModelOptions& options);
  explicit PlainModel(PlainFile file) noexcept : file_(std::move(file)) {}
  PlainModel(const PlainModel&) = delete;
  PlainModel& operator=(const PlainModel&) = delete;

  // Returns the views of the model's parts, binaries first. All sessions share them, so copies are made only once.
  // Errors: changed; for copies those of the allocator, truncated, io, cancelled (by a StepWatch).
  [[nodiscard]] virtual Result<std::vector<RecordView>> views(const Model::Impl& model) const;
  // Errors: those of PlainFile::check_still.
  [[nodiscard]] virtual Status check_still() const;
  [[nodiscard]] std::vector<std::string> graphs(std::uint32_t record_id) const;
  [[nodiscard]] const PlainFile& file() const noexcept { return file_; }
  [[nodiscard]] const std::shared_ptr<const PlainBytes>& bytes() const noexcept { return bytes_; }
  // Returns the byte ranges of the parts in the file, binaries first.
  [[nodiscard]] const std::vector<ByteRange>& ranges() const noexcept { return ranges_; }
  // Returns the format of a raw binary if its bytes identify it; otherwise empty.
  [[nodiscard]] const std::string& raw_format() const noexcept { return raw_format_; }

 private:
  [[nodiscard]] static Result<Model> open_dlc(PlainFile file, const ModelOptions& options);
  [[nodiscard]] static Result<Model> open_raw(PlainFile file, std::string_view format, const ModelOptions& options);
  [[nodiscard]] Status map(const ModelOptions& options);
  void add_chosen(Model::Impl& model);
  [[nodiscard]] ModelPart part_of(std::size_t entry, RecordType type);

  PlainFile file_;
  DlcInfo info_;  // for a DLC
  std::vector<std::string>
      variants_;  // of each context binary of a DLC; empty if its target is the only one of its kind
  std::string raw_format_;
  std::vector<ByteRange> ranges_;
  std::shared_ptr<const PlainBytes> bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<RecordView> views_;  // made by the first session
};

}  // namespace fatctx
