/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "graph/tuning.h"

#include "base/cpu.h"
#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CORRECTION_MIN 0.05f /* corrections beyond these are mistakes */
#define CORRECTION_MAX 20.0f

/* All that measurements depend on. */
static int header(uint32_t threads, char *out, size_t size)
{
    char name[256];
    base_cpu_name(name, sizeof(name));
    return snprintf(out, size, "AnyDML tuning 1\nversion %d.%d.%d\nprocessor %s\ninstructions 0x%x\nthreads %u\n",
                    ANYDML_VERSION_MAJOR, ANYDML_VERSION_MINOR, ANYDML_VERSION_PATCH, name, (unsigned)base_cpu_flags(),
                    (unsigned)threads);
}

size_t graph_tuning_print(const struct kern_tuning *tuning, uint32_t threads, char out[GRAPH_TUNING_BYTES])
{
    size_t used = (size_t)header(threads, out, GRAPH_TUNING_BYTES);
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++)
        used += (size_t)snprintf(out + used, GRAPH_TUNING_BYTES - used, "%s %u\n", kern_points[i].name,
                                 (unsigned)(tuning->correction[i] * 1000 + 0.5f));
    struct base_hash hash = base_hash(out, used);
    used += (size_t)snprintf(out + used, GRAPH_TUNING_BYTES - used, "hash %016llx\n", (unsigned long long)hash.low);
    return used;
}

/* Thousandths, one line for each point; print would write the same. */
const char *graph_tuning_parse(const char *text, size_t length, uint32_t threads, struct kern_tuning *out)
{
    char again[GRAPH_TUNING_BYTES], copy[GRAPH_TUNING_BYTES];
    size_t used = (size_t)header(threads, again, sizeof(again));
    if (length < used || length >= sizeof(copy) || memcmp(text, again, used) != 0)
        return "is for another processor, version or number of threads";
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++) {
        char *at = strstr(copy + used - 1, kern_points[i].name);
        out->correction[i] = at ? strtof(at + strlen(kern_points[i].name), NULL) / 1000 : 0;
        if (!(out->correction[i] >= CORRECTION_MIN && out->correction[i] <= CORRECTION_MAX))
            return "is damaged";
    }
    return graph_tuning_print(out, threads, again) == length && !memcmp(again, text, length) ? NULL : "is damaged";
}

/* ---- the file ---- */

/* The environment of a program with more rights than its user is not followed. */
static bool folder(char out[GRAPH_TUNING_BYTES])
{
    const char *own = secure_getenv("ANYDML_CACHE_DIR"), *cache = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    int n = -1;
    if (own && *own == '/')
        n = snprintf(out, GRAPH_TUNING_BYTES, "%s", own);
    else if (cache && *cache == '/')
        n = snprintf(out, GRAPH_TUNING_BYTES, "%s/anydml", cache);
    else if (home && *home == '/')
        n = snprintf(out, GRAPH_TUNING_BYTES, "%s/.cache/anydml", home);
    return n > 0 && n < GRAPH_TUNING_BYTES - 64;
}

/* Homes may be shared by machines, so the header is in the name. */
bool graph_tuning_path(uint32_t threads, char out[GRAPH_TUNING_BYTES])
{
    char text[512];
    if (!folder(out))
        return false;
    struct base_hash hash = base_hash(text, (size_t)header(threads, text, sizeof(text)));
    size_t used = strlen(out);
    snprintf(out + used, GRAPH_TUNING_BYTES - used, "/tuning-%016llx.txt", (unsigned long long)hash.low);
    return true;
}

/* -1: not at all. Nobody waits for the writer of a pipe; only what this user alone can write is believed. */
static ssize_t read_file(const char *path, char out[GRAPH_TUNING_BYTES])
{
    struct stat status;
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (file < 0)
        return -1;
    bool own = !fstat(file, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
               !(status.st_mode & (S_IWGRP | S_IWOTH));
    errno = EPERM;
    if (own)
        length = read(file, out, GRAPH_TUNING_BYTES);
    close(file);
    return length;
}

bool graph_tuning_load(uint32_t threads, struct kern_tuning *out)
{
    char path[GRAPH_TUNING_BYTES], text[GRAPH_TUNING_BYTES];
    if (!graph_tuning_path(threads, path))
        return false;
    ssize_t length = read_file(path, text);
    if (length < 0) {
        base_log(BASE_LOG_DEBUG, "no tuning: %s: %s", path, strerror(errno));
        return false;
    }
    const char *problem = graph_tuning_parse(text, (size_t)length, threads, out);
    base_log(BASE_LOG_DEBUG, "tuning: %s %s", path, problem ? problem : "is used");
    return !problem;
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

static bool write_all(int file, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = write(file, text + done, length - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

const char *graph_tuning_save(const struct kern_tuning *tuning, uint32_t threads)
{
    char path[GRAPH_TUNING_BYTES], other[GRAPH_TUNING_BYTES + 8], text[GRAPH_TUNING_BYTES];
    if (!graph_tuning_path(threads, path))
        return "neither ANYDML_CACHE_DIR nor XDG_CACHE_HOME nor HOME is an absolute path";
    make_folders(path);
    snprintf(other, sizeof(other), "%s.XXXXXX", path);
    int file = mkostemp(other, O_CLOEXEC);
    if (file < 0)
        return strerror(errno);
    bool done = write_all(file, text, graph_tuning_print(tuning, threads, text));
    done = !close(file) && done && !rename(other, path);
    int error = errno;
    if (!done)
        unlink(other);
    return done ? NULL : strerror(error);
}

/* ---- of the process ---- */

const struct kern_tuning *graph_tuning_get(uint32_t threads)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct known {
        uint32_t threads;
        bool good;
        struct kern_tuning tuning;
    } known[16]; /* programs with more numbers of threads than this do without */
    const char *wanted = getenv("ANYDML_TUNING");
    if (wanted && !strcmp(wanted, "off"))
        return NULL;
    pthread_mutex_lock(&lock);
    struct known *at = known;
    while (at < known + ARRAY_SIZE(known) - 1 && at->threads && at->threads != threads)
        at++;
    if (!at->threads) {
        at->threads = threads;
        at->good = graph_tuning_load(threads, &at->tuning);
    }
    bool good = at->threads == threads && at->good;
    pthread_mutex_unlock(&lock);
    return good ? &at->tuning : NULL;
}
