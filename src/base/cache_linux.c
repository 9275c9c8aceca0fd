/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The environment of a program with more rights than its user is not followed. */
bool base_cache_path(const char *name, char out[BASE_CACHE_PATH_BYTES])
{
    const char *own = secure_getenv("ANYDML_CACHE_DIR"), *cache = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    int n = -1;
    if (own && *own == '/')
        n = snprintf(out, BASE_CACHE_PATH_BYTES, "%s/%s", own, name);
    else if (cache && *cache == '/')
        n = snprintf(out, BASE_CACHE_PATH_BYTES, "%s/anydml/%s", cache, name);
    else if (home && *home == '/')
        n = snprintf(out, BASE_CACHE_PATH_BYTES, "%s/.cache/anydml/%s", home, name);
    return n > 0 && n < BASE_CACHE_PATH_BYTES;
}

static void *fail(int why)
{
    errno = why;
    return NULL;
}

static void *read_all(int file, size_t size)
{
    char *data = malloc(size);
    size_t done = 0;
    while (data && done < size) {
        ssize_t n = read(file, data + done, size - done);
        if (n <= 0) {
            free(data);
            return n ? NULL : fail(ENODATA);
        }
        done += (size_t)n;
    }
    return data;
}

/* Do not wait for the writer of a pipe; only files that no other user can write are trusted. */
void *base_cache_read(const char *path, size_t limit, size_t *out_size)
{
    struct stat status;
    void *data = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH))) {
        errno = EPERM;
    } else if (status.st_size <= 0 || (uint64_t)status.st_size > limit) {
        errno = status.st_size > 0 ? EFBIG : ENODATA;
    } else {
        *out_size = (size_t)status.st_size;
        data = read_all(file, *out_size);
    }
    int error = errno;
    close(file);
    return data ? data : fail(error);
}

static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(path, 0700);
        *c = '/';
    }
}

static bool write_all(int file, const char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file, data + done, size - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

const char *base_cache_write(const char *path, const void *data, size_t size)
{
    char other[BASE_CACHE_PATH_BYTES + 8];
    snprintf(other, sizeof(other), "%s.XXXXXX", path);
    make_folders(other);
    int file = mkostemp(other, O_CLOEXEC);
    if (file < 0)
        return strerror(errno);
    bool done = write_all(file, data, size);
    done = !close(file) && done && !rename(other, path);
    int error = errno;
    if (!done)
        unlink(other);
    return done ? NULL : strerror(error);
}
