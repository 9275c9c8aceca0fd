/* SPDX-License-Identifier: Apache-2.0 */
/* The list of adapters that libdxcore and libdxgi have: libd3d12's, where that library of this build is in the process,
 * else their own. Whichever it is when someone first asks, it stays. */
#include "d3d12/adapter.h"

#include "base/os.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct adapter_registry *registry = &adapter_own_registry;

/* Other libraries have that name too, and do not have that function. */
static void find(void)
{
    void *library = base_library_loaded(BASE_D3D12_LIBRARY);
    adapter_registry_fn *get;
    if (!library)
        return;
    *(void **)&get = base_library_symbol(library, "AnydmlAdapterRegistry");
    const struct adapter_registry *theirs = get ? get() : NULL;
    if (theirs && theirs->version == adapter_own_registry.version &&
        theirs->info_bytes == adapter_own_registry.info_bytes)
        registry = theirs;
    else
        base_library_close(library);
}

const struct adapter_registry *adapter_registry(void)
{
    pthread_once(&once, find);
    return registry;
}
