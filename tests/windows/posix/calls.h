// Calls of POSIX that Windows does not have. So files compile whose other tests run there. Each call fails; a test that
// needs one is listed in tests/windows/not_here.txt.
#pragma once

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <sys/stat.h>
#include <sys/utime.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>

constexpr int O_CLOEXEC = _O_NOINHERIT | _O_BINARY;
constexpr int O_NOFOLLOW = 0;
constexpr int O_DIRECTORY = 0;
constexpr int AT_FDCWD = -100;
constexpr int UTIME_OMIT = 0;
constexpr int PROT_READ = 1;
constexpr int PROT_WRITE = 2;
constexpr int MAP_SHARED = 1;
constexpr int MAP_PRIVATE = 2;
constexpr int MAP_ANONYMOUS = 4;
constexpr int MAP_NORESERVE = 8;
constexpr int MFD_CLOEXEC = 1;
constexpr int MS_RDONLY = 1;
constexpr int MS_REMOUNT = 32;
constexpr int MS_REC = 16384;
constexpr int MS_PRIVATE = 1 << 18;
constexpr int CLONE_NEWNS = 1;
constexpr int CLONE_NEWUSER = 2;
constexpr int POSIX_FADV_DONTNEED = 0;
constexpr int RLIMIT_FSIZE = 0;
constexpr int RLIMIT_NOFILE = 1;
constexpr int RLIMIT_MEMLOCK = 2;
constexpr int RLIMIT_AS = 3;
constexpr int RLIMIT_NPROC = 4;
constexpr int SIGKILL = 9;
constexpr int SIGALRM = 14;
constexpr int SIGBUS = 10;
constexpr int SIGXFSZ = 25;
constexpr int _SC_PAGESIZE = 0;
constexpr int _SC_THREAD_STACK_MIN = 1;
constexpr int ITIMER_REAL = 0;
constexpr int RTLD_NOW = 0;
constexpr int RTLD_LOCAL = 0;
constexpr int RTLD_NOLOAD = 0;
inline void* const MAP_FAILED = reinterpret_cast<void*>(~std::uintptr_t{0});

using rlim_t = unsigned long long;
using suseconds_t = long;
struct rlimit {
  rlim_t rlim_cur;
  rlim_t rlim_max;
};
struct itimerval {
  struct timeval it_interval;
  struct timeval it_value;
};

inline int fails() noexcept {
  errno = ENOSYS;
  return -1;
}

inline int fork() noexcept { return fails(); }
template <typename Status>
int waitpid(int /*child*/, Status* /*status*/, int /*options*/) noexcept {
  return fails();
}
inline bool WIFEXITED(int /*status*/) noexcept { return false; }
inline bool WIFSIGNALED(int /*status*/) noexcept { return false; }
inline int WEXITSTATUS(int /*status*/) noexcept { return -1; }
inline int WTERMSIG(int /*status*/) noexcept { return 0; }
inline int kill(int /*process*/, int /*signal*/) noexcept { return fails(); }
inline unsigned alarm(unsigned /*seconds*/) noexcept { return 0; }
inline int setitimer(int /*which*/, const itimerval* /*value*/, itimerval* /*old*/) noexcept { return fails(); }
inline int setrlimit(int /*resource*/, const rlimit* /*limit*/) noexcept { return fails(); }
inline int getrlimit(int /*resource*/, rlimit* /*limit*/) noexcept { return fails(); }
inline void* mmap(void* /*at*/, std::size_t /*size*/, int /*access*/, int /*flags*/, int /*file*/,
                  long long /*offset*/) noexcept {
  errno = ENOSYS;
  return MAP_FAILED;
}
inline int munmap(void* /*at*/, std::size_t /*size*/) noexcept { return fails(); }
inline int mprotect(void* /*at*/, std::size_t /*size*/, int /*access*/) noexcept { return fails(); }
inline int mincore(void* /*at*/, std::size_t /*size*/, unsigned char* /*present*/) noexcept { return fails(); }
inline int posix_fadvise(int /*file*/, long long /*offset*/, long long /*size*/, int /*advice*/) noexcept {
  return ENOSYS;
}
inline int fsync(int file) noexcept { return _commit(file); }
inline int memfd_create(const char* /*name*/, unsigned /*flags*/) noexcept { return fails(); }
inline int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept { return fails(); }
inline int umount(const char* /*place*/) noexcept { return fails(); }
inline int unshare(int /*what*/) noexcept { return fails(); }
inline int symlink(const char* /*target*/, const char* /*name*/) noexcept { return fails(); }
inline int link(const char* /*from*/, const char* /*to*/) noexcept { return fails(); }
inline int mkfifo(const char* /*path*/, unsigned /*mode*/) noexcept { return fails(); }
inline int mkdir(const char* path, unsigned /*mode*/) noexcept { return ::_mkdir(path); }
inline int chown(const char* /*path*/, unsigned /*user*/, unsigned /*group*/) noexcept { return fails(); }
inline int setresuid(unsigned, unsigned, unsigned) noexcept { return fails(); }
inline int setresgid(unsigned, unsigned, unsigned) noexcept { return fails(); }
// In whole seconds.
inline int utimensat(int /*folder*/, const char* path, const struct timespec* times, int /*flags*/) noexcept {
  __utimbuf64 both = {times[0].tv_sec, times[1].tv_sec};
  return ::_utime64(path, &both);
}
inline int pipe(int* ends) noexcept { return ::_pipe(ends, 4096, _O_BINARY); }
inline long sysconf(int /*name*/) noexcept { return 4096; }
inline unsigned geteuid() noexcept { return 0; }  // tests of refused access do not run for the superuser
inline long long pread(int /*file*/, void* /*to*/, std::size_t /*size*/, long long /*offset*/) noexcept {
  return fails();
}
inline long long pwrite(int /*file*/, const void* /*from*/, std::size_t /*size*/, long long /*offset*/) noexcept {
  return fails();
}
inline int setenv(const char* name, const char* value, int /*overwrite*/) noexcept { return ::_putenv_s(name, value); }
inline int unsetenv(const char* name) noexcept { return ::_putenv_s(name, ""); }
inline char* mkdtemp(char* name) noexcept { return ::_mktemp(name) != nullptr && ::_mkdir(name) == 0 ? name : nullptr; }
inline std::size_t malloc_usable_size(void* memory) noexcept { return ::_msize(memory); }
inline void* dlopen(const char* /*path*/, int /*flags*/) noexcept { return nullptr; }
inline void* dlsym(void* /*library*/, const char* /*name*/) noexcept { return nullptr; }
inline int dlclose(void* /*library*/) noexcept { return fails(); }
inline const char* dlerror() noexcept { return "no dlopen"; }
