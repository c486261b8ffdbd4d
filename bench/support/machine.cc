#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "mapping/filesystem_kind.h"
#include "mapping/unique_fd.h"
#include "support/report.h"

namespace fatctx::bench {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string kernel_name() {
  utsname name = {};
  if (::uname(&name) != 0) return "unknown kernel";
  const std::string release = name.release;
  return fmt::format("{} {}", name.sysname, release.substr(0, release.find('-')));  // without a distributor's suffix
}

}  // namespace

Machine describe_machine(const std::string& folder) {
  const mapping::UniqueFd descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
#ifdef NDEBUG
  const std::string build = "optimised build";
#else
  const std::string build = "build with assertions: figures are not to be quoted";
#endif
  return {cpu_name(), std::thread::hardware_concurrency(), kernel_name(),
          std::string(mapping::filesystem_kind(descriptor.get()).name), build};
}

}  // namespace fatctx::bench
