/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <anydml_d3d12.h>

#include <stdlib.h>

struct handle {
    IDMLDevice *dml;
    ID3D12CommandQueue *queue;
};

static struct {
    pthread_mutex_t lock;
    struct handle *handles;
    uint32_t count;
    uint32_t dropped; /* numbers are never reused: options may still contain them */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint32_t ep_handle_add(IDMLDevice *dml, ID3D12CommandQueue *queue)
{
    uint32_t at = 0;
    pthread_mutex_lock(&table.lock);
    while (at < table.count && (table.handles[at].dml != dml || table.handles[at].queue != queue))
        at++;
    if (at == table.count) {
        struct handle *grown = realloc(table.handles, (table.count + 1) * sizeof(*grown));
        if (grown) {
            IDMLDevice_AddRef(dml);
            ID3D12CommandQueue_AddRef(queue);
            grown[table.count++] = (struct handle){ dml, queue };
            table.handles = grown;
        }
    }
    uint32_t handle = at < table.count ? table.dropped + at + 1 : 0;
    pthread_mutex_unlock(&table.lock);
    return handle;
}

bool ep_handle_get(uint32_t handle, IDMLDevice **out_dml, ID3D12CommandQueue **out_queue)
{
    *out_dml = NULL;
    *out_queue = NULL;
    pthread_mutex_lock(&table.lock);
    bool known = handle > table.dropped && handle - table.dropped <= table.count;
    if (known) {
        const struct handle *h = &table.handles[handle - table.dropped - 1];
        *out_dml = h->dml;
        *out_queue = h->queue;
        IDMLDevice_AddRef(h->dml);
        ID3D12CommandQueue_AddRef(h->queue);
    }
    pthread_mutex_unlock(&table.lock);
    return known;
}

void ep_handles_drop(void)
{
    pthread_mutex_lock(&table.lock);
    struct handle *handles = table.handles;
    uint32_t count = table.count;
    table.handles = NULL;
    table.count = 0;
    table.dropped += count;
    pthread_mutex_unlock(&table.lock);
    for (uint32_t i = 0; i < count; i++) {
        IDMLDevice_Release(handles[i].dml);
        ID3D12CommandQueue_Release(handles[i].queue);
    }
    free(handles);
}
