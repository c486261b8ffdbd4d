// Everything that a reader can do with bytes that may be a container, and the properties that the answers must have.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/partial_toc.h"
#include "container/read/work_budget.h"
#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "fuzz/cost.h"
#include "fuzz/promise.h"
#include "mapping/buffer_file.h"
#include "support/opened.h"

namespace fatctx::fuzz {

// Returns true if there is a value; an error must be a good one.
template <typename T>
[[nodiscard]] bool answered(const Result<T>& result) {
  if (!result.ok()) require_good(result.error());
  return result.ok();
}

// Returns true if the check finished. The only permitted error is that it would compose more bytes than a call may.
[[nodiscard]] inline bool checked(const Result<VerifyReport>& report) {
  if (!answered(report)) {
    require(container::is_over_budget(report.error()), "a check of a buffer comes to an end", report.error().message);
    return false;
  }
  for (const VerifyFinding& finding : report.value().findings) require_good(finding.error);
  return true;
}

[[nodiscard]] inline bool unsupported(const Error& error) { return error.code == ErrorCode::kUnsupported; }

inline void use_tensors(const Container& container, const RecordInfo& record, ByteView blob) {
  const auto tensors = container.tensors(record.id);
  (void)answered(container.tensor(record.id, "w"));  // of a bad table, too
  if (!answered(tensors)) return;
  for (std::size_t i = 0; i < tensors.value().size(); ++i) {
    const WeightView view = tensors.value().view_at(i);
    require(lies_in(view.bytes(), blob), "a tensor lies in its blob", view.name());
    require(tensors.value().view(view.name()).ok(), "a tensor is found by its name", view.name());
    const auto alone = container.tensor(record.id, view.name());
    require(alone.ok(), "a tensor is found without the rest of its table", alone.ok() ? "" : alone.error().message);
    require(std::ranges::equal(alone.value().bytes(), view.bytes()), "it is the same tensor", view.name());
    (void)view.strides_bytes();
  }
}

// Acquires, streams and verifies one record, and requires that the three agree.
inline void use_record(const Container& container, const RecordInfo& record, ByteView file) {
  const auto view = container.acquire(record.id);
  const auto report = container.verify_record(record.id);
  if (!checked(report)) return;
  const bool whole = report.value().findings.empty();
  if (answered(view)) {
    const ByteView bytes = view.value().bytes();
    if (view.value().access_path() == AccessPath::kDirect) {
      require(lies_in(bytes, file), "a direct view lies in the buffer", record.name);
    }
    require(bytes.size() == record.size_bytes, "a view has the size of the record", record.name);
    if (whole) require(container::hash128(bytes) == record.hash, "a whole record has its hash", record.name);
    if (record.type == RecordType::kWeightBlob) use_tensors(container, record, bytes);
  } else {
    require(!whole || unsupported(view.error()) || view.error().code == ErrorCode::kCopyNotAllowed,
            "verify finds what acquire refuses", view.error().message);
  }
  std::vector<std::byte> streamed;
  const auto stream = stream_record(container, record.id, [&](ByteView more) -> Status {
    streamed.insert(streamed.end(), more.begin(), more.end());
    require(streamed.size() <= record.size_bytes, "a stream never yields more than the record has", record.name);
    return Done{};
  });
  if (answered(stream)) {
    require(streamed.size() == record.size_bytes, "a stream that ends well is complete", record.name);
    require(container::hash128(streamed) == record.hash, "a stream that ends well gave what the hash says",
            record.name);
  } else {
    require(!whole || unsupported(stream.error()), "verify finds what a stream refuses", stream.error().message);
  }
}

inline void use_selection(const Container& container) {
  for (const char* text : {"x86-64-v3", "aarch64+dotprod", "v75"}) {
    const auto device = device_from_text(text);
    const auto selection = container.select(device.value());
    if (!answered(selection)) continue;
    const std::vector<Candidate> candidates = support::candidates_in(container);
    for (const std::uint32_t id : selection.value().chosen) {
      require(container.record(id).ok(), "a chosen record is there", text);
    }
    const std::string json = explain_json(selection.value(), candidates, device.value());
    require(nlohmann::json::accept(json), "an explanation is JSON", json);
    (void)explain_text(selection.value(), candidates, device.value());
  }
}

// Reads the table page by page, as that of a large file, and requires what reading all of it at once gives.
inline void use_pages_of_table(ByteView bytes) {
  const mapping::BufferFile file(bytes, nullptr);
  const auto at_once = container::read_toc(file, bytes.size());
  auto head = container::read_generation(file, bytes.size(), 0, {}, container::TocPart::kHead);
  if (!answered(head)) {
    require(!at_once.ok(), "a good table has a good head", head.error().message);
    return;
  }
  container::PartialToc table(file, head.value().header, head.value().toc);
  for (const std::string_view name : {"weights", "bin-aarch64", "small", "nobody"}) {
    const auto found = table.find(name);
    if (!answered(found)) {
      require(!at_once.ok(), "the records of a good table are found", found.error().message);
    } else if (found.value() != nullptr) {
      require(found.value()->name == name, "a record has the name by which it was found", name);
    }
  }
  for (std::uint32_t id = 1; id < 6; ++id) {
    const auto found = table.find(id);
    if (!answered(found)) {
      require(!at_once.ok(), "the records of a good table are found", found.error().message);
    } else if (found.value() != nullptr) {
      require(found.value()->id == id, "a record has the number by which it was found");
    }
  }
  const auto all = table.need_all();
  require(all.ok() == at_once.ok(), "a table is good in pages and at once", all.ok() ? "" : all.error().message);
  require(table.known().size() <= head.value().toc.records.size(), "only records of the table are known");
  if (!answered(all)) return;
  const auto& records = head.value().toc.records;
  require(records.size() == at_once.value().toc.records.size(), "pages have all records");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordInfo& same = at_once.value().toc.records[i];
    require(records[i].id == same.id && records[i].name == same.name && records[i].hash == same.hash,
            "pages have the same records", same.name);
  }
}

