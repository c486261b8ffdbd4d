// The text and the JSON that `delta` and `apply` print about an update.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/update.h"

namespace fatctx::tools {

// Returns "0.02 %", for example.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);
// Returns a line for each OLD and for NEW.
[[nodiscard]] std::string containers_text(const UpdateReport& report);
// Returns where the bytes of NEW come from.
[[nodiscard]] std::string steps_text(const UpdateReport& report);
// Checks the output before anything is read. Errors: exists, without --force.
[[nodiscard]] Status check_is_free(const std::string& output, bool force);
// Returns the members that both commands have.
[[nodiscard]] Json update_json(std::string_view schema, const UpdateReport& report);

}  // namespace fatctx::tools
