/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Both are absolute and without links. */
static bool lies_in(const char *path, const char *folder, size_t length)
{
    return !strncmp(path, folder, length) && (path[length] == '/' || (length && folder[length - 1] == '/'));
}

/* The folder of `path`, without links; its length, 0 on failure. */
static size_t real_folder(const char *path, char *out)
{
    char folder[PATH_MAX];
    size_t length = (size_t)(last_part(path) - path);
    if (length >= sizeof(folder)) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(folder, path, length);
    folder[length] = 0;
    return realpath(length ? folder : ".", out) ? strlen(out) : 0;
}

static bool lies_beside(const char *beside, const char *path)
{
    char folder[PATH_MAX], file[PATH_MAX];
    size_t length = real_folder(beside, folder);
    if (length && lies_in(path, folder, length))
        return true;
    return realpath(beside, file) && last_part(file) > file &&
           lies_in(path, file, (size_t)(last_part(file) - file) - 1);
}

/* The file is closed. */
static void *map(int file, size_t *out_size)
{
    struct stat about;
    void *address = MAP_FAILED;
    if (file >= 0 && !fstat(file, &about)) {
        *out_size = (size_t)about.st_size;
        if (S_ISREG(about.st_mode) && about.st_size > 0)
            address = mmap(NULL, *out_size, PROT_READ, MAP_PRIVATE, file, 0);
        else
            errno = S_ISDIR(about.st_mode) ? EISDIR : S_ISREG(about.st_mode) ? ENODATA : EINVAL;
    }
    int why = errno;
    if (file >= 0)
        close(file);
    errno = why;
    return address == MAP_FAILED ? NULL : address;
}

void *base_map_file(const char *path, size_t *out_size)
{
    return map(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out_size);
}

static void *fail(int why)
{
    errno = why;
    return NULL;
}

/* -1 with errno */
static int open_beside(const char *beside, const char *name)
{
    char path[PATH_MAX], real[PATH_MAX];
    int folder = (int)BASE_MIN(last_part(beside) - beside, (ptrdiff_t)PATH_MAX);
    errno = EINVAL;
    if (!name[0] || name[0] == '/')
        return -1;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(path, sizeof(path), "%.*s%s", folder, beside, name) >= sizeof(path))
        return -1;
    if (!realpath(path, real))
        return -1;
    if (lies_beside(beside, real))
        return open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    errno = EXDEV;
    return -1;
}

void *base_map_beside(const char *beside, const char *name, size_t *out_size)
{
    return map(open_beside(beside, name), out_size);
}

FILE *base_open_beside(const char *beside, const char *name, uint64_t *out_size)
{
    struct stat about;
    int file = open_beside(beside, name);
    if (file < 0 || fstat(file, &about)) {
        int why = errno;
        if (file >= 0)
            close(file);
        return fail(why);
    }
    *out_size = (uint64_t)about.st_size;
    FILE *out = S_ISREG(about.st_mode) ? fdopen(file, "rb") : NULL;
    if (out)
        return out;
    close(file);
    return fail(S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
}

void base_unmap_file(void *address, size_t size)
{
    munmap(address, size);
}

void base_forget_pages(const void *data, uint64_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)data & ~(page - 1);
    madvise((void *)first, base_align_up((uintptr_t)data + bytes, page) - first, MADV_DONTNEED);
}

FILE *base_open_named(const char *path, bool keep)
{
    struct stat about;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file < 0)
        return NULL;
    bool regular = !fstat(file, &about) && S_ISREG(about.st_mode);
    FILE *out = regular && (keep || !ftruncate(file, 0)) ? fdopen(file, "wb") : NULL;
    int why = regular ? errno : EINVAL;
    if (!out)
        close(file);
    errno = why;
    return out;
}
