/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a program on a device, uploaded while its plan is made: the host holds one packed constant at a time and
 * the adapter's staging memory. They are in several memories, so that none has to be larger than one allocation of the
 * driver's, and memory that is nearly full can still be used; no constant crosses their ends. */
#include "dml/dispatch_spirv.h"

#include "base/os.h"
#include "base/pages.h"
#include "base/parallel.h"

#include <stdlib.h>

#define ALIGNMENT  256u
#define GRANULE    (UINT64_C(64) << 10)
#define MEMORY_MAX (UINT64_C(1) << 30)

/* Constants up to this size are uploaded together, in batches of at most BATCH_BYTES. */
#define BATCHED_BYTES_MAX (UINT64_C(256) << 10)
#define BATCH_BYTES       (UINT64_C(4) << 20)
#define BATCH_WRITES      256u

struct memory {
    struct adapter_memory *memory;
    uint64_t used;
};

struct dml_constants {
    struct dml_device *device;
    struct memory *memories;
    uint32_t count, capacity;
    struct base_pages pages;
    void *filled; /* for constants that are made here, of this size */
    uint64_t filled_bytes;
    char *batch; /* not uploaded yet: these writes of this memory */
    uint64_t batched;
    struct adapter_write writes[BATCH_WRITES];
    uint32_t write_count, batch_memory;
    bool unfinished; /* the device is still copying */
    char message[ADAPTER_MESSAGE_BYTES];
};

struct dml_constants *dml_constants_create(struct dml_device *device)
{
    struct dml_constants *constants = calloc(1, sizeof(*constants));
    if (constants)
        constants->device = device;
    return constants;
}

static HRESULT write(struct dml_constants *constants, uint32_t memory, const struct adapter_write *writes,
                     uint32_t count)
{
    static const struct adapter_writing how = { base_parallel_copy, true };
    AnydmlDevice *d3d12 = constants->device->d3d12;
    constants->unfinished = true;
    return d3d12->lpVtbl->WriteMemory(d3d12, constants->memories[memory].memory, writes, count, &how);
}

/* In every case: the memory may be destroyed then. */
static HRESULT finish_writes(struct dml_constants *constants)
{
    static const struct adapter_writing how = { base_parallel_copy, false };
    AnydmlDevice *d3d12 = constants->device->d3d12;
    if (!constants->unfinished)
        return S_OK;
    constants->unfinished = false;
    return d3d12->lpVtbl->WriteMemory(d3d12, NULL, NULL, 0, &how);
}

static void release_host(struct dml_constants *constants)
{
    base_pages_release(constants->filled, constants->filled_bytes);
    base_pages_finish(&constants->pages);
    base_aligned_release(constants->batch);
    constants->filled = NULL;
    constants->filled_bytes = 0;
    constants->batch = NULL;
}

void dml_constants_destroy(struct dml_constants *constants)
{
    if (!constants)
        return;
    AnydmlDevice *d3d12 = constants->device->d3d12;
    finish_writes(constants);
    for (uint32_t i = 0; i < constants->count; i++)
        d3d12->lpVtbl->DestroyMemory(d3d12, constants->memories[i].memory);
    release_host(constants);
    free(constants->memories);
    free(constants);
}

const char *dml_constants_message(const struct dml_constants *constants)
{
    return constants->message;
}

uint32_t dml_constants_count(const struct dml_constants *constants)
{
    return constants->count;
}

uint64_t dml_constants_address(const struct dml_constants *constants, uint32_t memory)
{
    return constants->memories[memory].memory->address;
}

/* ---- room on the device ---- */

/* For the constant, and for those that will follow it as far as one allocation goes; just for it if that is too much.
 */
