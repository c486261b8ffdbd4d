#include "faults/ways.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "container/format/hash.h"
#include "fatctx/extract.h"
#include "fatctx/metrics.h"
#include "fatctx/model.h"
#include "fatctx/packer.h"
#include "fatctx/profile.h"
#include "fatctx/range_access.h"
#include "fatctx/rewrite.h"
#include "fatctx/sharing.h"
#include "fatctx/trace.h"
#include "fatctx/view_cache.h"
#include "faults/process_folder.h"
#include "support/chip_corpus.h"
#include "support/opened.h"
#include "support/sliced_container.h"

namespace fatctx::faults {
std::string digest(ByteView bytes) {
  return std::to_string(bytes.size()) + ":" + to_hex(container::hash128(bytes).bytes) + " ";
}

Result<std::string> digest_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return digest(std::as_bytes(std::span(text)));
}

Result<std::string> all_views(const Container& container) {
  std::string text;
  for (const RecordInfo& record : support::records_in(container)) {
    FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
    text += digest(view.bytes());
  }
  return text;
}

namespace {

Result<std::string> report_text(const VerifyReport& report) {
  // A finding is returned as an error, so that faults in a check are seen as errors.
  if (!report.findings.empty()) return report.findings.front().error;
  return std::to_string(report.checked_bytes);
}

ModelOptions for_aarch64(OpenOptions open = {}) {
  ModelOptions options;
  options.device = Device{};
  options.device->arch = "aarch64";
  options.open = std::move(open);
  return options;
}

LoadOptions stoppable() {
  LoadOptions options{.model = for_aarch64()};
  options.model.signal = LoadSignal();
  return options;
}

Result<std::string> whole_model(const std::string& path, const OpenOptions& open) {
  FATCTX_ASSIGN(const Model model, Model::open(path, for_aarch64(open)));
  FATCTX_ASSIGN(Session session, model.begin_session());
  FATCTX_ASSIGN(const WeightView tensor, session.weight("layer/1"));
  FATCTX_ASSIGN(const RecordView binary, session.binary());
  std::string text = digest(tensor.bytes()) + digest(binary.bytes());
  FATCTX_TRY(session.end());
  return text;
}

std::uint32_t weights_of(const Container& container) { return container.find("weights").value().id; }

// Returns the file for stitched views; it is written before anything fails.
std::string sliced_file() {
  static const ProcessFolder folder;
  static const std::string path = [] {
    std::string made = folder.file("sliced.fatctx");
    support::write_file(made, support::sliced_model().bytes());
    return made;
  }();
  return path;
}

// Two inputs of the same bytes, and a container that stores one of them as a recipe. Written before anything fails.
struct RecipeFiles {
  ProcessFolder folder;
  std::string one = folder.file("one");
  std::string two = folder.file("two");
  std::string packed = folder.file("recipes.fatctx");

