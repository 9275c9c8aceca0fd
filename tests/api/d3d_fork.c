/* SPDX-License-Identifier: Apache-2.0 */
/* A process that forks without exec: its child may open devices of the cpu adapter of its own, compute on a thread that
 * had a team, and release inherited objects. */
#include "tiles_test.h"

#include "d3d12/private.h"

#include <anydml.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 8 << 20 }; /* bytes that several threads copy */

static void use_device(void)
{
    char got[4] = "";
    ID3D12Device *device = api_device();
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 4);
    api_write(&q, buffer, 0, "fork", 4);
    api_read(&q, buffer, 0, got, 4);
    ok(!memcmp(got, "fork", 4) || api_is("null"), "copy");
    api_release(buffer);
    api_queue_destroy(&q);
    api_release(device);
}

/* On this thread, by its team. */
static void use_team(void)
{
    ID3D12Device *device = api_device();
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *from = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, LARGE);
    ID3D12Resource *to = api_buffer(device, D3D12_HEAP_TYPE_READBACK, LARGE);
    memset(api_map(from), 0x5a, LARGE);
    ID3D12GraphicsCommandList_CopyBufferRegion(q.list, to, 0, from, 0, LARGE);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 1, (ID3D12CommandList *[]){ (ID3D12CommandList *)q.list }), S_OK);
    ok(!memcmp(api_map(to), api_map(from), LARGE), "copy by a team");
    api_release(from);
    api_release(to);
    api_queue_destroy(&q);
    api_release(device);
}

static void join(pid_t child)
{
    int status = -1;
    need(child > 0 && waitpid(child, &status, 0) == child);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", status);
}

/* A tile of a reserved resource shows writes to its heap. */
static void use_tiles(void)
{
    uint32_t got = 0, value = 0x656c6974;
    ID3D12Device *device = api_device();
    struct api_queue q = api_queue_create(device);
    ID3D12Heap *heap = tiles_heap(device, 1);
    ID3D12Resource *placed = tiles_placed(device, heap, 1), *reserved = tiles_reserved(device, TILE);
    tiles_map(&q, reserved, 0, heap, 0, 1);
    api_write(&q, placed, 0, &value, 4);
    api_read(&q, reserved, 0, &got, 4);
    ok(got == value, "the tile has 0x%x", got);
    api_release(reserved);
    api_release(placed);
    api_release(heap);
    api_queue_destroy(&q);
    api_release(device);
}

/* The child releases a device, a queue that has work, and one that waits. */
static void test_release(void)
{
    ID3D12Device *device = api_device();
    struct api_queue idle = api_queue_create(device), blocked = api_queue_create(device);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)blocked.list };
    ok_hr(ID3D12CommandQueue_Wait(blocked.queue, blocked.fence, 1), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(blocked.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(blocked.queue, 1, lists);
    ID3D12Heap *heap = tiles_heap(device, 1);
    ID3D12Resource *reserved = tiles_reserved(device, TILE);
    tiles_map(&blocked, reserved, 0, heap, 0, 1);
    usleep(50000); /* the thread waits now; the list does behind it */
    pid_t child = fork();
    if (child) {
        ok_hr(ID3D12Fence_Signal(blocked.fence, 1), S_OK);
        join(child);
    } else {
        alarm(30); /* a hang is a failure */
    }
    api_release(reserved);
    api_release(heap);
    api_queue_destroy(&idle);
    api_queue_destroy(&blocked);
    api_release(device);
    if (!child) {
        use_device();
        _exit(api_failures ? 1 : 0);
    }
}

/* ---- a fork while a thread waits, holding locks, until others stop using its heap's pages ---- */

static sem_t begun, go_on;

static void gate_ref(struct adapter_dispatch *dispatch)
{
    (void)dispatch;
}

static HRESULT gate_check(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count,
                          enum adapter_moment moment, char *message)
{
    (void)dispatch, (void)bindings, (void)count, (void)moment, (void)message;
    return S_OK;
}

static HRESULT gate_run(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count)
{
    (void)dispatch, (void)bindings, (void)count;
    sem_post(&begun);
    sem_wait(&go_on);
    return S_OK;
}

static void execute_gate(struct api_queue *q)
{
    static const struct adapter_dispatch_ops ops = { gate_ref, gate_ref, gate_check, gate_run, NULL };
    static struct adapter_dispatch gate = { &ops };
    ID3D12CommandList *list = (ID3D12CommandList *)q->list;
    AnydmlDevice *device = NULL;
    const struct anydml_descriptors nothing = { 0 };
    struct anydml_recording recording = { 0 };
    ok_hr(ID3D12Device_QueryInterface(q->device, &IID_AnydmlDevice, (void **)&device), S_OK);
    need(device);
    ok_hr(device->lpVtbl->RecordDispatch(device, list, &gate, &nothing, NULL, &recording), S_OK);
    device->lpVtbl->Release(device);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, &list);
}

static void test_tiles(void)
{
    ID3D12Device *device = api_device();
    struct api_queue working = api_queue_create(device), mapping = api_queue_create(device);
    ID3D12Heap *heap = tiles_heap(device, 1);
    ID3D12Resource *reserved = tiles_reserved(device, TILE);
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, (void **)&fence), S_OK);
    need(fence);
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    /* On the queues' own threads: idle queues run on the caller's. */
    ok_hr(ID3D12CommandQueue_Wait(working.queue, fence, 1), S_OK);
    ok_hr(ID3D12CommandQueue_Wait(mapping.queue, fence, 2), S_OK);
    execute_gate(&working);
    tiles_map(&mapping, reserved, 0, heap, 0, 1);
    ok_hr(ID3D12Fence_Signal(fence, 1), S_OK);
    sem_wait(&begun);
    ok_hr(ID3D12Fence_Signal(fence, 2), S_OK);
    usleep(50000); /* the thread waits now */
    pid_t child = fork();
    if (!child) {
        alarm(30);
        use_tiles();
        _exit(api_failures ? 1 : 0);
    }
    sem_post(&go_on);
    join(child);
    api_queue_wait(&working);
    api_queue_wait(&mapping);
    api_release(reserved);
    api_release(heap);
    api_queue_destroy(&working);
    api_queue_destroy(&mapping);
    api_release(fence);
    api_release(device);
}

int main(void)
{
    setenv("ANYDML_THREADS", "3", 1);
    api_begin();
    ID3D12Device *device = api_device();
    use_device();
    use_team();
    pid_t child = fork();
    if (!child) {
        alarm(30);
        use_device();
        use_team();
        api_release(device);
        _exit(api_failures ? 1 : 0);
    }
    join(child);
    use_device();
    use_team();
    api_release(device);
    use_tiles();
    test_release();
    test_tiles();
    return api_end();
}
