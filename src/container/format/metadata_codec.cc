#include "container/format/metadata_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <metadata.pb.h>

#include <algorithm>

#include <fmt/format.h>

#include "container/format/disk_format.h"
#include "container/format/names.h"

namespace fatctx::container {
namespace {

constexpr int kMaxNesting = 32;

template <typename Messages>
void encode_options(const std::vector<DescribedOption>& options, Messages* out) {
  for (const DescribedOption& option : options) {
    auto* message = out->Add();
    message->set_key(option.key);
    message->set_value(path_valued(option.key) ? std::string(kGivenAtRunTime) : option.value);
    message->set_owner(option.owner);
  }
}

template <typename Messages>
void encode_tensors(const std::vector<DescribedTensor>& tensors, Messages* out) {
  for (const DescribedTensor& tensor : tensors) {
    auto* message = out->Add();
    message->set_name(tensor.name);
    message->set_dtype(tensor.dtype);
    for (const std::int64_t size : tensor.shape) message->add_shape(size);
    for (const DescribedScale& scale : tensor.scales) {
      auto* out_scale = message->add_scales();
      out_scale->set_scale(scale.scale);
      out_scale->set_offset(scale.offset);
    }
    message->set_axis(tensor.axis);
  }
}

template <typename Messages>
Result<std::vector<DescribedOption>> decode_options(const Messages& messages) {
  std::vector<DescribedOption> options;
  options.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& message : messages) {
    if (path_valued(message.key()) && message.value() != kGivenAtRunTime) {
      return Error{
          ErrorCode::kMalformed, fmt::format("the description stores a value for {}", message.key()), {.rule = "F34"}};
    }
    options.push_back({message.key(), message.value(), message.owner()});
  }
  return options;
}

template <typename Messages>
std::vector<DescribedTensor> decode_tensors(const Messages& messages) {
  std::vector<DescribedTensor> tensors;
  tensors.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& message : messages) {
    tensors.push_back({message.name(), message.dtype(), {message.shape().begin(), message.shape().end()}});
    for (const auto& scale : message.scales()) tensors.back().scales.push_back({scale.scale(), scale.offset()});
    tensors.back().axis = message.axis();
  }
  return tensors;
}

Result<RecordDescription> decode_record(const metadata::Record& message) {
  RecordDescription record;
  record.record_id = message.record_id();
  record.producer = message.producer();
  record.format = message.format();
  for (const auto& graph : message.graphs()) {
    record.graphs.push_back({.name = graph.name(),
                             .inputs = decode_tensors(graph.inputs()),
                             .outputs = decode_tensors(graph.outputs()),
                             .spill_fill_bytes = graph.spill_fill_bytes()});
    FATCTX_ASSIGN(record.graphs.back().options, decode_options(graph.options()));
  }
  FATCTX_ASSIGN(record.options, decode_options(message.options()));
  for (const auto& note : message.notes()) {
    record.notes.push_back({note.device(), note.tool(), note.metric(), note.value(), note.date()});
  }
  return record;
}

bool texts_are_utf8(const std::vector<DescribedTensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const DescribedTensor& tensor) {
    return is_valid_utf8(tensor.name) && is_valid_utf8(tensor.dtype);
  });
}

bool texts_are_utf8(const std::vector<DescribedOption>& options) {
  return std::all_of(options.begin(), options.end(), [](const DescribedOption& option) {
    return is_valid_utf8(option.key) && is_valid_utf8(option.value) && is_valid_utf8(option.owner);
  });
}

bool texts_are_utf8(const std::vector<EvidenceNote>& notes) {
  return std::all_of(notes.begin(), notes.end(), [](const EvidenceNote& note) {
    return is_valid_utf8(note.device) && is_valid_utf8(note.tool) && is_valid_utf8(note.metric) &&
           is_valid_utf8(note.value) && is_valid_utf8(note.date);
  });
}

