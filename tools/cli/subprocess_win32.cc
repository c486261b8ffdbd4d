// The only file of the tools that starts programs on Windows. A child inherits three handles and no others, so that no
// handle leaks into the programs of other threads. The C++ library has nothing for this.
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/own_program.h"
#include "tools/cli/subprocess.h"
#include "tools/system/bounded_text.h"
#include "tools/system/text_path_win32.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceSize = std::size_t{16} << 10;
constexpr std::size_t kMostInput = std::size_t{4} << 10;

Error system_error(DWORD number, std::string_view what) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ERROR_FILE_NOT_FOUND || number == ERROR_PATH_NOT_FOUND) code = ErrorCode::kNotFound;
  if (number == ERROR_ACCESS_DENIED || number == ERROR_BAD_EXE_FORMAT || number == ERROR_EXE_MACHINE_TYPE_MISMATCH) {
    code = ErrorCode::kOperationNotPermitted;
  }
  if (number == ERROR_NOT_ENOUGH_MEMORY || number == ERROR_TOO_MANY_OPEN_FILES) code = ErrorCode::kNoResource;
  const auto error_number = static_cast<int>(number);
  return Error{
      code, fmt::format("{}: {}", what, std::system_category().message(error_number)), {.os_error = error_number}};
}

class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) noexcept : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  [[nodiscard]] HANDLE get() const noexcept { return handle_; }
  void reset() noexcept {
    if (handle_ != nullptr) (void)::CloseHandle(handle_);
    handle_ = nullptr;
  }

 private:
  HANDLE handle_ = nullptr;
};

struct Pipe {
  Handle read_end;
  Handle write_end;
};

enum class Inherited { kReadEnd, kWriteEnd };

Result<Pipe> make_pipe(Inherited inherited) {
  HANDLE read_end = nullptr;
  HANDLE write_end = nullptr;
  if (::CreatePipe(&read_end, &write_end, nullptr, static_cast<DWORD>(kPieceSize)) == 0) {
    return system_error(::GetLastError(), "no pipe");
  }
  Pipe pipe{Handle(read_end), Handle(write_end)};
  HANDLE const theirs = inherited == Inherited::kReadEnd ? read_end : write_end;
  if (::SetHandleInformation(theirs, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) == 0) {
    return system_error(::GetLastError(), "no pipe");
  }
  return pipe;
}

// Returns a handle from which a program reads `input`. A pipe takes so much at once, so nobody waits.
Result<Handle> standard_input(std::string_view input) {
  if (input.empty()) {
    SECURITY_ATTRIBUTES inherited = {sizeof(inherited), nullptr, TRUE};
    Handle nothing(
        ::CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, nullptr));
    if (nothing.get() == nullptr) return system_error(::GetLastError(), "no empty input");
    return nothing;
  }
  if (input.size() > kMostInput) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("an input of {} bytes; at most {} are allowed", input.size(), kMostInput)};
  }
  FATCTX_ASSIGN(Pipe pipe, make_pipe(Inherited::kReadEnd));
  DWORD written = 0;
  if (::WriteFile(pipe.write_end.get(), input.data(), static_cast<DWORD>(input.size()), &written, nullptr) == 0 ||
      written != input.size()) {
    return system_error(::GetLastError(), "cannot write the input of a program");
  }
  return std::move(pipe.read_end);
}

// Adds an argument in quotes, so that the program's C library reads it as it was: a backslash escapes only in front of
// a quote.
void add_quoted(std::wstring& line, const std::wstring& argument) {
  if (!line.empty()) line += L' ';
  line += L'"';
  std::size_t backslashes = 0;
  for (const wchar_t c : argument) {
    if (c == L'"') line.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    line += c;
  }
  line.append(backslashes, L'\\');
  line += L'"';
}

Result<std::wstring> command_line(const std::vector<std::string>& arguments) {
  std::wstring line;
  for (const std::string& argument : arguments) {
    const auto wide = wide_of_text(argument);
    if (!wide) return Error{ErrorCode::kInvalidArgument, fmt::format("cannot run {}: not UTF-8", arguments.front())};
    add_quoted(line, *wide);
  }
  return line;
}

// Batch files would be read by another program, with other rules of quoting.
bool is_batch_file(const fs::path& program) {
  std::wstring extension = program.extension().native();
  for (wchar_t& c : extension) {
    if (c >= L'A' && c <= L'Z') c = static_cast<wchar_t>(c + (L'a' - L'A'));
  }
  return extension == L".bat" || extension == L".cmd";
}

