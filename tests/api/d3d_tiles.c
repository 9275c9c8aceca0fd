/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved resources: properties, mappings that move while data stay, mappings in the order of the queue, random ones
 * against a model, and calls that must have no effect. */
#include "tiles_test.h"

/* The two methods without their last parameter. The macro calls the slot itself: the header's own macro would treat the
 * commas of braced lists as parameter separators. */
#define update(queue, ...) (queue)->lpVtbl->UpdateTileMappings(queue, __VA_ARGS__, D3D12_TILE_MAPPING_FLAG_NONE)

static void copy(ID3D12CommandQueue *queue, ID3D12Resource *to, const D3D12_TILED_RESOURCE_COORDINATE *to_start,
                 ID3D12Resource *from, const D3D12_TILED_RESOURCE_COORDINATE *from_start,
                 const D3D12_TILE_REGION_SIZE *size)
{
    ID3D12CommandQueue_CopyTileMappings(queue, to, to_start, from, from_start, size, D3D12_TILE_MAPPING_FLAG_NO_HAZARD);
}

/* The first and the last word of a tile. */
static void write_tile(struct api_queue *q, ID3D12Resource *resource, UINT tile, uint32_t value)
{
    api_write(q, resource, (UINT64)tile * TILE, &value, 4);
    api_write(q, resource, (UINT64)tile * TILE + TILE - 4, &value, 4);
}

/* The word at both ends of a tile; all ones if they differ. */
static uint32_t read_tile(struct api_queue *q, ID3D12Resource *resource, UINT tile)
{
    uint32_t ends[2] = { 0, 1 };
    api_read(q, resource, (UINT64)tile * TILE, &ends[0], 4);
    api_read(q, resource, (UINT64)tile * TILE + TILE - 4, &ends[1], 4);
    return ends[0] == ends[1] ? ends[0] : UINT32_MAX;
}

static void expect_tiles(struct api_queue *q, ID3D12Resource *resource, const uint32_t *want, UINT count)
{
    for (UINT i = 0; i < count; i++) {
        uint32_t got = read_tile(q, resource, i);
        ok(got == want[i], "tile %u has %u, want %u", i, got, want[i]);
    }
}

/* A heap whose tiles contain `first`, `first` + 1, ... */
static ID3D12Heap *numbered_heap(struct api_queue *q, UINT tiles, uint32_t first, ID3D12Resource **out_placed)
{
    ID3D12Heap *heap = tiles_heap(q->device, tiles);
    *out_placed = tiles_placed(q->device, heap, tiles);
    for (UINT i = 0; i < tiles; i++)
        write_tile(q, *out_placed, i, first + i);
    return heap;
}

/* ThreadSanitizer leaves programs about as many addresses as the larger number. */
#ifdef __SANITIZE_THREAD__
#define HUGE_BYTES (1ull << 37)
#else
#define HUGE_BYTES (1ull << 40)
#endif

