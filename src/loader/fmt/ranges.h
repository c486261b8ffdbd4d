// Files include it for fmt::join.
#pragma once

#include "loader/fmt/format.h"
