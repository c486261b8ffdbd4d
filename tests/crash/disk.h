// Possible disk contents after a crash. Everything before the last sync is on the disk. Any sectors written since may
// be there as well, torn or replaced by junk, with or without the growth of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "container/format/disk_format.h"
#include "crash/recording_file.h"

namespace fatctx::crash {

inline constexpr std::uint64_t kSector = 512;

// A sequence of writes between two syncs, with the disk content at the first of them.
struct Epoch {
  Bytes durable;
  std::vector<Call> writes;
};

// A generator of the states that a crash within an epoch may leave: all states of the small classes, and
// `random_states` of the others. `visit` receives each image with its size; bytes behind that size do not exist.
//
// Covers: every number of issued writes, and every subset of them (of up to 10); each write cut at every 8th sector and
// at its last ones; random sectors; torn sectors; junk in a sector; a page write torn at every byte that changes, from
// the front and from the back; and the size of the file before it grew. Some disks rewrite a whole page for one sector,
// so a sector that is being written endangers its page. Every page of the header with such a sector is old, new or
// junk, in all combinations. In files of the large form this holds for blocks of 16 KiB too, which have one slot each;
// the pages of the prologues, beside which it writes nothing, are left out there.
class Crashes {
 public:
  // `torn`: a page has neither its old content nor the written one.
  using Visit = std::function<void(const Bytes& image, std::uint64_t size, bool torn)>;

  Crashes(const Epoch& epoch, const container::HeaderForm& form, Visit visit, std::mt19937_64& random);
  void run(std::uint64_t random_states);
  [[nodiscard]] std::uint64_t lost_pages() const noexcept { return lost_pages_; }  // states in which a page is junk

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
  void lose_pages(const std::vector<std::size_t>& sectors, std::uint64_t page_size);
  void some_sectors();
  void apply(std::size_t sector);
  void apply_bytes(const Call& write, ByteRange in_write);
  void fill_with_junk(ByteRange range);
  void save(ByteRange range);
  void undo();
  void show(bool torn = false);

  const Epoch& epoch_;
  const container::HeaderForm& form_;
  Visit visit_;
  std::mt19937_64& random_;
  std::vector<Sector> sectors_;
  std::vector<std::vector<std::size_t>> of_write_;  // indexes of sectors, for each write
  Bytes image_;
  std::uint64_t size_ = 0;
  std::uint64_t lost_pages_ = 0;
  std::vector<std::pair<std::uint64_t, Bytes>> saved_;
};

}  // namespace fatctx::crash
