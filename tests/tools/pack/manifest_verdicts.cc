// Prints the parser's results for manifest_schema_test.py: a line of JSON for each file named on the command line. It
// is null for an accepted manifest, otherwise the error text.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/facts/json_file.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_read.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto text = fatctx::tools::read_text_file(argv[i]);
    if (!text.ok()) return 1;
    const auto parsed = fatctx::tools::parse_manifest(text.value(), "m.json", "");
    const nlohmann::json verdict = parsed.ok() ? nlohmann::json() : nlohmann::json(parsed.error().message);
    std::cout << verdict.dump() << '\n';
  }
  return 0;
}
