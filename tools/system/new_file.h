// Writes a file piece by piece that must not exist before.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// An owner of such a file. Without close() it is incomplete, and stays.
class NewFile {
 public:
  // Errors: exists, not_found, io.
  [[nodiscard]] static Result<NewFile> create(const std::string& path);

  void write(std::string_view text) noexcept;
  // Returns false if anything that was written is lost by now.
  [[nodiscard]] bool whole() const noexcept { return !lost_; }
  // Closes the file. Errors: io, if anything that was written is lost.
  [[nodiscard]] Status close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  };
  NewFile(std::string path, std::unique_ptr<std::FILE, CloseFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  bool lost_ = false;
};

}  // namespace fatctx::tools
