// The only file of the tools that starts programs. It uses posix_spawn instead of fork, because a threaded
// parent may do little between fork and exec. The C++ library has nothing for this.
#include "tools/cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/own_program.h"
#include "tools/system/bounded_text.h"

extern "C" char** environ;  // POSIX requires the program to declare it

namespace fatctx::tools {

namespace {

constexpr std::size_t kPieceSize = std::size_t{16} << 10;
constexpr std::size_t kMostInput = std::size_t{4} << 10;

Error system_error(int error_number, std::string_view what) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT || error_number == ENOTDIR) code = ErrorCode::kNotFound;
  if (error_number == EACCES || error_number == ENOEXEC) code = ErrorCode::kOperationNotPermitted;
  if (error_number == EAGAIN || error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE) {
    code = ErrorCode::kNoResource;
  }
  return Error{
      code, fmt::format("{}: {}", what, std::generic_category().message(error_number)), {.os_error = error_number}};
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  // Sets close-on-exec at once: another thread may spawn between two calls.
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "no pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Returns a pipe that holds the input of a program. A pipe takes so much at once, so nobody waits.
Result<Pipe> pipe_with(std::string_view input) {
  if (input.size() > kMostInput) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("an input of {} bytes; at most {} are allowed", input.size(), kMostInput)};
  }
  FATCTX_ASSIGN(Pipe pipe, make_pipe());
  while (!input.empty()) {
    const ssize_t size = ::write(pipe.write_end.get(), input.data(), input.size());
    if (size < 0 && errno != EINTR) return system_error(errno, "cannot write the input of a program");
    if (size > 0) input.remove_prefix(static_cast<std::size_t>(size));
  }
  pipe.write_end.reset();
  return pipe;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  [[nodiscard]] posix_spawn_file_actions_t* get() noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Reads both pipes until the program, and every process that inherited them, has closed them.
Status drain(Descriptor& out, Descriptor& err, BoundedText& output, BoundedText& error_output) {
  std::array<char, kPieceSize> piece;
  while (out.get() >= 0 || err.get() >= 0) {
    std::array<pollfd, 2> waiting = {pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0}};  // poll() skips -1
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, "cannot wait for output");
    }
    const auto take = [&piece](const pollfd& ready, Descriptor& from, BoundedText& to) {
      if (ready.revents == 0) return;
      const ssize_t size = ::read(from.get(), piece.data(), piece.size());
      if (size > 0) {
        to.append({piece.data(), static_cast<std::size_t>(size)});
      } else if (size == 0 || errno != EINTR) {
        from.reset();
      }
    };
    take(waiting[0], out, output);
    take(waiting[1], err, error_output);
  }
  return Done{};
}

std::vector<char*> pointers_to(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // the interface predates const; nothing is written
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the words that run the program in its folder. posix_spawn() can change the folder since glibc 2.29 only.
std::vector<std::string> words_that_enter(const ProcessRequest& request) {
  std::vector<std::string> words = {"/bin/sh", "-c", R"(cd -- "$0" && exec "$@")", request.working_folder};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  return words;
}

}  // namespace

Error become_program(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers = pointers_to(arguments);
  ::execv(pointers.front(), pointers.data());
  return system_error(errno, fmt::format("cannot run {}", arguments.front()));
}

std::string own_program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : program.parent_path().string();
}

Result<ProcessResult> run_process(const ProcessRequest& request) {
  const std::string& program = request.arguments.front();
  FATCTX_ASSIGN(Pipe out, make_pipe());
  FATCTX_ASSIGN(Pipe err, make_pipe());
  SpawnActions actions;
  Pipe in;
  if (request.input.empty()) {
    posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    FATCTX_ASSIGN(in, pipe_with(request.input));
    posix_spawn_file_actions_adddup2(actions.get(), in.read_end.get(), STDIN_FILENO);
  }
  posix_spawn_file_actions_adddup2(actions.get(), out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), err.write_end.get(), STDERR_FILENO);
  const std::vector<std::string> words = request.working_folder.empty() ? request.arguments : words_that_enter(request);
  std::vector<char*> arguments = pointers_to(words);

  const auto start = std::chrono::steady_clock::now();
  pid_t child = -1;
  const int failed = posix_spawn(&child, words.front().c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (failed != 0) return system_error(failed, fmt::format("cannot run {}", program));
  out.write_end.reset();
  err.write_end.reset();
  BoundedText output(request.max_output_bytes);
  BoundedText error_output(request.max_output_bytes);
  const Status drained = drain(out.read_end, err.read_end, output, error_output);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return system_error(errno, fmt::format("cannot wait for {}", program));
  }
  if (!drained.ok()) return drained.error();

  ProcessResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  result.output = std::move(output).text();
  result.error_output = std::move(error_output).text();
  return result;
}

void limit_own_process(std::uint64_t more_memory, std::uint64_t seconds) noexcept {
  const auto limit = [](auto resource, std::uint64_t amount) {
    const rlimit both = {amount, amount};
    ::setrlimit(resource, &both);
  };
  std::uint64_t pages = 0;  // of the present address space; a sanitizer build has terabytes of it
  std::ifstream("/proc/self/statm") >> pages;
  limit(RLIMIT_AS, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more_memory);
  limit(RLIMIT_CPU, seconds);
  limit(RLIMIT_CORE, 0);
}

std::optional<std::string> find_program(const std::string& name, const std::string& folder) {
  const auto runnable = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  // Returns an absolute path, because the program may be started in another folder.
  const auto found = [](const std::filesystem::path& path) { return std::filesystem::absolute(path).string(); };
  if (!folder.empty()) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (!runnable(path)) return std::nullopt;
    return found(path);
  }
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path path = std::filesystem::path(rest.substr(0, end)) / name;
    // An empty entry of PATH means the current folder; a program from there is never meant.
    if (end > 0 && runnable(path)) return found(path);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

std::optional<std::string> find_program(const std::string& name_or_path) {
  const std::filesystem::path path(name_or_path);
  if (!path.has_parent_path()) return find_program(name_or_path, "");
  return find_program(path.filename().string(), path.parent_path().string());
}

}  // namespace fatctx::tools
