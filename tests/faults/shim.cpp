// Loaded before the C library (LD_PRELOAD): counts what a process does to files under FAULT_ROOT, and at the FAULT_AT-th time
// fails, is killed or stopped. FAULT_COUNT names a file that gets a byte each time. Processes that it starts are left alone.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<long> done{0};

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_ours(const char* path) {
    const char* const root = getenv("FAULT_ROOT");
    return root != nullptr && path != nullptr && strncmp(path, root, strlen(root)) == 0;
}

bool is_ours(int fd) {
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    return is_ours(path);
}

// Whether this call must fail; with a signal it does not return.
bool must_fail() {
    const char* const main_process = getenv("FAULT_PROCESS");
    if (main_process == nullptr || atol(main_process) != getpid()) return false;
    const char* const counted = getenv("FAULT_COUNT");
    const int file = counted == nullptr ? -1 : real<int (*)(const char*, int, ...)>("open")(counted, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0) {
        real<ssize_t (*)(int, const void*, size_t)>("write")(file, ".", 1);
        close(file);
    }
    const char* const at = getenv("FAULT_AT");
    const char* const what = getenv("FAULT_KIND");
    const long number = ++done;
    if (at == nullptr || what == nullptr) return false;
    const long wanted = atol(at);
    if (strcmp(what, "full") == 0 ? number < wanted : number != wanted) return false;
    if (strcmp(what, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(what, "term") == 0) kill(getpid(), SIGTERM);
    if (strcmp(what, "int") == 0) kill(getpid(), SIGINT);
    if (strcmp(what, "full") != 0 && strcmp(what, "error") != 0) return false;
    errno = strcmp(what, "full") == 0 ? ENOSPC : EIO;
    return true;
}

struct First {
    First() {
        char number[32];
        snprintf(number, sizeof number, "%d", static_cast<int>(getpid()));
        setenv("FAULT_PROCESS", number, 0);
    }
} first;

}  // namespace

extern "C" {

ssize_t write(int fd, const void* content, size_t size) {
    if (is_ours(fd) && must_fail()) return -1;
    return real<ssize_t (*)(int, const void*, size_t)>("write")(fd, content, size);
}

ssize_t pwrite64(int fd, const void* content, size_t size, off64_t at) {
    if (is_ours(fd) && must_fail()) return -1;
    return real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(fd, content, size, at);
}

int fsync(int fd) {
    if (is_ours(fd) && must_fail()) return -1;
    return real<int (*)(int)>("fsync")(fd);
}

int rename(const char* from, const char* to) {
    if (is_ours(to) && must_fail()) return -1;
    return real<int (*)(const char*, const char*)>("rename")(from, to);
}

int open64(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0 && is_ours(path) && must_fail()) return -1;
    return real<int (*)(const char*, int, ...)>("open64")(path, flags, mode);
}

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0 && is_ours(path) && must_fail()) return -1;
    return real<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

}  // extern "C"
