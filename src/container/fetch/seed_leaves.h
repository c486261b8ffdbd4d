// Leaves of containers that are here already, found by their hash wherever they stand.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "container/fetch/wanted_leaves.h"
#include "container/read/open.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A leaf that somebody wants, and the container that has it.
struct LeafPlace {
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  Hash128 hash;
  std::uint64_t size = 0;
  std::uint32_t seed = kNowhere;
  std::uint64_t offset = 0;  // in the file of the seed
};

// The places of leaves, by their hashes. Nobody believes the hashes of a seed: who copies a leaf compares its bytes.
class LeafPlaces {
 public:
  explicit LeafPlaces(const std::vector<WantedLeaf>& leaves);

  // Returns whether there are leaves that no seed has yet.
  [[nodiscard]] bool any_nowhere() const noexcept;
  // Requires: the leaf is one of those that were given.
  [[nodiscard]] const LeafPlace& of(const WantedLeaf& leaf) const noexcept;
  // Finds leaves in segments that are equal as a whole, by the hashes of their leaf hashes: reads nothing.
  void find_in_equal_segments(const Toc& seed, std::uint32_t index, const Toc& toc,
                              const std::vector<WantedLeaf>& leaves);
  // Finds leaves by the leaf hashes of the seed, wherever they stand. Those that cannot be read are left out.
  void find(const mapping::OsFile& file, const Toc& seed, std::uint32_t index);

 private:
  [[nodiscard]] std::vector<LeafPlace>::iterator find_place(const Hash128& hash, std::uint64_t size) noexcept;

  std::vector<LeafPlace> places_;  // by hash and size, each once
};

// A container whose leaves may be copied. Nobody believes its own hashes: each leaf is compared with the hash that the
// fetched table names.
struct Seed {
  std::unique_ptr<mapping::OsFile> file;
  OpenedToc opened;
  std::uint64_t size = 0;
};

// Opens a container as a seed. Errors: those of opening a file and of read_growing.
[[nodiscard]] Result<Seed> open_seed(std::unique_ptr<mapping::OsFile> file);

// Takes missing leaves from the seeds, in the order of the seeds. Returns the bytes that were taken. A leaf that a seed
// promises and does not have is left missing. Errors: io, no_space of the target.
[[nodiscard]] Result<std::uint64_t> take_from_seeds(const std::vector<Seed>& seeds, WantedLeaves& wanted);

}  // namespace fatctx::container
