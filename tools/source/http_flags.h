// Options of the commands that read from a URL.
#pragma once

#include "tools/source/byte_source.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

// Adds --cacert and --auth-file.
void add_http_access_flags(CLI::App& command, HttpOptions& http);
void add_plain_http_flag(CLI::App& command, HttpOptions& http);
// Adds --limit-rate, --retries and --timeout.
void add_rate_flags(CLI::App& command, HttpOptions& http);
// Adds all of these, and --parallel.
void add_http_flags(CLI::App& command, HttpOptions& http);

}  // namespace fatctx::tools
