/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved resources: the mapping from their tiles to tiles of heaps. The queue's calls are checked when they are made
 * and become runs of tiles; the map and the adapter are updated when the queue executes them. */
#include "d3d12/device_methods.h"

#include <stdlib.h>

/* Tiles [first, first + count) of a resource; mapped to the heap's tiles from `heap_first` on, or all to that one. */
struct run {
    uint32_t first, count, heap_first;
    bool nothing, single;
};

struct d3d_tile_update {
    struct d3d_resource *to;   /* kept */
    struct d3d_resource *from; /* kept; NULL: not a copy */
    struct d3d_heap *heap;     /* kept; NULL: not used by any run */
    uint32_t from_first;
    uint32_t run_count;
    struct run runs[];
};

/* ---- the map ---- */

struct d3d_tiles *d3d_tiles_create(uint64_t bytes)
{
    uint64_t count = base_align_up(bytes, D3D_TILE_BYTES) / D3D_TILE_BYTES;
    struct d3d_tiles *tiles = calloc(1, sizeof(*tiles) + count * sizeof(tiles->map[0]));
    if (!tiles)
        return NULL;
    pthread_mutex_init(&tiles->lock, NULL);
    tiles->count = (uint32_t)count;
    return tiles;
}

void d3d_tiles_destroy(struct d3d_tiles *tiles)
{
    for (uint32_t i = 0; tiles && i < tiles->count; i++) {
        if (tiles->map[i].heap)
            com_unref(&tiles->map[i].heap->pageable.base);
    }
    if (tiles)
        pthread_mutex_destroy(&tiles->lock);
    free(tiles);
}

static HRESULT adapter_map(struct d3d_device *device, struct d3d_resource *resource, uint32_t first, uint32_t count,
                           struct d3d_tile tile)
{
    return device->ops->tiles_map(device->adapter, resource->memory, (uint64_t)first * D3D_TILE_BYTES,
                                  tile.heap ? tile.heap->memory : NULL, (uint64_t)tile.index * D3D_TILE_BYTES,
                                  (uint64_t)count * D3D_TILE_BYTES);
}

/* Consecutive tiles mapped to consecutive ones, or unmapped. Under the map's lock. */
static HRESULT map_run(struct d3d_device *device, struct d3d_resource *resource, uint32_t first, uint32_t count,
                       struct d3d_tile tile)
{
    HRESULT hr = adapter_map(device, resource, first, count, tile);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        struct d3d_tile *at = &resource->tiles->map[first + i], before = *at;
        *at = (struct d3d_tile){ tile.heap, tile.heap ? tile.index + i : 0 };
        if (tile.heap)
            com_ref(&tile.heap->pageable.base);
        if (before.heap)
            com_unref(&before.heap->pageable.base);
    }
    return hr;
}

static HRESULT run_update(struct d3d_device *device, const struct d3d_tile_update *update)
{
    HRESULT hr = S_OK;
    pthread_mutex_lock(&update->to->tiles->lock);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < update->run_count; i++) {
        const struct run *run = &update->runs[i];
        const struct d3d_tile tile = { run->nothing ? NULL : update->heap, run->heap_first };
        if (!run->single)
            hr = map_run(device, update->to, run->first, run->count, tile);
        for (uint32_t j = 0; run->single && SUCCEEDED(hr) && j < run->count; j++)
            hr = map_run(device, update->to, run->first + j, 1, tile);
    }
    pthread_mutex_unlock(&update->to->tiles->lock);
    return hr;
}

/* The number of consecutive tiles from `first` on. */
static uint32_t run_length(const struct d3d_tile *tiles, uint32_t first, uint32_t count)
{
    const struct d3d_tile *start = &tiles[first];
    uint32_t length = 1;
    while (first + length < count && tiles[first + length].heap == start->heap &&
           (!start->heap || tiles[first + length].index == start->index + length))
        length++;
    return length;
}

