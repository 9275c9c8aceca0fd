/* A process that forks without exec: its child may open devices of the cpu adapter of its own. */
#include "api_test.h"

#include <sys/wait.h>
#include <unistd.h>

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

int main(void)
{
    api_begin();
    if (!api_is("cpu"))
        return 77;
    ID3D12Device *device = api_device();
    use_device();
    pid_t child = fork();
    need(child >= 0);
    if (!child) {
        alarm(30); /* a hang is a failure */
        use_device();
        _exit(api_failures ? 1 : 0);
    }
    int status = -1;
    need(waitpid(child, &status, 0) == child);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", status);
    use_device();
    api_release(device);
    return api_end();
}
