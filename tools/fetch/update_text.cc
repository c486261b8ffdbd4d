#include "tools/fetch/update_text.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

std::string container_text(const UpdateContainer& container) {
  return fmt::format("{}: generation {} of {}, {}", container.path, container.generation, container.uuid,
                     size_text(container.file_size));
}

Json container_json(const UpdateContainer& container) {
  return {{"path", container.path},
          {"uuid", container.uuid},
          {"generation", container.generation},
          {"file_size", container.file_size}};
}

}  // namespace

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  const double percent = whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.{}f} %", percent, percent < 1 ? 3 : 1);
}

std::string containers_text(const UpdateReport& report) {
  Block block;
  for (const UpdateContainer& old : report.old) block.add("from", container_text(old));
  if (!report.made.path.empty()) block.add("to", container_text(report.made));
  return block.text();
}

std::string steps_text(const UpdateReport& report) {
  Block block;
  block.add("copied", fmt::format("{} in {}", size_text(report.copied_bytes), count_text(report.copies, "piece")));
  block.add("repeated bytes", size_text(report.filled_bytes));
  block.add("new", size_text(report.literal_bytes));
  if (report.hash_bytes != 0)
    block.add("leaf hashes", fmt::format("{}, made of the payload", size_text(report.hash_bytes)));
  return block.text();
}

Status check_is_free(const std::string& output, bool force) {
  std::error_code none;
  if (force || !std::filesystem::exists(std::filesystem::symlink_status(output, none))) return Done{};
  return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", output)};
}

Json update_json(std::string_view schema, const UpdateReport& report) {
  Json old = Json::array();
  for (const UpdateContainer& one : report.old) old.push_back(container_json(one));
  return {{"schema", schema},
          {"update", text_or_null(report.path)},
          {"update_bytes", report.update_bytes},
          {"old", std::move(old)},
          {"new", container_json(report.made)},
          {"copies", report.copies},
          {"copied_bytes", report.copied_bytes},
          {"filled_bytes", report.filled_bytes},
          {"literal_bytes", report.literal_bytes},
          {"hash_bytes", report.hash_bytes},
          {"for_partial", report.for_partial}};
}

}  // namespace fatctx::tools
