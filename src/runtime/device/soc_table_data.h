// data/soc_table.csv, as it was when the library was built.
#pragma once

#include <string_view>

namespace fatctx::runtime {

[[nodiscard]] std::string_view soc_table_data() noexcept;

}  // namespace fatctx::runtime
