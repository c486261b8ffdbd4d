// Every call to the operating system fails in turn, once and for ever, on every way into and out of a container: each
// gives a typed error that says what happened, or does not need the call; nothing stays; and the next try succeeds.
// Shows S5.15.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <set>

#include "container/hash.h"
#include "fatctx/extract.h"
#include "fatctx/metrics.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "faults/os_faults.h"
#include "runtime/registry.h"
#include "runtime/small_model.h"
#include "support/process_files.h"

namespace fatctx {
namespace {

using faults::Fault;
using faults::Injected;
using faults::Kind;
using testing::Folder;

// What the way gave, so that two runs can be compared.
using Work = std::function<Result<std::string>(const std::string& path)>;

std::string digest(ByteView bytes) {
  return std::to_string(bytes.size()) + ":" + to_hex(container::hash128(bytes).bytes) + " ";
}

Result<std::string> all_views(const Container& container) {
  std::string text;
  for (const RecordInfo& record : container.records()) {
    FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
    text += digest(view.bytes());
  }
  return text;
}

Result<std::string> report_text(const VerifyReport& report) {
  // A finding about the system is an error of the check.
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

struct Way {
  const char* name;
  Work work;
  int least_calls;  // to the system, in a good run
};

Result<std::string> by_descriptor(const std::string& path, std::uint64_t offset) {
  // By the C library itself: the caller's own calls do not fail here.
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return Error{ErrorCode::kInternal, "the test could not open its file"};
  const auto container = Container::open_descriptor(::fileno(file), {}, {.offset = offset});
  (void)std::fclose(file);
  if (!container.ok()) return container.error();
  return all_views(container.value());
}

std::vector<Way> ways() {
  const auto opened = [](const std::string& path, const std::function<Result<std::string>(const Container&)>& use) {
    return [path, use]() -> Result<std::string> {
      FATCTX_ASSIGN(const Container container, Container::open(path));
      return use(container);
    }();
  };
  std::vector<Way> all = {
      {"a path and all views",
       [=](const std::string& path) { return opened(path, [](const Container& c) { return all_views(c); }); }, 10},
      {"a path, links not followed",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(path, {.follow_symlinks = false}));
         return all_views(container);
       },
       10},
      {"a descriptor", [](const std::string& path) { return by_descriptor(path, 0); }, 10},
      {"memory",
       [](const std::string& path) -> Result<std::string> {
         std::ifstream file(path, std::ios::binary);
         const std::string text((std::istreambuf_iterator<char>(file)), {});
         FATCTX_ASSIGN(const Container container, Container::open_memory(std::as_bytes(std::span(text))));
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
           std::ifstream file(path + ".out", std::ios::binary);
           const std::string text((std::istreambuf_iterator<char>(file)), {});
           return digest(std::as_bytes(std::span(text)));
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
  };
  return all;
}

struct Kinds {
  const char* name;
  Fault fault;
  std::set<ErrorCode> allowed;  // empty: it has to succeed
};

std::vector<Kinds> kinds() {
  using enum ErrorCode;
  return {
      {"EIO", {.error_number = EIO}, {kIo, kCommitUnknown}},
      {"ENOMEM", {.error_number = ENOMEM}, {kNoResource, kOutOfMemory, kCommitUnknown}},
      {"EMFILE", {.error_number = EMFILE, .descriptors_only = true}, {kNoResource}},
      {"EINTR", {.kind = Kind::kInterrupt}, {}},
      {"a short transfer", {.kind = Kind::kShort}, {}},
  };
}

class OsFaults : public ::testing::TestWithParam<Way> {
 protected:
  OsFaults() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path())) {
      if (entry.path().filename().string().ends_with(".tmp")) ++count;
    }
    return count;
  }

  Folder folder_;
  std::string path_;
};

TEST_P(OsFaults, AreTypedErrorsAndLeaveNothing) {
  const Way& way = GetParam();
  const auto good = way.work(path_);
  ASSERT_TRUE(good.ok()) << to_text(good.error());
  const auto descriptors = support::open_descriptors();

  for (Kinds kind : kinds()) {
    for (const bool for_ever : {false, true}) {
      kind.fault.for_ever = for_ever;
      long call = 0;
      for (bool met = true; met; ++call) {
        ASSERT_LT(call, 2'000) << "it never got through";
        kind.fault.call = call;
        std::string at;
        auto result = [&] {
          const Injected injected(kind.fault);
          auto done = way.work(path_);
          met = injected.met();
          at = injected.call();
          return done;
        }();
        SCOPED_TRACE(std::string(kind.name) + (for_ever ? " for ever" : " once") + " from call " +
                     std::to_string(call) + " on, " + at);
        if (result.ok()) {
          EXPECT_EQ(result.value(), good.value()) << "success has to mean the same as ever";
        } else if (const Error& error = result.error(); error.where.rule == "F14") {
          // One of two copies could not be read: the file opens by the other, and verify says so.
          EXPECT_NE(error.message.find("unreadable"), std::string::npos);
        } else {
          EXPECT_TRUE(kind.allowed.contains(error.code)) << to_text(error);
          EXPECT_FALSE(error.message.empty());
          EXPECT_EQ(error.message.find('\n'), std::string::npos);
          EXPECT_EQ(error.where.os_error, kind.fault.error_number) << to_text(error);
        }
        EXPECT_EQ(support::open_descriptors(), descriptors);
        EXPECT_EQ(testing::mappings_of(path_), 0);
        EXPECT_EQ(support::maps_of("memfd:fatctx"), 0U);
        EXPECT_EQ(Registry::process().live_count(), 0U);
        EXPECT_EQ(files(), 0U) << "a temporary was left";
        if (HasFailure()) return;
      }
      if (kind.fault.kind == Kind::kError && !kind.fault.descriptors_only) {
        EXPECT_GT(call, way.least_calls) << "are the library's calls led through the faults at all?";
      }
    }
  }
  const auto again = way.work(path_);
  ASSERT_TRUE(again.ok()) << to_text(again.error());
  EXPECT_EQ(again.value(), good.value());
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

INSTANTIATE_TEST_SUITE_P(Ways, OsFaults, ::testing::ValuesIn(ways()), name_of);

}  // namespace
}  // namespace fatctx