static HRESULT add_memory(struct dml_constants *constants, uint64_t bytes, uint64_t later)
{
    AnydmlDevice *d3d12 = constants->device->d3d12;
    const uint64_t most = BASE_MIN(constants->device->adapter->allocation_bytes_max / GRANULE * GRANULE, MEMORY_MAX);
    const uint64_t all = BASE_MAX(bytes, BASE_MIN(later, most));
    if (!base_array_reserve((void **)&constants->memories, constants->count, &constants->capacity,
                            sizeof(*constants->memories)))
        return E_OUTOFMEMORY;
    struct memory *memory = &constants->memories[constants->count];
    *memory = (struct memory){ 0 };
    HRESULT hr = d3d12->lpVtbl->CreateMemory(d3d12, ADAPTER_MEMORY_DEVICE, all, &memory->memory, constants->message);
    if (hr == E_OUTOFMEMORY && all > bytes)
        hr = d3d12->lpVtbl->CreateMemory(d3d12, ADAPTER_MEMORY_DEVICE, bytes, &memory->memory, constants->message);
    constants->count += SUCCEEDED(hr);
    return hr;
}

static HRESULT find_room(struct dml_constants *constants, const struct graph_keeping *keeping, struct graph_kept *out)
{
    uint32_t i = 0;
    while (i < constants->count && constants->memories[i].memory->size - constants->memories[i].used < keeping->bytes)
        i++;
    HRESULT hr = i < constants->count ? S_OK : add_memory(constants, keeping->bytes, keeping->later);
    if (FAILED(hr))
        return hr;
    struct memory *memory = &constants->memories[i];
    *out = (struct graph_kept){ i, memory->used };
    memory->used = BASE_MIN(memory->used + base_align_up(keeping->bytes, ALIGNMENT), memory->memory->size);
    return S_OK;
}

/* ---- uploads ---- */

static HRESULT flush(struct dml_constants *constants)
{
    if (!constants->write_count)
        return S_OK;
    HRESULT hr = write(constants, constants->batch_memory, constants->writes, constants->write_count);
    constants->write_count = 0;
    constants->batched = 0;
    return hr;
}

static HRESULT add_to_batch(struct dml_constants *constants, const struct graph_keeping *keeping,
                            const struct graph_kept *where)
{
    const uint64_t bytes = base_align_up(keeping->bytes, ALIGNMENT);
    HRESULT hr = S_OK;
    if (constants->write_count == BATCH_WRITES || constants->batched + bytes > BATCH_BYTES ||
        constants->batch_memory != where->memory)
        hr = flush(constants);
    if (SUCCEEDED(hr) && !constants->batch && !(constants->batch = base_aligned_acquire(ALIGNMENT, BATCH_BYTES)))
        hr = E_OUTOFMEMORY;
    if (FAILED(hr))
        return hr;
    char *data = constants->batch + constants->batched;
    if (keeping->data)
        memcpy(data, keeping->data, keeping->bytes);
    else
        keeping->fill(keeping->context, memset(data, 0, keeping->bytes));
    constants->writes[constants->write_count++] = (struct adapter_write){ where->offset, keeping->bytes, data };
    constants->batched += bytes;
    constants->batch_memory = where->memory;
    return S_OK;
}

/* In memory that the next constant uses again. */
static const void *filled(struct dml_constants *constants, const struct graph_keeping *keeping)
{
    if (constants->filled_bytes < keeping->bytes) {
        base_pages_release(constants->filled, constants->filled_bytes);
        constants->filled = base_pages_acquire(&constants->pages, keeping->bytes); /* zeroed */
        constants->filled_bytes = constants->filled ? keeping->bytes : 0;
    } else {
        base_parallel_zero(constants->filled, keeping->bytes);
    }
    if (constants->filled)
        keeping->fill(keeping->context, constants->filled);
    return constants->filled;
}

HRESULT dml_constants_keep(void *context, const struct graph_keeping *keeping, struct graph_kept *out)
{
    struct dml_constants *constants = context;
    HRESULT hr = find_room(constants, keeping, out);
    if (FAILED(hr))
        return hr;
    if (keeping->bytes <= BATCHED_BYTES_MAX)
        return add_to_batch(constants, keeping, out);
    const struct adapter_write whole = { out->offset, keeping->bytes,
                                         keeping->data ? keeping->data : filled(constants, keeping) };
    return whole.data ? write(constants, out->memory, &whole, 1) : E_OUTOFMEMORY;
}

HRESULT dml_constants_finish(struct dml_constants *constants)
{
    HRESULT hr = flush(constants), finished = finish_writes(constants);
    release_host(constants);
    return FAILED(hr) ? hr : finished;
}
