#include "tools/ctx_gen/ctx_gen_publish.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kReplaced = "replaced";  // a folder in the work folder

struct Move {
  fs::path from;
  fs::path to;
  fs::path old;  // keeps the replaced file meanwhile
  bool replaces = false;
};

Error cannot(const fs::path& path, const char* what, const std::error_code& error) {
  return {ErrorCode::kIo, fmt::format("{}: cannot be {}: {}", path.string(), what, error.message())};
}

// Orders models last, otherwise by name.
bool comes_before(const Move& a, const Move& b) {
  const bool a_model = a.to.extension() == ".onnx";
  const bool b_model = b.to.extension() == ".onnx";
  return a_model == b_model ? a.to < b.to : b_model;
}

// Moves the files back. If this fails too, nothing more can be done; the old files are then in the work
// folder.
void undo(const std::vector<Move>& moves, std::size_t moved) {
  std::error_code ignored;
  for (std::size_t i = moved; i-- > 0;) {
    fs::remove(moves[i].to, ignored);
    if (moves[i].replaces) fs::rename(moves[i].old, moves[i].to, ignored);
  }
}

}  // namespace

Result<OutputFolder> OutputFolder::open(const std::string& path) {
  OutputFolder folder(path.empty() ? "." : path);
  std::vector<std::string> missing;
  std::error_code error;
  for (fs::path at = fs::absolute(folder.path_).lexically_normal(); !fs::exists(at, error) && at.has_relative_path();
       at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at.string());
  }
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    if (fs::create_directory(*at, error)) folder.made_.insert(folder.made_.begin(), *at);
    if (error) return cannot(*at, "made", error);
  }
  return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)), made_(std::exchange(other.made_, {})) {}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (const std::string& folder : made_) fs::remove(folder, ignored);  // only removes an empty folder
}

Result<std::vector<std::string>> publish_files(const WorkFolder& work, const std::string& folder, bool force) {
  std::vector<Move> moves;
  std::error_code error;
  const fs::path old = fs::path(work.path()) / kReplaced;
  for (const auto& entry : fs::directory_iterator(work.path(), error)) {
    if (!entry.is_regular_file()) continue;
    const fs::path name = entry.path().filename();
    Move move = {.from = entry.path(), .to = fs::path(folder) / name, .old = old / name};
    const fs::file_status there = fs::symlink_status(move.to, error);
    move.replaces = fs::exists(there);
    if (move.replaces && !force) {
      return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", move.to.string())};
    }
    if (fs::is_directory(there)) return Error{ErrorCode::kExists, fmt::format("{}: is a folder", move.to.string())};
    moves.push_back(std::move(move));
  }
  std::sort(moves.begin(), moves.end(), comes_before);
  fs::create_directory(old, error);
  if (error) return cannot(old, "made", error);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    if (move.replaces) fs::rename(move.to, move.old, error);
    if (error) {
      undo(moves, i);
      return cannot(move.to, "replaced", error);
    }
    fs::rename(move.from, move.to, error);
    if (error) {
      undo(moves, i + 1);
      return cannot(move.to, "written", error);
    }
    paths.push_back(move.to.string());
  }
  return paths;
}

}  // namespace fatctx::tools