/* The source's tiles as they are before any of them changes, since both may be one resource. */
static HRESULT run_copy(struct d3d_device *device, const struct d3d_tile_update *update)
{
    uint32_t count = update->runs[0].count;
    struct d3d_tiles *from = update->from->tiles, *to = update->to->tiles;
    struct d3d_tile *tiles = malloc(count * sizeof(*tiles));
    HRESULT hr = tiles ? S_OK : E_OUTOFMEMORY;
    if (!tiles)
        return hr;
    pthread_mutex_lock(&from->lock);
    memcpy(tiles, &from->map[update->from_first], count * sizeof(*tiles));
    for (uint32_t i = 0; i < count; i++) {
        if (tiles[i].heap)
            com_ref(&tiles[i].heap->pageable.base);
    }
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_lock(&to->lock);
    for (uint32_t i = 0, length; SUCCEEDED(hr) && i < count; i += length) {
        length = run_length(tiles, i, count);
        hr = map_run(device, update->to, update->runs[0].first + i, length, tiles[i]);
    }
    pthread_mutex_unlock(&to->lock);
    for (uint32_t i = 0; i < count; i++) {
        if (tiles[i].heap)
            com_unref(&tiles[i].heap->pageable.base);
    }
    free(tiles);
    return hr;
}

void d3d_tile_update_run(struct d3d_device *device, const struct d3d_tile_update *update)
{
    if (d3d_removed(device))
        return;
    HRESULT hr = update->from ? run_copy(device, update) : run_update(device, update);
    if (FAILED(hr))
        d3d_device_remove(device, hr, "ID3D12CommandQueue: the adapter could not map %u runs of tiles",
                          update->run_count);
}

void d3d_tile_update_destroy(struct d3d_tile_update *update)
{
    com_unref(&update->to->pageable.base);
    if (update->from)
        com_unref(&update->from->pageable.base);
    if (update->heap)
        com_unref(&update->heap->pageable.base);
    free(update);
}

static struct d3d_tile_update *update_new(struct d3d_device *device, struct d3d_resource *to, size_t capacity)
{
    struct d3d_tile_update *update = calloc(1, sizeof(*update) + capacity * sizeof(update->runs[0]));
    if (!update) {
        d3d_device_remove(device, E_OUTOFMEMORY, "ID3D12CommandQueue: no memory for a change of tile mappings");
        return NULL;
    }
    com_ref(&to->pageable.base);
    update->to = to;
    return update;
}

/* ---- checks ---- */

static struct d3d_resource *reserved_from(struct d3d_device *device, ID3D12Resource *iface)
{
    struct d3d_resource *resource = com_child(device, iface, &d3d_resource_vtbl);
    return resource && resource->tiles ? resource : NULL;
}

/* NULL, or an error in a region: no start means tile 0; no size means one tile, or all tiles if there is no start
 * either. */
static const char *region_check(const struct d3d_resource *resource, const D3D12_TILED_RESOURCE_COORDINATE *start,
                                const D3D12_TILE_REGION_SIZE *size, uint32_t *out_first, uint32_t *out_count)
{
    uint32_t tiles = resource->tiles->count;
    *out_first = start ? start->X : 0;
    *out_count = size ? size->NumTiles : start ? 1 : tiles;
    if (start && (start->Y || start->Z || start->Subresource))
        return "Y, Z and Subresource of a buffer's coordinate must be 0";
    if (size && size->UseBox && (size->Width != size->NumTiles || size->Height != 1 || size->Depth != 1))
        return "a buffer's box must be NumTiles by 1 by 1";
    if (*out_first > tiles || *out_count > tiles - *out_first)
        return "a region reaches beyond the resource's tiles";
    return NULL;
}

struct range {
    uint32_t count, heap_first;
    bool nothing, skip, single;
};

