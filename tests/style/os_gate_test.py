"""Only the listed places call the operating system. Library code never prints, exits, reads the environment or
starts threads."""

import re

import pytest

from checkout import code_only, cxx_files, includes, line_of, text_of

GATES = ("src/mapping/", "src/runtime/device/probe_", "tools/system/", "tools/cli/subprocess_", "tools/cli/terminal_",
         "tools/ctx_gen/engine/ort_library.cc", "tests/", "bench/")

OS_HEADER = re.compile(
    r"^(unistd|fcntl|pthread|dlfcn|dirent|poll|sched|signal|termios|glob|ftw|pwd|grp|spawn|syslog|ucontext|setjmp"
    r"|aio|mntent|netdb|semaphore|windows|winsock2?|io|direct|process|cpuid|intrin|immintrin)\.h$"
    r"|^(sys|linux|asm|mach|arpa|netinet|netpacket|android)/", re.IGNORECASE)

# With a leading `::` these are system calls or their thin wrappers; member functions of ours never match.
OS_CALLS = """
open openat creat close read write pread pwrite readv writev lseek fsync fdatasync ftruncate truncate fallocate
posix_fallocate posix_fadvise mmap munmap mremap mprotect madvise posix_madvise mincore mlock munlock msync stat fstat
lstat fstatat statx statfs fstatfs rename renameat renameat2 unlink unlinkat link linkat symlink readlink mkdir rmdir
opendir readdir closedir fcntl flock ioctl dup dup2 pipe pipe2 fork vfork execv execve execvp execvpe posix_spawn
posix_spawnp waitpid wait kill raise signal sigaction pthread_create pthread_atfork sysconf getpagesize isatty getpid
memfd_create syscall dlopen dlsym umask chmod fchmod chown access getauxval uname gethostname realpath mkstemp mkostemp
CreateFileW CreateFileMappingW MapViewOfFile UnmapViewOfFile CloseHandle
""".split()
OS_CALL = re.compile(r"(?<![\w>:])::\s*(" + "|".join(OS_CALLS) + r")\s*\(")
OS_NAME = re.compile(r"\b(?<!::)(mmap|munmap|madvise|pread|pwrite|fdatasync|fstat|pthread_\w+|sigaction)\s*\(")

LIBRARY_FORBIDS = {
    "prints": re.compile(r"\bstd::(cout|cerr|clog)\b|(?<![\w.>])(printf|fprintf|puts|fputs|putchar|perror)\s*\("
                         r"|\bfmt::print\w*\s*\("),
    "ends the process": re.compile(r"(?<![\w.>])(exit|_exit|quick_exit|abort|terminate)\s*\("),
    "reads the environment": re.compile(r"(?<![\w.>])(getenv|secure_getenv|setenv|putenv)\s*\(|\benviron\b"),
    "starts a thread": re.compile(r"\bstd::(thread\s*[({]|thread\s+\w+\s*[({]|jthread|async)"
                                  r"|\bmake_(?:unique|shared)\s*<\s*std::thread\b|\bpthread_create\s*\("),
}
# One place for each system starts a thread, when the caller requests work in the background. Another one reads the
# environment, when the caller requests that.
LIBRARY_EXCEPTIONS = {("src/base/exceptions.h", "ends the process"),  # out of memory in a build without exceptions
                      ("src/runtime/device/probe_environment.cc", "reads the environment"),
                      ("src/mapping/background_thread_posix.cc", "starts a thread"),
                      ("src/mapping/background_thread_win32.cc", "starts a thread")}


def gate_violations(name: str, text: str) -> list[str]:
    if name.startswith(GATES):
        return []
    found = [f"{name}:{line}: <{header}> is an operating-system header" for line, _, header in includes(text)
             if OS_HEADER.search(header)]
    code = code_only(text)
    for pattern in (OS_CALL, OS_NAME):
        found += [f"{name}:{line_of(code, m.start())}: calls {m.group(1)}()" for m in pattern.finditer(code)]
    return found


def library_violations(name: str, text: str) -> list[str]:
    code = code_only(text)
    return [f"{name}:{line_of(code, m.start())}: library code {what}: {m.group().strip()}"
            for what, pattern in LIBRARY_FORBIDS.items() if (name, what) not in LIBRARY_EXCEPTIONS
            for m in pattern.finditer(code)]


def test_only_named_places_call_the_operating_system():
    names = cxx_files("include/", "src/", "tools/", "python/src/", "samples/")
    assert len(names) >= 20, "the search found too few files to mean anything"
    assert [bad for name in names for bad in gate_violations(name, text_of(name))] == []


def test_the_library_is_quiet():
    names = cxx_files("include/", "src/")
    assert len(names) >= 20, "the search found too few files to mean anything"
    assert [bad for name in names for bad in library_violations(name, text_of(name))] == []


@pytest.mark.parametrize("line", [
    "#include <unistd.h>", "#include <sys/mman.h>", "#include <pthread.h>", "#include <Windows.h>",
    "#include <dlfcn.h>", "#  include <linux/fs.h>", "#include <cpuid.h>",
    "int fd = ::open(path, 0);", "if (::mmap (nullptr, n, 1, 1, fd, 0) == p) {}", "return ::isatty(2);",
    "auto* p = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);", "pthread_atfork(nullptr, nullptr, nullptr);",
])
def test_a_planted_system_call_is_found(line):
    assert gate_violations("src/runtime/x.cc", f"{line}\n")
    assert gate_violations("tools/x.cc", f"{line}\n")
    assert gate_violations("src/mapping/x_posix.cc", f"{line}\n") == []


@pytest.mark.parametrize("line", [
    'std::cout << "x";', 'printf("x");', "std::exit(1);", "abort();", 'const char* p = std::getenv("HOME");',
    "std::thread worker(run);", "auto t = std::make_unique<std::thread>(run);", "::pthread_create(&t, 0, f, 0);",
    "std::jthread t;", "auto f = std::async(run);", 'fmt::print("x");',
])
def test_planted_library_noise_is_found(line):
    assert library_violations("src/container/x.cc", f"{line}\n")


@pytest.mark.parametrize("line", [
    "// ::mmap() is called in src/mapping", 'return Error{kIo, "::open() failed"};', "file.open(path);",
    "Container::open(path);", "fatctx::mapping::OsFile::open(path);", "std::snprintf(b, n, f);",
    "std::thread::id owner;", "counter.abort();", "if (!std::isdigit(c)) return 1'000;",
])
def test_what_is_allowed_passes(line):
    assert gate_violations("src/runtime/x.cc", f"{line}\n") == []
    assert library_violations("src/runtime/x.cc", f"{line}\n") == []