static void test_object(ID3D12Device *device)
{
    ID3D12Resource *resource = tiles_reserved(device, 4 * TILE + 1000);
    ID3D12Pageable *pageable = (ID3D12Pageable *)resource;
    UINT tiles = 0, tilings = 3;
    D3D12_PACKED_MIP_INFO packed = { 1, 1, 1, 1 };
    D3D12_TILE_SHAPE shape;
    D3D12_SUBRESOURCE_TILING tiling[3];
    ID3D12Device_GetResourceTiling(device, resource, &tiles, &packed, &shape, &tilings, 0, tiling);
    ok(tiles == 5 && tilings == 1, "%u tiles, %u subresources", tiles, tilings);
    ok(!packed.NumStandardMips && !packed.NumTilesForPackedMips, "packed mip levels");
    ok(shape.WidthInTexels == TILE && shape.HeightInTexels == 1 && shape.DepthInTexels == 1, "shape");
    ok(tiling[0].WidthInTiles == 5 && tiling[0].HeightInTiles == 1 && !tiling[0].StartTileIndexInOverallResource,
       "tiling");
    ID3D12Device_GetResourceTiling(device, resource, NULL, NULL, NULL, NULL, 0, NULL);
    D3D12_HEAP_PROPERTIES properties;
    void *data;
    ok_hr(ID3D12Resource_GetHeapProperties(resource, &properties, NULL), E_INVALIDARG);
    ok_hr(ID3D12Resource_Map(resource, 0, NULL, &data), E_INVALIDARG);
    ok_hr(ID3D12Device_MakeResident(device, 1, &pageable), E_INVALIDARG);
    D3D12_GPU_VIRTUAL_ADDRESS address = ID3D12Resource_GetGPUVirtualAddress(resource);
    ok(address && address % TILE == 0, "address 0x%llx", (unsigned long long)address);
    ok(ID3D12Resource_GetDesc(resource).Width == 4 * TILE + 1000, "width");
    D3D12_RESOURCE_DESC desc = api_buffer_desc(TILE, D3D12_RESOURCE_FLAG_NONE);
    void *out = device;
    ok_hr(ID3D12Device_CreateReservedResource(device, &desc, 0, NULL, &IID_ID3D12Resource, NULL), S_FALSE);
    ok_hr(ID3D12Device_CreateReservedResource(device, NULL, 0, NULL, &IID_ID3D12Resource, &out), E_INVALIDARG);
    ok(!out, "the output is not cleared");
    desc.Width = 0;
    ok_hr(ID3D12Device_CreateReservedResource(device, &desc, 0, NULL, &IID_ID3D12Resource, &out), E_INVALIDARG);
    ID3D12Resource *huge = tiles_reserved(device, HUGE_BYTES); /* addresses alone */
    api_release(huge);
    ID3D12Resource *committed = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, TILE);
    ID3D12Device_GetResourceTiling(device, committed, &tiles, NULL, NULL, NULL, 0, NULL);
    ok(!tiles, "%u tiles of a committed resource", tiles);
    api_release(committed);
    api_release(resource);
}

static void test_moves(struct api_queue *q)
{
    ID3D12Resource *placed, *resource = tiles_reserved(q->device, 4 * TILE), *alias;
    ID3D12Heap *heap = numbered_heap(q, 8, 100, &placed);
    const UINT offsets[] = { 5, 2, 7, 0 }, ones[] = { 1, 1, 1, 1 };
    D3D12_TILE_RANGE_FLAGS flags[4] = { 0 };
    update(q->queue, resource, 1, NULL, NULL, heap, 4, flags, offsets, ones);
    expect_tiles(q, resource, (uint32_t[]){ 105, 102, 107, 100 }, 4);
    write_tile(q, resource, 1, 222);
    ok(read_tile(q, placed, 2) == 222, "the heap does not have what was written through a tile");
    /* No flags and no counts: one tile for each range. */
    update(q->queue, resource, 1, NULL, NULL, heap, 4, NULL, (UINT[]){ 2, 5, 5, 3 }, NULL);
    expect_tiles(q, resource, (uint32_t[]){ 222, 105, 105, 103 }, 4);
    tiles_map(q, resource, 0, NULL, 0, 4);
    tiles_map(q, resource, 0, heap, 4, 4);
    expect_tiles(q, resource, (uint32_t[]){ 104, 105, 106, 107 }, 4);
    expect_tiles(q, placed, (uint32_t[]){ 100, 101, 222, 103, 104, 105, 106, 107 }, 8);
    flags[1] = D3D12_TILE_RANGE_FLAG_SKIP;
    flags[2] = D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE;
    update(q->queue, resource, 1, NULL, NULL, heap, 3, flags, (UINT[]){ 0, 0, 1 }, (UINT[]){ 1, 1, 2 });
    expect_tiles(q, resource, (uint32_t[]){ 100, 105, 101, 101 }, 4);
    /* Start without size: one tile. Two regions, one range. */
    const D3D12_TILED_RESOURCE_COORDINATE starts[] = { { .X = 3 }, { .X = 1 } };
    update(q->queue, resource, 2, starts, NULL, heap, 1, NULL, (UINT[]){ 6 }, NULL);
    expect_tiles(q, resource, (uint32_t[]){ 100, 107, 101, 106 }, 4);
    /* Several resources over one heap, as allocators create them for their states. */
    alias = tiles_reserved(q->device, 4 * TILE);
    const D3D12_TILE_REGION_SIZE two = { .NumTiles = 2, .UseBox = TRUE, .Width = 2, .Height = 1, .Depth = 1 };
    tiles_map(q, alias, 0, heap, 0, 4);
    copy(q->queue, alias, &(D3D12_TILED_RESOURCE_COORDINATE){ .X = 2 }, resource,
         &(D3D12_TILED_RESOURCE_COORDINATE){ .X = 1 }, &two);
    expect_tiles(q, alias, (uint32_t[]){ 100, 101, 107, 101 }, 4);
    copy(q->queue, alias, &(D3D12_TILED_RESOURCE_COORDINATE){ .X = 1 }, alias,
         &(D3D12_TILED_RESOURCE_COORDINATE){ .X = 0 }, &(D3D12_TILE_REGION_SIZE){ .NumTiles = 3 });
    expect_tiles(q, alias, (uint32_t[]){ 100, 100, 101, 107 }, 4);
    /* The mappings keep the heap. */
    api_release(heap);
    api_release(placed);
    expect_tiles(q, resource, (uint32_t[]){ 100, 107, 101, 106 }, 4);
    D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING, .Aliasing = { resource, alias } };
    ID3D12GraphicsCommandList_ResourceBarrier(q->list, 1, &barrier);
    api_queue_run(q);
    api_release(resource);
    api_release(alias);
}

