// The object behind each handle, and the four steps that entry points share: find, make, close, view.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capi/boundary.h"
#include "capi/handle_table.h"
#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/fetch_plan.h"
#include "fatctx/file_mapping.h"
#include "fatctx/load.h"
#include "fatctx/memory.h"
#include "fatctx/model.h"
#include "fatctx/packer.h"
#include "fatctx/profile.h"
#include "fatctx/range_access.h"
#include "fatctx/rewrite.h"
#include "fatctx/soc_table.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::capi {

struct ContainerObject {
  explicit ContainerObject(fatctx::Container opened);
  ContainerObject(const ContainerObject&) = delete;
  ContainerObject& operator=(const ContainerObject&) = delete;
  const fatctx::Container container;

  // Texts and arrays of the C report borrow from this.
  struct Report {
    explicit Report(OpenReport made);
    const OpenReport report;
    std::vector<fatctx_text> degraded;
    std::vector<fatctx_generation> earlier;
  };
  // Returns the report, which is made at the first call. Errors: those of Container::report.
  [[nodiscard]] Result<const Report*> report() const;

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Report> report_;
};

struct ViewObject {
  explicit ViewObject(RecordView record) : view(std::move(record)) {}
  explicit ViewObject(WeightView tensor) : strides(tensor.strides_bytes()), view(std::move(tensor)) {}
  explicit ViewObject(const ThinDlcView& made) : view(made.as_view()), thin_dlc(made) {}
  [[nodiscard]] ByteView bytes() const {
    return std::visit([](const auto& alternative) { return alternative.bytes(); }, view);
  }
  const std::vector<std::uint64_t> strides;
  const std::variant<RecordView, WeightView> view;
  const std::optional<ThinDlcView> thin_dlc = {};  // if that is what `view` shows
};

struct PackerObject {
  explicit PackerObject(PackOptions options) : packer(std::move(options)) {}
  std::mutex busy;  // never waited for
  Packer packer;
  PackReport report;  // of the last publish
};

struct AppenderObject {
  explicit AppenderObject(Appender opened) : appender(std::move(opened)) {}
  std::mutex busy;  // never waited for
  Appender appender;
  AppendReport report;  // of the commit
};

struct FetchPlanObject {
  explicit FetchPlanObject(FetchPlan begun) : plan(std::move(begun)) {}
  std::mutex busy;  // never waited for
  FetchPlan plan;
  bool ended = false;  // published or discarded
};

// A report: JSON, or what it is made from when somebody asks for its text. A rewrite has replaced a file by the time it
// reports, so nothing that could fail is done for the text then.
struct ReportObject {
  ReportObject() = default;
  explicit ReportObject(std::string json) : contents(std::move(json)) {}
  explicit ReportObject(Profile profile) : contents(std::move(profile)) {}
  // Errors: unsupported, invalid_argument.
  [[nodiscard]] Result<std::string> text(std::uint32_t format) const;
  std::variant<std::string, Profile, RewriteReport> contents;
};

class PrefetchObject;  // src/capi/memory.cc

// The object of a handle type and its kind.
template <typename ObjectType, Kind kKindOfHandle>
struct BehindOf {
  using Object = ObjectType;
  static constexpr Kind kKind = kKindOfHandle;
};
template <typename Handle>
struct Behind;
template <>
struct Behind<fatctx_device> : BehindOf<const Detection, Kind::kDevice> {};
template <>
struct Behind<fatctx_container> : BehindOf<const ContainerObject, Kind::kContainer> {};
template <>
struct Behind<fatctx_model> : BehindOf<const Model, Kind::kModel> {};
template <>
struct Behind<fatctx_session> : BehindOf<const Session, Kind::kSession> {};
template <>
struct Behind<fatctx_tensor_table> : BehindOf<const TensorTable, Kind::kTensorTable> {};
template <>
struct Behind<fatctx_view> : BehindOf<const ViewObject, Kind::kView> {};
template <>
struct Behind<fatctx_packer> : BehindOf<PackerObject, Kind::kPacker> {};
template <>
struct Behind<fatctx_mapping_provider> : BehindOf<MappingProvider, Kind::kMappingProvider> {};
template <>
struct Behind<fatctx_view_allocator> : BehindOf<ViewAllocator, Kind::kViewAllocator> {};
template <>
struct Behind<fatctx_range_access> : BehindOf<const RangeAccess, Kind::kRangeAccess> {};
template <>
struct Behind<fatctx_prefetch> : BehindOf<PrefetchObject, Kind::kPrefetch> {};
template <>
struct Behind<fatctx_record_lock> : BehindOf<const RecordLock, Kind::kRecordLock> {};
template <>
struct Behind<fatctx_appender> : BehindOf<AppenderObject, Kind::kAppender> {};
template <>
struct Behind<fatctx_fetch_plan> : BehindOf<FetchPlanObject, Kind::kFetchPlan> {};
template <>
struct Behind<fatctx_soc_table> : BehindOf<const SocTable, Kind::kSocTable> {};
template <>
struct Behind<fatctx_load_signal> : BehindOf<LoadSignal, Kind::kLoadSignal> {};
template <>
struct Behind<fatctx_load_list> : BehindOf<LoadList, Kind::kLoadList> {};
template <>
struct Behind<fatctx_report> : BehindOf<const ReportObject, Kind::kReport> {};

// A share in the object: a close on another thread does not take it away during the call.
template <typename Handle>
[[nodiscard]] Result<std::shared_ptr<typename Behind<Handle>::Object>> find(Handle handle) {
  FATCTX_ASSIGN(const std::shared_ptr<void> object, HandleTable::process().find(Behind<Handle>::kKind, handle.id));
  return std::static_pointer_cast<typename Behind<Handle>::Object>(object);
}

