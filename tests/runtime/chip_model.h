// Binaries for four chips of one family, stored on disk with shared bytes stored once, for tests of composed views.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fatctx/model.h"
#include "support/chip_corpus.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::testing {

class ChipModel : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kEnough = std::uint64_t{1} << 40;

  ChipModel() {
    PackOptions options;
    options.sharing = Sharing::kBytes;
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < corpus().chips.size(); ++i) {
      records.push_back(support::binary_record(name(i), arch(i), corpus().chips[i]));
    }
    support::write_file(path_, support::packed_bytes(std::move(records), options));
  }

  static const support::ChipCorpus& corpus() {
    static const support::ChipCorpus made = support::make_chip_corpus(77, {.tensors = 12});
    return made;
  }
  [[nodiscard]] static std::string name(std::size_t chip) { return "chip" + std::to_string(chip); }
  [[nodiscard]] static std::string arch(std::size_t chip) {
    return std::array{"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}.at(chip);
  }
  [[nodiscard]] Container open(const OpenOptions& options = {.max_copied_bytes = kEnough}) const {
    return Container::open(path_, options).value();
  }
  [[nodiscard]] static bool shows(const RecordView& view, std::size_t chip) {
    return std::ranges::equal(view.bytes(), corpus().chips[chip]);
  }
  // Returns the chips that are recipes: all but the base of the family.
  [[nodiscard]] std::vector<std::size_t> recipes() const {
    std::vector<std::size_t> found;
    const Container container = open();
    for (std::size_t chip = 0; chip < corpus().chips.size(); ++chip) {
      if (container.find(name(chip)).value().recipe) found.push_back(chip);
    }
    return found;
  }
  // Returns a chip that maps some pages and composes others, so that tests see both.
  [[nodiscard]] std::size_t mixed() const {
    const Container container = open();
    for (const std::size_t chip : recipes()) {
      const RecordView view = container.acquire(name(chip)).value();
      if (view.copied_bytes() != 0 && view.copied_bytes() + 100'000 < view.size_bytes()) return chip;
    }
    ADD_FAILURE() << "no chip of the corpus is mapped in parts";
    return 0;
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("chips.fatctx");
};

}  // namespace fatctx::testing