/* Copies out of the resource before and after a change of its mapping, all queued behind a wait. */
static void test_order(struct api_queue *q)
{
    ID3D12Resource *placed, *resource = tiles_reserved(q->device, TILE);
    ID3D12Resource *readback = api_buffer(q->device, D3D12_HEAP_TYPE_READBACK, 8);
    ID3D12Heap *heap = numbered_heap(q, 2, 7, &placed);
    ID3D12GraphicsCommandList *second = NULL;
    ID3D12CommandAllocator *allocator = NULL;
    ID3D12Fence *gate = NULL;
    ok_hr(ID3D12Device_CreateFence(q->device, 0, 0, &IID_ID3D12Fence, (void **)&gate), S_OK);
    ok_hr(ID3D12Device_CreateCommandAllocator(q->device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &IID_ID3D12CommandAllocator,
                                              (void **)&allocator),
          S_OK);
    ok_hr(ID3D12Device_CreateCommandList(q->device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator, NULL,
                                         &IID_ID3D12GraphicsCommandList, (void **)&second),
          S_OK);
    need(gate && second);
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, readback, 0, resource, 0, 4);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
    ID3D12GraphicsCommandList_CopyBufferRegion(second, readback, 4, resource, 0, 4);
    ok_hr(ID3D12GraphicsCommandList_Close(second), S_OK);
    tiles_map(q, resource, 0, heap, 0, 1);
    ok_hr(ID3D12CommandQueue_Wait(q->queue, gate, 1), S_OK);
    api_queue_execute(q);
    tiles_map(q, resource, 0, heap, 1, 1);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)second };
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, lists);
    api_release(heap); /* kept by the queue until the mapping is made */
    ok_hr(ID3D12Fence_Signal(gate, 1), S_OK);
    api_queue_wait(q);
    const uint32_t *got = api_map(readback);
    ok(got[0] == 7 && got[1] == 8, "read %u before the change and %u after it", got[0], got[1]);
    ok_hr(ID3D12CommandAllocator_Reset(q->allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
    api_release(second);
    api_release(allocator);
    api_release(gate);
    api_release(readback);
    api_release(resource);
    api_release(placed);
}

/* ---- random changes against a model ---- */

#define HEAPS      3
#define HEAP_TILES 6u
#define RESOURCES  2
#define TILES      9u

static uint32_t seed = 20261122;

static uint32_t next(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Region by region, range by range, tile by tile, as the calls are described. */
static void random_update(struct api_queue *q, ID3D12Resource *resource, uint32_t *model, ID3D12Heap *heap,
                          uint32_t heap_value)
{
    D3D12_TILED_RESOURCE_COORDINATE starts[3] = { 0 };
    D3D12_TILE_REGION_SIZE sizes[3] = { 0 };
    D3D12_TILE_RANGE_FLAGS flags[32];
    UINT offsets[32], counts[32], regions = 1 + next(3), ranges = 0, tiles[32], total = 0;
    for (UINT i = 0; i < regions; i++) {
        starts[i].X = next(TILES);
        sizes[i].NumTiles = next(TILES - starts[i].X + 1);
        for (UINT j = 0; j < sizes[i].NumTiles; j++)
            tiles[total++] = starts[i].X + j;
    }
    for (UINT done = 0; done < total; ranges++) {
        flags[ranges] = (D3D12_TILE_RANGE_FLAGS[]){ 0, 0, 1, 2, 4 }[next(5)];
        counts[ranges] = 1 + next(total - done < HEAP_TILES ? total - done : HEAP_TILES);
        offsets[ranges] = next(HEAP_TILES - (flags[ranges] ? 0 : counts[ranges] - 1));
        for (UINT j = 0; j < counts[ranges]; j++, done++) {
            if (flags[ranges] == D3D12_TILE_RANGE_FLAG_NULL)
                model[tiles[done]] = 0;
            else if (flags[ranges] != D3D12_TILE_RANGE_FLAG_SKIP)
                model[tiles[done]] = heap_value + offsets[ranges] + (flags[ranges] ? 0 : j);
        }
    }
    update(q->queue, resource, regions, starts, sizes, heap, ranges, flags, offsets, counts);
}

static void random_copy(struct api_queue *q, ID3D12Resource *const *resources, uint32_t models[RESOURCES][TILES])
{
    uint32_t to = next(RESOURCES), from = next(RESOURCES), count = 1 + next(TILES), before[TILES];
    uint32_t to_first = next(TILES - count + 1), from_first = next(TILES - count + 1);
    memcpy(before, models[from], sizeof(before));
    memcpy(&models[to][to_first], &before[from_first], count * sizeof(before[0]));
    copy(q->queue, resources[to], &(D3D12_TILED_RESOURCE_COORDINATE){ .X = to_first }, resources[from],
         &(D3D12_TILED_RESOURCE_COORDINATE){ .X = from_first }, &(D3D12_TILE_REGION_SIZE){ .NumTiles = count });
}

static void test_random(struct api_queue *q)
{
    ID3D12Heap *heaps[HEAPS];
    ID3D12Resource *placed[HEAPS], *resources[RESOURCES];
    uint32_t models[RESOURCES][TILES] = { { 0 } };
    for (UINT i = 0; i < HEAPS; i++)
        heaps[i] = numbered_heap(q, HEAP_TILES, 1000 * (i + 1), &placed[i]);
    for (UINT i = 0; i < RESOURCES; i++)
        resources[i] = tiles_reserved(q->device, TILES * TILE);
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 4; i++) {
            uint32_t heap = next(HEAPS), resource = next(RESOURCES);
            if (next(4))
                random_update(q, resources[resource], models[resource], heaps[heap], 1000 * (heap + 1));
            else
                random_copy(q, resources, models);
        }
        for (UINT i = 0; i < RESOURCES; i++)
            expect_tiles(q, resources[i], models[i], TILES);
    }
    for (UINT i = 0; i < HEAPS; i++)
        for (UINT j = 0; j < HEAP_TILES; j++)
            ok(read_tile(q, placed[i], j) == 1000 * (i + 1) + j, "tile %u of heap %u has changed", j, i);
    for (UINT i = 0; i < RESOURCES; i++)
        api_release(resources[i]);
    for (UINT i = 0; i < HEAPS; i++) {
        api_release(placed[i]);
        api_release(heaps[i]);
    }
}

