// The report of an open: the state of the file, and how its bytes are mapped.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/open_options.h"
#include "fatctx/record.h"

namespace fatctx {

// An earlier state of a container that was appended to; OpenOptions::generation opens it.
struct GenerationInfo {
  std::uint64_t number = 0;
  std::uint64_t committed_end = 0;  // where it ends in the file
  friend bool operator==(const GenerationInfo&, const GenerationInfo&) = default;
};

// Names the content of an opened container: equal identities have equal records, in whatever file they are stored.
struct ContainerIdentity {
  std::array<std::byte, 16> uuid = {};
  std::uint64_t generation = 0;
  Hash128 toc_hash;
  friend auto operator<=>(const ContainerIdentity&, const ContainerIdentity&) = default;
};

// A report of an open. "Degraded" is a file that lost redundancy but nothing else.
struct OpenReport {
  std::string path;  // as given to open; otherwise "fd 7", "fd 7 from byte 0x1000" or "memory"
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // newest in the file; larger than `generation` if an earlier one was requested
  // Generations before `generation` whose bytes are still in the file, ascending.
  std::vector<GenerationInfo> earlier_generations = {};
  char slot = 'A';                    // pair that names the newest generation
  std::vector<std::string> degraded;  // "prologue copy 0", "slot A1", "toc copy 0", "header padding"; empty: whole
  std::uint64_t tail_bytes = 0;       // bytes behind the committed end (an append that did not finish); never read
  bool sealed = false;
  bool signed_file = false;         // the generation has a signature
  std::string key_id;               // SHA-256 of the public key that the signature names, hexadecimal; empty: unsigned
  bool signature_verified = false;  // it was checked with one of OpenOptions::trusted_keys
  std::string format_version;       // "1.0": of the file
  // Feature bits of a newer version, whose fields this library does not read: "compat 0x1", "ro_compat 0x4, compat
  // 0x1"; empty: none. With ro_compat bits this library does not change the file.
  std::string newer_features = {};
  std::string filesystem;  // "ext4", "overlayfs", "nfs", ...
  bool remote_filesystem = false;
  std::uint64_t file_size = 0;  // bytes; of an earlier generation: the offset of its end
  std::uint64_t committed_end = 0;
  std::uint64_t dead_bytes = 0;  // used by no record of this generation; compacting gives them back
  std::string uuid;              // hexadecimal with dashes
  Hash128 toc_hash;
  bool already_live = false;  // another open of this process had mapped it; nothing was read
  VerifyPolicy verify = VerifyPolicy::kRecordOnAcquire;
  bool mapped = true;       // false: views are copies, one per record and process
  std::string copy_reason;  // why views are copies: "file mapping is disabled by the caller"; empty if mapped
  // Records whose views are copies although the file is mapped: their pieces cannot be mapped side by side here. The
  // reason is that of the first of them.
  std::uint32_t copied_records = 0;
  std::string copied_records_reason = {};
};

}  // namespace fatctx
