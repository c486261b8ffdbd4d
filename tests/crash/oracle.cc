#include "crash/oracle.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "container/check/verify.h"

namespace fatctx::crash {

using container::OpenedToc;

Result<OpenedToc> opened(const Bytes& bytes, std::uint64_t size) {
  return container::read_toc(ImageFile(bytes, size), size);
}

std::uint64_t generation_of(const Bytes& file) {
  const auto toc = opened(file, file.size());
  if (!toc.ok()) throw std::runtime_error(to_text(toc.error()));
  return toc.value().header.generation;
}

namespace {

// A lost page leaves junk around its sectors. It does no harm, so an append leaves it to a repair.
bool is_header_padding(const Error& error, const container::Header& header) {
  return error.where.rule == "F35" && error.where.file_offset.value_or(header.form().size) < header.form().size;
}

}  // namespace

std::string Oracle::remember(const Bytes& file) {
  const auto report = container::verify_container(ImageFile(file, file.size()), {});
  if (!report.ok()) return "what an append left cannot be verified: " + to_text(report.error());
  const auto toc = opened(file, file.size());
  for (const VerifyFinding& finding : report.value().findings) {
    if (toc.ok() && is_header_padding(finding.error, toc.value().header)) continue;
    return "what an append left is not whole: " + to_text(finding.error);
  }
  if (toc.ok() && toc.value().header.degraded != 0) {
    return "what an append left is not whole: " + container::degraded_texts(toc.value().header.degraded)[0];
  }
  return remember_generation(file);
}

std::string Oracle::remember_generation(const Bytes& file) {
  const auto toc = opened(file, file.size());
  if (!toc.ok()) return "what an append left does not open: " + to_text(toc.error());
  const container::Header& header = toc.value().header;
  Meant meant{file, {}, {{{header.toc_offset[0], header.toc_size}, {header.toc_offset[1], header.toc_size}}}};
  for (const container::Segment& segment : toc.value().toc.segments) {
    if (segment.kind != container::SegmentKind::kDead) meant.ranges.push_back({segment.offset, segment.size});
  }
  meant_.try_emplace(header.toc_hash, std::move(meant));
  return {};
}

void Oracle::forget(const Bytes& file) {
  const auto toc = opened(file, file.size());
  if (toc.ok()) meant_.erase(toc.value().header.toc_hash);
}

bool Oracle::as_meant(const Hash128& toc_hash, const Bytes& image, std::uint64_t size, std::string& violation) const {
  const auto found = meant_.find(toc_hash);
  if (found == meant_.end()) {
    violation = "a generation that nobody wrote";
    return false;
  }
  const Meant& meant = found->second;
  const auto as_written = [&](ByteRange range) {
    return within(range, size) &&
           std::memcmp(image.data() + range.offset, meant.file.data() + range.offset, range.size) == 0;
  };
  if (std::all_of(meant.ranges.begin(), meant.ranges.end(), as_written) &&
      std::any_of(meant.tables.begin(), meant.tables.end(), as_written)) {
    return true;
  }
  violation = "a generation has other bytes than were written";
  return false;
}

Found Oracle::look(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) const {
  Found found;
  const auto toc = opened(image, size);
  if (!toc.ok()) {
    found.violation = "unopenable: " + to_text(toc.error());
    return found;
  }
  const container::Header& header = toc.value().header;
  found.generation = header.generation;
  found.degraded = header.degraded;
  const std::uint32_t mirrors = std::uint32_t{container::kDegradedSlotA0} * 5 << header.pair;  // slot and its mirror
  found.pair_whole = (header.degraded & mirrors) == 0;
  if (header.generation < acknowledged) {
    found.violation = "an acknowledged generation is lost";
    return found;
  }
  if (!as_meant(header.toc_hash, image, size, found.violation)) return found;
  std::uint64_t number = 0;
  for (const container::Generation& earlier : toc.value().toc.generations) {
    if (earlier.number != ++number) found.violation = "an earlier generation is not listed";
    if (!found.violation.empty() || !as_meant(earlier.toc_hash, image, size, found.violation)) return found;
  }
  if (number + 1 != header.generation) found.violation = "an earlier generation is not listed";
  return found;
}

}  // namespace fatctx::crash