bool texts_are_utf8(const RecordDescription& record) {
  return is_valid_utf8(record.producer) && is_valid_utf8(record.format) && texts_are_utf8(record.options) &&
         texts_are_utf8(record.notes) &&
         std::all_of(record.graphs.begin(), record.graphs.end(), [](const DescribedGraph& graph) {
           return is_valid_utf8(graph.name) && texts_are_utf8(graph.inputs) && texts_are_utf8(graph.outputs) &&
                  texts_are_utf8(graph.options);
         });
}

Status check_texts(const ContainerDescription& description, ErrorCode code) {
  const auto refuse = [code](std::string_view what) {
    return Error{code, fmt::format("a text of the description of {} is not well-formed UTF-8", what), {.rule = "F32"}};
  };
  if (!is_valid_utf8(description.name) || !is_valid_utf8(description.writer) || !texts_are_utf8(description.options)) {
    return refuse("the container");
  }
  for (const RecordDescription& record : description.records) {
    if (!texts_are_utf8(record)) return refuse(fmt::format("record {}", record.record_id));
  }
  return Done{};
}

}  // namespace

bool path_valued(std::string_view key) noexcept {
  const std::string_view last = key.substr(key.rfind('.') + 1);  // npos + 1 == 0: the whole key
  return last.ends_with("_path") || last.ends_with("_dir");
}

Result<std::vector<std::byte>> encode_description(const ContainerDescription& description) {
  FATCTX_TRY(check_texts(description, ErrorCode::kInvalidArgument));
  metadata::Container message;
  message.set_name(description.name);
  message.set_writer(description.writer);
  encode_options(description.options, message.mutable_options());
  for (const RecordDescription& record : description.records) {
    auto* out = message.add_records();
    out->set_record_id(record.record_id);
    out->set_producer(record.producer);
    out->set_format(record.format);
    for (const DescribedGraph& graph : record.graphs) {
      auto* out_graph = out->add_graphs();
      out_graph->set_name(graph.name);
      encode_tensors(graph.inputs, out_graph->mutable_inputs());
      encode_tensors(graph.outputs, out_graph->mutable_outputs());
      encode_options(graph.options, out_graph->mutable_options());
      out_graph->set_spill_fill_bytes(graph.spill_fill_bytes);
    }
    encode_options(record.options, out->mutable_options());
    for (const EvidenceNote& note : record.notes) {
      auto* out_note = out->add_notes();
      out_note->set_device(note.device);
      out_note->set_tool(note.tool);
      out_note->set_metric(note.metric);
      out_note->set_value(note.value);
      out_note->set_date(note.date);
    }
  }
  const std::size_t size = message.ByteSizeLong();
  if (size > kMaxDescriptionSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the description takes {} bytes, at most {} are allowed: shorten options or graph lists",
                             size, kMaxDescriptionSize),
                 {.rule = "F32"}};
  }
  std::vector<std::byte> bytes(size);
  if (!message.SerializeToArray(bytes.data(), static_cast<int>(size))) {
    return Error{ErrorCode::kInternal, "the description cannot be encoded"};
  }
  return bytes;
}

Result<ContainerDescription> decode_description(ByteView bytes) {
  if (bytes.size() > kMaxDescriptionSize) {
    return Error{ErrorCode::kLimitExceeded, "the description is larger than 1 MiB", {.rule = "F32"}};
  }
  metadata::Container message;
  // protobuf's own byte type; the bytes are only read.
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxNesting);
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Error{ErrorCode::kMalformed, "the description does not parse", {.rule = "F32"}};
  }
  ContainerDescription description;
  description.name = message.name();
  description.writer = message.writer();
  FATCTX_ASSIGN(description.options, decode_options(message.options()));
  std::uint32_t previous = 0;
  for (const auto& record : message.records()) {
    if (record.record_id() <= previous) {
      return Error{ErrorCode::kMalformed, "the description's records are not in ascending order", {.rule = "F32"}};
    }
    previous = record.record_id();
    FATCTX_ASSIGN(RecordDescription decoded, decode_record(record));
    description.records.push_back(std::move(decoded));
  }
  FATCTX_TRY(check_texts(description, ErrorCode::kMalformed));
  return description;
}

}  // namespace fatctx::container
