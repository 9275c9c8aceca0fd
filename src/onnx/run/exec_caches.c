/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that stay on a device with its own memory: host memory that past and present share represents a buffer, by its
 * address. The host does not allocate memory that is in use, so a cache that overlaps a new one has been freed. */
#include "onnx/run/exec_context.h"

#include <stdlib.h>

struct cache {
    const char *address;
    uint64_t bytes;
    ID3D12Resource *buffer;
};

struct onnx_caches {
    pthread_mutex_t lock; /* all following members */
    struct cache *caches;
    uint32_t count, capacity;
};

HRESULT onnx_pool_keep_caches(struct onnx_pool *pool)
{
    pool->caches = calloc(1, sizeof(*pool->caches));
    if (!pool->caches)
        return E_OUTOFMEMORY;
    pthread_mutex_init(&pool->caches->lock, NULL);
    return S_OK;
}

static void forget(struct onnx_caches *caches, uint32_t i)
{
    onnx_release(caches->caches[i].buffer);
    caches->caches[i] = caches->caches[--caches->count];
}

void onnx_caches_destroy(struct onnx_caches *caches)
{
    if (!caches)
        return;
    while (caches->count)
        forget(caches, caches->count - 1);
    pthread_mutex_destroy(&caches->lock);
    free(caches->caches);
    free(caches);
}

static ID3D12Resource *find(struct onnx_caches *caches, const char *address, uint64_t bytes)
{
    for (uint32_t i = caches->count; i-- > 0;) {
        const struct cache *c = &caches->caches[i];
        if (c->address == address && c->bytes == bytes)
            return c->buffer;
        if (c->address < address + bytes && address < c->address + c->bytes)
            forget(caches, i);
    }
    return NULL;
}

/* The buffer that the host memory represents, referenced; *made: it does not contain the bytes yet. */
static ID3D12Resource *get(struct onnx_caches *caches, struct onnx_device *device, const void *address, uint64_t bytes,
                           bool *made, HRESULT *hr)
{
    pthread_mutex_lock(&caches->lock);
    ID3D12Resource *buffer = find(caches, address, bytes);
    *hr = S_OK;
    *made = !buffer;
    if (*made && base_array_reserve((void **)&caches->caches, caches->count, &caches->capacity, sizeof(struct cache)))
        buffer = onnx_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes, hr);
    if (*made && buffer)
        caches->caches[caches->count++] = (struct cache){ address, bytes, buffer };
    if (buffer)
        ID3D12Resource_AddRef(buffer);
    else
        *hr = FAILED(*hr) ? *hr : E_OUTOFMEMORY;
    pthread_mutex_unlock(&caches->lock);
    return buffer;
}

HRESULT onnx_exec_place_cache(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c, uint32_t i,
                              const void *memory, bool *changed)
{
    HRESULT hr;
    bool made;
    const struct onnx_port *about = &exec->program->outputs[i];
    struct onnx_exec_port *to = &c->outputs[i], *from = &c->inputs[about->carried - 1];
    ID3D12Resource *buffer = get(pool->caches, exec->device, memory, about->bytes, &made, &hr);
    if (!buffer)
        return hr;
    if (to->bound == buffer) {
        onnx_release(buffer);
    } else {
        onnx_exec_port_finish(to);
        to->bound = buffer;
        to->direct = *changed = true;
    }
    *changed = *changed || from->left == made;
    if (!made)
        onnx_exec_port_finish(from);
    from->left = !made;
    to->fresh = made;
    return S_OK;
}

/* The previous contents are rows that exist nowhere else; only a buffer that was created for the run is
 * uninitialised. */
void onnx_exec_drop_caches(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c)
{
    struct onnx_caches *caches = pool->caches;
    for (uint32_t i = 0; c && caches && i < exec->program->output_count; i++) {
        if (!c->outputs[i].fresh)
            continue;
        pthread_mutex_lock(&caches->lock);
        for (uint32_t k = caches->count; k-- > 0;)
            if (caches->caches[k].buffer == c->outputs[i].bound)
                forget(caches, k);
        pthread_mutex_unlock(&caches->lock);
    }
}
