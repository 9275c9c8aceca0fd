/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_VULKAN_WATCHDOG: what would keep the device busy for longer goes there in several submissions, with the same
 * results, and a device that is lost between them is removed. */
#include "api/dml_test.h"

#include "layer.h"

#include <vulkan/vulkan_core.h>

enum { M = 160, K = 128, N = 160, RUNS = 3 };

static struct layer_control *layer;
static float want[M * N], got[M * N];

/* A product whose sums are exact, on a device of its own. */
struct product {
    struct rig rig;
    IDMLCompiledOperator *op;
    struct bound in[3], out;
    struct prepared prepared;
    IDMLBindingTable *table;
};

static void product_create(struct product *p, const char *limit)
{
    setenv("ANYDML_VULKAN_WATCHDOG", limit, 1);
    p->rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    p->op = compile(p->rig.dml, gemm_operator(p->rig.dml, M, K, N, DML_TENSOR_FLAG_NONE), DML_EXECUTION_FLAG_NONE);
    p->in[0] = (struct bound){ buffer_f32(&p->rig, M * K, 1, 0), 0, M * K * 4 };
    p->in[1] = (struct bound){ buffer_f32(&p->rig, K * N, 0, 1), 0, K * N * 4 };
    p->in[2] = (struct bound){ NULL, 0, 0 };
    p->out = (struct bound){ buffer_f32(&p->rig, M * N, -1, 0), 0, M * N * 4 };
    p->prepared = prepare(&p->rig, p->op, 0, NULL);
    p->table = table_at(&p->rig, p->op, 0);
    bind_inputs(p->table, 3, p->in);
    bind_outputs(p->table, 1, &p->out);
    bind_prepared(p->table, &p->prepared);
    layer->groups_max = 0;
}

static void product_destroy(struct product *p)
{
    api_release(p->table);
    api_release(p->in[0].buffer);
    api_release(p->in[1].buffer);
    api_release(p->out.buffer);
    prepared_release(&p->prepared);
    api_release(p->op);
    rig_destroy(&p->rig);
}

/* Submissions of each run; most workgroups of a dispatch. */
static uint64_t run(const char *limit, uint32_t submissions[RUNS])
{
    struct product p;
    product_create(&p, limit);
    for (uint32_t i = 0; i < RUNS; i++) {
        record(&p.rig, p.op, p.table);
        layer->calls[LAYER_SUBMIT].count = 0;
        rig_run(&p.rig);
        submissions[i] = layer->calls[LAYER_SUBMIT].count;
        api_read(&p.rig.q, p.out.buffer, 0, got, sizeof(got));
        rig_set_heap(&p.rig);
        ok(!memcmp(got, want, sizeof(got)), "limit %s, run %u: another product", limit, i);
    }
    uint64_t groups = layer->groups_max;
    product_destroy(&p);
    return groups;
}

static void fail(VkResult result, HRESULT reason)
{
    struct product p;
    product_create(&p, "0.05");
    record(&p.rig, p.op, p.table);
    layer->calls[LAYER_SUBMIT].count = 0;
    layer->calls[LAYER_SUBMIT].result = result;
    layer->calls[LAYER_SUBMIT].fail_at = 3;
    ID3D12CommandList *list = (ID3D12CommandList *)p.rig.q.list;
    ok_hr(ID3D12GraphicsCommandList_Close(p.rig.q.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(p.rig.q.queue, 1, &list);
    ID3D12CommandQueue_Signal(p.rig.q.queue, p.rig.q.fence, ++p.rig.q.value);
    ok_hr(ID3D12Fence_SetEventOnCompletion(p.rig.q.fence, p.rig.q.value, NULL), S_OK); /* removal fires all */
    ok(layer->calls[LAYER_SUBMIT].count == 3, "%u submissions", layer->calls[LAYER_SUBMIT].count);
    layer->calls[LAYER_SUBMIT].fail_at = 0;
    ok_hr(ID3D12Device_GetDeviceRemovedReason(p.rig.d3d), reason);
    product_destroy(&p);
}

int main(int count, char **arguments)
{
    uint32_t plain[RUNS], high[RUNS], low[RUNS];
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    api_begin();
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    for (uint32_t i = 0; i < M * N; i++)
        want[i] = (float)(N * (K * (K - 1) / 2) + K * (i % N));
    uint64_t groups = run("0", plain), groups_high = run("100000", high), groups_low = run("0.05", low);
    for (uint32_t i = 0; i < RUNS; i++) {
        ok(plain[i] == 1 && high[i] == 1, "run %u: %u submissions, %u with a limit that is far away", i, plain[i],
           high[i]);
        ok(low[i] > 4, "run %u: %u submissions with a limit that is near", i, low[i]);
    }
    ok(groups_high == groups && groups_low < groups, "%llu workgroups, %llu, %llu", (unsigned long long)groups,
       (unsigned long long)groups_high, (unsigned long long)groups_low);
    fail(VK_ERROR_DEVICE_LOST, DXGI_ERROR_DEVICE_HUNG);
    fail(VK_ERROR_OUT_OF_DEVICE_MEMORY, E_OUTOFMEMORY);
    run("0", plain); /* the next device works */
    return api_end();
}
