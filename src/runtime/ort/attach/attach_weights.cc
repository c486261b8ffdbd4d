// Finds all errors of the container before it changes the session options. Options with only half of the weights would
// make sessions that fail later or read freed memory.
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "fatctx/onnxruntime.h"
#include "runtime/ort/attach/attach_blobs.h"
#include "runtime/ort/attach/attach_model.h"
#include "runtime/ort/attach/attach_runtime.h"

namespace fatctx {

struct AttachedWeights::Impl {
  AttachReport report;
  std::vector<RecordView> blobs;    // used by kFileBuffers
  std::vector<TensorTable> tables;  // used by kInitializers: own the bytes of the values
  std::vector<ort::Value> values;
};

namespace {

using ort::AttachRuntime;
using ort::ChosenBlob;

bool aligned(const WeightView& view) {
  // The address is used only as a number.
  return reinterpret_cast<std::uintptr_t>(view.bytes().data()) % ort::alignment_of(view.dtype()) == 0;
}

Error copied(const Container& container, const ChosenBlob& blob, const WeightView& view, std::string_view remedy) {
  return Error{
      ErrorCode::kCopyNotAllowed,
      fmt::format("{}: record \"{}\": tensor \"{}\", {} bytes of {}, starts at byte {}, not a multiple of {}; {}",
                  container.path(), blob.record.name, view.name(), view.bytes().size(), dtype_name(view.dtype()),
                  view.offset_in_blob(), ort::alignment_of(view.dtype()), remedy)};
}

Result<AttachRoute> settle_route(const AttachRuntime& runtime, AttachRoute asked) {
  if (asked == AttachRoute::kAuto) {
    return runtime.borrows() ? AttachRoute::kFileBuffers : AttachRoute::kInitializers;
  }
  if (asked == AttachRoute::kFileBuffers && !runtime.borrows()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("ONNX Runtime {} copies external data from memory for every session; the route "
                             "file_buffers needs 1.31 or newer, the route initializers does not",
                             runtime.version())};
  }
  return asked;
}

// Counts the tensors that every session would copy. If copies are not allowed, the first one is an error.
Status count_copies(const Container& container, const ChosenBlob& blob, bool allowed, AttachedBlob& report) {
  for (std::size_t i = 0; blob.table && i < blob.table->size(); ++i) {
    const WeightView view = blob.table->view_at(i);
    if (aligned(view) || view.bytes().empty()) continue;
    if (!allowed) {
      return copied(container, blob, view,
                    "every session would copy it; pack the model with its weights inside, or allow copies");
    }
    ++report.copied_tensors;
    report.copied_bytes += view.bytes().size();
  }
  return Done{};
}

// Adds advice: single tensors may be used in place even if their blob as a whole cannot be.
Error without_whole_view(Error error) {
  if (error.code == ErrorCode::kCopyNotAllowed) error.message += "; the route initializers takes tensors one by one";
  return error;
}

AttachedBlob report_of(const ChosenBlob& blob) {
  AttachedBlob report;
  report.record_id = blob.record.id;
  report.record = blob.record.name;
  report.location = blob.location;
  report.tensor_count = blob.table ? blob.table->size() : 0;
  return report;
}

Status attach_files(const AttachRuntime& runtime, OrtSessionOptions* options, const Container& container,
                    const std::vector<ChosenBlob>& blobs, bool allow_copies, AttachedWeights::Impl& impl) {
  std::vector<ort::FileBuffer> files;
  for (const ChosenBlob& blob : blobs) {
    auto view = container.acquire(blob.record.id);
    if (!view.ok()) return without_whole_view(std::move(view).error());
    AttachedBlob report = report_of(blob);
    report.access_path = view.value().access_path();
    report.size_bytes = view.value().size_bytes();
    report.process_bytes = view.value().copied_bytes();
    FATCTX_TRY(count_copies(container, blob, allow_copies, report));
    files.push_back({blob.location, view.value().bytes()});
    impl.blobs.push_back(std::move(view).value());
    impl.report.blobs.push_back(std::move(report));
  }
  return runtime.add_files(options, files);
}

Status check_table(const Container& container, const ChosenBlob& blob) {
  const std::string& path = container.path();
  if (!blob.table) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: record \"{}\" has no tensor table, and the route initializers goes by names; pack it "
                             "with --weights MODEL.onnx",
                             path, blob.record.name)};
  }
  if (blob.untyped.empty()) return Done{};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{}: record \"{}\": tensor \"{}\" has a type that tensor tables do not have; use the route "
                           "file_buffers",
                           path, blob.record.name, blob.untyped.front())};
}

