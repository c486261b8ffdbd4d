// Parses the values of -e, -C and -i of `ctx-gen`: the execution providers, and the entries and options of
// each.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// An execution provider that can compile.
struct CtxGenProvider {
  std::string_view word;   // value of -e
  std::string_view name;   // as ONNX Runtime knows it
  std::string_view title;  // used in sentences
  [[nodiscard]] bool is_reference() const noexcept { return word == "reference"; }
  [[nodiscard]] bool is_qnn() const noexcept { return word == "qnn"; }
};

// Returns the provider of that name. Errors: invalid_argument, listing all of them.
[[nodiscard]] Result<CtxGenProvider> ctx_gen_provider(std::string_view word);

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Parses "key|value key|value"; `flag` is its name in errors.
// Errors: invalid_argument (no "|", no key, no value, a key that appears twice, longer than ONNX Runtime takes).
[[nodiscard]] Result<KeyValues> parse_key_values(std::string_view flag, std::string_view text);

struct CtxGenEntries {
  KeyValues for_session;                // without those that ctx-gen sets itself
  std::string prefix;                   // ep.context_node_name_prefix
  std::vector<DescribedOption> stored;  // stored in the container
  std::vector<std::string> notes;
};
// Checks session entries. Errors: invalid_argument (an entry that is refused, a value that the entry cannot
// have).
[[nodiscard]] Result<CtxGenEntries> check_session_entries(std::string_view text, std::size_t model_count);

struct CtxGenProviderOptions {
  KeyValues for_provider;
  std::vector<DescribedOption> stored;
  std::vector<std::string> notes;
};
// Checks the options of a provider.
// Errors: invalid_argument (a key that the provider does not have, with the nearest; one of another provider; a value
// that it cannot have, such as an unknown SoC; two that exclude each other).
[[nodiscard]] Result<CtxGenProviderOptions> check_provider_options(const CtxGenProvider& provider,
                                                                   std::string_view text);

// Returns the options of our own provider that a compilation may set.
[[nodiscard]] std::vector<std::string> reference_option_keys();

}  // namespace fatctx::tools
