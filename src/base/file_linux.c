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

static int fail(int why)
{
    errno = why;
    return -1;
}

int base_open_beside(const char *beside, const char *name)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat about;
    int folder = (int)BASE_MIN(last_part(beside) - beside, (ptrdiff_t)PATH_MAX);
    if (!name[0] || name[0] == '/')
        return fail(EINVAL);
    if ((size_t)snprintf(path, sizeof(path), "%.*s%s", folder, beside, name) >= sizeof(path))
        return fail(ENAMETOOLONG);
    if (!realpath(path, real))
        return -1;
    if (!lies_beside(beside, real))
        return fail(EXDEV);
    int file = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0 || (!fstat(file, &about) && S_ISREG(about.st_mode)))
        return file;
    close(file);
    return fail(EINVAL);
}

void *base_map_file(int file, size_t *out_size)
{
    struct stat about;
    if (fstat(file, &about))
        return NULL;
    if (!S_ISREG(about.st_mode) || about.st_size <= 0) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : S_ISREG(about.st_mode) ? ENODATA : EINVAL;
        return NULL;
    }
    *out_size = (size_t)about.st_size;
    void *address = mmap(NULL, *out_size, PROT_READ, MAP_PRIVATE, file, 0);
    return address == MAP_FAILED ? NULL : address;
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