/* NULL, or an error in a range; `all`: the total of the regions' tiles. */
static const char *range_check(const struct d3d_heap *heap, const struct d3d_tile_ranges *ranges, UINT i, uint64_t all,
                               struct range *out)
{
    unsigned flags = ranges->flags ? (unsigned)ranges->flags[i] : D3D12_TILE_RANGE_FLAG_NONE;
    uint64_t count = ranges->counts ? ranges->counts[i] : ranges->count == 1 ? all : 1;
    *out = (struct range){
        .count = (uint32_t)count,
        .nothing = flags == D3D12_TILE_RANGE_FLAG_NULL,
        .skip = flags == D3D12_TILE_RANGE_FLAG_SKIP,
        .single = flags == D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE,
    };
    if (flags && !out->nothing && !out->skip && !out->single)
        return "a range's flags must be NONE, NULL, SKIP or REUSE_SINGLE_TILE";
    if (out->nothing || out->skip || !count)
        return NULL;
    if (!heap)
        return "pHeap is not a heap of this device, but a range needs one";
    if (!ranges->offsets)
        return "pHeapRangeStartOffsets is NULL, but a range needs it";
    uint64_t first = ranges->offsets[i], last = first + (out->single ? 1 : count);
    out->heap_first = (uint32_t)first;
    return last * D3D_TILE_BYTES > heap->desc.SizeInBytes ? "a range reaches beyond the heap's tiles" : NULL;
}

static const char *heap_check(const struct d3d_heap *heap)
{
    if (heap->desc.Flags & D3D12_HEAP_FLAG_DENY_BUFFERS)
        return "the heap denies buffers";
    /* The application may hold addresses of the others' memory. */
    return d3d_heap_memory_kind(&heap->desc.Properties) == ADAPTER_MEMORY_DEVICE
               ? NULL
               : "the heap must be one that the CPU does not reach";
}

static const char *regions_check(const struct d3d_resource *resource, const struct d3d_tile_regions *regions,
                                 uint64_t *out_all)
{
    const char *error = NULL;
    uint32_t first, count;
    *out_all = 0;
    if (regions->count > 1 && !regions->starts)
        return "several regions need pResourceRegionStartCoordinates";
    for (UINT i = 0; !error && i < regions->count; i++) {
        error = region_check(resource, regions->starts ? &regions->starts[i] : NULL,
                             regions->sizes ? &regions->sizes[i] : NULL, &first, &count);
        *out_all += count;
    }
    return error;
}

static const char *ranges_check(const struct d3d_heap *heap, const struct d3d_tile_ranges *ranges, uint64_t all)
{
    const char *error = NULL;
    struct range range;
    uint64_t sum = 0;
    for (UINT i = 0; !error && i < ranges->count; i++) {
        error = range_check(heap, ranges, i, all, &range);
        sum += range.count;
    }
    if (!error && sum != all)
        error = "the regions and the ranges differ in the number of tiles";
    return error;
}

/* ---- the calls ---- */

/* Both lists are valid and have the same number of tiles: splits them where either has a boundary. */
static void make_runs(struct d3d_tile_update *update, const struct d3d_tile_regions *regions,
                      const struct d3d_tile_ranges *ranges, uint64_t all)
{
    struct range range = { 0 };
    uint32_t first = 0, left = 0;
    UINT region_index = 0, range_index = 0;
    for (uint64_t done = 0; done < all;) {
        for (; !left; region_index++)
            region_check(update->to, regions->starts ? &regions->starts[region_index] : NULL,
                         regions->sizes ? &regions->sizes[region_index] : NULL, &first, &left);
        for (; !range.count; range_index++)
            range_check(update->heap, ranges, range_index, all, &range);
        uint32_t count = BASE_MIN(left, range.count);
        if (!range.skip)
            update->runs[update->run_count++] =
                (struct run){ first, count, range.heap_first, range.nothing, range.single };
        first += count, left -= count, range.count -= count, done += count;
        range.heap_first += range.single || range.nothing ? 0 : count;
    }
}