  RecipeFiles() {
    support::Bytes bytes = support::pattern(150'000, 41);
    support::write_file(one, bytes);
    bytes.insert(bytes.begin(), 100, std::byte{1});
    support::write_file(two, bytes);
    if (!pack_to(packed).ok()) throw std::runtime_error("the test could not pack its file");
  }
  [[nodiscard]] Result<PackReport> pack_to(const std::string& path) const {
    PackOptions options;
    options.overwrite = true;
    options.sharing = Sharing::kBytes;
    Packer packer(options);
    for (const std::string* input : {&one, &two}) {
      PackRecord record = support::plain_record(RecordType::kOpaque, input == &one ? "one" : "two", {});
      record.source.path = *input;
      FATCTX_TRY(packer.add(std::move(record)));
    }
    return packer.publish(path);
  }
};

const RecipeFiles& recipe_files() {
  static const RecipeFiles files;
  return files;
}

// Returns a file of two chips of one family that share bytes; it is written before anything fails.
const std::string& chips_file() {
  static const ProcessFolder folder;
  static const std::string path = [] {
    std::string made = folder.file("chips.fatctx");
    const support::ChipCorpus corpus = support::make_chip_corpus(3, {.tensors = 4});
    PackOptions options;
    options.sharing = Sharing::kBytes;
    support::write_file(made, support::packed_bytes({support::binary_record("chip 0", "x86-64-v2", corpus.chips[0]),
                                                     support::binary_record("chip 2", "x86-64-v3", corpus.chips[2])},
                                                    options));
    return made;
  }();
  return path;
}

Result<std::string> composed(const std::string& path) {
  FATCTX_ASSIGN(const Container container, Container::open(path, {.max_copied_bytes = std::uint64_t{1} << 30}));
  for (const RecordInfo& record : support::records_in(container)) {
    if (!record.recipe) continue;
    FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
    if (view.access_path() != AccessPath::kComposed) return Error{ErrorCode::kInternal, "it is a copy"};
    FATCTX_ASSIGN(const PrefetchReport report, container.prefetch(record.id));
    FATCTX_ASSIGN(const ReleaseReport released, container.release(record.id, {.keep_cached = true}));
    return digest(view.bytes()) + std::to_string(report.done_bytes) + std::to_string(released.asked_bytes);
  }
  return Error{ErrorCode::kInternal, "no record is a recipe"};
}

// Composes a view in the folder, then finds it there. The caller clears the folder before calls fail.
Result<std::string> composed_in_a_folder(const std::string& path, const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::string text;
  for (const bool made : {true, false}) {
    FATCTX_ASSIGN(const Container container, Container::open(path, {.cache_folder = folder}));
    for (const RecordInfo& record : support::records_in(container)) {
      if (!record.recipe) continue;
      const std::uint64_t before = view_cache_counts().made;
      FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
      if (view.cached_bytes() == 0) return Error{ErrorCode::kInternal, "it does not lie in the folder"};
      if ((view_cache_counts().made != before) != made) return Error{ErrorCode::kInternal, "made at the wrong time"};
      text += digest(view.bytes());
    }
  }
  FATCTX_ASSIGN(const std::vector<ViewCacheFile> files, list_view_cache(folder));
  FATCTX_ASSIGN(const ViewCacheCollection left, collect_view_cache(folder, 0));
  return text + std::to_string(files.size()) + std::to_string(left.removed_files);
}

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

Result<std::string> by_descriptor(const std::string& path, const FileWindow& window) {
  // fopen of the C library: the caller's own calls do not fail here.
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) return Error{ErrorCode::kInternal, "the test could not open its file"};
  FATCTX_ASSIGN(const Container container, Container::open(Source::of_descriptor(::fileno(file.get()), window)));
  return all_views(container);
}

// Opens the container in the middle of a larger file.
Result<std::string> from_a_package(const std::string& path) {
  constexpr std::uint64_t kOffset = 3 * 4096;
  const std::string package = path + ".package";
  std::ofstream(package, std::ios::binary)
      << std::string(kOffset, '.') << std::ifstream(path, std::ios::binary).rdbuf() << "another asset";
  return by_descriptor(package, {.offset = kOffset, .size = std::filesystem::file_size(path)});
}

Result<std::string> profiled(const std::string& path) {
  struct Stop {
    ~Stop() { start_profile({.level = ProfileLevel::kOff}); }  // stop_profile() would allocate memory for its result
  } const stop;
  int heard = 0;
  start_profile({.level = ProfileLevel::kDetailed, .hook = [&](const ProfileEvent&) { ++heard; }});
  FATCTX_ASSIGN(std::string text, whole_model(path, {}));
  // If memory is short, events are lost and calls succeed, so the content of the table is not promised.
  (void)current_profile().csv();
  return text;
}

Result<std::string> traced(const std::string& path) {
  struct Stop {
    ~Stop() { set_trace({}); }
  } const stop;
  std::string trace;
  trace.reserve(std::size_t{1} << 20);  // so that no line is cut by a failed allocation
  set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  FATCTX_ASSIGN(std::string text, whole_model(path, {}));
  set_trace({});
  FATCTX_ASSIGN(const ReplayReport replay, replay_trace(trace));
  (void)replay;  // the call that met the fault gives another answer
  return text;
}

}  // namespace

Result<std::string> loaded(const std::string& path, const LoadOptions& options) {
  FATCTX_ASSIGN(const Session context, load(path, options));
  std::string text;
  for (const std::vector<SessionRecord>* records : {&context.binaries(), &context.weights()}) {
    for (const SessionRecord& record : *records) text += std::string(record.name) + digest(record.view.bytes());
  }
  return text;
}

