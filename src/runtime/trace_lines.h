// A traced call as one JSON line, and the answers that a replay compares.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx::trace {

// What a call gave, as far as another answer can be told apart by it.
[[nodiscard]] nlohmann::ordered_json gave(const Error& error);
[[nodiscard]] nlohmann::ordered_json gave(const Container& opened);
[[nodiscard]] nlohmann::ordered_json gave(const Selection& selection, const Container& of);
[[nodiscard]] nlohmann::ordered_json gave(const RecordView& view, const Container& of);

// What names a container in lines about it.
[[nodiscard]] nlohmann::ordered_json container_fields(const Container& container);

[[nodiscard]] nlohmann::ordered_json to_json(const OpenOptions& options);
[[nodiscard]] nlohmann::ordered_json to_json(const SelectPolicy& policy);
// Errors: invalid_argument, naming the key, what was found and what is allowed.
[[nodiscard]] Result<OpenOptions> open_options_from(const nlohmann::ordered_json& json);
[[nodiscard]] Result<SelectPolicy> select_policy_from(const nlohmann::ordered_json& json);

// Pure ASCII, without line feed.
[[nodiscard]] std::string line_of(const nlohmann::ordered_json& json);

}  // namespace fatctx::trace
