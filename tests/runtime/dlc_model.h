// A DLC on disk and containers made from it, for tests of export.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/import_dlc.h"
#include "fatctx/packer.h"
#include "fatctx/stored_dlc.h"
#include "support/chip_corpus.h"
#include "support/dlc_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::testing {

// Returns two SoCs with payloads of many pages: weights, their metadata, two context binaries, metadata.
[[nodiscard]] inline support::DlcWriter large_dlc(bool aligned = true) {
  std::mt19937_64 random(11);
  const auto text = [&](std::size_t size) {
    const support::Bytes bytes = support::random_bytes(random, size);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  support::DlcWriter writer(aligned);
  writer.entry("htp.shared.weights.0", text(64 * 4096));
  writer.entry("htp.metadata.shared_weights.0_metadata", text(20'000));
  const std::string first = text(40 * 4096);
  // The second equals the first except for some pages, and the rest is shifted by 256 bytes.
  std::string second = first.substr(0, 20 * 4096) + text(256) + first.substr(20 * 4096);
  second.resize(40 * 4096);
  writer.entry("htp.cache.57.0", first);
  writer.entry("htp.cache.69.0", second);
  writer.align(false);  // as compilers leave their metadata
  writer.entry("dlc.metadata2.3.0", support::kTwoSocMetadata);
  return writer;
}

class StoredDlcs : public ::testing::Test {
 protected:
  std::string put(support::DlcWriter writer, const std::string& name = "m.dlc") {
    original_ = writer.write();
    const std::string path = folder_.file(name);
    support::write_file(path, original_);
    return path;
  }
  std::string pack(std::vector<PackRecord> records, Sharing sharing = Sharing::kPages) {
    PackOptions options;
    options.overwrite = true;
    options.sharing = sharing;
    Packer packer(options);
    for (PackRecord& record : records) EXPECT_TRUE(support::is_ok(packer.add(std::move(record))));
    const std::string path = folder_.file("m.fatctx");
    const auto report = packer.publish(path);
    EXPECT_TRUE(support::is_ok(report));
    return path;
  }
  std::string pack(const support::DlcWriter& writer, Sharing sharing = Sharing::kPages) {
    return pack(records_from_dlc(put(writer), {.group = "chat"}).value(), sharing);
  }
  // Returns the output of extract_thin_dlc() for the original.
  support::Bytes thin_of_original(const DlcChoice& choice) {
    const std::string out = folder_.file("thin.dlc");
    const auto thin = extract_thin_dlc(folder_.file("m.dlc"), choice, out, true);
    EXPECT_TRUE(support::is_ok(thin));
    return support::read_file(out);
  }

  support::TempDir folder_;
  support::Bytes original_;
};

}  // namespace fatctx::testing
