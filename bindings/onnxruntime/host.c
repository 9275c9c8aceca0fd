/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "host.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

/* For libonnxruntime_directml.so, which knows the runtime that it precedes: a search of the process need not find that
 * one. */
ORT_EXPORT void ORT_API_CALL AnydmlUseOnnxRuntime(const OrtApiBase *base);

static struct {
    pthread_mutex_t lock;
    const OrtApiBase *base; /* of the host that loaded the library last */
    const OrtApiBase *told; /* by AnydmlUseOnnxRuntime */
    uint32_t factories;
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

const OrtApi *ep_host_newest(const OrtApiBase *base, uint32_t *version)
{
    if (sscanf(base->GetVersionString(), "1.%u", version) != 1)
        *version = ORT_API_VERSION;
    *version = BASE_MIN(*version, (uint32_t)ORT_API_VERSION);
    return *version >= EP_OLDEST_VERSION ? base->GetApi(*version) : NULL;
}

void ep_host_enter(const OrtApiBase *base)
{
    pthread_mutex_lock(&host.lock);
    host.base = base;
    host.factories++;
    pthread_mutex_unlock(&host.lock);
}

void ep_host_leave(void)
{
    pthread_mutex_lock(&host.lock);
    bool last = --host.factories == 0;
    if (last)
        host.base = NULL; /* its library may be unloaded as well */
    pthread_mutex_unlock(&host.lock);
    if (last)
        ep_handles_drop();
}

bool ep_host_registered(void)
{
    pthread_mutex_lock(&host.lock);
    bool registered = host.factories > 0;
    pthread_mutex_unlock(&host.lock);
    return registered;
}

static int remember_path(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libonnxruntime.so"))
        return 0;
    snprintf(path, 4096, "%s", info->dlpi_name);
    return 1;
}

/* The symbols of an ONNX Runtime that was opened by dlopen are not global. */
static void *find_symbol(const char *name)
{
    char path[4096] = "";
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol || !dl_iterate_phdr(remember_path, path))
        return symbol;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return symbol;
}

const OrtApiBase *ep_host_base(void)
{
    const OrtApiBase *(*get)(void);
    pthread_mutex_lock(&host.lock);
    const OrtApiBase *base = host.base ? host.base : host.told;
    pthread_mutex_unlock(&host.lock);
    if (base)
        return base;
    *(void **)&get = find_symbol("OrtGetApiBase");
    return get ? get() : NULL;
}

ORT_EXPORT void ORT_API_CALL AnydmlUseOnnxRuntime(const OrtApiBase *base)
{
    pthread_mutex_lock(&host.lock);
    host.told = base;
    pthread_mutex_unlock(&host.lock);
}
