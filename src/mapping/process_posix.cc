#include "mapping/process.h"

#include <unistd.h>

namespace fatctx::mapping {

std::int64_t process_id() noexcept { return ::getpid(); }

}  // namespace fatctx::mapping
