// --key and --min-generation: what a command asks of whoever made a container.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

struct TrustFlags {
  std::vector<std::string> keys;  // files
  std::uint64_t minimum_generation = 0;
};

void add_trust_flags(CLI::App& command, TrustFlags& flags);

// Errors: those of read_public_key.
[[nodiscard]] Result<OpenOptions> open_options(const TrustFlags& flags, std::uint64_t generation);

// "signed, verified (key 1f…)", "signed, not verified: no key given (key 1f…)".
[[nodiscard]] std::string signature_text(std::string_view key_id, bool verified, bool key_given = false);

}  // namespace fatctx::tools
