// Multi-SoC DLC archives that were imported into a container (records_from_dlc with its layout): listed, exported byte
// for byte, and cut to some of their SoCs, as a file or as one range of memory without copying payloads.
//
// Functions with `layout` use the archive whose layout record has that name; empty means the only archive.
// Errors of all of them: not_found (no archive, or none of that name), invalid_argument (several, and none named);
// bad_reference (a record that the archive needs is missing or has other bytes now: it is named); checksum_mismatch,
// malformed, limit_exceeded, unsupported, codec (in the stored bytes); those of Container::check.
// Memory of all of them: 8 MiB, the layout, the programs of recipes, and the bytes of a compressed record (at most 1
// GiB) that is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/import_dlc.h"
#include "fatctx/memory.h"

namespace fatctx {

struct StoredDlc {
  std::string layout;  // name of the record: "dlc.layout" behind the prefix that the archive was imported with
  std::uint32_t layout_id = 0;
  std::uint64_t size_bytes = 0;      // of the archive
  std::vector<std::string> records;  // with its entries, in the order of the archive
};

// Lists the archives, in the order of their records. Empty: no archive was imported. Never fails with not_found.
[[nodiscard]] Result<std::vector<StoredDlc>> stored_dlcs(const Container& container);

// Returns the result of list_dlc() for the archive. Errors: those of list_dlc too.
[[nodiscard]] Result<DlcInfo> list_stored_dlc(const Container& container, std::string_view layout = {});

// Writes the original archive, as a file that appears whole or not at all. Every record is checked against the imported
// bytes, and the whole against the hash of the original.
// Errors: exists (without `overwrite`), no_space, io, commit_unknown.
[[nodiscard]] Result<StoredDlc> export_dlc(const Container& container, std::string_view layout, const std::string& out,
                                           bool overwrite, const Progress& progress = {});

// Return the results that thin_dlc() and extract_thin_dlc() have for the original; ranges of pieces are those of the
// original.
// Errors: those of thin_dlc; for the second those of export_dlc.
[[nodiscard]] Result<ThinDlc> thin_stored_dlc(const Container& container, std::string_view layout,
                                              const DlcChoice& choice);
[[nodiscard]] Result<ThinDlc> extract_stored_thin_dlc(const Container& container, std::string_view layout,
                                                      const DlcChoice& choice, const std::string& out, bool overwrite);

// A read-only view of the thin DLC as one range of addresses: pages of the container for payloads that both store on
// whole pages, and sealed memory for the bytes between them.
//
// Ownership, threads, lifetime and the rule about the file are those of RecordView.
class ThinDlcView {
 public:
  struct Impl;
  explicit ThinDlcView(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  // Returns the bytes of the thin DLC. Their number is not a multiple of a page; the rest of the last page is zero.
  [[nodiscard]] ByteView bytes() const& noexcept;
  ByteView bytes() && = delete;  // a span out of a temporary view would dangle
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  // Returns the same bytes as a view to hand on, for example to a RangeAccess; its record id is 0.
  [[nodiscard]] RecordView as_view() const;

  [[nodiscard]] std::span<const std::string> entries() const& noexcept;  // entries that it has
  // Returns the number of parts that are mapped side by side: of the container, and of memory.
  [[nodiscard]] std::uint32_t mapped_pieces() const noexcept;
  [[nodiscard]] std::uint32_t built_pieces() const noexcept;
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept;
  // Returns the size of the memory that was built: pages with headers, directory, metadata and entries of up to 64 KiB,
  // and pages of payload that could not be mapped.
  [[nodiscard]] std::uint64_t new_bytes() const noexcept;
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept;

  // Brings the mapped bytes into memory. Errors: those of Container::prefetch.
  [[nodiscard]] Result<PrefetchReport> prefetch(const PrefetchOptions& options = {}) const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Maps the thin DLC. Verifies payload by the options of the container. Copied bytes need OpenOptions::max_copied_bytes
// (new ones do not), unless the views of this container are copies anyway.
// Errors: those of thin_stored_dlc; copy_not_allowed (naming the bytes); no_resource (the limit of maps),
//         out_of_memory; unsupported (a system without sealed memory).
// Cost:   reads the bytes that it builds, and with record_on_acquire each record once per mapping; then one system call
//         a piece.
[[nodiscard]] Result<ThinDlcView> thin_dlc_view(const Container& container, const DlcChoice& choice,
                                                std::string_view layout = {});

}  // namespace fatctx
