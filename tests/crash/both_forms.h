// A sample file of each form of the header.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "container/format/disk_format.h"
#include "support/sample_container.h"

namespace fatctx::crash {

[[nodiscard]] inline const char* name_of_form(std::uint8_t extent_log2) {
  return extent_log2 == container::kSmallExtentLog2 ? "small form" : "large form";
}

struct FormSample {
  std::uint8_t extent_log2;
  const support::Bytes& first;  // an unsealed file
  const container::HeaderForm& form;
};

[[nodiscard]] inline std::array<FormSample, 2> samples() {
  static const support::Bytes small = [] {
    PackOptions options;
    options.extent_log2 = container::kSmallExtentLog2;
    options.model_name = "small sample";
    return support::packed_bytes(support::cpu_records(), std::move(options));
  }();
  return {{{container::kExtentLog2, support::unsealed_sample(), container::kLargeForm},
           {container::kSmallExtentLog2, small, container::kSmallForm}}};
}

}  // namespace fatctx::crash
