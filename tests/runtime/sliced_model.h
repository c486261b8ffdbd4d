// The model of tests/support/sliced_container.h on disk, for tests of stitched views.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "fatctx/model.h"
#include "support/result_matchers.h"
#include "support/sliced_container.h"

namespace fatctx::testing {

class SlicedModel : public ::testing::Test {
 protected:
  SlicedModel() { support::write_file(path_, made_.bytes()); }

  [[nodiscard]] Container open(const OpenOptions& options = {}) const {
    return Container::open(path_, options).value();
  }
  [[nodiscard]] static std::uint32_t id(const Container& container, std::string_view name) {
    return container.find(name).value().id;
  }
  [[nodiscard]] ::testing::AssertionResult shows(const RecordView& view, const std::string& name) const {
    if (std::ranges::equal(view.bytes(), made_.expected(name))) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "the view of " << name << " shows other bytes";
  }

  const support::SlicedContainer made_ = support::sliced_model();
  const support::TempDir folder_;
  const std::string path_ = folder_.file("sliced.fatctx");
};

}  // namespace fatctx::testing
