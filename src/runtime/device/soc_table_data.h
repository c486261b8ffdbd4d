// The content of data/soc_table.csv at build time.
#pragma once

#include <string_view>

namespace fatctx::runtime {

[[nodiscard]] std::string_view soc_table_data() noexcept;

}  // namespace fatctx::runtime
