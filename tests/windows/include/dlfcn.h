/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests use of it, for Windows. */
#ifndef TESTS_DLFCN_H
#define TESTS_DLFCN_H

#include <stdio.h>
#include <string.h>
#include <windows.h>

#define RTLD_LAZY   1
#define RTLD_NOW    2
#define RTLD_NOLOAD 4
#define RTLD_LOCAL  0

/* "libd3d12.so" is d3d12.dll. */
static inline void *dlopen(const char *name, int flags)
{
    char own[MAX_PATH];
    HMODULE library = NULL;
    snprintf(own, sizeof(own), "%.*s.dll", (int)strcspn(name + 3, "."), name + 3);
    if (flags & RTLD_NOLOAD)
        return GetModuleHandleExA(0, own, &library) ? library : NULL;
    return LoadLibraryA(own);
}

static inline void *dlsym(void *library, const char *name)
{
    return (void *)GetProcAddress(library, name);
}

static inline int dlclose(void *library)
{
    return !FreeLibrary(library);
}

#endif
