#include "mapping/filesystem_kind.h"

#include <algorithm>

namespace fatctx::mapping {
namespace {

struct Row {
  std::uint64_t magic;
  FilesystemKind kind;
};

// The numbers are from the kernel's uapi/linux/magic.h and the filesystems' own sources.
constexpr Row kRows[] = {
    {0xEF53, {"ext4", false}},      {0x58465342, {"xfs", false}},      {0x9123683E, {"btrfs", false}},
    {0x01021994, {"tmpfs", false}}, {0x858458F6, {"ramfs", false}},    {0x794C7630, {"overlayfs", false}},
    {0xF2F52010, {"f2fs", false}},  {0xE0F5E1E2, {"erofs", false}},    {0x73717368, {"squashfs", false}},
    {0x2FC12FC1, {"zfs", false}},   {0xCA451A4E, {"bcachefs", false}}, {0x4D44, {"vfat", false}},
    {0x2011BAB0, {"exfat", false}}, {0x5346544E, {"ntfs", false}},     {0x7366746E, {"ntfs3", false}},
    {0x9660, {"iso9660", false}},   {0x5DF5, {"exofs", false}},        {0x9FA0, {"proc", false}},
    {0x62656572, {"sysfs", false}}, {0x6969, {"nfs", true}},           {0xFF534D42, {"cifs", true}},
    {0xFE534D42, {"smb2", true}},   {0x517B, {"smb", true}},           {0x65735546, {"fuse", true}},
    {0x01021997, {"9p", true}},     {0x00C36400, {"ceph", true}},      {0x5346414F, {"afs", true}},
    {0x6B414653, {"kafs", true}},   {0x73757245, {"coda", true}},      {0x564C, {"ncp", true}},
    {0x0BD00BD0, {"lustre", true}}, {0x47504653, {"gpfs", true}},      {0x7461636F, {"ocfs2", true}},
    {0x01161970, {"gfs2", true}},   {0x013111A8, {"ibrix", true}},     {0x786F4256, {"vboxsf", true}},
    {0xBACBACBC, {"vmhgfs", true}}, {0x20030528, {"orangefs", true}},  {0x5346314D, {"m1fs", true}},
};

// Kinds that only other systems report, by name.
constexpr FilesystemKind kOthers[] = {
    {"apfs", false}, {"hfs", false},   {"refs", false},   {"fat", false},    {"fat32", false}, {"udf", false},
    {"cdfs", false}, {"csvfs", false}, {"msdos", false},  {"ufs", false},    {"smbfs", true},  {"webdav", true},
    {"afpfs", true}, {"ftp", true},    {"macfuse", true}, {"osxfuse", true}, {"fusefs", true},
};

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

FilesystemKind filesystem_kind_of_name(std::string_view name) noexcept {
  for (const FilesystemKind& kind : kOthers) {
    if (equal_ignoring_case(kind.name, name)) return kind;
  }
  for (const Row& row : kRows) {
    if (equal_ignoring_case(row.kind.name, name)) return row.kind;
  }
  return {};
}

FilesystemKind filesystem_kind_of_magic(std::uint64_t magic) noexcept {
  for (const Row& row : kRows) {
    if (row.magic == magic) return row.kind;
  }
  return {};
}

}  // namespace fatctx::mapping