/* ---- a heap used for tiles for the first time while another queue works in it ---- */

static void test_busy_heap(struct api_queue *q)
{
    enum { BUSY_TILES = 512 };
    struct api_queue other = api_queue_create(q->device);
    ID3D12Heap *heap = tiles_heap(q->device, BUSY_TILES);
    ID3D12Resource *placed = tiles_placed(q->device, heap, BUSY_TILES);
    ID3D12Resource *resource = tiles_reserved(q->device, BUSY_TILES * TILE), *readback;
    ID3D12Resource *upload = api_buffer(q->device, D3D12_HEAP_TYPE_UPLOAD, BUSY_TILES * TILE);
    uint32_t *words = api_map(upload);
    for (uint32_t i = 0; i < BUSY_TILES * TILE / 4; i++)
        words[i] = i * 2654435761u;
    ID3D12GraphicsCommandList_CopyResource(other.list, placed, upload);
    ok_hr(ID3D12GraphicsCommandList_Close(other.list), S_OK);
    api_queue_execute(&other);
    tiles_map(q, resource, 0, heap, 0, BUSY_TILES);
    api_queue_wait(&other);
    readback = api_buffer(q->device, D3D12_HEAP_TYPE_READBACK, BUSY_TILES * TILE);
    ID3D12GraphicsCommandList_CopyResource(q->list, readback, resource);
    api_queue_run(q);
    ok(!memcmp(api_map(readback), words, BUSY_TILES * TILE), "writes of the other queue are lost");
    api_release(readback);
    api_release(upload);
    api_release(resource);
    api_release(placed);
    api_release(heap);
    api_queue_destroy(&other);
}

