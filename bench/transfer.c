/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between host and device: copies of UPLOAD to DEFAULT and of DEFAULT to READBACK buffers on queues of each
 * type, alone and both at a time, and what the CPU takes to write and read such buffers: transfer [MIB [ROUNDS]] The
 * copies of a queue are `CHUNKS` commands in one list, and several lists are in flight. */
#include <anydml_d3d12.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* shared by samples, not all of it is used */
#include "sample.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IN_FLIGHT = 4, CHUNKS = 4 };

/* A queue with a closed list that copies `bytes`. */
struct lane {
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    UINT64 value;
};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct lane lane_create(ID3D12Device *device, D3D12_COMMAND_LIST_TYPE type, ID3D12Resource *to,
                               ID3D12Resource *from, UINT64 bytes)
{
    struct lane lane = { .value = 0 };
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    CHECK(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&lane.queue));
    CHECK(ID3D12Device_CreateCommandAllocator(device, type, &IID_ID3D12CommandAllocator, (void **)&lane.allocator));
    CHECK(ID3D12Device_CreateCommandList(device, 0, type, lane.allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                         (void **)&lane.list));
    CHECK(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&lane.fence));
    for (UINT64 i = 0; i < CHUNKS; i++)
        ID3D12GraphicsCommandList_CopyBufferRegion(lane.list, to, i * (bytes / CHUNKS), from, i * (bytes / CHUNKS),
                                                   bytes / CHUNKS);
    CHECK(ID3D12GraphicsCommandList_Close(lane.list));
    return lane;
}

static void lane_release(struct lane *lane)
{
    ID3D12GraphicsCommandList_Release(lane->list);
    ID3D12CommandAllocator_Release(lane->allocator);
    ID3D12Fence_Release(lane->fence);
    ID3D12CommandQueue_Release(lane->queue);
}

static void lane_start(struct lane *lane)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)lane->list };
    for (int i = 0; i < IN_FLIGHT; i++)
        ID3D12CommandQueue_ExecuteCommandLists(lane->queue, 1, lists);
    CHECK(ID3D12CommandQueue_Signal(lane->queue, lane->fence, ++lane->value));
}

static void lane_wait(struct lane *lane)
{
    CHECK(ID3D12Fence_SetEventOnCompletion(lane->fence, lane->value, NULL));
}

/* GB/s of the best round: all lanes at a time. */
static double measure(struct lane *lanes, int count, UINT64 bytes, UINT rounds)
{
    double best = 0;
    for (UINT r = 0; r < rounds; r++) {
        double start = now_seconds();
        for (int i = 0; i < count; i++)
            lane_start(&lanes[i]);
        for (int i = 0; i < count; i++)
            lane_wait(&lanes[i]);
        double rate = (double)bytes * IN_FLIGHT * count / (now_seconds() - start) * 1e-9;
        best = rate > best ? rate : best;
    }
    return best;
}

static void *map(ID3D12Resource *buffer)
{
    void *data;
    CHECK(ID3D12Resource_Map(buffer, 0, NULL, &data));
    return data;
}

/* GB/s of the CPU's copies, best of the rounds. */
static double measure_host(void *to, const void *from, UINT64 bytes, UINT rounds)
{
    double best = 0;
    for (UINT r = 0; r < rounds; r++) {
        double start = now_seconds();
        memcpy(to, from, bytes);
        double rate = (double)bytes / (now_seconds() - start) * 1e-9;
        best = rate > best ? rate : best;
    }
    return best;
}

static void measure_type(ID3D12Device *device, const char *name, D3D12_COMMAND_LIST_TYPE type,
                         ID3D12Resource *const buffers[4], UINT64 bytes, UINT rounds)
{
    struct lane lanes[] = { lane_create(device, type, buffers[1], buffers[0], bytes),
                            lane_create(device, type, buffers[3], buffers[2], bytes),
                            lane_create(device, type, buffers[2], buffers[1], bytes) };
    double up = measure(&lanes[0], 1, bytes, rounds), down = measure(&lanes[1], 1, bytes, rounds);
    double both = measure(lanes, 2, bytes, rounds), within = measure(&lanes[2], 1, bytes, rounds);
    printf("%-8s upload %7.2f GB/s, download %7.2f GB/s, both %7.2f GB/s, within the device %7.2f GB/s\n", name, up,
           down, both, within);
    for (int i = 0; i < 3; i++)
        lane_release(&lanes[i]);
}

int main(int argc, char **argv)
{
    UINT64 bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;
    UINT rounds = argc > 2 ? (UINT)strtoul(argv[2], NULL, 10) : 10;
    if (!bytes || bytes > UINT64_C(1) << 34 || !rounds) {
        fprintf(stderr, "usage: %s [MIB [ROUNDS]]\n", argv[0]);
        return 2;
    }
    ID3D12Device *device;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    double start = now_seconds();
    ID3D12Resource *buffers[] = { sample_buffer(device, D3D12_HEAP_TYPE_UPLOAD, bytes),
                                  sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes),
                                  sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes),
                                  sample_buffer(device, D3D12_HEAP_TYPE_READBACK, bytes) };
    printf("four buffers of %llu MiB made in %.1f ms\n", (unsigned long long)(bytes >> 20),
           (now_seconds() - start) * 1e3);
    char *host = malloc(bytes);
    if (!host)
        return 1;
    memset(host, 1, bytes);
    printf("the CPU writes UPLOAD %.2f GB/s, reads READBACK %.2f GB/s, copies its own memory %.2f GB/s\n",
           measure_host(map(buffers[0]), host, bytes, rounds), measure_host(host, map(buffers[3]), bytes, rounds),
           measure_host(host, host + bytes / 2, bytes / 2, rounds));
    measure_type(device, "DIRECT", D3D12_COMMAND_LIST_TYPE_DIRECT, buffers, bytes, rounds);
    measure_type(device, "COMPUTE", D3D12_COMMAND_LIST_TYPE_COMPUTE, buffers, bytes, rounds);
    measure_type(device, "COPY", D3D12_COMMAND_LIST_TYPE_COPY, buffers, bytes, rounds);
    free(host);
    for (int i = 0; i < 4; i++)
        ID3D12Resource_Release(buffers[i]);
    ID3D12Device_Release(device);
    return 0;
}
