/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of DirectML on the stand-in. */
#ifndef TESTS_FOREIGN_TEST_H
#define TESTS_FOREIGN_TEST_H

#include "calls.h"

#include "api/capture.h"
#include "api/dml_test.h"

#include <pthread.h>

#include "standin.h"

static inline ID3D12Device *foreign_device(const struct standin_options *options)
{
    ID3D12Device *device = standin_create(options);
    if (device)
        return device;
    fprintf(stderr, "no device of Vulkan 1.3 on this machine: skipped\n");
    exit(77);
}

static inline struct rig foreign_rig_of(const struct standin_options *options, D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = rig_of(foreign_device(options), DML_CREATE_DEVICE_FLAG_DEBUG);
    api_queue_destroy(&rig.q);
    rig.q = api_queue_of(rig.d3d, type);
    rig_set_heap(&rig);
    return rig;
}

static inline struct rig foreign_rig(D3D12_COMMAND_LIST_TYPE type)
{
    return foreign_rig_of(&(struct standin_options){ .interop = 2 }, type);
}

/* Nothing of ours is left over the device. */
static inline void foreign_rig_destroy(struct rig *rig)
{
    const struct standin_counts counts = standin_counts(rig->d3d);
    ok(counts.begins == counts.ends, "%u Begin, %u End", counts.begins, counts.ends);
    ok(counts.locks == counts.unlocks, "%u Lock, %u Unlock", counts.locks, counts.unlocks);
    ok(!counts.app_locks, "a queue of the application was locked");
    ID3D12Device_AddRef(rig->d3d);
    ID3D12Device *device = rig->d3d;
    rig_destroy(rig);
    ok(!api_release(device), "the device is still referenced");
}

static inline void unordered_barrier(struct rig *rig)
{
    const D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV };
    ID3D12GraphicsCommandList_ResourceBarrier(rig->q.list, 1, &barrier);
}

/* Closed, executed and awaited; not opened again. */
static inline void foreign_execute(struct rig *rig)
{
    api_queue_execute(&rig->q);
    api_queue_wait(&rig->q);
}

static inline void foreign_reopen(struct rig *rig)
{
    ok_hr(ID3D12CommandAllocator_Reset(rig->q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig->q.list, rig->q.allocator, NULL), S_OK);
    rig_set_heap(rig);
}

/* A list of its own to look at results while that of the rig is closed. */
static inline void foreign_expect(struct rig *rig, ID3D12Resource *buffer, UINT count, float first, float step)
{
    float *got = calloc(count, sizeof(*got));
    struct api_queue q = api_queue_of(rig->d3d, D3D12_COMMAND_LIST_TYPE_DIRECT);
    need(got);
    api_read(&q, buffer, 0, got, count * sizeof(*got));
    UINT wrong = 0, at = 0;
    for (UINT i = count; i-- > 0;)
        if (got[i] != first + step * (float)i) {
            wrong++;
            at = i;
        }
    ok(!wrong, "%u of %u wrong, element %u: got %g, want %g", wrong, count, at, (double)got[at],
       (double)(first + step * (float)at));
    api_queue_destroy(&q);
    free(got);
}

#endif
