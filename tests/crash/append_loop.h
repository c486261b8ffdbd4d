// Appends to one file whose content follows from its generation alone, and the check of that content afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx::crash {

using Bytes = support::Bytes;

[[nodiscard]] inline std::string record_name(std::uint64_t generation) {
  return "record of " + std::to_string(generation);
}

// Returns bytes of one extent or two, so that a later append may overlap an earlier one that was cut off.
[[nodiscard]] inline Bytes record_bytes(std::uint64_t generation) {
  return support::pattern(500 + generation * 37'123 % 100'000, static_cast<std::uint32_t>(generation));
}

inline void write_first_generation(const std::string& path) {
  support::write_file(
      path, support::packed_bytes({support::plain_record(RecordType::kOpaque, record_name(1), record_bytes(1))}));
}

// Appends the record of the next generation and returns that generation. Only one appender may run at a time.
[[nodiscard]] inline Result<std::uint64_t> append_next(const std::string& path) {
  FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
  std::uint64_t next = 0;
  {
    FATCTX_ASSIGN(const Container container, Container::open(path));
    next = support::report_of(container).generation + 1;
  }
  FATCTX_TRY(appender.add(support::plain_record(RecordType::kOpaque, record_name(next), record_bytes(next))));
  FATCTX_ASSIGN(const AppendReport report, appender.commit());
  return report.generation;
}

// Checks the file, of which `acknowledged` generations were reported. Returns a complaint; empty if the file is right.
[[nodiscard]] inline std::string complaint_about(const std::string& path, std::uint64_t acknowledged) {
  const auto opened = Container::open(path);
  if (!opened.ok()) return to_text(opened.error());
  const Container& container = opened.value();
  const std::uint64_t generation = support::report_of(container).generation;
  if (generation < acknowledged) {
    return "generation " + std::to_string(acknowledged) + " was acknowledged, the file has " +
           std::to_string(generation);
  }
  for (std::uint64_t one = 1; one <= generation; ++one) {
    const auto view = container.acquire(record_name(one));
    if (!view.ok()) return to_text(view.error());
    const Bytes expected = record_bytes(one);
    if (!std::equal(expected.begin(), expected.end(), view.value().bytes().begin(), view.value().bytes().end())) {
      return record_name(one) + " has other bytes than were written";
    }
  }
  return {};
}

}  // namespace fatctx::crash
