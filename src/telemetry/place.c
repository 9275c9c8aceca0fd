/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of the files, and opening them without trusting the file system. */
#define _GNU_SOURCE
#include "telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "anydml"

static const struct {
    const char *variable, *below_home, *name;
} places[] = {
    [TELEMETRY_SETTINGS] = { "XDG_CONFIG_HOME", ".config", "telemetry" },
    [TELEMETRY_RECORDS] = { "XDG_STATE_HOME", ".local/state", "telemetry.jsonl" },
};

const char *telemetry_result_text(enum telemetry_result result)
{
    switch (result) {
    case TELEMETRY_OK:
        return "is good";
    case TELEMETRY_MISSING:
        return "does not exist";
    case TELEMETRY_NO_HOME:
        return "has no location: HOME is not set to an absolute path";
    case TELEMETRY_UNSAFE:
        return "is ignored: it must be a regular file in a folder that only this user can write, and neither may be a "
               "link";
    case TELEMETRY_DAMAGED:
        return "is damaged";
    case TELEMETRY_BUSY:
        return "is in use by another process";
    case TELEMETRY_FAILED:
        return strerror(errno);
    }
    return "";
}

const char *telemetry_name(enum telemetry_place place)
{
    return places[place].name;
}

/* The environment of a program with more rights than its user is not followed. */
static bool folder_path(enum telemetry_place place, char out[TELEMETRY_PATH_MAX])
{
    const char *base = secure_getenv(places[place].variable), *below = "";
    if (!base || *base != '/') {
        base = secure_getenv("HOME");
        below = places[place].below_home;
    }
    if (!base || *base != '/')
        return false;
    int n = snprintf(out, TELEMETRY_PATH_MAX, "%s/%s%s" FOLDER, base, below, *below ? "/" : "");
    return n > 0 && n < TELEMETRY_PATH_MAX;
}

bool telemetry_path(enum telemetry_place place, char out[TELEMETRY_PATH_MAX])
{
    if (!folder_path(place, out))
        return false;
    size_t used = strlen(out);
    int n = snprintf(out + used, TELEMETRY_PATH_MAX - used, "/%s", places[place].name);
    return n > 0 && (size_t)n < TELEMETRY_PATH_MAX - used;
}

static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = 0;
        mkdir(path, 0700);
        *c = '/';
    }
    mkdir(path, 0700);
}

static bool ours_alone(const struct stat *s)
{
    return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

static enum telemetry_result refused(void)
{
    switch (errno) {
    case ENOENT:
        return TELEMETRY_MISSING;
    case ELOOP: /* errno of O_NOFOLLOW for a link */
    case ENOTDIR:
    case EISDIR:
    case ENXIO: /* a socket, or a pipe without a reader */
        return TELEMETRY_UNSAFE;
    default:
        return TELEMETRY_FAILED;
    }
}

enum telemetry_result telemetry_open_folder(enum telemetry_place place, bool create, int *out)
{
    char path[TELEMETRY_PATH_MAX];
    struct stat s;
    *out = -1;
    if (!folder_path(place, path))
        return TELEMETRY_NO_HOME;
    if (create)
        make_folders(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return refused();
    if (fstat(folder, &s) != 0 || !ours_alone(&s)) {
        close(folder);
        return TELEMETRY_UNSAFE;
    }
    *out = folder;
    return TELEMETRY_OK;
}

enum telemetry_result telemetry_open_file(int folder, const char *name, int flags, int *out)
{
    struct stat s;
    *out = -1;
    /* O_NONBLOCK: opening a pipe in its place must not block. */
    int file = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (file < 0)
        return refused();
    if (fstat(file, &s) != 0 || !S_ISREG(s.st_mode) || !ours_alone(&s) || s.st_nlink > 1) {
        close(file);
        return TELEMETRY_UNSAFE;
    }
    *out = file;
    return TELEMETRY_OK;
}

enum telemetry_result telemetry_open(enum telemetry_place place, int flags, int *out)
{
    int folder;
    *out = -1;
    enum telemetry_result result = telemetry_open_folder(place, flags & O_CREAT, &folder);
    if (result)
        return result;
    result = telemetry_open_file(folder, places[place].name, flags, out);
    int saved = errno;
    close(folder);
    errno = saved;
    return result;
}

/* Locks are held for a read and a write, so a holder that does not let go is stopped or means ill. */
enum telemetry_result telemetry_lock(int file, int operation)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    for (int i = 0; i < 250; i++) {
        if (flock(file, operation | LOCK_NB) == 0)
            return TELEMETRY_OK;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return TELEMETRY_FAILED;
        nanosleep(&pause, NULL);
    }
    return TELEMETRY_BUSY;
}

enum telemetry_result telemetry_write(int file, const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(file, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TELEMETRY_FAILED;
        text += n;
        size -= (size_t)n;
    }
    return TELEMETRY_OK;
}
