// Containers whose every byte can be checked without knowledge of the writer: a record begins with its label, and the
// label determines the rest. The files of one line are versions of each other. Packing begins a line, appending
// continues it, and rewriting and signing may occur on the way.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/rewrite.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx::crash::soak {

using support::Bytes;

struct Label {
  std::uint64_t line = 0;
  std::uint64_t version = 0;  // the generation that the record was written for
};

inline constexpr const char* kWeights = "weights";  // the same in every version of a line
inline constexpr const char* kState = "state";      // replaced in each version
inline constexpr std::string_view kAdded = "added ";
inline constexpr std::string_view kCold = "cold ";  // compressed
inline constexpr std::size_t kTensorBytes = 70'000;

[[nodiscard]] inline Bytes bytes_of(std::string_view name, const Label& label) {
  const auto seed =
      static_cast<std::uint32_t>(std::hash<std::string_view>{}(name) + label.line * 7'919 + label.version);
  Bytes bytes;
  if (name == kWeights) {
    bytes = support::pattern(90'000, seed);
  } else if (name.starts_with(kCold)) {
    const Bytes repeated = support::pattern(97, seed);
    while (bytes.size() < 20'000) bytes.insert(bytes.end(), repeated.begin(), repeated.end());
  } else {
    bytes = support::pattern(500 + label.version * 3'797 % 9'000, seed);
  }
  std::memcpy(bytes.data(), &label, sizeof label);
  return bytes;
}

// Checks `bytes` as the content of the record `name` in a generation. Returns a complaint; empty if they are right.
[[nodiscard]] inline std::string complaint_about(std::string_view name, std::uint64_t generation, ByteView bytes) {
  Label label;
  if (bytes.size() < sizeof label) return std::string(name) + " is too short";
  std::memcpy(&label, bytes.data(), sizeof label);
  const Bytes expected = bytes_of(name, label);
  if (expected.size() != bytes.size() || std::memcmp(expected.data(), bytes.data(), bytes.size()) != 0) {
    return std::string(name) + " has bytes that nobody wrote";
  }
  if (label.version > generation) return std::string(name) + " is newer than its generation";
  return {};
}

[[nodiscard]] inline std::vector<PackRecord> records_of(const Label& label) {
  const std::string number = std::to_string(label.version);
  std::vector<PackRecord> records;
  records.push_back(support::binary_record(kState, "x86-64-v3", bytes_of(kState, label)));
  records.back().weights = {kWeights};
  for (const std::string_view kind : {kAdded, kCold}) {
    const std::string name = std::string(kind) + number;
    records.push_back(support::plain_record(RecordType::kOpaque, name, bytes_of(name, label)));
    if (kind == kCold) records.back().codec = Codec::kLz4;
  }
  return records;
}

// Writes the first version of a line; it replaces the file at `path`. Lines take turns with the forms of the header.
[[nodiscard]] inline Status begin_line(const std::string& path, std::uint64_t line) {
  std::vector<PackRecord> records = records_of({line, 1});
  records.push_back(support::plain_record(RecordType::kWeightBlob, kWeights, bytes_of(kWeights, {line, 1})));
  records.back().key.group = "model";
  records.back().tensors = {{.name = "t", .dtype = DType::kI8, .shape = {kTensorBytes}, .size_bytes = kTensorBytes}};
  const std::string made = path + ".new";
  PackOptions options;
  options.overwrite = true;
  options.threads = 1;
  options.extent_log2 = line % 2 == 0 ? container::kSmallExtentLog2 : container::kExtentLog2;
  FATCTX_TRY(support::pack(std::move(records), made, std::move(options)));
  std::filesystem::rename(made, path);
  return Done{};
}

// Appends the next version.
[[nodiscard]] inline Result<AppendReport> append_version(const std::string& path) {
  FATCTX_ASSIGN(Appender appender, Appender::open(path, {.replace = true, .threads = 1}));
  Label label;
  {
    FATCTX_ASSIGN(const Container container, Container::open(path));
    FATCTX_ASSIGN(const RecordView weights, container.acquire(kWeights));
    std::memcpy(&label, weights.data(), sizeof label);
    label.version = support::report_of(container).generation + 1;
  }
  for (PackRecord& record : records_of(label)) FATCTX_TRY(appender.add(std::move(record)));
  return appender.commit();
}

// Writes the next version by rewriting the file without the records added before the last `kept` ones, if it still has
// any of those.
[[nodiscard]] inline Result<RewriteReport> rewrite_version(const std::string& path, std::size_t kept) {
  RewriteOptions options;
  options.threads = 1;
  {
    FATCTX_ASSIGN(const Container container, Container::open(path));
    std::vector<std::uint32_t> gone;
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.name.starts_with(kAdded) || record.name.starts_with(kCold)) gone.push_back(record.id);
    }
    gone.resize(gone.size() - std::min(gone.size(), kept));
    FATCTX_ASSIGN(options.keep, records_without(support::records_in(container), gone));
  }
  return rewrite_container(path, path, options);
}

}  // namespace fatctx::crash::soak
