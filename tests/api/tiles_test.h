/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of reserved resources. */
#ifndef TESTS_TILES_TEST_H
#define TESTS_TILES_TEST_H

#include "api_test.h"

#include <unistd.h>

#define TILE 65536u

static inline bool tiles_supported(ID3D12Device *device)
{
    D3D12_FEATURE_DATA_D3D12_OPTIONS options = { 0 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof(options)), S_OK);
    return options.TiledResourcesTier != D3D12_TILED_RESOURCES_TIER_NOT_SUPPORTED;
}

/* Ends the test, or its part, if there are no reserved resources. */
static inline void tiles_or_skip(ID3D12Device *device)
{
    if (tiles_supported(device))
        return;
    fprintf(stderr, "no reserved resources: skipped\n");
    _exit(api_failures ? 1 : 77); /* nothing is released: no leak check */
}

static inline ID3D12Heap *tiles_heap(ID3D12Device *device, UINT tiles)
{
    D3D12_HEAP_DESC desc = { .SizeInBytes = (UINT64)tiles * TILE, .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    ID3D12Heap *heap = NULL;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, (void **)&heap), S_OK);
    need(heap);
    return heap;
}

static inline ID3D12Resource *tiles_placed(ID3D12Device *device, ID3D12Heap *heap, UINT tiles)
{
    D3D12_RESOURCE_DESC desc = api_buffer_desc((UINT64)tiles * TILE, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *resource = NULL;
    ok_hr(ID3D12Device_CreatePlacedResource(device, heap, 0, &desc, 0, NULL, &IID_ID3D12Resource, (void **)&resource),
          S_OK);
    need(resource);
    return resource;
}

static inline ID3D12Resource *tiles_reserved(ID3D12Device *device, UINT64 bytes)
{
    D3D12_RESOURCE_DESC desc = api_buffer_desc(bytes, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *resource = NULL;
    ok_hr(ID3D12Device_CreateReservedResource(device, &desc, 0, NULL, &IID_ID3D12Resource, (void **)&resource), S_OK);
    need(resource);
    return resource;
}

/* Maps tile `first` and the following ones to consecutive ones of the heap; NULL: unmaps them. */
static inline void tiles_map(struct api_queue *q, ID3D12Resource *resource, UINT first, ID3D12Heap *heap,
                             UINT heap_first, UINT count)
{
    const D3D12_TILED_RESOURCE_COORDINATE start = { .X = first };
    const D3D12_TILE_REGION_SIZE size = { .NumTiles = count };
    const D3D12_TILE_RANGE_FLAGS flags = heap ? D3D12_TILE_RANGE_FLAG_NONE : D3D12_TILE_RANGE_FLAG_NULL;
    ID3D12CommandQueue_UpdateTileMappings(q->queue, resource, 1, &start, &size, heap, 1, &flags, &heap_first, &count,
                                          D3D12_TILE_MAPPING_FLAG_NONE);
}

#endif
