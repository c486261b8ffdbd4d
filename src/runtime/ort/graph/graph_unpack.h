// Works out the constants of a graph once, for sessions that share the result.
//
// A packed graph keeps weights as they are stored, such as int8, with the nodes that unpack them. Each run of each
// session would do that again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// External data in memory.
struct DataFile {
  std::string location;
  ByteView bytes;
};

// Lets a session find these files.
void add_files_in_memory(Ort::SessionOptions& options, std::span<const DataFile> files);

struct UnpackedGraph {
  std::vector<std::byte> model;  // without the nodes; reads their results from the file below
  std::string location;
  std::vector<std::byte> bytes;
};

// Returns nothing if the graph works out nothing large from constants, or if it cannot be run beforehand.
[[nodiscard]] std::optional<UnpackedGraph> unpack_constants(ByteView model, std::span<const DataFile> files,
                                                            const Ort::Env& env);

}  // namespace fatctx::ort