struct d3d_tile_update *d3d_tile_update_create(struct d3d_device *device, ID3D12Resource *resource_iface,
                                               ID3D12Heap *heap_iface, const struct d3d_tile_regions *regions,
                                               const struct d3d_tile_ranges *ranges)
{
    struct d3d_resource *resource = reserved_from(device, resource_iface);
    struct d3d_heap *heap = com_child(device, heap_iface, &d3d_heap_vtbl);
    uint64_t all = 0;
    if (d3d_removed(device))
        return NULL;
    const char *error = resource ? NULL : "pResource is not a reserved resource of this device";
    if (!error && heap)
        error = heap_check(heap);
    if (!error)
        error = regions_check(resource, regions, &all);
    if (!error)
        error = ranges_check(heap, ranges, all);
    if (error) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER,
                    "ID3D12CommandQueue::UpdateTileMappings: %u regions, %u ranges: %s: nothing is mapped",
                    regions->count, ranges->count, error);
        return NULL;
    }
    struct d3d_tile_update *update = update_new(device, resource, (size_t)regions->count + ranges->count);
    if (!update)
        return NULL;
    if (heap)
        com_ref(&heap->pageable.base);
    update->heap = heap;
    make_runs(update, regions, ranges, all);
    return update;
}

struct d3d_tile_update *d3d_tile_copy_create(struct d3d_device *device, ID3D12Resource *to_iface,
                                             const D3D12_TILED_RESOURCE_COORDINATE *to_start,
                                             ID3D12Resource *from_iface,
                                             const D3D12_TILED_RESOURCE_COORDINATE *from_start,
                                             const D3D12_TILE_REGION_SIZE *size)
{
    struct d3d_resource *to = reserved_from(device, to_iface), *from = reserved_from(device, from_iface);
    uint32_t to_first = 0, from_first = 0, count = 0;
    if (d3d_removed(device))
        return NULL;
    const char *error = to && from ? NULL : "both must be reserved resources of this device";
    if (!error && (!to_start || !from_start || !size))
        error = "a coordinate or pRegionSize is NULL";
    if (!error)
        error = region_check(to, to_start, size, &to_first, &count);
    if (!error)
        error = region_check(from, from_start, size, &from_first, &count);
    if (error) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_COPYTILEMAPPINGS_INVALID_PARAMETER,
                    "ID3D12CommandQueue::CopyTileMappings: %s: nothing is mapped", error);
        return NULL;
    }
    struct d3d_tile_update *update = count ? update_new(device, to, 1) : NULL;
    if (!update)
        return NULL;
    com_ref(&from->pageable.base);
    update->from = from;
    update->from_first = from_first;
    update->runs[update->run_count++] = (struct run){ .first = to_first, .count = count };
    return update;
}

/* ---- ID3D12Device::GetResourceTiling ---- */

void d3d_device_GetResourceTiling(D3D_DEVICE, ID3D12Resource *resource_iface, UINT *tiles,
                                  D3D12_PACKED_MIP_INFO *packed, D3D12_TILE_SHAPE *shape, UINT *tilings, UINT first,
                                  D3D12_SUBRESOURCE_TILING *out)
{
    struct d3d_device *device = d3d_device_from(iface);
    struct d3d_resource *resource = reserved_from(device, resource_iface);
    uint32_t count = resource ? resource->tiles->count : 0;
    UINT wanted = tilings ? *tilings : 0, known = resource && !first && wanted ? 1 : 0;
    if (!resource)
        d3d_fail(device, E_INVALIDARG,
                 "ID3D12Device::GetResourceTiling: pTiledResource is not a reserved resource of this "
                 "device");
    if (tiles)
        *tiles = count;
    if (packed)
        memset(packed, 0, sizeof(*packed)); /* a buffer does not have mip levels */
    if (shape)
        *shape = resource ? (D3D12_TILE_SHAPE){ D3D_TILE_BYTES, 1, 1 } : (D3D12_TILE_SHAPE){ 0, 0, 0 };
    if (out && known)
        *out = (D3D12_SUBRESOURCE_TILING){ .WidthInTiles = count, .HeightInTiles = 1, .DepthInTiles = 1 };
    if (tilings)
        *tilings = known;
}
