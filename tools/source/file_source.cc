// A source on this machine: a path, or file:// before it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "tools/cli/print.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, std::ifstream file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::uint64_t size() const noexcept override { return size_; }
  std::uint64_t requests() const noexcept override { return requests_; }
  std::uint64_t requests_for(const std::vector<ByteRange>& ranges) const override { return ranges.size(); }
  Status find_out(const std::vector<ByteRange>& /*ranges*/) override { return Done{}; }

  Status read(const std::vector<ByteRange>& ranges, const TakeBytes& take) override {
    std::vector<char> bytes(std::size_t{1} << 20U);
    for (const ByteRange& range : ranges) {
      ++requests_;
      for (std::uint64_t done = 0; done < range.size;) {
        const auto size = static_cast<std::streamsize>(std::min<std::uint64_t>(bytes.size(), range.size - done));
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(range.offset + done));
        file_.read(bytes.data(), size);
        if (file_.gcount() != size) {
          return Error{ErrorCode::kTruncated, fmt::format("it ends before byte {}", range.offset + range.size)};
        }
        FATCTX_TRY(take(range.offset + done, std::as_bytes(std::span(bytes).first(static_cast<std::size_t>(size)))));
        done += static_cast<std::uint64_t>(size);
      }
    }
    return Done{};
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t size_;
  std::uint64_t requests_ = 0;
};

}  // namespace

std::vector<std::string> containers_named(const std::string& from) {
  std::error_code failed;
  if (!std::filesystem::is_directory(from, failed)) return {from};
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(from, failed)) {
    if (entry.path().extension() == ".fatctx" && entry.is_regular_file(failed)) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  std::erase_if(found, [](const std::string& path) {
    const auto opened = Container::open(path);
    if (!opened.ok()) print_note(escaped(fmt::format("note: not used: {}", to_text(opened.error()))));
    return !opened.ok();
  });
  return found;
}

Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& source) {
  constexpr std::string_view kScheme = "file://";
  const std::string path = source.starts_with(kScheme) ? source.substr(kScheme.size()) : source;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) return Error{ErrorCode::kNotFound, "no such file"};
  if (!std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::kNotRegularFile, "not a regular file"};
  }
  const std::uint64_t size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || !file) return Error{ErrorCode::kIo, "it cannot be read"};
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(path, std::move(file), size));
}

}  // namespace fatctx::tools
