#include "tools/source/http_flags.h"

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace fatctx::tools {

void add_http_access_flags(CLI::App& command, HttpOptions& http) {
  command.add_option("--cacert", http.ca_file, "Certificates to trust instead of the system's")->type_name("FILE");
  command
      .add_option("--auth-file", http.auth_file,
                  "A file with user:password, or Bearer TOKEN; never sent to another host")
      ->type_name("FILE");
}

void add_plain_http_flag(CLI::App& command, HttpOptions& http) {
  command.add_flag("--plain-http", http.plain_http, "Ask a registry (oci://) by http, without encryption");
}

void add_rate_flags(CLI::App& command, HttpOptions& http) {
  command.add_option("--limit-rate", http.bytes_per_second, "Most bytes a second")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
  command.add_option("--retries", http.retries, "Tries in a row that may bring nothing; default 5")
      ->check(whole_number(0, 100))
      ->type_name("N");
  command.add_option("--timeout", http.stalled_seconds, "Seconds below 1 KiB/s that break a connection; default 30")
      ->check(whole_number(1, 86400))
      ->type_name("N");
}

void add_http_flags(CLI::App& command, HttpOptions& http) {
  add_http_access_flags(command, http);
  add_plain_http_flag(command, http);
  command.add_option("--parallel", http.parallel, "Requests at the same time; default 4")
      ->check(whole_number(1, 64))
      ->type_name("N");
  add_rate_flags(command, http);
}

}  // namespace fatctx::tools