// Makes a handle for what `make` returns: a Result of something the object can be constructed from, or of a share in
// the object.
template <typename Handle, typename Make>
std::int32_t make_handle(Handle* out, std::string_view name, fatctx_error* error, const Make& make) noexcept {
  if (out != nullptr) *out = Handle{};
  return guarded(error, [&]() -> Status {
    using Object = std::remove_const_t<typename Behind<Handle>::Object>;
    FATCTX_TRY(not_null(out, name));
    FATCTX_ASSIGN(auto made, make());
    std::shared_ptr<Object> object;
    if constexpr (std::is_convertible_v<decltype(made), std::shared_ptr<Object>>) {
      object = std::move(made);
    } else {
      object = std::make_shared<Object>(std::move(made));
    }
    Handle handle = {};
    if constexpr (std::is_same_v<Handle, fatctx_view>) {
      handle.data = object->bytes().data();
      handle.size = object->bytes().size();
    }
    FATCTX_ASSIGN(handle.id, HandleTable::process().add(Behind<Handle>::kKind, std::move(object)));
    *out = handle;
    return Done{};
  });
}

// Makes a handle for an object that `work` fills, or none if `out` is null. Whatever can fail while making it comes
// first: when the work is done, a file is written, and the call has succeeded.
template <typename Handle, typename Work>
std::int32_t make_handle_before(Handle* out, fatctx_error* error, const Work& work) noexcept {
  if (out != nullptr) *out = Handle{};
  return guarded(error, [&]() -> Status {
    const auto object = std::make_shared<std::remove_const_t<typename Behind<Handle>::Object>>();
    if (out == nullptr) return work(*object);
    FATCTX_ASSIGN(ReservedHandle reserved, ReservedHandle::of(HandleTable::process(), Behind<Handle>::kKind));
    FATCTX_TRY(work(*object));
    out->id = reserved.lead_to(object);
    return Done{};
  });
}

template <typename Handle>
std::int32_t close_handle(Handle handle, fatctx_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    if (handle.id == 0) return Done{};
    // The share dies here, outside of the table's lock: it may undo a mapping or call a caller's release.
    FATCTX_ASSIGN(const std::shared_ptr<void> object, HandleTable::process().take(Behind<Handle>::kKind, handle.id));
    return Done{};
  });
}

// A body that needs the object of one handle.
template <typename Handle, typename Body>
std::int32_t with_object(Handle handle, fatctx_error* error, const Body& body) noexcept {
  return guarded(error, [&]() -> Status {
    FATCTX_ASSIGN(const auto object, find(handle));
    return body(*object);
  });
}

[[nodiscard]] Error busy_error(std::string_view what);
// The object of a packer, an appender or a plan (`what`), for one call at a time.
template <typename Handle, typename Body>
std::int32_t with_writer(Handle handle, std::string_view what, fatctx_error* error, const Body& body) noexcept {
  return guarded(error, [&]() -> Status {
    FATCTX_ASSIGN(const auto object, find(handle));
    const std::unique_lock lock(object->busy, std::try_to_lock);
    if (!lock) return busy_error(what);
    return body(*object);
  });
}
template <typename Body>
std::int32_t with_packer(fatctx_packer packer, fatctx_error* error, const Body& body) noexcept {
  return with_writer(packer, "packer", error, body);
}
template <typename Body>
std::int32_t with_appender(fatctx_appender appender, fatctx_error* error, const Body& body) noexcept {
  return with_writer(appender, "appender", error, body);
}

// A device that was not detected.
[[nodiscard]] Detection detection_of(Device device);

// An index of the caller, checked; `what` names the things that are counted. Errors: not_found.
[[nodiscard]] Result<std::size_t> index_in(std::uint64_t index, std::size_t count, std::string_view what);

// Lifetime: the item is that of what `items` stands for.
template <typename Items>
[[nodiscard]] auto item_at(const Items& items, std::uint64_t index, std::string_view what)
    -> Result<decltype(items.data())> {
  FATCTX_ASSIGN(const std::size_t at, index_in(index, items.size(), what));
  return items.data() + at;
}

// "a,b" as words; "" as none. The caller reports empty words and blanks.
[[nodiscard]] std::vector<std::string> words_in(const char* list);

// Calls back after every piece; Cancelled leaves it if the caller says so. Null gives no progress.
[[nodiscard]] Progress progress_in(fatctx_progress callback, void* user);

// Hands each finding to a callback, which may be null.
void tell_findings(const std::vector<VerifyFinding>& findings, fatctx_finding callback, void* user);

// Which kind of text an explain function writes. Errors: invalid_argument.
[[nodiscard]] Result<bool> wants_json(std::uint32_t format);

// Options of C as those of C++; null gives the defaults.
// Refuses options that this build of the library lacks. Errors: unsupported.
[[nodiscard]] Status check_in_build(const fatctx_open_options& given);
// A compile hook of C as one of C++. Errors: unsupported (in a build without them).
[[nodiscard]] Result<PrepareHook> prepare_hook_of(fatctx_prepare_hook prepare, void* user);
[[nodiscard]] Result<OpenOptions> open_options_in(const fatctx_open_options* options);
[[nodiscard]] Result<ModelOptions> model_options_in(const fatctx_model_options* options);
[[nodiscard]] Result<PackRecord> pack_record_in(const fatctx_pack_record* record);

}  // namespace fatctx::capi
