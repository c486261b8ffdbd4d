// The files that programs of C calls work on: containers with records of every kind, a DLC, and files with weights.
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
  std::string pages = folder.file("pages.fatctx");   // records stitched from shared pages
  std::string with_dlc = folder.file("dlc.fatctx");  // an imported archive
  std::string dlc = folder.file("two.dlc");          // the original of that archive
  std::string asset = folder.file("asset.bin");      // the model with other bytes around it
  std::string safetensors = folder.file("w.safetensors");
  std::string gguf = folder.file("w.gguf");
  std::string irpa = folder.file("w.irpa");
  std::string cache = folder.file("cache");  // a folder for composed views
  std::string out = folder.file("out");      // exists only while the program that wrote it runs
  std::vector<support::Bytes> memory;        // model, chips, pages and with_dlc
  // No file; the model; the asset; a folder; a device.
  int descriptors[5] = {-1, -1, -1, -1, -1};
  static constexpr std::size_t kAssetOffset = 3 * 4096;
};

// Returns the files. They are created once and are removed at the end of the process.
const Files& files();

}  // namespace fatctx::fuzz
