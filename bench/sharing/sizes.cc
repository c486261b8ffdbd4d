// Measures the bytes of the file, and only these.
#include <unistd.h>

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "sharing/programs.h"
#include "sharing/questions.h"
#include "support/or_stop.h"
#include "support/raw_file.h"
#include "support/rivals.h"

namespace fatctx::bench {
namespace {

constexpr std::size_t kOrders = 4;

std::vector<CorpusFile> in_order(std::vector<CorpusFile> files, std::size_t order) {
  if (order == 1) std::reverse(files.begin(), files.end());
  std::mt19937_64 random(order);
  for (std::size_t i = order < 2 ? 0 : files.size(); i > 1; --i) std::swap(files[i - 1], files[random() % i]);
  return files;
}

Row size_row(const Corpus& corpus, const std::string& what, std::uint64_t bytes, std::uint64_t floor) {
  Row row;
  row.what = fmt::format("{}: {}", corpus.name, what);
  row.policy = "nothing";
  row.cache = "-";
  row.size_bytes = corpus.size_bytes();
  row.unit = "bytes";
  row.minimum = row.median = static_cast<double>(bytes);
  row.ratio_of_minima = row.median_ratio = static_cast<double>(bytes) / static_cast<double>(floor);
  return row;
}

Row count_row(const Corpus& corpus, const std::string& what, std::size_t count) {
  Row row;
  row.what = fmt::format("{}: {}", corpus.name, what);
  row.policy = "nothing";
  row.cache = "-";
  row.size_bytes = corpus.size_bytes();
  row.unit = "count";
  row.minimum = row.median = static_cast<double>(count);
  return row;
}

bool equal_files(const std::string& a, const std::string& b) {
  const RawMap first(a);
  const RawMap second(b);
  return std::equal(first.bytes().begin(), first.bytes().end(), second.bytes().begin(), second.bytes().end());
}

// Returns the number of tensors that have views without taking any memory.
std::size_t mapped_tensors(const Corpus& corpus, const std::string& path) {
  const Container container = or_stop(Container::open(path));
  std::size_t count = 0;
  for (const CorpusFile& file : corpus.files) {
    const auto table = container.tensors(or_stop(container.find(file.name)).id);
    if (!table.ok()) continue;  // copy_not_allowed: its blob must be built
    for (std::size_t i = 0; i < table.value().size(); ++i) {
      const WeightView tensor = table.value().view_at(i);
      if (!tensor.bytes().empty()) ++count;
    }
  }
  return count;
}

struct Knob {
  Sharing sharing;
  const char* name;
};
constexpr Knob kKnobs[] = {{Sharing::kOff, "off"}, {Sharing::kPages, "pages"}, {Sharing::kBytes, "bytes"}};

// Packs in several orders, adds the rows, and leaves the file of the first order at `path`. Returns the index
// of the row that states the size of that file.
std::size_t add_packed(Report& report, const BenchFolder& folder, const Corpus& corpus, const Knob& knob,
                       std::uint64_t floor, const std::string& path) {
  const std::string other = folder.path("order-n");
  const PackReport packed = pack(corpus.files, knob.sharing, path);
  std::size_t different = 0;
  for (std::size_t order = 1; order < kOrders; ++order) {
    (void)pack(in_order(corpus.files, order), knob.sharing, other);
    if (!equal_files(path, other)) ++different;
  }
  (void)::unlink(other.c_str());
  const std::size_t index = report.rows.size();
  report.rows.push_back(size_row(corpus, fmt::format("fatctx, {}", knob.name), packed.file_size, floor));
  Row orders = count_row(corpus, fmt::format("fatctx, {}: orders with other bytes", knob.name), different);
  orders.target = at_most(fmt::format("of {} orders", kOrders), orders.median, 0);
  report.rows.push_back(std::move(orders));
  return index;
}

void add_rivals(Report& report, const BenchFolder& folder, const Corpus& corpus, std::uint64_t floor) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  std::vector<RivalEntry> entries;
  for (const CorpusFile& file : corpus.files) entries.push_back({file.name, file.size, file.path});
  const std::string zip = folder.path("stored.zip");
  write_stored_zip(zip, entries, buffer, false);
  report.rows.push_back(size_row(corpus, "stored ZIP", size_of(open_raw(zip), zip), floor));
  (void)::unlink(zip.c_str());
  if (const auto zstd = zstd_size(corpus)) {
    report.rows.push_back(size_row(corpus, "zstd -3 --long=27, cannot be mapped", *zstd, floor));
  } else {
    report.notes.push_back(corpus.name + ": zstd is skipped, there is no such program");
  }
}

}  // namespace

PackOptions pack_options(Sharing sharing) {
  PackOptions options;
  options.overwrite = true;
  options.model_name = "bench";
  options.sharing = sharing;
  return options;
}

PackReport pack(const std::vector<CorpusFile>& files, Sharing sharing, const std::string& path) {
  Packer packer(pack_options(sharing));
  for (const CorpusFile& file : files) or_stop(packer.add(record_of(file)));
  return or_stop(packer.publish(path));
}

void add_sizes(Report& report, const BenchFolder& folder, const Corpus& corpus, const SizeTargets& targets) {
  const Floor floor = floor_of(corpus);
  for (const auto& [what, bytes] :
       {std::pair{"floor: different parts", floor.parts}, std::pair{"floor: different tiles", floor.tiles},
        std::pair{"floor: different pages of 4 KiB", floor.pages}}) {
    report.rows.push_back(size_row(corpus, what, bytes, floor.parts));
  }
  std::size_t tensors = 0;
  for (const CorpusFile& file : corpus.files) tensors += file.tensors.size();
  const std::string path = folder.path("order-0");
  for (const Knob& knob : kKnobs) {
    Row& row = report.rows[add_packed(report, folder, corpus, knob, floor.parts, path)];
    const auto most = knob.sharing == Sharing::kBytes   ? targets.bytes
                      : knob.sharing == Sharing::kPages ? targets.tensors
                                                        : std::nullopt;
    if (most) row.target = at_most("of the parts", *row.median_ratio, *most);
    if (tensors == 0) continue;
    Row mapped = count_row(corpus, fmt::format("fatctx, {}: tensors mapped", knob.name), mapped_tensors(corpus, path));
    if (knob.sharing != Sharing::kBytes)
      mapped.target = at_least("of all", mapped.median, static_cast<double>(tensors));
    report.rows.push_back(std::move(mapped));
  }
  (void)::unlink(path.c_str());
  add_rivals(report, folder, corpus, floor.parts);
}

void add_given_sizes(Report& report, const BenchFolder& folder, const GivenFiles& given) {
  const Corpus& files = given.files;
  const std::uint64_t all = files.size_bytes();
  report.rows.push_back(size_row(files, "all of them", all, all));
  std::uint64_t smallest = 0;
  for (const CorpusFile& archive : given.archives) {
    report.rows.push_back(size_row(files, fmt::format("archive {}", archive.name), archive.size, all));
    smallest = smallest == 0 ? archive.size : std::min(smallest, archive.size);
  }
  const std::string path = folder.path("order-0");
  for (const Knob& knob : kKnobs) {
    Row& row = report.rows[add_packed(report, folder, files, knob, all, path)];
    if (knob.sharing == Sharing::kBytes && smallest != 0) {
      row.target = at_most("of the smallest archive", row.median / static_cast<double>(smallest), 1);
    }
  }
  (void)::unlink(path.c_str());
  add_rivals(report, folder, files, all);
}

}  // namespace fatctx::bench
