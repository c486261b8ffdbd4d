// Options of the commands that read from a URL.
#pragma once

#include "tools/source/byte_source.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

// Adds --cacert and --auth-file.
void add_http_access_flags(CLI::App& command, HttpOptions& http);
// Adds --cacert, --auth-file, --limit-rate, --parallel, --retries and --timeout.
void add_http_flags(CLI::App& command, HttpOptions& http);

}  // namespace fatctx::tools