/* ---- calls that are dropped ---- */

static void test_dropped(struct api_queue *q)
{
    ID3D12Resource *placed, *resource = tiles_reserved(q->device, 2 * TILE), *plain;
    ID3D12Heap *heap = numbered_heap(q, 4, 40, &placed), *upload = NULL;
    D3D12_HEAP_DESC desc = { .SizeInBytes = TILE, .Properties = { .Type = D3D12_HEAP_TYPE_UPLOAD } };
    ID3D12CommandQueue *queue = q->queue;
    const D3D12_TILED_RESOURCE_COORDINATE zero = { 0 }, beyond = { .X = 2 }, row = { .Y = 1 };
    const D3D12_TILE_REGION_SIZE one = { .NumTiles = 1 }, three = { .NumTiles = 3 },
                                 box = { .NumTiles = 1, .UseBox = TRUE, .Width = 1, .Height = 2, .Depth = 1 };
    const D3D12_TILE_RANGE_FLAGS none = 0, bad = (D3D12_TILE_RANGE_FLAGS)3;
    const UINT offset = 3, count = 1, two = 2;
    ok_hr(ID3D12Device_CreateHeap(q->device, &desc, &IID_ID3D12Heap, (void **)&upload), S_OK);
    plain = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, TILE);
    tiles_map(q, resource, 0, heap, 1, 2);
    update(queue, plain, 1, &zero, &one, heap, 1, &none, &offset, &count);
    update(queue, NULL, 1, &zero, &one, heap, 1, &none, &offset, &count);
    update(queue, resource, 1, &beyond, &one, heap, 1, &none, &offset, &count);
    update(queue, resource, 1, &row, &one, heap, 1, &none, &offset, &count);
    update(queue, resource, 1, &zero, &three, heap, 1, &none, &offset, NULL);
    update(queue, resource, 1, &zero, &box, heap, 1, &none, &offset, &count);
    update(queue, resource, 1, &zero, &one, heap, 1, &bad, &offset, &count);
    update(queue, resource, 1, &zero, &one, heap, 1, &none, &offset, &two);
    update(queue, resource, 1, NULL, NULL, heap, 1, &none, &offset, NULL);
    update(queue, resource, 1, &zero, &one, heap, 1, &none, NULL, &count);
    update(queue, resource, 1, &zero, &one, NULL, 1, &none, &offset, &count);
    update(queue, resource, 1, &zero, &one, upload, 1, &none, &offset, &count);
    update(queue, resource, 2, NULL, NULL, heap, 1, &none, &offset, NULL);
    copy(queue, resource, &zero, plain, &zero, &one);
    copy(queue, resource, &beyond, resource, &zero, &one);
    copy(queue, resource, &zero, resource, NULL, &one);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(q->device), S_OK);
    expect_tiles(q, resource, (uint32_t[]){ 41, 42 }, 2);
    api_release(upload);
    api_release(plain);
    api_release(resource);
    api_release(placed);
    api_release(heap);
}

/* The feature query has reported that there are none. */
static void test_absent(ID3D12Device *device)
{
    D3D12_RESOURCE_DESC desc = api_buffer_desc(TILE, D3D12_RESOURCE_FLAG_NONE);
    struct api_queue q = api_queue_create(device);
    void *out = device;
    ok_hr(ID3D12Device_CreateReservedResource(device, &desc, 0, NULL, &IID_ID3D12Resource, &out), E_NOTIMPL);
    ok(!out, "the output is not cleared");
    ID3D12Resource *plain = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, TILE);
    tiles_map(&q, plain, 0, NULL, 0, 1);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    api_release(plain);
    api_queue_destroy(&q);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    if (tiles_supported(device)) {
        struct api_queue q = api_queue_create(device);
        test_object(device);
        test_moves(&q);
        test_order(&q);
        test_random(&q);
        for (int i = 0; i < 10; i++)
            test_busy_heap(&q);
        test_dropped(&q);
        ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
        api_queue_destroy(&q);
    } else {
        ok(!api_is("cpu") || !API_MAPS_TWICE, "the cpu adapter has no tiles");
        test_absent(device);
    }
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
