#include "tools/compile/joined_compile.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fatctx::tools {

std::string JoinedCompile::name() const {
  std::vector<std::string> names;
  for (const auto& driver : drivers_) {
    if (std::find(names.begin(), names.end(), driver->name()) == names.end()) names.push_back(driver->name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::size_t JoinedCompile::target_count() const noexcept {
  std::size_t count = 0;
  for (const auto& driver : drivers_) count += driver->target_count();
  return count;
}

JoinedCompile::Place JoinedCompile::place(std::size_t target) const {
  std::size_t at = 0;
  while (target >= drivers_[at]->target_count()) target -= drivers_[at++]->target_count();
  return {.driver = *drivers_[at], .target = target};
}

std::string JoinedCompile::label(std::size_t target) const {
  const Place at = place(target);
  return at.driver.label(at.target);
}

std::string JoinedCompile::unit(std::size_t target) const {
  const Place at = place(target);
  return at.driver.unit(at.target);
}

bool JoinedCompile::explains_its_log(std::size_t target) const {
  const Place at = place(target);
  return at.driver.explains_its_log(at.target);
}

Status JoinedCompile::begin(std::string& log) {
  for (const auto& driver : drivers_) FATCTX_TRY(driver->begin(log));
  return Done{};
}

Result<CompiledTarget> JoinedCompile::compile(std::size_t target, std::string& log) const {
  const Place at = place(target);
  return at.driver.compile(at.target, log);
}

Result<std::vector<ManifestRecord>> JoinedCompile::shared_records() const {
  std::vector<ManifestRecord> all;
  for (const auto& driver : drivers_) {
    FATCTX_ASSIGN(std::vector<ManifestRecord> records, driver->shared_records());
    std::move(records.begin(), records.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace fatctx::tools
