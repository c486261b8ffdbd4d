// The remedy in errors about bytes that are not present.
#pragma once

#include <string_view>

namespace fatctx {

inline constexpr std::string_view kRemedyForAbsent =
    "; this file has only a part of its container: fetch the rest, which `fatctx info --present` lists";

}  // namespace fatctx
