// Converts descriptions to bytes and back. Only metadata_codec.cc uses protobuf.
#pragma once

#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::container {

// Stored instead of the value of an option that names a path of the packing host.
inline constexpr std::string_view kGivenAtRunTime = "given at run time";

// Returns whether an option's value is a path: the last part of the key ends in "_path" or "_dir".
[[nodiscard]] bool path_valued(std::string_view key) noexcept;

// Encodes a description.
// Errors: limit_exceeded (F32: more than 1 MiB), invalid_argument (F32: a text is not UTF-8).
[[nodiscard]] Result<std::vector<std::byte>> encode_description(const ContainerDescription& description);
// Decodes a description.
// Errors: malformed (F32: does not parse, is not UTF-8, or its records are not ascending; F34), limit_exceeded (F32).
[[nodiscard]] Result<ContainerDescription> decode_description(ByteView bytes);

}  // namespace fatctx::container
