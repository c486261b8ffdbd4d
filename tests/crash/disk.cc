#include "crash/disk.h"

#include <algorithm>

#include "container/format/disk_format.h"

namespace fatctx::crash {

Crashes::Crashes(const Epoch& epoch, Visit visit, std::mt19937_64& random)
    : epoch_(epoch), visit_(std::move(visit)), random_(random), image_(epoch.durable), size_(epoch.durable.size()) {
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

void Crashes::apply_bytes(const Call& write, ByteRange in_write) {
  const std::uint64_t offset = write.offset + in_write.offset;
  const auto at = image_.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto size = static_cast<std::ptrdiff_t>(in_write.size);
  saved_.emplace_back(offset, Bytes(at, at + size));
  std::copy_n(write.bytes.begin() + static_cast<std::ptrdiff_t>(in_write.offset), size, at);
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
  const Sector& sector = sectors_[bad];
  const auto kind = random_() % 3;
  for (std::uint64_t i = 0; i < sector.size; ++i) {
    const std::byte byte = kind == 0 ? std::byte{0} : kind == 1 ? std::byte{0xff} : static_cast<std::byte>(random_());
    image_[static_cast<std::size_t>(sector.offset + i)] = byte;
  }
  show();
  undo();
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
