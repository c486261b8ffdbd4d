// --key and --min-generation: the trust that a command requires of a container's maker.
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
  std::vector<std::string> keys;  // paths of key files
  std::uint64_t minimum_generation = 0;
};

void add_trust_flags(CLI::App& command, TrustFlags& flags);

// Returns the options to open a container with. Errors: those of read_public_key.
[[nodiscard]] Result<OpenOptions> open_options(const TrustFlags& flags, std::uint64_t generation);

// Returns "signed, verified (key 1f…)" or "signed, not verified: no key given (key 1f…)", for example.
[[nodiscard]] std::string signature_text(std::string_view key_id, bool verified, bool key_given = false);

}  // namespace fatctx::tools
