// Runs the command as `main` does, in a folder of its own, and keeps its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_dir.h"
#include "tools/cli/command.h"

namespace fatctx::support {

class CommandTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  tools::ExitCode run_and_keep(const std::vector<std::string>& arguments) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const tools::ExitCode code = tools::run_command(arguments);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  // Returns a file as text; empty if it is missing.
  [[nodiscard]] std::string text(const std::string& name) const {
    if (!std::filesystem::exists(path(name))) return {};
    const auto bytes = read_file(path(name));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Returns the number of lines in the file "calls", to which fake programs add one each time they run.
  [[nodiscard]] std::size_t calls() const {
    const std::string lines = text("calls");
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  TempDir folder_;
  std::string out_;
  std::string err_;
};

}  // namespace fatctx::support
