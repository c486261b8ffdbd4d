// What `fatctx info --json` prints: schema "fatctx.info/1".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::tools {

[[nodiscard]] nlohmann::ordered_json container_json(const Container& container,
                                                    const ContainerDescription& description);
[[nodiscard]] nlohmann::ordered_json graphs_json(const ContainerDescription& description);
[[nodiscard]] nlohmann::ordered_json options_json(const ContainerDescription& description);
[[nodiscard]] nlohmann::ordered_json tensors_json(const RecordInfo& weights, const TensorTable& table);
[[nodiscard]] nlohmann::ordered_json layout_json();  // schema "fatctx.layout/1"

}  // namespace fatctx::tools
