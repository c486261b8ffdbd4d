// How far a fetch is (fatctx/fetch_plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fatctx {

// The bytes that the plan waits for. Each stage is checked by the one before it.
enum class FetchStage : std::uint8_t { kHeader, kTable, kHashes, kPayload, kDone };
[[nodiscard]] std::string_view fetch_stage_name(FetchStage stage) noexcept;  // "header", "table", ...

struct FetchReport {
  std::string path;
  std::uint64_t source_bytes = 0;
  std::uint64_t generation = 0;           // 0 until the table is there
  std::vector<std::string> records = {};  // that the file will have: the chosen ones and what they need
  std::uint64_t needed_bytes = 0;         // payload that the records need, rounded to whole leaves
  std::uint64_t present_bytes = 0;        // the part of it that an interrupted fetch left here
  std::uint64_t reused_bytes = 0;         // the part of it that was copied from the seeds
  std::uint64_t fetched_bytes = 0;        // all that was given to take()
  // Copies of metadata that came damaged. The file has good ones, unless both mirrors of a slot came damaged.
  std::vector<std::string> degraded = {};
};

}  // namespace fatctx
