/* SPDX-License-Identifier: Apache-2.0 */
/* Several Vulkan devices in one process: their identities, all of them at work at once, their objects kept apart, and
 * one of them removed. Skipped if there is only one device. vulkan_devices [EXECUTIONS [SIZE]]: of a graph of GEMMs of
 * SIZE x SIZE, by each of a device's threads. */
#include "dml_build.h"

#include <anydml_dxcore.h>

#include <pthread.h>

enum { DEVICES_MAX = 16, THREADS = 2, COUNT = 512, STEPS = 8 };

static int executions = 30;
static UINT size = 0; /* of GEMMs; 0: sums of vectors, which slow drivers compile, too */
static uint32_t device_count;

struct identity {
    LUID luid;
    char name[256];
};

static IDXCoreAdapterList *list_create(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory), S_OK);
    need(factory);
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                  &IID_IDXCoreAdapterList, (void **)&list),
          S_OK);
    need(list);
    api_release(factory);
    return list;
}

static ID3D12Device *device_at(IDXCoreAdapterList *list, uint32_t index, struct identity *out)
{
    IDXCoreAdapter *adapter = NULL;
    ID3D12Device *device = NULL;
    ok_hr(IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter), S_OK);
    need(adapter);
    memset(out, 0, sizeof(*out));
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_InstanceLuid, sizeof(out->luid), &out->luid), S_OK);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(out->name), out->name),
          S_OK);
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device),
          S_OK);
    need(device);
    LUID luid = ID3D12Device_GetAdapterLuid(device);
    ok(!memcmp(&luid, &out->luid, sizeof(luid)), "device %u has another LUID than its adapter", index);
    api_release(adapter);
    return device;
}

/* ---- identities ---- */

static void identify(struct identity out[DEVICES_MAX])
{
    IDXCoreAdapterList *list = list_create();
    memset(out, 0, DEVICES_MAX * sizeof(*out));
    for (uint32_t i = IDXCoreAdapterList_GetAdapterCount(list); i-- > 0;)
        if (i < DEVICES_MAX)
            api_release(device_at(list, i, &out[i]));
    api_release(list);
}

/* Another process finds the same ones at the same positions, in whichever order it opens them. */
static void test_identity(void)
{
    struct identity here[DEVICES_MAX], there[DEVICES_MAX];
    int ends[2];
    need(!pipe(ends));
    pid_t child = fork();
    need(child >= 0);
    if (!child) {
        identify(there);
        _exit(write(ends[1], there, sizeof(there)) == sizeof(there) ? api_end() : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], there, sizeof(there));
    close(ends[0]);
    rig_join(child);
    need(got == sizeof(there));
    IDXCoreAdapterList *list = list_create();
    memset(here, 0, sizeof(here));
    for (uint32_t i = 0; i < device_count; i++)
        api_release(device_at(list, i, &here[i]));
    api_release(list);
    for (uint32_t i = 0; i < device_count; i++) {
        ok(!memcmp(&here[i], &there[i], sizeof(here[i])), "device %u is \"%s\" here and \"%s\" there", i, here[i].name,
           there[i].name);
        for (uint32_t k = 0; k < i; k++)
            ok(memcmp(&here[i].luid, &here[k].luid, sizeof(LUID)) != 0, "devices %u and %u have one LUID", i, k);
    }
}

/* ---- all at work ---- */

struct worker {
    pthread_t thread;
    ID3D12Device *device;
    uint32_t seed;
};

/* x * y * y ... or x + y + y ...: each operator needs the previous result. */
static IDMLCompiledOperator *chain(IDMLDevice1 *dml)
{
    struct build b;
    build_begin(&b, dml, 2, 1);
    for (UINT i = 0; i < STEPS; i++) {
        add_node(&b, size ? gemm_operator(dml, size, size, size, DML_TENSOR_FLAG_NONE) : add_operator(dml, COUNT),
                 NULL);
        if (i)
            add_middle(&b, i - 1, 0, i, 0);
        add_input(&b, 1, i, 1);
    }
    add_input(&b, 0, 0, 0);
    add_output(&b, STEPS - 1, 0, 0);
    return build_end(&b);
}

/* Matrix multiplications by ones at the positions (i, i + 1) move columns: the result is known, and exact. */
static void fill(const struct worker *worker, UINT count, float *x, float *y, float *want)
{
    for (UINT i = 0; i < count; i++) {
        x[i] = (float)((worker->seed * 131 + i) % 8191);
        y[i] = size ? (i % size == (i / size + 1) % size) : (float)worker->seed;
    }
    for (UINT i = 0; i < count; i++)
        want[i] = size ? x[i / size * size + (i % size + size - STEPS % size) % size] : x[i] + STEPS * y[i];
}

