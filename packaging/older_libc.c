/* What today's C headers make code call, and the C library of 2018 lacks (glibc 2.27), in terms of what it has.
 *
 * Why: a wheel's libraries are linked against the names of that library (make_stubs.py), so that they load wherever
 * TensorFlow does, while they are compiled with the headers of the machine that builds them.
 * Limits: x86-64 Linux; each library that needs one of these holds a copy that nothing else sees. check_wheel.py fails
 * where a library asks for newer names, and then a function is missing here. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The functions that stat and its like were before 2.33; the number is the layout of struct stat. */
enum { LAYOUT = 1 };
int __xstat(int layout, const char* path, struct stat* result);
int __lxstat(int layout, const char* path, struct stat* result);
int __fxstat(int layout, int file, struct stat* result);
int __fxstatat(int layout, int folder, const char* path, struct stat* result, int flags);
int __xmknod(int layout, const char* path, mode_t mode, dev_t* device);

int stat(const char* path, struct stat* result) { return __xstat(LAYOUT, path, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(LAYOUT, path, result); }
int fstat(int file, struct stat* result) { return __fxstat(LAYOUT, file, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(LAYOUT, folder, path, result, flags);
}
int stat64(const char* path, struct stat64* result) { return stat(path, (struct stat*)result); }
int lstat64(const char* path, struct stat64* result) { return lstat(path, (struct stat*)result); }
int fstat64(int file, struct stat64* result) { return fstat(file, (struct stat*)result); }
int mknod(const char* path, mode_t mode, dev_t device) { return __xmknod(0, path, mode, &device); }

/* False: reference counts are atomic from the first thread on. */
char __libc_single_threaded = 0;

/* 32 bits each, where a process uses more than 4 GiB they count modulo that. */
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo small = mallinfo();
#pragma GCC diagnostic pop
  struct mallinfo2 result = {0};
  result.arena = (unsigned)small.arena;
  result.ordblks = (unsigned)small.ordblks;
  result.hblks = (unsigned)small.hblks;
  result.hblkhd = (unsigned)small.hblkhd;
  result.uordblks = (unsigned)small.uordblks;
  result.fordblks = (unsigned)small.fordblks;
  result.keepcost = (unsigned)small.keepcost;
  return result;
}

uint32_t arc4random(void) {
  uint32_t result;
  while (syscall(SYS_getrandom, &result, sizeof(result), 0) != (long)sizeof(result)) {
  }
  return result;
}

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* A wait that was meant for the steady clock ends by the other one, as far ahead. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, real, deadline = *until;
  if (clock != CLOCK_REALTIME) {
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &real);
    deadline.tv_sec += real.tv_sec - now.tv_sec;
    deadline.tv_nsec += real.tv_nsec - now.tv_nsec;
    const long second = 1000000000;
    if (deadline.tv_nsec < 0) deadline.tv_sec -= 1, deadline.tv_nsec += second;
    if (deadline.tv_nsec >= second) deadline.tv_sec += 1, deadline.tv_nsec -= second;
  }
  return pthread_cond_timedwait(condition, mutex, &deadline);
}

/* LLVM offers to run programs in another folder, which Tektite never asks for. */
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t* actions, const char* path) {
  (void)actions, (void)path;
  return ENOSYS;
}
