/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/tuning/tuning.h"

#include "base/cache.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Thousandths, one line for each point; the printer would write the same. */
const char *graph_tuning_parse(const char *text, size_t length, uint32_t threads, struct kern_tuning *out)
{
    char again[GRAPH_TUNING_BYTES], copy[GRAPH_TUNING_BYTES];
    size_t used = (size_t)header(threads, again, sizeof(again));
    if (length < used || length >= sizeof(copy) || memcmp(text, again, used) != 0)
        return "is for another CPU, version or number of threads";
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

/* Homes may be shared by machines, so the header is in the name. */
bool graph_tuning_path(uint32_t threads, char out[GRAPH_TUNING_BYTES])
{
    char text[512], name[64];
    struct base_hash hash = base_hash(text, (size_t)header(threads, text, sizeof(text)));
    snprintf(name, sizeof(name), "tuning-%016llx.txt", (unsigned long long)hash.low);
    return base_cache_path(name, out);
}

bool graph_tuning_load(uint32_t threads, struct kern_tuning *out)
{
    char path[GRAPH_TUNING_BYTES];
    size_t length;
    if (!graph_tuning_path(threads, path))
        return false;
    char *text = base_cache_read(path, GRAPH_TUNING_BYTES, &length);
    if (!text) {
        base_log(BASE_LOG_DEBUG, "no tuning: %s: %s", path, strerror(errno));
        return false;
    }
    const char *problem = graph_tuning_parse(text, length, threads, out);
    base_log(BASE_LOG_DEBUG, "tuning: %s %s", path, problem ? problem : "is used");
    free(text);
    return !problem;
}

const char *graph_tuning_save(const struct kern_tuning *tuning, uint32_t threads)
{
    char path[GRAPH_TUNING_BYTES], text[GRAPH_TUNING_BYTES];
    if (!graph_tuning_path(threads, path))
        return "neither ANYDML_CACHE_DIR nor XDG_CACHE_HOME nor HOME is an absolute path";
    return base_cache_write(path, text, graph_tuning_print(tuning, threads, text));
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
