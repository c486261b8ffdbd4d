// The chips of chip_model.h and a cache folder for their composed views.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fatctx/metrics.h"
#include "fatctx/private_folder.h"
#include "fatctx/view_cache.h"
#include "runtime/chip_model.h"

namespace fatctx::testing {

class CachedModel : public ChipModel {
 protected:
  CachedModel() { EXPECT_TRUE(make_private_folder(cache_).ok()); }

  // Returns options that permit no memory: a view that is not in the cache is refused.
  [[nodiscard]] OpenOptions cached(std::uint64_t limit_bytes = 0) const {
    return {.cache_folder = cache_, .cache_limit_bytes = limit_bytes};
  }
  [[nodiscard]] Result<RecordView> acquire(std::size_t chip, const OpenOptions& options) const {
    return open(options).acquire(name(chip));
  }
  // Returns the names in the folder, including temporaries.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(cache_))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] std::string only_file() const { return cache_ + "/" + files().at(0); }
  [[nodiscard]] static RecordMetrics metrics_of(const Container& container, std::string_view name) {
    for (const RecordMetrics& record : container_metrics(container).records) {
      if (record.name == name) return record;
    }
    return {};
  }

  const std::string cache_ = folder_.file("cache");
};

}  // namespace fatctx::testing
