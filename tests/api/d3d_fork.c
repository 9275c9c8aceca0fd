/* A process that forks without exec: its child may open devices of the cpu adapter of its own, compute on a thread that
 * had a team, and release what it has of the parent's. */
#include "api_test.h"

#include <anydml.h>
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

/* The child releases a device, a queue that has work, and one that waits. */
static void test_release(void)
{
    ID3D12Device *device = api_device();
    struct api_queue idle = api_queue_create(device), blocked = api_queue_create(device);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)blocked.list };
    ok_hr(ID3D12CommandQueue_Wait(blocked.queue, blocked.fence, 1), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(blocked.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(blocked.queue, 1, lists);
    usleep(50000); /* the thread waits now; the list does behind it */
    pid_t child = fork();
    if (child) {
        ok_hr(ID3D12Fence_Signal(blocked.fence, 1), S_OK);
        join(child);
    } else {
        alarm(30); /* a hang is a failure */
    }
    api_queue_destroy(&idle);
    api_queue_destroy(&blocked);
    api_release(device);
    if (!child) {
        use_device();
        _exit(api_failures ? 1 : 0);
    }
}

int main(void)
{
    setenv("ANYDML_THREADS", "3", 1);
    api_begin();
    if (!api_is("cpu"))
        return 77;
#ifdef __SANITIZE_THREAD__
    return 77; /* it ends a child that starts threads */
#endif
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
    test_release();
    return api_end();
}
