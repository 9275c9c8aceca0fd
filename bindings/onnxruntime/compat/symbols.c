/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym. A preloaded library precedes the runtime in programs that are linked with it; those that open the runtime
 * themselves look its functions up in what they opened. (.NET, Java and Go's and Rust's bindings do.) Only names that
 * this library exports are answered by it, and only where what was opened has the runtime's function. */
#define _GNU_SOURCE
#include "compat.h"

#include <dlfcn.h>
#include <string.h>

typedef void *(*symbol_function)(void *restrict handle, const char *restrict name);

/* By the version that the architecture's C library began with, or that of the release which moved it. */
static symbol_function real_dlsym(void)
{
    static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };
    static symbol_function found;
    symbol_function function = __atomic_load_n(&found, __ATOMIC_RELAXED);
    for (size_t i = 0; !function && i < sizeof(versions) / sizeof(versions[0]); i++)
        *(void **)&function = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    return function;
}

void *compat_symbol(void *handle, const char *name)
{
    symbol_function function = real_dlsym();
    return function ? function(handle, name) : NULL;
}

/* What this library answers for a name that was found, or not found, in what a program opened. */
static void *answer(void *handle, const char *name, void *theirs)
{
    const OrtApiBase *(*get)(void);
    if (!strcmp(name, "OrtGetApiBase")) {
        *(void **)&get = theirs;
        if (theirs && get != OrtGetApiBase)
            compat_runtime_seen(get);
        return theirs ? (void *)OrtGetApiBase : NULL;
    }
    if (!strcmp(name, COMPAT_JAVA_ADD))
        return theirs ? (void *)compat_java_add : NULL;
    if (theirs || !compat_symbol(handle, "OrtGetApiBase"))
        return theirs;
    return !strcmp(name, "OrtSessionOptionsAppendExecutionProvider_DML")
               ? (void *)OrtSessionOptionsAppendExecutionProvider_DML
               : (void *)OrtSessionOptionsAppendExecutionProviderEx_DML;
}

static bool is_answered(void *handle, const char *name)
{
    static const char *const names[] = { "OrtGetApiBase", "OrtSessionOptionsAppendExecutionProvider_DML",
                                         "OrtSessionOptionsAppendExecutionProviderEx_DML", COMPAT_JAVA_ADD };
    bool found = false;
    if (handle == RTLD_NEXT || !name || (name[0] != 'O' && name[0] != 'J'))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        found = found || !strcmp(name, names[i]);
    return found;
}

/* The real function tells by its return address who asks (RTLD_NEXT), so it is jumped to, not called. */
#ifdef __clang__
#define JUMPING
#define JUMP __attribute__((musttail)) return
#else
#define JUMPING __attribute__((optimize("optimize-sibling-calls"), no_sanitize("address", "undefined")))
#define JUMP    return
#endif

ORT_EXPORT JUMPING void *dlsym(void *restrict handle, const char *restrict name)
{
    symbol_function function = real_dlsym();
    if (is_answered(handle, name))
        return answer(handle, name, function(handle, name));
    JUMP function(handle, name);
}
