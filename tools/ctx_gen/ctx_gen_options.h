// What `ctx-gen` takes behind -e, -C and -i: the execution providers, and which entries and options each of them knows.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// An execution provider that compiles.
struct CtxGenProvider {
  std::string_view word;   // of -e
  std::string_view name;   // as ONNX Runtime knows it
  std::string_view title;  // in sentences
  [[nodiscard]] bool is_reference() const noexcept { return word == "reference"; }
  [[nodiscard]] bool is_qnn() const noexcept { return word == "qnn"; }
};

// Errors: invalid_argument, with all of them.
[[nodiscard]] Result<CtxGenProvider> ctx_gen_provider(std::string_view word);

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// "key|value key|value"; `flag` is what errors call it.
// Errors: invalid_argument (no "|", no key, no value, a key that is there twice, longer than ONNX Runtime takes).
[[nodiscard]] Result<KeyValues> parse_key_values(std::string_view flag, std::string_view text);

struct CtxGenEntries {
  KeyValues for_session;                // without what ctx-gen sets itself
  std::string prefix;                   // ep.context_node_name_prefix
  std::vector<DescribedOption> stored;  // what is written down
  std::vector<std::string> notes;
};
// Errors: invalid_argument (an entry that is refused, a value that the entry cannot have).
[[nodiscard]] Result<CtxGenEntries> check_session_entries(std::string_view text, std::size_t model_count);

struct CtxGenProviderOptions {
  KeyValues for_provider;
  std::vector<DescribedOption> stored;
  std::vector<std::string> notes;
};
// Errors: invalid_argument (a key that the provider does not have, with the nearest; one of another provider; a value
// that it cannot have, such as a SoC that is not known; two that exclude each other).
[[nodiscard]] Result<CtxGenProviderOptions> check_provider_options(const CtxGenProvider& provider,
                                                                   std::string_view text);

// The options of our own provider that a compilation may be given.
[[nodiscard]] std::vector<std::string> reference_option_keys();

}  // namespace fatctx::tools