// A list of the only handles that a child inherits.
class InheritedHandles {
 public:
  Status set(std::span<HANDLE> handles) {
    SIZE_T size = 0;
    (void)::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_.resize(size);
    auto* const list = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
    if (::InitializeProcThreadAttributeList(list, 1, 0, &size) == 0) {
      return system_error(::GetLastError(), "cannot prepare a program");
    }
    list_ = list;
    if (::UpdateProcThreadAttribute(list_, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles.data(), handles.size_bytes(),
                                    nullptr, nullptr) == 0) {
      return system_error(::GetLastError(), "cannot prepare a program");
    }
    return Done{};
  }
  InheritedHandles() = default;
  InheritedHandles(const InheritedHandles&) = delete;
  InheritedHandles& operator=(const InheritedHandles&) = delete;
  ~InheritedHandles() {
    if (list_ != nullptr) ::DeleteProcThreadAttributeList(list_);
  }
  [[nodiscard]] LPPROC_THREAD_ATTRIBUTE_LIST get() const noexcept { return list_; }

 private:
  std::vector<std::byte> memory_;
  LPPROC_THREAD_ATTRIBUTE_LIST list_ = nullptr;
};

struct StandardHandles {
  HANDLE in = nullptr;
  HANDLE out = nullptr;
  HANDLE err = nullptr;
};

Result<Handle> start(const std::vector<std::string>& arguments, const std::string& folder, StandardHandles standard) {
  const std::string what = fmt::format("cannot run {}", arguments.front());
  const fs::path program = path_of_text(arguments.front());
  if (is_batch_file(program)) {
    return Error{ErrorCode::kOperationNotPermitted, what + ": a batch file; name the program that it starts"};
  }
  FATCTX_ASSIGN(std::wstring line, command_line(arguments));
  std::vector<HANDLE> handles;
  for (HANDLE const handle : {standard.in, standard.out, standard.err}) {
    // The list must not have a handle twice.
    if (handle != nullptr && std::find(handles.begin(), handles.end(), handle) == handles.end())
      handles.push_back(handle);
  }
  InheritedHandles inherited;
  FATCTX_TRY(inherited.set(handles));
  STARTUPINFOEXW startup = {};
  startup.StartupInfo.cb = sizeof(startup);
  startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  startup.StartupInfo.hStdInput = standard.in;
  startup.StartupInfo.hStdOutput = standard.out;
  startup.StartupInfo.hStdError = standard.err;
  startup.lpAttributeList = inherited.get();
  const std::wstring wide_folder = folder.empty() ? std::wstring() : path_of_text(folder).native();
  PROCESS_INFORMATION made = {};
  if (::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, EXTENDED_STARTUPINFO_PRESENT, nullptr,
                       folder.empty() ? nullptr : wide_folder.c_str(), &startup.StartupInfo, &made) == 0) {
    return system_error(::GetLastError(), what);
  }
  (void)::CloseHandle(made.hThread);
  return Handle(made.hProcess);
}

// Reads until the program, and every process that inherited the pipe, has closed it.
void drain(const Handle& from, BoundedText& to) {
  std::array<char, kPieceSize> piece;
  DWORD size = 0;
  while (::ReadFile(from.get(), piece.data(), static_cast<DWORD>(piece.size()), &size, nullptr) != 0) {
    if (size != 0) to.append({piece.data(), size});
  }
}

Result<DWORD> wait_for(const Handle& child, const std::string& program) {
  DWORD code = 0;
  if (::WaitForSingleObject(child.get(), INFINITE) != WAIT_OBJECT_0 || ::GetExitCodeProcess(child.get(), &code) == 0) {
    return system_error(::GetLastError(), fmt::format("cannot wait for {}", program));
  }
  return code;
}

// Returns the signal that another system would report for the status of a program that an exception ended; 0 for an
// exit code.
int signal_of(DWORD code) noexcept {
  constexpr DWORD kFirstError = 0xC0000000;
  constexpr DWORD kIllegalInstruction = 0xC000001D;
  constexpr DWORD kQuotaExceeded = 0xC0000044;
  constexpr DWORD kIntegerDivision = 0xC0000094;
  constexpr DWORD kControlC = 0xC000013A;
  if (code < kFirstError) return 0;
  if (code == kIllegalInstruction) return SIGILL;
  if (code == kIntegerDivision) return SIGFPE;
  if (code == kControlC) return SIGINT;
  if (code == kQuotaExceeded) return SIGTERM;
  return SIGSEGV;
}

