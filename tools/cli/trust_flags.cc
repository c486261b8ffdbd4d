#include "tools/cli/trust_flags.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/keys.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

void add_trust_flags(CLI::App& command, TrustFlags& flags) {
  command.add_option("--key", flags.keys, "A public key; the container must be signed with one of those given")
      ->type_name("NAME.pub");
  command.add_option("--min-generation", flags.minimum_generation, "Refuse an older generation")
      ->check(whole_number())
      ->type_name("N");
}

Result<OpenOptions> open_options(const TrustFlags& flags, std::uint64_t generation) {
  OpenOptions options;
  options.generation = generation;
  for (const std::string& path : flags.keys) {
    FATCTX_ASSIGN(const PublicKey key, read_public_key(path));
    options.trusted_keys.push_back(key);
  }
  options.minimum_generation = flags.minimum_generation;
  return options;
}

std::string signature_text(std::string_view key_id, bool verified, bool key_given) {
  const std::string_view how = verified ? "verified" : key_given ? "not verified" : "not verified: no key given";
  return fmt::format("signed, {} (key {})", how, key_id);
}

}  // namespace fatctx::tools
