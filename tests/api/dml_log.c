/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr, and AnydmlQuiet. */
#include "dml_test.h"

#include <anydml.h>
#include <pthread.h>
#include <unistd.h>

/* The message of a failed call on stderr. */
static size_t bytes_of_refusal(IDMLDevice1 *dml)
{
    char text[1024];
    int ends[2], keep = dup(STDERR_FILENO);
    need(keep >= 0 && !pipe(ends));
    dup2(ends[1], STDERR_FILENO);
    HRESULT hr = IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, NULL);
    dup2(keep, STDERR_FILENO);
    close(keep);
    close(ends[1]);
    ssize_t count = read(ends[0], text, sizeof(text));
    close(ends[0]);
    ok_hr(hr, E_INVALIDARG);
    ok(count >= 0, "read");
    return (size_t)count;
}

static void *other_thread(void *dml)
{
    ok(bytes_of_refusal(dml) > 0, "quiet is the thread's own");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    setenv("ANYDML_LOG", "error", 1);
    api_begin();
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_NONE);
    ok(bytes_of_refusal(dml) > 0, "it says why");
    ok(!AnydmlQuiet(TRUE), "not quiet at first");
    ok(bytes_of_refusal(dml) == 0, "quiet");
    need(!pthread_create(&thread, NULL, other_thread, dml));
    pthread_join(thread, NULL);
    ok(AnydmlQuiet(FALSE), "it was quiet");
    ok(bytes_of_refusal(dml) > 0, "it says why again");
    api_release(dml);
    api_release(d3d);
    return api_end();
}
