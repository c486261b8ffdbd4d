#include "runtime/facade/observed_calls.h"

#include "fatctx/model.h"
#include "runtime/device/device_text.h"
#include "runtime/facade/trace_lines.h"
#include "runtime/observe/observe.h"
#include "runtime/open/mapped_container.h"
#include "runtime/open/record_reader.h"
#include "runtime/open/registry.h"

namespace fatctx {
namespace {

template <typename T, typename... More>
Json gave(const Result<T>& result, const More&... more) {
  return result.ok() ? trace::gave(result.value(), more...) : trace::gave(result.error());
}

template <typename Work>
Result<Container> observed_open(const std::string& path, std::string_view way, const OpenOptions& options,
                                const Work& work) {
  Result<Container> opened = [&] {
    observe::Span span(ProfileEventKind::kOpen, path);
    Result<Container> result = work();
    if (result.ok()) span.succeeded(RecordReader::of(result.value())->header().committed_end);
    return result;
  }();
  if (observe::tracing()) {
    Json line = {{"call", "open"}, {"path", path}};
    if (!way.empty()) line.add("way", way);
    line.add("options", trace::to_json(options));
    line.add("gave", gave(opened));
    observe::trace_line(json_line(line));
  }
  return opened;
}

Json about(const Container& container, std::string_view call) {
  return {{"call", call}, {"path", RecordReader::path(container)}, {"toc_hash", trace::toc_hash(container)}};
}

}  // namespace

Result<Container> Container::open(Registry& registry, const std::string& path, const OpenOptions& options) {
  return observed_open(path, "", options, [&] { return open_unobserved(registry, path, options); });
}

Result<Container> Container::open_descriptor(int descriptor, const OpenOptions& options, const FileWindow& window) {
  return observed_open(Registry::descriptor_name(descriptor, window), "descriptor", options,
                       [&] { return open_descriptor_unobserved(descriptor, options, window); });
}

Result<Container> Container::open_memory(ByteView bytes, const OpenOptions& options,
                                         std::shared_ptr<const void> owner) {
  return observed_open("memory", "memory", options,
                       [&] { return open_memory_unobserved(bytes, options, std::move(owner)); });
}

Result<RecordView> Container::acquire(std::uint32_t record_id) const {
  Result<RecordView> acquired = [&] {
    observe::Span span(ProfileEventKind::kAcquire, origin_.path);
    if (span.on()) {
      if (const RecordInfo* record = mapped_->toc().find(record_id)) span.about(*record);
    }
    Result<RecordView> result = acquire_unobserved(record_id);
    if (result.ok()) span.succeeded(result.value().size_bytes());
    return result;
  }();
  if (observe::tracing()) {
    Json line = about(*this, "view");
    line.add("record", record_id);
    line.add("gave", gave(acquired, *this));
    observe::trace_line(json_line(line));
  }
  return acquired;
}

Result<Selection> Container::select(const Device& device, const SelectPolicy& policy) const {
  return observed_select(*this, candidates(), device, policy);
}

Result<Selection> observed_select(const Container& container, std::span<const Candidate> candidates,
                                  const Device& device, const SelectPolicy& policy) {
  Result<Selection> selected = [&] {
    observe::Span span(ProfileEventKind::kSelect, RecordReader::path(container));
    Result<Selection> result = select(candidates, device, policy);
    if (result.ok()) span.succeeded(0);
    return result;
  }();
  if (observe::tracing()) {
    Json line = about(container, "select");
    line.add("device", runtime::device_document(device));
    line.add("policy", trace::to_json(policy));
    if (Json states = trace::states_of(candidates); !states.members()->empty()) line.add("states", std::move(states));
    line.add("gave", gave(selected, container));
    observe::trace_line(json_line(line));
  }
  return selected;
}

}  // namespace fatctx
