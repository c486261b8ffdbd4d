// A record that is read from a filesystem of which the system says nothing.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "fatctx/extract.h"
#include "faults/os_faults.h"
#include "runtime/open/container_impl.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace record_read_faults_test {

using support::is_ok;

TEST(RecordReadFaults, AFilesystemThatMayBeRemoteIsReadThroughTheCacheUnlessAskedOtherwise) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  const support::Bytes content = support::pattern(std::size_t{4} << 20, 7);
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "all", content)}, path)));
  const Container container = Container::open(path, {.verify = VerifyPolicy::kNone}).value();
  {
    const faults::Injected injected({.error_number = EIO});
    EXPECT_TRUE(mapped_of(container)->filesystem().remote);
    ASSERT_EQ(injected.call(), "fstatfs");
  }
  const std::string why = "; the filesystem is unknown";
  const std::uint32_t id = container.find("all").value().id;
  for (const ReadMethod method : {ReadMethod::kAuto, ReadMethod::kDirect}) {
    support::Bytes out(content.size());
    const auto report = read_record(container, id, out, {.method = method});
    ASSERT_TRUE(is_ok(report));
    EXPECT_TRUE(out == content);
    EXPECT_EQ(report.value().reason.ends_with(why), method == ReadMethod::kAuto) << report.value().reason;
  }
}

}  // namespace record_read_faults_test
}  // namespace fatctx
