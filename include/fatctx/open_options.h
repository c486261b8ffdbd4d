// The options of an open: checks, mapping, copies, and trusted keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/file_mapping.h"
#include "fatctx/keys.h"

namespace fatctx {

// The point in time at which payload is checked. Metadata is always checked.
enum class VerifyPolicy : std::uint8_t {
  // Checks all of a record, by its leaves and its own hash, once per mapping, before a view of it is handed out. For
  // tensors that are shown by themselves, it checks the leaves that they touch.
  kRecordOnAcquire,
  kNone,  // the caller vouches for the bytes
  // Views are copies in sealed memory of this process, made once per record and verified after sealing. A writer of the
  // file, or of another process's mapping, can no longer change them. Costs the bytes, and the time to read and hash
  // them. Linux only; elsewhere acquire answers unsupported.
  kPrivateCopy,
};
[[nodiscard]] std::string_view verify_policy_name(VerifyPolicy policy) noexcept;  // "record_on_acquire", "none", ...
[[nodiscard]] std::optional<VerifyPolicy> verify_policy_from_name(std::string_view name) noexcept;

struct OpenOptions {
  VerifyPolicy verify = VerifyPolicy::kRecordOnAcquire;
  bool follow_symlinks = true;
  bool require_local = false;  // refuse network and FUSE filesystems with remote_filesystem
  // Check all rules about the table of contents when the container is opened. Otherwise an open checks a table of at
  // most 64 KiB, and the head of a larger one, whose rows are checked when they are used.
  bool strict = false;
  FileMapping file_mapping = FileMapping::kAuto;
  std::shared_ptr<MappingProvider> mapping_provider = nullptr;  // null: the system
  std::shared_ptr<ViewAllocator> allocator = nullptr;           // not null: views are placed in its memory
  // Memory, in bytes, that may be used to compose views of records whose bytes cannot all be mapped
  // (AccessPath::kComposed). The limit is for all views of one mapping together. FileMapping::kRequire sets it to 0.
  std::uint64_t max_copied_bytes = 0;
  // A folder for the files of composed views (fatctx/view_cache.h), which all processes that name it share. They are
  // used instead of memory of this process. Naming the folder is the permission; max_copied_bytes does not count its
  // files. FileMapping::kRequire empties this option. The folder must exist, belong to the caller, and have mode 0700.
  std::string cache_folder = {};
  std::uint64_t cache_limit_bytes = 0;  // the most that its files may take together; 0: kDefaultCacheLimitBytes
  // An earlier state of a container that was appended to, as long as its bytes exist; 0: the newest. Fails with
  // not_found if the file does not have it.
  std::uint64_t generation = 0;
  // If not empty, the owner of one of these keys must have signed the generation that is opened. Payload is then
  // compared with the signed SHA-256; otherwise it is compared with XXH3. An append makes an unsigned generation. The
  // signed one before it opens by its number, and no other does, because its signature is still stored. An open with
  // keys does not join the mapping of an open without keys: each kind has its own.
  std::vector<PublicKey> trusted_keys = {};
  // The lowest generation that opens; below it: rollback. Keeps an older file, even a signed one, from replacing a
  // newer one.
  std::uint64_t minimum_generation = 0;
  // The most bytes that one call may make from the container's stored bytes, or read again, over all its records and
  // threads. Recipes, compressed records and records in pieces make more bytes than they store. A call that would make
  // more fails with limit_exceeded before it makes them. Programs of recipes take at most one 32nd of it in memory at a
  // time; tables of tensors may take as much again. 0: 1 GiB, or 100 times the stored bytes if that is more.
  std::uint64_t max_made_bytes = 0;
};

}  // namespace fatctx
