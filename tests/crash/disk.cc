#include "crash/disk.h"

#include <algorithm>
#include <set>

namespace fatctx::crash {

namespace {
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBlock = 16'384;  // the four slots of the large form are in four of these
}  // namespace

Crashes::Crashes(const Epoch& epoch, const container::HeaderForm& form, Visit visit, std::mt19937_64& random)
    : epoch_(epoch),
      form_(form),
      visit_(std::move(visit)),
      random_(random),
      image_(epoch.durable),
      size_(epoch.durable.size()) {
  std::uint64_t end = image_.size();
  of_write_.resize(epoch.writes.size());
  for (std::size_t i = 0; i < epoch.writes.size(); ++i) {
    const Call& write = epoch.writes[i];
    end = std::max<std::uint64_t>(end, write.offset + write.bytes.size());
    for (std::uint64_t at = 0; at < write.bytes.size();) {
      const std::uint64_t offset = write.offset + at;
      const std::uint64_t size = std::min<std::uint64_t>(kSector - offset % kSector, write.bytes.size() - at);
      of_write_[i].push_back(sectors_.size());
      sectors_.push_back({offset, size, i, at});
      at += size;
    }
  }
  image_.resize(static_cast<std::size_t>(end));  // a file system fills the gap with zeros
}

void Crashes::save(ByteRange range) {
  const auto at = image_.begin() + static_cast<std::ptrdiff_t>(range.offset);
  saved_.emplace_back(range.offset, Bytes(at, at + static_cast<std::ptrdiff_t>(range.size)));
}

void Crashes::apply_bytes(const Call& write, ByteRange in_write) {
  const std::uint64_t offset = write.offset + in_write.offset;
  save({offset, in_write.size});
  std::copy_n(write.bytes.begin() + static_cast<std::ptrdiff_t>(in_write.offset),
              static_cast<std::ptrdiff_t>(in_write.size), image_.begin() + static_cast<std::ptrdiff_t>(offset));
  size_ = std::max(size_, offset + in_write.size);
}

void Crashes::apply(std::size_t index) {
  const Sector& sector = sectors_[index];
  apply_bytes(epoch_.writes[sector.write], {sector.in_write, sector.size});
}

void Crashes::undo() {
  for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved) {
    std::copy(saved->second.begin(), saved->second.end(), image_.begin() + static_cast<std::ptrdiff_t>(saved->first));
  }
  saved_.clear();
  size_ = epoch_.durable.size();
}

void Crashes::show(bool torn) {
  visit_(image_, size_, torn);
  // The new size is written separately from the bytes, possibly later.
  if (size_ != epoch_.durable.size()) visit_(image_, epoch_.durable.size(), torn);
}

void Crashes::state(const std::vector<std::size_t>& sectors) {
  for (const std::size_t sector : sectors) apply(sector);
  show();
  undo();
}

// Writes the last sector only up to a random byte, from its front or from its back.
void Crashes::torn(const std::vector<std::size_t>& sectors, std::size_t last) {
  for (const std::size_t sector : sectors) apply(sector);
  const Sector& sector = sectors_[last];
  const std::uint64_t cut = random_() % sector.size;
  const Call& write = epoch_.writes[sector.write];
  if (random_() % 2 == 0) {
    apply_bytes(write, {sector.in_write, cut});
  } else {
    apply_bytes(write, {sector.in_write + cut, sector.size - cut});
  }
  show(true);
  undo();
}

void Crashes::torn_page(const std::vector<std::size_t>& sectors, std::size_t index) {
  const Call& write = epoch_.writes[index];
  for (std::uint64_t cut = 1; cut < write.bytes.size(); ++cut) {
    if (image_[static_cast<std::size_t>(write.offset + cut)] == write.bytes[static_cast<std::size_t>(cut)]) continue;
    for (const ByteRange kept : {ByteRange{0, cut}, ByteRange{cut, write.bytes.size() - cut}}) {
      for (const std::size_t sector : sectors) apply(sector);
      apply_bytes(write, kept);
      show(true);
      undo();
    }
  }
}

void Crashes::junk(const std::vector<std::size_t>& sectors, std::size_t bad) {
  for (const std::size_t sector : sectors) apply(sector);
  apply(bad);
  fill_with_junk({sectors_[bad].offset, sectors_[bad].size});
  show();
  undo();
}

void Crashes::fill_with_junk(ByteRange range) {
  save(range);
  const auto kind = random_() % 3;
  for (std::uint64_t i = 0; i < range.size; ++i) {
    const std::byte byte = kind == 0 ? std::byte{0} : kind == 1 ? std::byte{0xff} : static_cast<std::byte>(random_());
    image_[static_cast<std::size_t>(range.offset + i)] = byte;
  }
}

