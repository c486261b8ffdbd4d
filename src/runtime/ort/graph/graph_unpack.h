// Works out the constants of a graph once, for sessions that share the result.
//
// A packed graph keeps weights as they are stored, such as int8, with the nodes that unpack them. Each run of each
// session would do that again.
#pragma once

#include <optional>
#include <span>

#include "runtime/ort/graph/api.h"
#include "runtime/ort/graph/graph_prepared.h"

namespace fatctx::ort {

// Lets a session find these files.
void add_files_in_memory(Ort::SessionOptions& options, std::span<const DataFile> files);

// Returns the graph without the nodes that unpack, and their results as its weights.
// Returns nothing if the graph works out nothing large from constants, or if it cannot be run beforehand.
[[nodiscard]] std::optional<PreparedGraph> unpack_constants(ByteView model, std::span<const DataFile> files,
                                                            const Ort::Env& env);

}  // namespace fatctx::ort
