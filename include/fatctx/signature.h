// Signs containers, so that a key that the caller trusts proves who made one. Ed25519 over SHA-256.
//
// Hashes in a container protect against accidents; a forger can make them fit. A signature covers the table of contents
// of one generation, which contains the SHA-256 of all payload. An open with OpenOptions::trusted_keys hands out only
// bytes that the owner of one of these keys has signed, or fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/keys.h"

namespace fatctx {

struct SignOptions {
  bool seal = false;       // a sealed container stays sealed in any case
  bool overwrite = false;  // replace `out` if it is an existing, different file; otherwise `exists`
  Progress progress = {};
  const std::atomic<bool>* cancel = nullptr;  // as PackOptions::cancel
  std::uint64_t max_made_bytes = 0;           // as OpenOptions::max_made_bytes
};

struct SignReport {
  std::string path;              // of the signed file
  std::string uuid;              // that of the container, as before
  std::uint64_t generation = 0;  // the signed one: the one after the newest of `path`
  std::uint64_t file_size = 0;   // bytes
  KeyId key_id = {};
  bool sealed = false;
};

// Writes a signed copy of the newest generation of `path` as `out`, with the secret key of `key_path`. `out` may be
// `path`, which is then locked against appends and replaced: a temporary beside it is written, synced and renamed. The
// copy has the uuid of the container, one generation, and no dead bytes. Every leaf is compared with its hash while it
// is copied, and every record with its own in the copy. Nothing is published if one differs.
// Errors: checksum_mismatch and not_present (naming record and offset), those of Container::open, exists, unsupported
// (a
//         record that this version cannot read; a container that only a newer version can change), limit_exceeded,
//         changed (`path` was written to meanwhile), locked (another process is appending to it), not_regular_file (a
//         link that would be replaced), cancelled, no_space, io, commit_unknown (as Packer::publish); of the key:
//         not_found, operation_not_permitted (its mode lets others read it), invalid_argument.
[[nodiscard]] Result<SignReport> sign_container(const std::string& path, const std::string& key_path,
                                                const std::string& out, const SignOptions& options = {});

}  // namespace fatctx