// Visits every combination of old, new and lost pages of the header. Behind the header all sectors are written, and
// the pages that the file had there are lost too in one more state.
void Crashes::lose_pages(const std::vector<std::size_t>& sectors, std::uint64_t page_size) {
  std::set<std::uint64_t> in_header;
  std::set<std::uint64_t> behind;
  for (const std::size_t sector : sectors) {
    const std::uint64_t offset = sectors_[sector].offset;
    (offset < form_.size ? in_header : behind).insert(offset / page_size);
  }
  if (in_header.empty() && behind.empty()) return;
  const auto kept_of = [&](std::uint64_t first) {
    const auto& prologues = form_.prologues;
    return std::find(prologues.begin(), prologues.end(), first) == prologues.end() ? std::uint64_t{0} : kPage;
  };
  enum : std::uint64_t { kOld, kNew, kLost, kStates };
  std::uint64_t combinations = 1;
  for (std::size_t i = 0; i < in_header.size(); ++i) combinations *= kStates;
  const auto lose = [&](std::uint64_t page) {
    // A block of the large form keeps the page of its prologue, into which nothing is written.
    const std::uint64_t kept = page_size == kPage ? 0 : kept_of(page * page_size);
    const std::uint64_t first = page * page_size + kept;
    const std::uint64_t end = std::min<std::uint64_t>((page + 1) * page_size, image_.size());
    if (first < end) fill_with_junk({first, end - first});
  };
  for (std::uint64_t combination = 0; combination <= combinations; ++combination) {
    const bool everything = combination == combinations;
    std::uint64_t left = everything ? combinations - 1 : combination;  // the last one: all pages of the header are lost
    std::set<std::uint64_t> written;
    std::vector<std::uint64_t> lost;
    for (const std::uint64_t page : in_header) {
      if (left % kStates == kNew) written.insert(page);
      if (left % kStates == kLost) lost.push_back(page);
      left /= kStates;
    }
    if (everything) lost.insert(lost.end(), behind.begin(), behind.end());
    if (lost.empty()) continue;  // whole pages are among the other states
    for (const std::size_t sector : sectors) {
      const std::uint64_t offset = sectors_[sector].offset;
      if (offset >= form_.size || written.contains(offset / page_size)) apply(sector);
    }
    for (const std::uint64_t page : lost) lose(page);
    ++lost_pages_;
    show(true);
    undo();
  }
}

void Crashes::run(std::uint64_t random_states) {
  std::vector<std::size_t> issued;
  state(issued);
  for (std::size_t write = 0; write < of_write_.size(); ++write) {
    if (epoch_.writes[write].bytes.size() == container::kSectorSize) torn_page(issued, write);
    const std::vector<std::size_t>& own = of_write_[write];
    std::vector<std::size_t> with = issued;
    for (std::size_t i = 0; i < own.size(); ++i) {
      with.push_back(own[i]);
      const bool near_end = i + 3 >= own.size();
      if (i % 8 != 0 && !near_end) continue;
      state(with);
      with.pop_back();
      torn(with, own[i]);
      junk(with, own[i]);
      with.push_back(own[i]);
    }
    issued = std::move(with);
    const bool header_next = write + 1 < of_write_.size() && epoch_.writes[write + 1].offset < form_.size;
    if (epoch_.writes[write].offset >= form_.size && write + 1 < of_write_.size() && !header_next) continue;
    lose_pages(issued, kPage);
    if (form_.unit_log2 > container::kSmallExtentLog2) lose_pages(issued, kBlock);
  }
  if (of_write_.size() <= 10) {
    for (std::uint64_t set = 0; set < std::uint64_t{1} << of_write_.size(); ++set) {
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < of_write_.size(); ++i) {
        if ((set >> i & 1) != 0) chosen.insert(chosen.end(), of_write_[i].begin(), of_write_[i].end());
      }
      state(chosen);
    }
  }
  if (of_write_.empty()) return;
  for (std::uint64_t i = 0; i < random_states; ++i) some_sectors();
}

void Crashes::some_sectors() {
  std::vector<std::size_t> chosen;
  const std::size_t issued_writes = 1 + random_() % of_write_.size();
  const std::uint64_t chance = 1 + random_() % 15;  // of 16
  for (std::size_t write = 0; write < issued_writes; ++write) {
    for (const std::size_t sector : of_write_[write]) {
      if (random_() % 16 < chance) chosen.push_back(sector);
    }
  }
  if (chosen.empty()) return;
  const std::uint64_t kind = random_() % 4;
  if (kind > 1) {
    state(chosen);
    return;
  }
  std::swap(chosen[random_() % chosen.size()], chosen.back());
  const std::size_t bad = chosen.back();
  chosen.pop_back();
  if (kind == 0) {
    torn(chosen, bad);
  } else {
    junk(chosen, bad);
  }
}

}  // namespace fatctx::crash
