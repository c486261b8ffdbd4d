// The files that programs of C calls work on: containers of every kind of record, a DLC, files with weights.
#pragma once

#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace fatctx::fuzz {

struct Files {
  Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  support::TempDir folder;
  std::string model = folder.file("model.fatctx");
  std::string chips = folder.file("chips.fatctx");   // recipes
  std::string pages = folder.file("pages.fatctx");   // records stitched of pages that they share
  std::string with_dlc = folder.file("dlc.fatctx");  // an archive that was imported
  std::string dlc = folder.file("two.dlc");          // the same as it was
  std::string asset = folder.file("asset.bin");      // the model between other bytes
  std::string safetensors = folder.file("w.safetensors");
  std::string gguf = folder.file("w.gguf");
  std::string irpa = folder.file("w.irpa");
  std::string cache = folder.file("cache");  // a folder for composed views
  std::string out = folder.file("out");      // is there only while a program runs that wrote it
  std::vector<support::Bytes> memory;        // model, chips, pages and with_dlc
  // No file; the model; the asset; a folder; a device.
  int descriptors[5] = {-1, -1, -1, -1, -1};
  static constexpr std::size_t kAssetOffset = 3 * 4096;
};

// Made once, gone with the process.
const Files& files();

}  // namespace fatctx::fuzz