std::vector<Way> ways() {
  const std::string sliced = sliced_file();
  const RecipeFiles& recipes = recipe_files();
  const std::string chips = chips_file();
  const auto opened = [](const std::string& path, const std::function<Result<std::string>(const Container&)>& use) {
    return [path, use]() -> Result<std::string> {
      FATCTX_ASSIGN(const Container container, Container::open(path));
      return use(container);
    }();
  };
  std::vector<Way> all = {
      {"a path and all views",
       [=](const std::string& path) { return opened(path, [](const Container& c) { return all_views(c); }); }, 10},
      {"a load", [](const std::string& path) { return loaded(path, {.model = for_aarch64(), .prefetch = true}); }, 10},
      {"a load that can be stopped", [](const std::string& path) { return loaded(path, stoppable()); }, 10},
      {"a path, links not followed",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(path, {.follow_symlinks = false}));
         return all_views(container);
       },
       10},
      {"a descriptor", [](const std::string& path) { return by_descriptor(path, {}); }, 10},
      {"a part of a larger file", from_a_package, 10},
      {"memory",
       [](const std::string& path) -> Result<std::string> {
         std::ifstream file(path, std::ios::binary);
         const std::string text((std::istreambuf_iterator<char>(file)), {});
         FATCTX_ASSIGN(const Container container, Container::open(Source::of_memory(std::as_bytes(std::span(text)))));
         return all_views(container);
       },
       0},
      {"reopen",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const Container again, container.reopen());
           return all_views(again);
         });
       },
       10},
      {"model, session, tensor, end", [](const std::string& path) { return whole_model(path, {}); }, 10},
      {"the same with copies",
       [](const std::string& path) { return whole_model(path, {.file_mapping = FileMapping::kDisabled}); }, 8},
      {"the same with private copies",
       [](const std::string& path) { return whole_model(path, {.verify = VerifyPolicy::kPrivateCopy}); }, 16},
      {"model that checks what it chooses",
       [](const std::string& path) -> Result<std::string> {
         ModelOptions options = for_aarch64();
         options.on_damage = OnDamage::kNext;  // no other target fits, so a failed read is an error
         FATCTX_ASSIGN(const Model model, Model::open(path, options));
         FATCTX_ASSIGN(const Session session, model.begin_session());
         FATCTX_ASSIGN(const RecordView binary, session.binary());
         return digest(binary.bytes()) + model.explain();
       },
       10},
      {"stitched views",
       [sliced](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(sliced));
         FATCTX_ASSIGN(const RecordView view, container.acquire("weights"));
         if (view.access_path() != AccessPath::kStitched) return Error{ErrorCode::kInternal, "it is a copy"};
         FATCTX_ASSIGN(const PrefetchReport report, container.prefetch(view.record_id()));
         return digest(view.bytes()) + std::to_string(report.done_bytes);
       },
       static_cast<int>(2 * support::kSlicedGranules)},
      {"composed views", [chips](const std::string&) { return composed(chips); }, 20},
      {"composed views in a cache folder",
       [chips](const std::string& path) { return composed_in_a_folder(chips, path + ".cache"); }, 60},
      {"extract a record of several slices",
       [sliced](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(sliced));
         FATCTX_TRY(extract_record(container, weights_of(container), path + ".out", true));
         return digest_of_file(path + ".out");
       },
       15},
      {"prefetch",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const PrefetchReport report, container.prefetch(weights_of(container)));
           return std::to_string(report.done_bytes);
         });
       },
       8},
      {"prefetch in the background",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(PrefetchHandle handle, container.prefetch_in_background(weights_of(container)));
           FATCTX_ASSIGN(const PrefetchReport report, handle.wait());
           return std::to_string(report.done_bytes);
         });
       },
       8},
      {"release",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const ReleaseReport report, container.release(weights_of(container)));
           return std::to_string(report.asked_bytes);
         });
       },
       8},
      {"lock",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const RecordLock lock, container.lock(weights_of(container)));
           return std::to_string(lock.size_bytes());
         });
       },
       10},
      {"ranges",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const RecordView view, container.acquire("weights"));
           const RangeAccess access(view);
           FATCTX_ASSIGN(const ProvidedRange range, access.provide(100, 5'000));
           const std::string text = digest({range.data, static_cast<std::size_t>(range.size_bytes)});
           FATCTX_TRY(access.release(range.id));
           return text;
         });
       },
       10},
      {"metrics",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const RecordView view, container.acquire("weights"));
           (void)view;
           return std::to_string(container_metrics(container).mapped_bytes);
         });
       },
       10},
      {"profile", profiled, 10},
      {"trace and replay", traced, 20},
      {"describe",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const ContainerDescription description, container.describe());
           return description.name;
         });
       },
       9},
      {"verify",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const VerifyReport report, container.verify());
           return report_text(report);
         });
       },
       10},
      {"verify a record",
       [=](const std::string& path) {
         return opened(path, [](const Container& container) -> Result<std::string> {
           FATCTX_ASSIGN(const VerifyReport report, container.verify_record(weights_of(container)));
           return report_text(report);
         });
       },
       9},
      {"verify a file",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const VerifyReport report, verify_file(path));
         return report_text(report);
       },
       8},
      {"extract",
       [=](const std::string& path) {
         return opened(path, [path](const Container& container) -> Result<std::string> {
           FATCTX_TRY(extract_record(container, weights_of(container), path + ".out", true));
           return digest_of_file(path + ".out");
         });
       },
       15},
      {"pack from a file",
       [](const std::string& path) -> Result<std::string> {
         PackOptions options;
         options.overwrite = true;
         Packer packer(options);
         PackRecord record;
         record.type = RecordType::kOpaque;
         record.name = "all";
         record.source.path = path;
         FATCTX_TRY(packer.add(std::move(record)));
         FATCTX_ASSIGN(const PackReport report, packer.publish(path + ".packed"));
         (void)report;
         return std::to_string(std::filesystem::file_size(path + ".packed"));
       },
       15},
      {"pack with sharing by bytes",
       [&recipes](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const PackReport report, recipes.pack_to(path + ".packed"));
         return std::to_string(report.stored_bytes) + " " + report.uuid;
       },
       25},
      {"write anew in place",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const RewriteReport report, rewrite_container(path, path));
         return report.pack.uuid + " " + std::to_string(report.pack.stored_bytes);
       },
       40},
      {"merge",
       [&recipes](const std::string& path) -> Result<std::string> {
         const std::vector<std::string> sources = {path, recipes.packed};
         FATCTX_ASSIGN(const RewriteReport report, merge_containers(sources, path + ".merged", {.overwrite = true}));
         return report.pack.uuid + " " + std::to_string(report.pack.file_size);
       },
       40},
      {"measure sharing",
       [&recipes](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(recipes.packed));
         FATCTX_ASSIGN(const SharingReport report, measure_sharing(container));
         std::string text = std::to_string(report.totals.stored_bytes) + std::to_string(report.totals.bytes_at_most);
         for (const RecordSharing& record : report.records) text += " " + std::to_string(record.own_bytes);
         return text;
       },
       15},
      {"extract and verify recipes",
       [&recipes](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(recipes.packed));
         std::string text;
         for (const char* name : {"one", "two"}) {
           FATCTX_ASSIGN(const RecordInfo record, container.find(name));
           FATCTX_TRY(extract_record(container, record.id, path + ".out", true));
           text += std::to_string(std::filesystem::file_size(path + ".out")) + " ";
           FATCTX_ASSIGN(const VerifyReport report, container.verify_record(record.id));
           FATCTX_ASSIGN(const std::string checked, report_text(report));
           text += checked + " ";
         }
         return text;
       },
       30},
  };
  for (auto more : {import_ways, keeping_ways, sharing_ways}) {
    for (Way& way : more()) all.push_back(std::move(way));
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Way>& way) {
  std::string name;
  bool upper = true;
  for (const char* c = way.param.name; *c != '\0'; ++c) {
    if (std::isalnum(static_cast<unsigned char>(*c)) == 0) {
      upper = true;
    } else {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
      upper = false;
    }
  }
  return name;
}

}  // namespace fatctx::faults
