// Measures one way to create a session. Each way has a process of its own, so that no other way affects its
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace fatctx::tools {

struct ChildOptions {
  std::string way;      // "load", "compile", "run", "inner"
  std::string model;    // the sessions are made from it
  std::string output;   // of "compile": the context model; of "run": the context model to compare `model` with; of
                        // "inner": its container
  std::string library;  // the execution provider
  std::string memory;   // the provider's option; empty: an ordinary session
  std::uint32_t sessions = 1;
  std::uint32_t runs = 0;      // of each of two sessions, in turn
  std::int64_t dimension = 1;  // used for every dimension that is not fixed
  bool embed = false;          // of "compile"
};

// Measures what `options` ask for and returns the figures as JSON. Throws Ort::Exception.
[[nodiscard]] Json run_child(const ChildOptions& options);

}  // namespace fatctx::tools