std::wstring own_program() {
  std::wstring path(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = ::GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
    if (size == 0) return {};
    if (size < path.size()) return path.substr(0, size);
    path.resize(path.size() * 2);
  }
}

}  // namespace

// Windows cannot replace a process: this one waits for the other, whose exit code becomes its own.
Error become_program(const std::vector<std::string>& arguments) {
  auto child =
      start(arguments, "",
            {::GetStdHandle(STD_INPUT_HANDLE), ::GetStdHandle(STD_OUTPUT_HANDLE), ::GetStdHandle(STD_ERROR_HANDLE)});
  if (!child.ok()) return std::move(child).error();
  const auto code = wait_for(child.value(), arguments.front());
  if (!code.ok()) return code.error();
  std::exit(static_cast<int>(code.value()));
}

std::string own_program_folder() { return text_of_path(fs::path(own_program()).parent_path()); }

Result<ProcessResult> run_process(const ProcessRequest& request) {
  const std::string& program = request.arguments.front();
  FATCTX_ASSIGN(Pipe out, make_pipe(Inherited::kWriteEnd));
  FATCTX_ASSIGN(Pipe err, make_pipe(Inherited::kWriteEnd));
  FATCTX_ASSIGN(Handle in, standard_input(request.input));
  const auto begun = std::chrono::steady_clock::now();
  FATCTX_ASSIGN(const Handle child,
                start(request.arguments, request.working_folder, {in.get(), out.write_end.get(), err.write_end.get()}));
  out.write_end.reset();
  err.write_end.reset();
  BoundedText output(request.max_output_bytes);
  BoundedText error_output(request.max_output_bytes);
  {
    const std::jthread reader([&] { drain(err.read_end, error_output); });
    drain(out.read_end, output);
  }
  FATCTX_ASSIGN(const DWORD code, wait_for(child, program));
  ProcessResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  result.signal = signal_of(code);
  if (result.signal == 0) result.exit_code = static_cast<int>(code);
  result.output = std::move(output).text();
  result.error_output = std::move(error_output).text();
  return result;
}

void limit_own_process(std::uint64_t more_memory, std::uint64_t seconds) noexcept {
  constexpr LONGLONG kTicksPerSecond = 10'000'000;
  // The job ends with this process; its handle is never closed before.
  HANDLE const job = ::CreateJobObjectW(nullptr, nullptr);
  if (job == nullptr) return;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {};
  limits.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_PROCESS_MEMORY | JOB_OBJECT_LIMIT_PROCESS_TIME | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
  limits.BasicLimitInformation.PerProcessUserTimeLimit.QuadPart = static_cast<LONGLONG>(seconds) * kTicksPerSecond;
  // Counts committed memory, of which a process at its begin has little.
  limits.ProcessMemoryLimit = static_cast<SIZE_T>(more_memory);
  (void)::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
  (void)::AssignProcessToJobObject(job, ::GetCurrentProcess());
}

std::optional<std::string> find_program(const std::string& name, const std::string& folder) {
  const auto found_in = [&](const fs::path& place) -> std::optional<std::string> {
    for (const wchar_t* const ending : {L"", L".exe"}) {
      fs::path path = place / path_of_text(name);
      path += ending;
      std::error_code error;
      if (!fs::is_regular_file(path, error) || path.extension().empty()) continue;
      // Returns an absolute path, because the program may be started in another folder.
      return text_of_path(fs::absolute(path, error));
    }
    return std::nullopt;
  };
  if (!folder.empty()) return found_in(path_of_text(folder));
  const wchar_t* const variable = ::_wgetenv(L"PATH");
  std::wstring_view rest = variable == nullptr ? L"" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(L';'), rest.size());
    // An empty entry of PATH means the current folder; a program from there is never meant.
    if (end > 0) {
      if (auto found = found_in(fs::path(rest.substr(0, end)))) return found;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

std::optional<std::string> find_program(const std::string& name_or_path) {
  const fs::path path = path_of_text(name_or_path);
  if (!path.has_parent_path()) return find_program(name_or_path, "");
  return find_program(text_of_path(path.filename()), text_of_path(path.parent_path()));
}

}  // namespace fatctx::tools
