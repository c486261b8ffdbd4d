// A folder for one test, removed with its content when the test ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#ifdef _WIN32
#include "fatctx/private_folder.h"
#endif

namespace fatctx::support {

using Bytes = std::vector<std::byte>;

// Returns a folder where syncing costs nothing, if the system has one, for tests that write thousands of files.
[[nodiscard]] inline std::filesystem::path parent_in_memory() {
  std::error_code missing;
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory, missing) ? memory : std::filesystem::temp_directory_path();
}

class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
#ifdef _WIN32
    path_ = make_private_folder_in(parent.string()).value();  // no mode makes a folder private there
#else
    std::random_device random;
    do {
      path_ = (parent / ("fatctx_test_" + std::to_string(random()))).string();
    } while (!std::filesystem::create_directory(path_));  // false: the name is taken
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
#endif
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Returns the names of its entries, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};

[[nodiscard]] inline Bytes read_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(path), std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  Bytes bytes(static_cast<std::size_t>(std::filesystem::file_size(path)));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot read all of " + path);
  return bytes;
}

// Gives the file `from` the name `to`, also if there is such a file. The calls of the C++ library do that on POSIX
// alone.
inline void replace_file(const std::string& from, const std::string& to) {
  std::filesystem::remove(to);
  std::filesystem::rename(from, to);
}

inline void write_file(const std::string& path, ByteView bytes) {
  std::ofstream file(std::filesystem::path(path), std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace fatctx::support
