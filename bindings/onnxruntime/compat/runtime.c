/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ONNX Runtime that this library precedes. */
#define _GNU_SOURCE
#include "compat.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef const OrtApiBase *(*get_base_function)(void);

static struct {
    pthread_mutex_t lock;
    const OrtApiBase *base;
    get_base_function seen;
    bool told;
} runtime = { .lock = PTHREAD_MUTEX_INITIALIZER };

static get_base_function base_function(void *handle)
{
    get_base_function get;
    *(void **)&get = handle ? compat_symbol(handle, "OrtGetApiBase") : NULL;
    return get == OrtGetApiBase ? NULL : get;
}

static const char *own_path(void)
{
    Dl_info info;
    return dladdr((void *)&own_path, &info) ? info.dli_fname : "";
}

static bool is_own(const char *path)
{
    struct stat own, other;
    return !stat(own_path(), &own) && !stat(path, &other) && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Kept open: its functions are handed out. The runtime looks for files beside its own, not beside a link to it. */
static get_base_function open_file(const char *path)
{
    char real[PATH_MAX];
    bool exists = realpath(path, real);
    return is_own(path) ? NULL : base_function(dlopen(exists ? real : path, RTLD_NOW | RTLD_LOCAL));
}

static get_base_function named(void)
{
    const char *path = getenv("ANYDML_ONNXRUNTIME");
    if (!path || !*path)
        return NULL;
    get_base_function get = open_file(path);
    const char *why = get ? NULL : dlerror();
    if (!get)
        fprintf(stderr, COMPAT_NAME ": ANYDML_ONNXRUNTIME: %s\n", why ? why : "it has no OrtGetApiBase of its own");
    return get;
}

/* ---- loaded already ---- */

struct loaded {
    char paths[8][PATH_MAX];
    size_t count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *context)
{
    struct loaded *out = context;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (name && strstr(name, "onnxruntime") && out->count < sizeof(out->paths) / sizeof(out->paths[0]))
        snprintf(out->paths[out->count++], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

/* A library that a program opened for itself did not make its names known to others. */
static get_base_function loaded(void)
{
    struct loaded *list = calloc(1, sizeof(*list));
    get_base_function get = NULL;
    if (!list)
        return NULL;
    dl_iterate_phdr(collect, list); /* no library is opened inside: the list of them is locked */
    for (size_t i = 0; i < list->count && !get; i++) {
        void *handle = is_own(list->paths[i]) ? NULL : dlopen(list->paths[i], RTLD_NOW | RTLD_NOLOAD);
        get = base_function(handle);
        if (handle && !get)
            dlclose(handle);
    }
    free(list);
    return get;
}

/* ---- in the place of the runtime ---- */

/* Tries the names in the folders where an object looks for its libraries: LD_LIBRARY_PATH, its own folders, the
 * system's. */
static get_base_function search(void *object, const char *const *names)
{
    Dl_serinfo size, *folders = NULL;
    get_base_function get = NULL;
    char path[PATH_MAX];
    if (!object || dlinfo(object, RTLD_DI_SERINFOSIZE, &size) || !(folders = calloc(1, size.dls_size)))
        return NULL;
    folders->dls_size = size.dls_size;
    folders->dls_cnt = size.dls_cnt;
    if (!dlinfo(object, RTLD_DI_SERINFO, folders)) {
        for (unsigned i = 0; i < folders->dls_cnt && !get; i++) {
            for (size_t k = 0; names[k] && !get; k++) {
                int length = snprintf(path, sizeof(path), "%s/%s", folders->dls_serpath[i].dls_name, names[k]);
                struct stat file;
                if (length < (int)sizeof(path) && !stat(path, &file))
                    get = open_file(path);
            }
        }
    }
    free(folders);
    return get;
}

static get_base_function next_in_path(const void *caller)
{
    Dl_info info;
    const char *own = strrchr(own_path(), '/');
    const char *names[] = { own ? own + 1 : "libonnxruntime.so.1", "libonnxruntime.so.1", "libonnxruntime.so", NULL };
    void *program = dlopen(NULL, RTLD_NOW), *object = NULL;
    get_base_function get = NULL;
    if (caller && dladdr(caller, &info) && info.dli_fname)
        object = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    get = search(object, names);
    if (!get)
        get = search(program, names);
    if (object)
        dlclose(object);
    if (program)
        dlclose(program);
    return get;
}

static const OrtApiBase *find(const void *caller)
{
    get_base_function get = named();
    const char *path = getenv("ANYDML_ONNXRUNTIME");
    if (!get && path && *path)
        return NULL; /* not another one than the one that was asked for */
    if (!get)
        get = runtime.seen;
    if (!get)
        get = base_function(RTLD_NEXT);
    if (!get)
        get = loaded();
    if (!get)
        get = next_in_path(caller);
    return get ? get() : NULL;
}

const OrtApiBase *compat_runtime(const void *caller)
{
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.base)
        runtime.base = find(caller);
    const OrtApiBase *base = runtime.base;
    if (!base && !runtime.told)
        fprintf(stderr, COMPAT_NAME ": no ONNX Runtime is found; ANYDML_ONNXRUNTIME names its library\n");
    runtime.told = !base;
    pthread_mutex_unlock(&runtime.lock);
    return base;
}

void compat_runtime_seen(get_base_function get)
{
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.base)
        runtime.seen = get;
    pthread_mutex_unlock(&runtime.lock);
}

uint32_t compat_version(void)
{
    const OrtApiBase *base = compat_runtime(NULL);
    uint32_t version = 0;
    return base && sscanf(base->GetVersionString(), "1.%u", &version) == 1 ? version : 0;
}

const OrtApi *compat_ort(void)
{
    const OrtApiBase *base = compat_runtime(NULL);
    uint32_t version = compat_version();
    return base ? base->GetApi(version < ORT_API_VERSION ? version : ORT_API_VERSION) : NULL;
}

/* ---- segments ---- */

struct segment {
    uintptr_t address;
    size_t size;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *context)
{
    struct segment *out = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || out->address < start || out->address >= end)
            continue;
        out->size = end - out->address;
        return 1;
    }
    return 0;
}

size_t compat_readable(const void *address)
{
    struct segment segment = { .address = (uintptr_t)address };
    dl_iterate_phdr(find_segment, &segment);
    return segment.size;
}