Status attach_initializers(const AttachRuntime& runtime, OrtSessionOptions* options, const Container& container,
                           const std::vector<ChosenBlob>& blobs, bool keep_level, AttachedWeights::Impl& impl) {
  std::map<std::string, std::string_view> records;  // by the name of a tensor
  std::vector<std::string> names;
  for (const ChosenBlob& blob : blobs) {
    FATCTX_TRY(check_table(container, blob));
    AttachedBlob report = report_of(blob);
    if (const auto path = container.access_path_of(blob.record.id); path.ok()) report.access_path = path.value();
    for (std::size_t i = 0; i < blob.table->size(); ++i) {
      const WeightView view = blob.table->view_at(i);
      const auto [first, inserted] = records.emplace(view.name(), blob.record.name);
      if (!inserted) {
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("{}: records \"{}\" and \"{}\" both have a tensor \"{}\"; name the one that is meant in "
                        "`files`",
                        container.path(), first->second, blob.record.name, view.name())};
      }
      if (!aligned(view) && !view.bytes().empty()) {
        return copied(container, blob, view,
                      "kernels must not read it there; use the route file_buffers and allow copies");
      }
      report.size_bytes += view.bytes().size();
      FATCTX_ASSIGN(ort::Value value, runtime.tensor_over(view));
      names.emplace_back(view.name());
      impl.values.push_back(std::move(value));
    }
    impl.tables.push_back(*blob.table);
    impl.report.blobs.push_back(std::move(report));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    FATCTX_TRY(runtime.add_initializer(options, names[i], impl.values[i].get()));
  }
  return keep_level ? Status(Done{}) : runtime.disable_optimising(options);
}

}  // namespace

std::string_view attach_route_name(AttachRoute route) noexcept {
  switch (route) {
    case AttachRoute::kAuto:
      return "auto";
    case AttachRoute::kFileBuffers:
      return "file_buffers";
    case AttachRoute::kInitializers:
      return "initializers";
  }
  return "unknown";
}

const AttachReport& AttachedWeights::report() const& noexcept { return impl_->report; }

Result<AttachedWeights> attach_weights(const OrtApiBase* base, OrtSessionOptions* options, const Container& container,
                                       const AttachOptions& attach) {
  FATCTX_ASSIGN(const AttachRuntime runtime, AttachRuntime::of(base));
  if (options == nullptr) return Error{ErrorCode::kInvalidArgument, "attach_weights: the session options are null"};
  FATCTX_ASSIGN(const ort::Environment environment, runtime.environment());
  FATCTX_ASSIGN(const AttachRoute route, settle_route(runtime, attach.route));
  FATCTX_ASSIGN(const std::vector<ChosenBlob> blobs, ort::choose_blobs(container, attach.files, route));
  auto impl = std::make_shared<AttachedWeights::Impl>();
  if (!attach.model.empty()) {
    FATCTX_ASSIGN(const auto tensors, ort::external_tensors(attach.model));
    FATCTX_TRY(ort::compare_with_model(container, blobs, tensors, route));
    impl->report.model_compared = !tensors.empty();
  }
  impl->report.route = route;
  impl->report.runtime_version = runtime.version();
  if (route == AttachRoute::kFileBuffers) {
    FATCTX_TRY(attach_files(runtime, options, container, blobs, attach.allow_copies, *impl));
  } else {
    FATCTX_TRY(attach_initializers(runtime, options, container, blobs, attach.keep_optimisation_level, *impl));
  }
  if (attach.disable_prepacking) FATCTX_TRY(runtime.disable_prepacking(options));
  for (const AttachedBlob& blob : impl->report.blobs) {
    impl->report.size_bytes += blob.size_bytes;
    impl->report.tensor_count += blob.tensor_count;
  }
  return AttachedWeights(std::move(impl));
}

}  // namespace fatctx
