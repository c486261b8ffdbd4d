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
// sector and at its last ones, sectors by chance, torn sectors, junk in a sector, a write of a page torn at every byte
// that changes, from the front and from the back, and the size of the file before it grew.
class Crashes {
 public:
  // `torn`: a page is neither what it was nor what was written to it.
  using Visit = std::function<void(const Bytes& image, std::uint64_t size, bool torn)>;

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
  void torn(const std::vector<std::size_t>& sectors, std::size_t last);
  void junk(const std::vector<std::size_t>& sectors, std::size_t bad);
  void torn_page(const std::vector<std::size_t>& sectors, std::size_t write);
  void some_sectors();
  void apply(std::size_t sector);
  void apply_bytes(const Call& write, ByteRange in_write);
  void undo();
  void show(bool torn = false);

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
