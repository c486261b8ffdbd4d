// Arbitrary bytes as a table of contents with a correct hash, below header and file: it is refused, or every segment is
// within the file and overlaps no other, and every slice is within its segment.
//
// Input: 1 byte for the flags of the header, 2 bytes for the file's size in units; the rest is the table of contents.
// The hashes of its pages are corrected, so that changed rows are looked at.
#include <algorithm>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "container/read/parse.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "support/rehash.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  using namespace fatctx::container;
  fuzz::Input input(data, size);
  const std::uint8_t flags = input.byte();
  const std::uint64_t units = input.number(2);
  const ByteView bytes = input.rest();
  if (bytes.size() <= kPageHashesStart + sizeof(DiskHash)) return 0;  // the header refuses such a size
  Header header;
  // The header takes the uuid and the generation from the table of contents; otherwise every input would fail there.
  std::copy_n(bytes.begin() + 8, header.uuid.size(), header.uuid.begin());
  header.generation = (flags & 1) != 0 ? 2 : 1;
  header.sealed = (flags & 2) != 0;
  if ((flags & 8) != 0) header.signature.emplace();
  header.extent_log2 = (flags & 16) != 0 ? kSmallExtentLog2 : (flags & 4) != 0 ? kLargeExtentLog2 : kExtentLog2;
  header.granule_log2 = 12;
  header.toc_size = bytes.size();
  const auto head_size = support::struct_at<TocHeader>(bytes, 0).head_size;
  if (head_size <= kPageHashesStart || head_size >= bytes.size()) return 0;
  header.toc_head_size = head_size;
  const HeaderForm& form = header.form();
  header.toc_offset = {form.size, form.size + ((units + 1) << form.unit_log2)};
  header.committed_end = header.toc_offset[1] + bytes.size();

  std::vector<std::byte> table(bytes.begin(), bytes.end());
  support::rehash_pages(table, head_size);

  const auto toc = parse_toc(std::move(table), header, 0);

  if (!toc.ok()) {
    fuzz::require_good(toc.error());
    return 0;
  }
  std::uint64_t end = form.size + bytes.size();
  for (const Segment& segment : toc.value().segments) {
    fuzz::require(within({segment.offset, segment.size}, header.committed_end), "a segment lies in the file");
    fuzz::require(segment.offset >= end || segment.size == 0, "segments are apart");
    end = segment.offset + segment.size;
  }
  for (const Slice& slice : toc.value().slices) {
    fuzz::require(slice.segment < toc.value().segments.size(), "a slice has a segment");
    fuzz::require(within(slice.range, toc.value().segments[slice.segment].size), "a slice lies in its segment");
  }
  std::uint32_t before = 0;
  for (const RecordInfo& record : toc.value().records) {
    fuzz::require(record.id > before, "records ascend", record.name);
    before = record.id;
    for (const std::uint32_t weights : record.weights) {
      fuzz::require(toc.value().find(weights) != nullptr, "a weight blob is there", record.name);
    }
  }
  return 0;
}
