/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host memory and buffers without host access, in pieces through staging buffers. There is one queue
 * with its staging buffers for each device, from its first copy until its last block is released. */
#include "memory.h"

#include <anydml_d3d12.h>

#include <stdlib.h>

#define PIECE_BYTES (UINT64_C(8) << 20) /* of a staging buffer */

struct ep_staging {
    struct ep_staging *next;
    ID3D12Device *d3d;    /* kept */
    uint32_t users;       /* blocks; under the list's lock */
    pthread_mutex_t lock; /* all following members */
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Resource *upload, *readback;
    char *to, *from; /* their mapped addresses */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ep_staging *all;

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* ---- life ---- */

struct ep_staging *ep_staging_get(ID3D12Device *d3d)
{
    pthread_mutex_lock(&list_lock);
    struct ep_staging *s = all;
    while (s && s->d3d != d3d)
        s = s->next;
    if (!s && (s = calloc(1, sizeof(*s)))) {
        ID3D12Device_AddRef(d3d);
        s->d3d = d3d;
        pthread_mutex_init(&s->lock, NULL);
        s->next = all;
        all = s;
    }
    if (s)
        s->users++;
    pthread_mutex_unlock(&list_lock);
    return s;
}

void ep_staging_release(struct ep_staging *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&list_lock);
    bool last = --s->users == 0;
    for (struct ep_staging **at = &all; last && *at; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
    if (!last)
        return;
    release(s->upload);
    release(s->readback);
    release(s->list);
    release(s->allocator);
    release(s->queue);
    release(s->d3d);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static HRESULT make_buffer(const struct ep_staging *s, D3D12_HEAP_TYPE type, ID3D12Resource **out, char **out_mapped)
{
    D3D12_HEAP_PROPERTIES heap = { .Type = type, .CreationNodeMask = 1, .VisibleNodeMask = 1 };
    D3D12_RANGE none = { 0, 0 };
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = PIECE_BYTES,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
    };
    bool up = type == D3D12_HEAP_TYPE_UPLOAD;
    HRESULT hr =
        ID3D12Device_CreateCommittedResource(s->d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc,
                                             up ? D3D12_RESOURCE_STATE_GENERIC_READ : D3D12_RESOURCE_STATE_COPY_DEST,
                                             NULL, &IID_ID3D12Resource, (void **)out);
    return SUCCEEDED(hr) ? ID3D12Resource_Map(*out, 0, up ? &none : NULL, (void **)out_mapped) : hr;
}

/* Under the lock. */
static HRESULT make_ready(struct ep_staging *s)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    HRESULT hr = S_OK;
    if (s->from)
        return S_OK;
    if (!s->queue)
        hr = ID3D12Device_CreateCommandQueue(s->d3d, &desc, &IID_ID3D12CommandQueue, (void **)&s->queue);
    if (SUCCEEDED(hr) && !s->allocator)
        hr = ID3D12Device_CreateCommandAllocator(s->d3d, type, &IID_ID3D12CommandAllocator, (void **)&s->allocator);
    if (SUCCEEDED(hr) && !s->list) {
        hr = ID3D12Device_CreateCommandList(s->d3d, 0, type, s->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&s->list);
        if (SUCCEEDED(hr))
            hr = ID3D12GraphicsCommandList_Close(s->list);
    }
    if (SUCCEEDED(hr) && !s->upload)
        hr = make_buffer(s, D3D12_HEAP_TYPE_UPLOAD, &s->upload, &s->to);
    if (SUCCEEDED(hr) && !s->readback)
        hr = make_buffer(s, D3D12_HEAP_TYPE_READBACK, &s->readback, &s->from);
    return hr;
}

/* ---- copies ---- */

static HRESULT copy(struct ep_staging *s, ID3D12Resource *to, uint64_t to_offset, ID3D12Resource *from,
                    uint64_t from_offset, uint64_t bytes)
{
    HRESULT hr = ID3D12CommandAllocator_Reset(s->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12GraphicsCommandList_Reset(s->list, s->allocator, NULL);
    if (FAILED(hr))
        return hr;
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, to, to_offset, from, from_offset, bytes);
    hr = ID3D12GraphicsCommandList_Close(s->list);
    return SUCCEEDED(hr)
               ? AnydmlExecuteCommandLists(s->queue, 1, (ID3D12CommandList *[]){ (ID3D12CommandList *)s->list })
               : hr;
}

HRESULT ep_staging_write(struct ep_staging *s, ID3D12Resource *to, uint64_t offset, const void *data, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    HRESULT hr = make_ready(s);
    for (uint64_t done = 0, n; SUCCEEDED(hr) && done < bytes; done += n) {
        n = BASE_MIN(bytes - done, PIECE_BYTES);
        memcpy(s->to, (const char *)data + done, n);
        hr = copy(s, to, offset + done, s->upload, 0, n);
    }
    pthread_mutex_unlock(&s->lock);
    return hr;
}

HRESULT ep_staging_read(struct ep_staging *s, ID3D12Resource *from, uint64_t offset, void *data, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    HRESULT hr = make_ready(s);
    for (uint64_t done = 0, n; SUCCEEDED(hr) && done < bytes; done += n) {
        n = BASE_MIN(bytes - done, PIECE_BYTES);
        hr = copy(s, s->readback, 0, from, offset + done, n);
        if (SUCCEEDED(hr))
            memcpy((char *)data + done, s->from, n);
    }
    pthread_mutex_unlock(&s->lock);
    return hr;
}

HRESULT ep_staging_move(struct ep_staging *s, ID3D12Resource *to, uint64_t to_offset, ID3D12Resource *from,
                        uint64_t from_offset, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    HRESULT hr = make_ready(s);
    if (SUCCEEDED(hr))
        hr = copy(s, to, to_offset, from, from_offset, bytes);
    pthread_mutex_unlock(&s->lock);
    return hr;
}
