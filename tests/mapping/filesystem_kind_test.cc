#include "mapping/filesystem_kind.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace filesystem_kind_test {

TEST(FilesystemKind, NetworksAndFuseAreRemoteAndDisksAreNot) {
  struct Row {
    std::uint64_t magic;  // copied by hand from the kernel's magic.h and the filesystems' documents
    std::string_view name;
    bool remote;
  };
  const Row rows[] = {
      {0xEF53, "ext4", false},      {0x58465342, "xfs", false},       {0x9123683E, "btrfs", false},
      {0x01021994, "tmpfs", false}, {0x794C7630, "overlayfs", false}, {0xF2F52010, "f2fs", false},
      {0xE0F5E1E2, "erofs", false}, {0x73717368, "squashfs", false},  {0x2FC12FC1, "zfs", false},
      {0x6969, "nfs", true},        {0xFF534D42, "cifs", true},       {0xFE534D42, "smb2", true},
      {0x65735546, "fuse", true},   {0x01021997, "9p", true},         {0x00C36400, "ceph", true},
      {0x5346414F, "afs", true},    {0x0BD00BD0, "lustre", true},     {0x47504653, "gpfs", true},
      {0x786F4256, "vboxsf", true}, {0x73757245, "coda", true},       {0x01161970, "gfs2", true},
  };
  for (const Row& row : rows) {
    const FilesystemKind kind = filesystem_kind_of_magic(row.magic);

    EXPECT_EQ(kind.name, row.name);
    EXPECT_EQ(kind.remote, row.remote) << row.name;
  }
}

TEST(FilesystemKind, AnUnknownNumberIsUnknownAndNotRemote) {
  EXPECT_EQ(filesystem_kind_of_magic(0xDEADBEEF).name, "unknown");
  EXPECT_FALSE(filesystem_kind_of_magic(0xDEADBEEF).remote);
  EXPECT_EQ(filesystem_kind_of_magic(0xFFFFFFFF00000000 | 0xEF53).name, "unknown");
}

TEST(FilesystemKind, SystemsThatNameThemAreAnsweredByName) {
  EXPECT_EQ(filesystem_kind_of_name("NTFS").name, "ntfs");
  EXPECT_FALSE(filesystem_kind_of_name("NTFS").remote);
  EXPECT_EQ(filesystem_kind_of_name("ReFS").name, "refs");
  EXPECT_FALSE(filesystem_kind_of_name("apfs").remote);
  EXPECT_TRUE(filesystem_kind_of_name("smbfs").remote);
  EXPECT_TRUE(filesystem_kind_of_name("NFS").remote);
  EXPECT_EQ(filesystem_kind_of_name("").name, "unknown");
  EXPECT_EQ(filesystem_kind_of_name("apfs2").name, "unknown");
}

TEST(FilesystemKind, ADescriptorIsAskedAndABadOneIsUnknown) {
  const int proc = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(proc, 0);
  EXPECT_EQ(filesystem_kind(proc).name, "proc");
  ::close(proc);

  EXPECT_EQ(filesystem_kind(-1).name, "unknown");
}

}  // namespace filesystem_kind_test
}  // namespace fatctx::mapping
