// The questions of this bench, each with its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharing/corpus.h"
#include "support/bench_main.h"

namespace fatctx::bench {

[[nodiscard]] PackOptions pack_options(Sharing sharing);
[[nodiscard]] PackReport pack(const std::vector<CorpusFile>& files, Sharing sharing, const std::string& path);

// Targets for the size of the file. Its rows show the size beside floors and rivals, and whether it is the
// same for every order of the inputs. The target for `bytes` is relative to the different parts.
struct SizeTargets {
  std::optional<double> bytes = {};    // of the size of the different parts
  std::optional<double> tensors = {};  // the same, for `pages` with the tensors as boundaries
};
void add_sizes(Report& report, const BenchFolder& folder, const Corpus& corpus, const SizeTargets& targets);

// Adds the same rows for files without lists, beside archives of them; ratios are to all of the files
// together.
void add_given_sizes(Report& report, const BenchFolder& folder, const GivenFiles& given);

// Adds the rate of packing, beside hashing and writing on one thread, and its memory.
void add_packing(Report& report, const Options& options, const BenchFolder& folder, const Corpus& corpus);

// Adds the cost of views of the records: stitched, composed, and of many sessions.
void add_views(Report& report, const Options& options, const BenchFolder& folder, const Corpus& corpus);

}  // namespace fatctx::bench
