#include "crash/disk.h"

#include <algorithm>
#include <numeric>

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
  image_.resize(static_cast<std::size_t>(end));  // zeros where a file system has nothing yet
}

void Crashes::apply(std::size_t index, std::uint64_t bytes) {
  const Sector& sector = sectors_[index];
  const auto at = image_.begin() + static_cast<std::ptrdiff_t>(sector.offset);
  saved_.emplace_back(sector.offset, Bytes(at, at + static_cast<std::ptrdiff_t>(sector.size)));
  const auto from = epoch_.writes[sector.write].bytes.begin() + static_cast<std::ptrdiff_t>(sector.in_write);
  std::copy_n(from, std::min(bytes, sector.size), at);
  size_ = std::max(size_, sector.offset + sector.size);
}

void Crashes::undo() {
  for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved) {
    std::copy(saved->second.begin(), saved->second.end(), image_.begin() + static_cast<std::ptrdiff_t>(saved->first));
  }
  saved_.clear();
  size_ = epoch_.durable.size();
}

void Crashes::show() {
  visit_(image_, size_);
  // The new size is written apart from the bytes, and may come later.
  if (size_ != epoch_.durable.size()) visit_(image_, epoch_.durable.size());
}

void Crashes::state(const std::vector<std::size_t>& sectors) {
  for (const std::size_t sector : sectors) apply(sector, kSector);
  show();
  undo();
}

void Crashes::torn(const std::vector<std::size_t>& sectors, std::size_t last, std::uint64_t bytes) {
  for (const std::size_t sector : sectors) apply(sector, kSector);
  apply(last, bytes);
  show();
  undo();
}

void Crashes::junk(const std::vector<std::size_t>& sectors, std::size_t bad) {
  for (const std::size_t sector : sectors) apply(sector, kSector);
  apply(bad, 0);
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
    const std::vector<std::size_t>& own = of_write_[write];
    std::vector<std::size_t> with = issued;
    for (std::size_t i = 0; i < own.size(); ++i) {
      with.push_back(own[i]);
      const bool near_end = i + 3 >= own.size();
      if (i % 8 != 0 && !near_end) continue;
      state(with);
      with.pop_back();
      torn(with, own[i], 1 + random_() % (kSector - 1));
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
  for (std::uint64_t i = 0; i < random_states; ++i) {
    std::vector<std::size_t> chosen;
    const std::size_t issued_writes = 1 + random_() % std::max<std::size_t>(1, of_write_.size());
    const std::uint64_t chance = 1 + random_() % 15;  // of 16
    for (std::size_t write = 0; write < std::min(issued_writes, of_write_.size()); ++write) {
      for (const std::size_t sector : of_write_[write]) {
        if (random_() % 16 < chance) chosen.push_back(sector);
      }
    }
    if (chosen.empty()) continue;
    const std::uint64_t kind = random_() % 4;
    if (kind > 1) {
      state(chosen);
      continue;
    }
    std::swap(chosen[random_() % chosen.size()], chosen.back());
    const std::size_t bad = chosen.back();
    chosen.pop_back();
    if (kind == 0) {
      torn(chosen, bad, random_() % kSector);
    } else {
      junk(chosen, bad);
    }
  }
}

}  // namespace fatctx::crash