// Opens `file` and uses all of it.
inline void use_all_of(ByteView file) {
  use_pages_of_table(file);
  const auto report = container::verify_container(mapping::BufferFile(file, nullptr), {});
  if (!checked(report)) return;
  const bool whole = report.value().findings.empty();

  const auto opened = Container::open(Source::of_memory(file));
  if (!answered(opened)) {
    require(!whole, "verify finds what open refuses", opened.error().message);
    return;
  }
  const Container& container = opened.value();
  const auto records = container.records();  // of a large table, an open checks the head only
  if (!answered(records)) {
    require(!whole, "verify finds what is wrong with the table", records.error().message);
    return;
  }
  if (whole) require(support::report_of(container).degraded.empty(), "a degraded file is not whole");
  for (const RecordInfo& record : records.value()) {
    require(container.record(record.id).ok() && container.find(record.name).ok(), "a record is found", record.name);
    if (whole) {
      const auto alone = container.verify_record(record.id);
      require(alone.ok() && alone.value().findings.empty(), "a record of a whole file is whole", record.name);
    }
    use_record(container, record, file);
  }
  const auto description = container.describe();
  if (!answered(description)) {
    require(!whole || unsupported(description.error()), "verify finds a bad description", description.error().message);
  }
  const auto info = info_json(container, description.ok() ? description.value() : ContainerDescription{},
                              {.graphs = true, .options = true});
  if (answered(info)) require(nlohmann::json::accept(info.value()), "info is JSON", info.value());
  use_selection(container);
}

// Does the same at a cost that the file's size allows: a mutated recipe must not take hours.
inline void use_container(ByteView file) {
  const Cost cost(file.size());
  use_all_of(file);
  cost.require_within_budget();
}

}  // namespace fatctx::fuzz
