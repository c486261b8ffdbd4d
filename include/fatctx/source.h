// A source of bytes to open: a path, an open file or a part of it, or memory.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "fatctx/base/bytes.h"

namespace fatctx {

// A part of a larger file, such as an asset of an application package.
struct FileWindow {
  std::uint64_t offset = 0;  // a multiple of 4096
  std::uint64_t size = 0;    // 0: to the end of the file
  friend auto operator<=>(const FileWindow&, const FileWindow&) = default;
};

// A path, a descriptor or bytes, for everything that opens a file.
//
// Ownership: copyable; borrows a descriptor, and bytes that have no owner.
// Threads:   const members from any number of threads.
class Source {
 public:
  enum class Kind : std::uint8_t { kPath, kDescriptor, kMemory };

  Source(std::string path) : kind_(Kind::kPath), path_(std::move(path)), name_(path_) {}  // implicit: open("m.fatctx")
  Source(const char* path) : Source(std::string(path)) {}
  // Makes a source of an open file, or of a part of it. A part is treated as a file of its own: its offsets count from
  // its first byte.
  // Ownership: `descriptor` stays the caller's and may be closed when the call that opens it has returned. On Windows
  //            it is the number of a HANDLE (of which 32 bits count), not a descriptor of the C runtime.
  [[nodiscard]] static Source of_descriptor(int descriptor, const FileWindow& window = {});
  // Makes a source of bytes in memory. Nothing copies them: views point into `bytes`.
  // Ownership: the bytes stay the caller's, unchanged, until the last container, model, session and view of them is
  //            gone. With `owner` they all share it, and the bytes must stay until it is released.
  [[nodiscard]] static Source of_memory(ByteView bytes, std::shared_ptr<const void> owner = nullptr);
  // Returns the same source under another name for reports and errors, such as "app.apk: assets/model.fatctx".
  [[nodiscard]] Source named(std::string name) const;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  // Returns the path, "fd 7", "fd 7 from byte 0x1000", "memory", or the name that named() gave.
  [[nodiscard]] const std::string& name() const& noexcept { return name_; }
  [[nodiscard]] const std::string& path() const& noexcept { return path_; }     // of kPath; otherwise empty
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }         // of kDescriptor; otherwise -1
  [[nodiscard]] const FileWindow& window() const& noexcept { return window_; }  // of kDescriptor
  [[nodiscard]] ByteView bytes() const noexcept { return bytes_; }              // of kMemory
  [[nodiscard]] const std::shared_ptr<const void>& owner() const& noexcept { return owner_; }

 private:
  explicit Source(Kind kind) : kind_(kind) {}

  Kind kind_;
  std::string path_;
  std::string name_;
  int descriptor_ = -1;
  FileWindow window_;
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace fatctx
