// Test code that runs in a child process, because it changes something that cannot be undone.
#pragma once

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <functional>

namespace fatctx::support {

inline constexpr int kChildSkipped = 77;

// Runs `body` in a child and returns its result, or -1 if the child died. gtest assertions do not reach the parent, so
// the result must tell the failure.
[[nodiscard]] inline int in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

#ifdef __linux__
// Makes the system call `number` fail with `error_number` from now on if its first argument is `descriptor`. This
// cannot be undone, so call it only in a child. Returns false if the kernel does not permit it.
[[nodiscard]] inline bool fail_call_on(long number, int descriptor, int error_number) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),  // the low half, on little-endian hosts
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(descriptor), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(sizeof(filter) / sizeof(filter[0])), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#endif

// Returns the descriptor that the next open of this process will get.
[[nodiscard]] inline int next_descriptor() {
  const int descriptor = ::dup(0);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor;
}

}  // namespace fatctx::support
