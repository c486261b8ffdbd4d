// Appends that search the container for equal bytes, and packs that compress.
#include <filesystem>
#include <string>
#include <utility>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/packer.h"
#include "faults/process_folder.h"
#include "faults/ways.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx::faults {
namespace {

constexpr std::size_t kLeaf = 64 * 1024;

void put(support::Bytes& bytes, ByteView more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// A container, and input files that share bytes with it. The constructor writes them before any call fails.
class SharingFiles {
 public:
  static const SharingFiles& get() {
    static const SharingFiles files;
    return files;
  }

  const ProcessFolder folder;
  const std::string container = folder.file("stored.fatctx");
  const std::string equal = folder.file("equal");        // the bytes of the only record of the container
  const std::string parts = folder.file("parts");        // new, but for two leaves of that record
  const std::string fresh = folder.file("fresh");        // all new
  const std::string similar = folder.file("similar");    // two leaves of `fresh`, in another order
  const std::string repeats = folder.file("repeats");    // the second leaf of `parts`, which no other file has
  const std::string shifted = folder.file("shifted");    // `equal` behind 100 other bytes
  const std::string patterns = folder.file("patterns");  // compresses well

 private:
  SharingFiles() {
    const support::Bytes stored = support::pattern(4 * kLeaf + 900, 51);
    const support::Bytes others = support::pattern(3 * kLeaf, 52);
    const support::Bytes between = support::pattern(kLeaf + 70, 53);
    support::write_file(equal, stored);
    support::write_file(fresh, others);
    support::Bytes bytes;
    put(bytes, ByteView(stored).first(kLeaf));
    put(bytes, ByteView(between).first(kLeaf));
    put(bytes, ByteView(stored).subspan(2 * kLeaf, kLeaf));
    put(bytes, ByteView(between).subspan(kLeaf));
    support::write_file(parts, bytes);
    bytes.clear();
    put(bytes, ByteView(others).subspan(2 * kLeaf));
    put(bytes, ByteView(others).first(kLeaf));
    support::write_file(similar, bytes);
    bytes.clear();
    put(bytes, ByteView(between).first(kLeaf));
    put(bytes, support::pattern(500, 54));
    support::write_file(repeats, bytes);
    bytes = support::pattern(100, 55);
    put(bytes, stored);
    support::write_file(shifted, bytes);
    support::write_file(patterns, support::Bytes(3 * kLeaf, std::byte{7}));
    support::write_file(container,
                        support::packed_bytes({support::plain_record(RecordType::kOpaque, "stored", stored)}));
  }
};

PackRecord from_file(const std::string& name, const std::string& path, Codec codec = Codec::kNone) {
  PackRecord record;
  record.type = RecordType::kOpaque;
  record.name = name;
  record.codec = codec;
  record.source.path = path;
  return record;
}

// Digests of all records. The file itself may differ from run to run: a search that fails shares less.
Result<std::string> all_streams(const std::string& path) {
  FATCTX_ASSIGN(const Container container, Container::open(path));
  std::string text;
  for (const RecordInfo& record : support::records_in(container)) {
    support::Bytes bytes;
    FATCTX_TRY(stream_record(container, record.id, [&](ByteView more) -> Status {
      put(bytes, more);
      return Done{};
    }));
    text += std::string(record.name) + " " + digest(bytes);
  }
  return text;
}

Result<std::string> appended(std::vector<PackRecord> records, Sharing sharing, const std::string& path) {
  std::filesystem::copy_file(SharingFiles::get().container, path, std::filesystem::copy_options::overwrite_existing);
  FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1, .sharing = sharing}));
  for (PackRecord& record : records) FATCTX_TRY(appender.add(std::move(record)));
  FATCTX_ASSIGN(const AppendReport report, appender.commit());
  FATCTX_ASSIGN(const std::string streams, all_streams(path));
  return std::to_string(report.generation) + " " + streams;
}

}  // namespace

std::vector<Way> sharing_ways() {
  const SharingFiles& files = SharingFiles::get();
  return {
      {"append what the file has by pages",
       [&files](const std::string& path) {
         return appended({from_file("equal", files.equal), from_file("parts", files.parts),
                          from_file("fresh", files.fresh), from_file("similar", files.similar),
                          from_file("repeats", files.repeats), from_file("patterns", files.patterns, Codec::kLz4)},
                         Sharing::kPages, path + ".pages");
       },
       60},
      {"append what the file has by bytes",
       [&files](const std::string& path) {
         return appended({from_file("shifted", files.shifted), from_file("fresh", files.fresh)}, Sharing::kBytes,
                         path + ".bytes");
       },
       50},
      {"pack and compress",
       [&files](const std::string& path) -> Result<std::string> {
         PackOptions options;
         options.overwrite = true;
         options.sharing = Sharing::kBytes;
         options.sha256 = true;
         options.threads = 1;
         Packer packer(options);
         FATCTX_TRY(packer.add(from_file("patterns", files.patterns, Codec::kLz4)));
         FATCTX_TRY(packer.add(from_file("fresh", files.fresh, Codec::kLz4)));
         FATCTX_TRY(packer.add(from_file("equal", files.equal)));
         FATCTX_TRY(packer.add(from_file("shifted", files.shifted)));
         FATCTX_ASSIGN(const PackReport report, packer.publish(path + ".packed"));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(path + ".packed"));
         return std::to_string(report.stored_bytes) + " " + digest;
       },
       40},
  };
}

}  // namespace fatctx::faults
