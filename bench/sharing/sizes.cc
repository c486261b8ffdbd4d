// Bytes of the file, and nothing but them.
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

Row count_row(const Corpus& corpus, const std::string& what, double count) {
  Row row;
  row.what = fmt::format("{}: {}", corpus.name, what);
  row.policy = "nothing";
  row.cache = "-";
  row.size_bytes = corpus.size_bytes();
  row.unit = "count";
  row.minimum = row.median = count;
  return row;
}

bool equal_files(const std::string& a, const std::string& b) {
  const RawMap first(a);
  const RawMap second(b);
  return std::equal(first.bytes().begin(), first.bytes().end(), second.bytes().begin(), second.bytes().end());
}

// Tensors that are there as views without a byte of memory taken.
std::size_t mapped_tensors(const Corpus& corpus, const std::string& path) {
  const Container container = or_stop(Container::open(path));
  std::size_t count = 0;
  for (const CorpusFile& file : corpus.files) {
    const auto table = container.tensors(or_stop(container.find(file.name)).id);
    if (!table.ok()) continue;  // copy_not_allowed: its blob has to be built
    for (std::size_t i = 0; i < table.value().size(); ++i) {
      const WeightView tensor = table.value().view_at(i);
      if (!tensor.bytes().empty()) ++count;
    }
  }
  return count;
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
  const auto add = [&](const std::string& what, std::uint64_t bytes) -> Row& {
    return report.rows.emplace_back(size_row(corpus, what, bytes, floor.parts));
  };
  add("floor: different parts", floor.parts);
  add("floor: different tiles", floor.tiles);
  add("floor: different pages of 4 KiB", floor.pages);

  std::size_t tensors = 0;
  for (const CorpusFile& file : corpus.files) tensors += file.tensors.size();
  struct Knob {
    Sharing sharing;
    const char* name;
    std::optional<double> most;
  };
  for (const Knob& knob : {Knob{Sharing::kOff, "off", {}}, Knob{Sharing::kPages, "pages", targets.tensors},
                           Knob{Sharing::kBytes, "bytes", targets.bytes}}) {
    const std::string first = folder.path("order-0");
    const std::string other = folder.path("order-n");
    std::size_t different = 0;
    const PackReport packed = pack(corpus.files, knob.sharing, first);
    for (std::size_t order = 1; order < kOrders; ++order) {
      (void)pack(in_order(corpus.files, order), knob.sharing, other);
      if (!equal_files(first, other)) ++different;
    }
    Row& row = add(fmt::format("fatctx, {}", knob.name), packed.file_size);
    if (knob.most) row.target = at_most("of the parts", *row.median_ratio, *knob.most);
    Row& orders = report.rows.emplace_back(count_row(
        corpus, fmt::format("fatctx, {}: orders with other bytes", knob.name), static_cast<double>(different)));
    orders.target = at_most(fmt::format("of {} orders", kOrders), orders.median, 0);
    if (tensors != 0) {
      Row& mapped = report.rows.emplace_back(count_row(corpus, fmt::format("fatctx, {}: tensors mapped", knob.name),
                                                       static_cast<double>(mapped_tensors(corpus, first))));
      if (knob.sharing != Sharing::kBytes)
        mapped.target = at_least("of all", mapped.median, static_cast<double>(tensors));
    }
    (void)::unlink(first.c_str());
    (void)::unlink(other.c_str());
  }

  std::vector<std::byte> buffer(std::size_t{1} << 20);
  std::vector<RivalEntry> entries;
  for (const CorpusFile& file : corpus.files) entries.push_back({file.name, file.size, file.path});
  const std::string zip = folder.path("stored.zip");
  write_stored_zip(zip, entries, buffer, false);
  add("stored ZIP", size_of(open_raw(zip), zip));
  (void)::unlink(zip.c_str());
  if (const auto zstd = zstd_size(corpus)) {
    add("zstd -3 --long=27, cannot be mapped", *zstd);
  } else {
    report.notes.push_back("skipped: there is no program zstd to compare with");
  }
}

}  // namespace fatctx::bench
