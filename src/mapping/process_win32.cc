#include "mapping/process.h"

#include "mapping/windows_api.h"

namespace fatctx::mapping {

std::int64_t process_id() noexcept { return static_cast<std::int64_t>(::GetCurrentProcessId()); }

}  // namespace fatctx::mapping
