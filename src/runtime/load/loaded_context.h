// What a load has put together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "container/dlc/contents.h"
#include "fatctx/load.h"

namespace fatctx {

// A choice among entries of a DLC. Candidates borrow from `info`, which does not move.
struct DlcSelection {
  DlcInfo info;
  std::vector<std::string> variants;  // of each context binary; empty where its target tells it from all others
  Device device;
  SelectPolicy policy;
  std::vector<Candidate> candidates;  // ids are those of LoadedRecord
  Selection selection;
};

struct LoadedContext::Impl {
  LoadedFormat format = LoadedFormat::kContainer;
  std::string path;
  std::string raw_format;  // of a raw binary, if it can be told
  std::vector<LoadedRecord> binaries;
  std::vector<LoadedRecord> weights;
  std::optional<Model> model;               // of a container
  std::unique_ptr<const DlcSelection> dlc;  // of a DLC
};

}  // namespace fatctx