static void run_rounds(struct rig *rig, const float *want, float *got, UINT count, IDMLCompiledOperator *op,
                       struct bound in[2])
{
    struct bound out = { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, count * 4), 0, count * 4 };
    struct prepared prepared = prepare(rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 2, in);
    bind_outputs(table, 1, &out);
    bind_prepared(table, &prepared);
    for (int i = 0; i < executions; i++) {
        record(rig, op, table);
        rig_run(rig);
        if (i % 10 == 9 || i == executions - 1) {
            api_read(&rig->q, out.buffer, 0, got, count * 4);
            rig_set_heap(rig);
            ok(!memcmp(got, want, count * 4), "execution %d: wrong results", i);
        }
    }
    api_release(table);
    prepared_release(&prepared);
    api_release(out.buffer);
}

/* Compiles and executes with its own data. */
static void *work(void *context)
{
    struct worker *worker = context;
    const UINT count = size ? size * size : COUNT;
    float *data = malloc(4 * sizeof(*data) * count);
    need(data);
    fill(worker, count, data, data + count, data + 2 * count);
    ID3D12Device_AddRef(worker->device);
    struct rig rig = rig_of(worker->device, DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = chain(rig.dml);
    struct bound in[2] = { buffer_of(&rig, data, count * 4), buffer_of(&rig, data + count, count * 4) };
    run_rounds(&rig, data + 2 * count, data + 3 * count, count, op, in);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(in[0].buffer);
    api_release(in[1].buffer);
    api_release(op);
    rig_destroy(&rig);
    free(data);
    return NULL;
}

/* Seconds until the devices from `first` on have done all. */
static double work_on(ID3D12Device *const *devices, uint32_t first, uint32_t count)
{
    struct worker workers[DEVICES_MAX * THREADS];
    double start = api_seconds();
    for (uint32_t i = 0; i < count * THREADS; i++) {
        workers[i] = (struct worker){ .device = devices[first + i / THREADS], .seed = first * THREADS + i + 1 };
        need(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (uint32_t i = 0; i < count * THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    return api_seconds() - start;
}

/* ---- kept apart ---- */

static void test_apart(ID3D12Device *a, ID3D12Device *b)
{
    struct api_queue one = api_queue_create(a), two = api_queue_create(b);
    ID3D12Resource *buffer = api_buffer(b, D3D12_HEAP_TYPE_DEFAULT, 256);
    ok_hr(ID3D12CommandQueue_Signal(one.queue, two.fence, 1), E_INVALIDARG);
    ok_hr(ID3D12CommandQueue_Wait(one.queue, two.fence, 0), E_INVALIDARG);
    ok_hr(ID3D12Device_Evict(a, 1, (ID3D12Pageable *const *)&buffer), E_INVALIDARG);
    ID3D12GraphicsCommandList_CopyBufferRegion(one.list, buffer, 0, buffer, 128, 128);
    ok(FAILED(ID3D12GraphicsCommandList_Close(one.list)), "a list has another device's buffer");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(a), S_OK);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(b), S_OK);
    api_release(buffer);
    api_queue_destroy(&one);
    api_queue_destroy(&two);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        executions = (int)strtol(argv[1], NULL, 10);
    if (argc > 2)
        size = (UINT)strtoul(argv[2], NULL, 10);
    api_begin();
    need(executions > 0 && size <= 4096);
    pid_t child = fork(); /* drivers do not survive a fork */
    if (!child) {
        IDXCoreAdapterList *list = list_create();
        uint32_t count = IDXCoreAdapterList_GetAdapterCount(list);
        api_release(list);
        _exit(count < DEVICES_MAX ? (int)count : DEVICES_MAX);
    }
    int status = 0;
    need(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    device_count = (uint32_t)WEXITSTATUS(status);
    if (device_count < 2) {
        fprintf(stderr, "%u Vulkan devices on this machine: skipped\n", device_count);
        return 77;
    }
    test_identity();
    IDXCoreAdapterList *list = list_create();
    ID3D12Device *devices[DEVICES_MAX];
    struct identity identities[DEVICES_MAX];
    for (uint32_t i = 0; i < device_count; i++)
        devices[i] = device_at(list, i, &identities[i]);
    api_release(list);
    test_apart(devices[0], devices[1]);
    work_on(devices, 0, device_count); /* which compiles */
    for (uint32_t i = 0; i < device_count; i++)
        printf("%s alone: %.3f s\n", identities[i].name, work_on(devices, i, 1));
    printf("%u devices at once: %.3f s\n", device_count, work_on(devices, 0, device_count));
    ID3D12Device5_RemoveDevice((ID3D12Device5 *)devices[0]);
    ok(FAILED(ID3D12Device_GetDeviceRemovedReason(devices[0])), "the device lives");
    work_on(devices, 1, device_count - 1);
    for (uint32_t i = 0; i < device_count; i++)
        api_release(devices[i]);
    return api_end();
}
