// What may be on a disk after a crash: everything before the last sync, and of what was written since any sectors, torn
// or replaced by junk, with or without the growth of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "crash/recording_file.h"

namespace fatctx::crash {

inline constexpr std::uint64_t kSector = 512;

// Writes between two syncs, over what was on the disk at the first of them.
struct Epoch {
  Bytes durable;
  std::vector<Call> writes;
};

// The states that a crash inside of an epoch may leave: all that are few, and `random_states` of the others.
// `visit` is handed each image with its size; what stands behind the size is not there.
//
// Covers: every number of writes that were issued, of these every subset (of up to 10), each write cut at every 8th
// sector and at its last ones, sectors by chance, every subset of the sectors of writes of a page, torn sectors, junk
// in a sector, and the size of the file before it grew.
class Crashes {
 public:
  using Visit = std::function<void(const Bytes& image, std::uint64_t size)>;

  Crashes(const Epoch& epoch, Visit visit, std::mt19937_64& random);
  void run(std::uint64_t random_states);

 private:
  struct Sector {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t size = 0;
    std::size_t write = 0;
    std::uint64_t in_write = 0;
  };

  void state(const std::vector<std::size_t>& sectors);
  void torn(const std::vector<std::size_t>& sectors, std::size_t last, std::uint64_t bytes);
  void junk(const std::vector<std::size_t>& sectors, std::size_t bad);
  void apply(std::size_t sector, std::uint64_t bytes);
  void undo();
  void show();

  const Epoch& epoch_;
  Visit visit_;
  std::mt19937_64& random_;
  std::vector<Sector> sectors_;
  std::vector<std::vector<std::size_t>> of_write_;  // indexes of sectors
  Bytes image_;
  std::uint64_t size_ = 0;
  std::vector<std::pair<std::uint64_t, Bytes>> saved_;
};

}  // namespace fatctx::crash
