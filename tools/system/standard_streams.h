// Makes stdout and stderr take bytes as they are, and a terminal read UTF-8.
#pragma once

namespace fatctx::tools {

// Call it before the first output. Nothing to do on POSIX systems.
void prepare_standard_streams() noexcept;

}  // namespace fatctx::tools
