/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beyond the limits of a driver (the layer makes small ones up): graphs whose constants, persistent and
 * temporary memory exceed the largest allocation several times, with results equal to the cpu adapter's and to sums of
 * integers here; buffers of any size, written and read at both ends; what cannot be is refused by a message that names
 * the bytes and the limit; and a device whose memory is full loses nothing and works again. large LAYER
 * sparse|plain|full */
#include "api/dml_build.h"

#include "layer.h"

#include <anydml_dxcore.h>

enum {
    ROWS = 4,
    DEPTH = 1024,   /* of the matrices with a common operand, which become one */
    COLUMNS = 1024, /* of all: 4 MiB each */
    COMMON = 4,
    DEEP = 6144, /* of one constant: 24 MiB */
    OWNED = 5,
    OWNED_DEPTH = 2048, /* of each: 8 MiB */
    TALL = 6144,
    WIDE = 2048, /* TALL x WIDE: 48 MiB */
    LIMIT = 8 << 20,
};

static struct layer_control *layer;

/* Small whole numbers: all sums are exact. */
static float number(uint32_t seed, uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xd1b54a32d192ed03);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return (float)(int)(x >> 61) - 3;
}

static float *numbers(uint32_t seed, uint64_t count)
{
    float *data = malloc(count * sizeof(*data));
    need(data);
    for (uint64_t i = 0; i < count; i++)
        data[i] = number(seed, i);
    return data;
}

/* ---- the graph: sum of x * constants + y * a deep constant + z * owned ones; and sums of the rows of u * v ---- */

enum { SEED_X = 100, SEED_Y, SEED_Z, SEED_U, SEED_V, SEED_DEEP, SEED_COMMON, SEED_OWNED = 120 };
enum { INPUT_X, INPUT_Y, INPUT_Z, INPUT_U, INPUT_V, INPUT_OWNED, INPUTS = INPUT_OWNED + OWNED };

struct data {
    float *common[COMMON], *deep, *owned[OWNED], *x, *y, *z, *u, *v;
};

static struct data data_create(void)
{
    struct data data = { .deep = numbers(SEED_DEEP, (uint64_t)DEEP * COLUMNS),
                         .x = numbers(SEED_X, ROWS * DEPTH),
                         .y = numbers(SEED_Y, ROWS * DEEP),
                         .z = numbers(SEED_Z, ROWS * OWNED_DEPTH),
                         .u = numbers(SEED_U, TALL),
                         .v = numbers(SEED_V, WIDE) };
    for (uint32_t i = 0; i < COMMON; i++)
        data.common[i] = numbers(SEED_COMMON + i, DEPTH * COLUMNS);
    for (uint32_t i = 0; i < OWNED; i++)
        data.owned[i] = numbers(SEED_OWNED + i, OWNED_DEPTH * COLUMNS);
    return data;
}

static void data_destroy(struct data *data)
{
    for (uint32_t i = 0; i < COMMON; i++)
        free(data->common[i]);
    for (uint32_t i = 0; i < OWNED; i++)
        free(data->owned[i]);
    free(data->deep);
    free(data->x);
    free(data->y);
    free(data->z);
    free(data->u);
    free(data->v);
}

/* Adds the node's result to the sum so far, whose node is *sum. */
static void add_to_sum(struct build *b, UINT node, UINT *sum)
{
    if (*sum == UINT32_MAX) {
        *sum = node;
        return;
    }
    const UINT at = b->desc.NodeCount;
    add_node(b, add_operator(b->dml, ROWS * COLUMNS), "sum");
    add_middle(b, *sum, 0, at, 0);
    add_middle(b, node, 0, at, 1);
    *sum = at;
}

static UINT add_product(struct build *b, UINT input, UINT depth, DML_TENSOR_FLAGS flags)
{
    const UINT at = b->desc.NodeCount;
    add_node(b, gemm_operator(b->dml, ROWS, depth, COLUMNS, flags), "product");
    add_input(b, input, at, 0);
    return at;
}

static void add_constant_product(struct build *b, UINT input, UINT depth, const float *constant, UINT *sum)
{
    const UINT node = add_product(b, input, depth, DML_TENSOR_FLAG_NONE), at = b->desc.NodeCount;
    add_constant(b, constant, (size_t)depth * COLUMNS * sizeof(*constant));
    add_middle(b, at, 0, node, 1);
    add_to_sum(b, node, sum);
}

static IDMLOperator *row_sums(IDMLDevice1 *dml)
{
    static const UINT axes[] = { 3 };
    struct tensor x, y;
    DML_REDUCE_OPERATOR_DESC reduce = { DML_REDUCE_FUNCTION_SUM, tensor_f32(&x, 1, 1, TALL, WIDE, DML_TENSOR_FLAG_NONE),
                                        tensor_f32(&y, 1, 1, TALL, 1, DML_TENSOR_FLAG_NONE), 1, axes };
    return make_operator(dml, DML_OPERATOR_REDUCE, &reduce);
}

/* `parts`: the letters of "cdot", constants, the deep one, owned ones, the temporary. */
static IDMLCompiledOperator *graph(IDMLDevice1 *dml, const struct data *data, const char *parts)
{
    struct build b;
    UINT sum = UINT32_MAX;
    build_begin(&b, dml, INPUTS, 2);
    for (UINT i = 0; i < COMMON && strchr(parts, 'c'); i++)
        add_constant_product(&b, INPUT_X, DEPTH, data->common[i], &sum);
    if (strchr(parts, 'd'))
        add_constant_product(&b, INPUT_Y, DEEP, data->deep, &sum);
    for (UINT i = 0; i < OWNED && strchr(parts, 'o'); i++) {
        const UINT node = add_product(&b, INPUT_Z, OWNED_DEPTH, DML_TENSOR_FLAG_OWNED_BY_DML);
        add_input(&b, INPUT_OWNED + i, node, 1);
        add_to_sum(&b, node, &sum);
    }
    add_output(&b, sum, 0, 0);
    const UINT tall = b.desc.NodeCount;
    const UINT depth = strchr(parts, 't') ? TALL : 1;
    add_node(&b, gemm_operator(dml, depth, 1, WIDE, DML_TENSOR_FLAG_NONE), "tall");
    add_input(&b, INPUT_U, tall, 0);
    add_input(&b, INPUT_V, tall, 1);
    if (depth == TALL) {
        add_node(&b, row_sums(dml), "sums of rows");
        add_middle(&b, tall, 0, tall + 1, 0);
    }
    add_output(&b, tall + (depth == TALL), 0, 1);
    return build_end(&b);
}

static void reference(const struct data *data, const char *parts, float *out)
{
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        const uint32_t row = i / COLUMNS, c = i % COLUMNS;
        double sum = 0;
        for (uint32_t m = 0; m < COMMON && strchr(parts, 'c'); m++)
            for (uint32_t k = 0; k < DEPTH; k++)
                sum += (double)(data->x[row * DEPTH + k] * data->common[m][k * COLUMNS + c]);
        for (uint32_t k = 0; k < DEEP && strchr(parts, 'd'); k++)
            sum += (double)(data->y[row * DEEP + k] * data->deep[k * COLUMNS + c]);
        for (uint32_t m = 0; m < OWNED && strchr(parts, 'o'); m++)
            for (uint32_t k = 0; k < OWNED_DEPTH; k++)
                sum += (double)(data->z[row * OWNED_DEPTH + k] * data->owned[m][k * COLUMNS + c]);
        out[i] = (float)sum;
    }
}

/* ---- running ---- */

struct results {
    float *sum, *tall; /* ROWS * COLUMNS, TALL or WIDE */
    DML_BINDING_PROPERTIES props;
};

/* Upload buffers are limited, too. */
static struct bound buffer_in_parts(struct rig *rig, const float *data, UINT64 bytes)
{
    const struct bound out = { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, bytes), 0, bytes };
    for (UINT64 at = 0; at < bytes; at += LIMIT / 4)
        api_write(&rig->q, out.buffer, at, (const char *)data + at, LIMIT / 4);
    rig_set_heap(rig);
    return out;
}

static void run(struct rig *rig, const struct data *data, const char *parts, struct results *out)
{
    IDMLCompiledOperator *op = graph(rig->dml, data, parts);
    struct bound in[INPUTS] = { buffer_of(rig, data->x, ROWS * DEPTH * 4), buffer_of(rig, data->y, ROWS * DEEP * 4),
                                buffer_of(rig, data->z, ROWS * OWNED_DEPTH * 4), buffer_of(rig, data->u, TALL * 4),
                                buffer_of(rig, data->v, WIDE * 4) };
    struct bound owned[INPUTS] = { { NULL, 0, 0 } }, inputs[INPUTS] = { { NULL, 0, 0 } };
    const bool any = strchr(parts, 'o') != NULL;
    for (uint32_t i = 0; i < OWNED && any; i++)
        owned[INPUT_OWNED + i] = buffer_in_parts(rig, data->owned[i], (UINT64)OWNED_DEPTH * COLUMNS * 4);
    struct prepared prepared = prepare(rig, op, any ? INPUTS : 0, owned);
    for (uint32_t i = 0; i < OWNED && any; i++)
        api_release(owned[INPUT_OWNED + i].buffer);
    const UINT tall = strchr(parts, 't') ? TALL : WIDE;
    struct bound outputs[2] = { { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, ROWS * COLUMNS * 4), 0,
                                  ROWS * COLUMNS * 4 },
                                { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, tall * 4), 0, tall * 4 } };
    IDMLBindingTable *table = table_at(rig, op, 0);
    inputs[INPUT_X] = strchr(parts, 'c') ? in[INPUT_X] : inputs[INPUT_X];
    inputs[INPUT_Y] = strchr(parts, 'd') ? in[INPUT_Y] : inputs[INPUT_Y];
    inputs[INPUT_Z] = any ? in[INPUT_Z] : inputs[INPUT_Z];
    inputs[INPUT_U] = in[INPUT_U];
    inputs[INPUT_U].bytes = tall == TALL ? TALL * 4 : 4;
    inputs[INPUT_V] = in[INPUT_V];
    bind_inputs(table, INPUTS, inputs);
    bind_outputs(table, 2, outputs);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    *out = (struct results){ malloc(ROWS * COLUMNS * 4), malloc(tall * 4), prepared.props };
    need(out->sum && out->tall);
    api_read(&rig->q, outputs[0].buffer, 0, out->sum, ROWS * COLUMNS * 4);
    api_read(&rig->q, outputs[1].buffer, 0, out->tall, tall * 4);
    rig_set_heap(rig);
    for (uint32_t i = 0; i < INPUT_OWNED; i++)
        api_release(in[i].buffer);
    api_release(outputs[0].buffer);
    api_release(outputs[1].buffer);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
}

static uint32_t differences(const float *a, const float *b, uint32_t count)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += a[i] != b[i];
    return wrong;
}

/* On this device, and on the cpu adapter. */
static void test_graph(struct rig *rig, struct rig *cpu, const char *parts)
{
    struct data data = data_create();
    struct results got, same;
    float *want = malloc(ROWS * COLUMNS * 4);
    need(want);
    run(rig, &data, parts, &got);
    run(cpu, &data, parts, &same);
    reference(&data, parts, want);
    const UINT tall = strchr(parts, 't') ? TALL : WIDE;
    ok(!differences(got.sum, want, ROWS * COLUMNS), "\"%s\": %u sums are wrong", parts,
       differences(got.sum, want, ROWS * COLUMNS));
    ok(!differences(got.sum, same.sum, ROWS * COLUMNS), "\"%s\": sums differ from the cpu adapter's", parts);
    ok(!differences(got.tall, same.tall, tall), "\"%s\": sums of rows differ from the cpu adapter's", parts);
    if (strchr(parts, 'o'))
        ok(got.props.PersistentResourceSize > 4 * LIMIT, "persistent: %llu bytes",
           (unsigned long long)got.props.PersistentResourceSize);
    if (strchr(parts, 't'))
        ok(got.props.TemporaryResourceSize > 4 * LIMIT, "temporary: %llu bytes",
           (unsigned long long)got.props.TemporaryResourceSize);
    ok_hr(dml_reason(rig), S_OK);
    free(got.sum);
    free(got.tall);
    free(same.sum);
    free(same.tall);
    free(want);
    data_destroy(&data);
}

/* ---- buffers ---- */

static HRESULT create(ID3D12Device *d3d, D3D12_HEAP_TYPE type, UINT64 bytes, ID3D12Resource **out)
{
    const D3D12_HEAP_PROPERTIES heap = { .Type = type };
    const D3D12_RESOURCE_DESC desc = api_buffer_desc(bytes, D3D12_RESOURCE_FLAG_NONE);
    const D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                        : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                           : D3D12_RESOURCE_STATE_COMMON;
    *out = NULL;
    return ID3D12Device_CreateCommittedResource(d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                &IID_ID3D12Resource, (void **)out);
}

/* Numbers at both ends and across every boundary between allocations; the rest is zero. */
static void test_buffer(struct rig *rig)
{
    const UINT64 bytes = UINT64_C(5) * LIMIT + 4096;
    ID3D12Resource *buffer;
    float wrote[16], got[16];
    ok_hr(create(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, bytes, &buffer), S_OK);
    need(buffer);
    ok(layer->sparse_buffers == 1, "%u sparse buffers", (unsigned)layer->sparse_buffers);
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t k = 0; k < 16; k++)
            wrote[k] = number(i, k);
        api_write(&rig->q, buffer, i ? (UINT64)i * LIMIT - 32 : 0, wrote, sizeof(wrote));
    }
    for (uint32_t i = 0; i < 6; i++) {
        api_read(&rig->q, buffer, i ? (UINT64)i * LIMIT - 32 : 0, got, sizeof(got));
        for (uint32_t k = 0; k < 16; k++)
            ok(got[k] == number(i, k), "part %u, number %u: %g", i, k, (double)got[k]);
    }
    api_read(&rig->q, buffer, bytes - sizeof(got), got, sizeof(got));
    ok(got[0] == 0 && got[15] == 0, "the end is not zero");
    rig_set_heap(rig);
    api_release(buffer);
    ok(!layer->sparse_buffers, "%u sparse buffers", (unsigned)layer->sparse_buffers);
}

/* The words of the last message with all of them, for the caller to check. */
static bool message_has(ID3D12Device *d3d, const char *const *words, uint32_t count)
{
    ID3D12InfoQueue *messages = NULL;
    bool found = false;
    ok_hr(ID3D12Device_QueryInterface(d3d, &IID_ID3D12InfoQueue, (void **)&messages), S_OK);
    need(messages);
    for (UINT64 i = 0; i < ID3D12InfoQueue_GetNumStoredMessages(messages) && !found; i++) {
        char storage[4096];
        SIZE_T bytes = sizeof(storage);
        D3D12_MESSAGE *message = (D3D12_MESSAGE *)storage;
        if (ID3D12InfoQueue_GetMessage(messages, i, message, &bytes) != S_OK)
            continue;
        found = true;
        for (uint32_t k = 0; k < count; k++)
            found = found && strstr(message->pDescription, words[k]);
    }
    ID3D12InfoQueue_ClearStoredMessages(messages);
    api_release(messages);
    return found;
}

static void refuse(ID3D12Device *d3d, D3D12_HEAP_TYPE type, const char *bytes, const char *limit, const char *name)
{
    const char *words[] = { "CreateCommittedResource", bytes, limit, name };
    ID3D12Resource *buffer;
    ok_hr(create(d3d, type, strtoull(bytes, NULL, 10), &buffer), E_OUTOFMEMORY);
    ok(!buffer && message_has(d3d, words, 4), "no message names %s, %s and %s", bytes, limit, name);
}

/* ---- a full device ---- */

/* Until memory is refused; *out: the buffers. */
static uint32_t fill_device(ID3D12Device *d3d, UINT64 bytes, ID3D12Resource **out, uint32_t most)
{
    uint32_t count = 0;
    HRESULT hr = S_OK;
    while (count < most && (hr = create(d3d, D3D12_HEAP_TYPE_DEFAULT, bytes, &out[count])) == S_OK)
        count++;
    ok_hr(hr, E_OUTOFMEMORY);
    return count;
}

static void test_full(struct rig *rig)
{
    enum { EACH = 20 << 20, MOST = 64 };
    ID3D12Resource *buffers[MOST];
    struct data data = data_create();
    const uint64_t before = layer->allocated;
    const uint32_t count = fill_device(rig->d3d, EACH, buffers, MOST);
    const char *words[] = { "20971520 bytes were asked for", "of the 268435456 bytes", "are free" };
    ok(count > 5 && count < 13, "%u buffers of 20 MiB in a memory of 256 MiB", count);
    ok(message_has(rig->d3d, words, 3), "no message says how much was asked for and how much is free");
    /* A graph that does not fit: nothing of it stays, and another one runs. */
    const uint64_t full = layer->allocated;
    const char *compiled[] = { "CompileGraph", "bytes were asked for", "are free" };
    struct build b;
    UINT sum = UINT32_MAX;
    IDMLCompiledOperator *op = NULL;
    build_begin(&b, rig->dml, INPUTS, 1);
    add_constant_product(&b, INPUT_Y, DEEP, data.deep, &sum);
    add_output(&b, sum, 0, 0);
    ok_hr(IDMLDevice1_CompileGraph(rig->dml, &b.desc, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&op),
          E_OUTOFMEMORY);
    release_nodes(&b);
    ok(!op && message_has(rig->d3d, compiled, 3), "no message of CompileGraph says how much was asked for");
    ok(layer->allocated <= full + (32 << 20), "%llu bytes stay", (unsigned long long)(layer->allocated - full));
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig->d3d), S_OK);
    ok_hr(dml_reason(rig), S_OK);
    for (uint32_t i = 0; i < count; i++)
        api_release(buffers[i]);
    struct results got;
    float *want = malloc(ROWS * COLUMNS * 4);
    need(want);
    run(rig, &data, "d", &got);
    reference(&data, "d", want);
    ok(!differences(got.sum, want, ROWS * COLUMNS), "%u sums are wrong", differences(got.sum, want, ROWS * COLUMNS));
    free(want);
    free(got.sum);
    free(got.tall);
    /* Staging memory and empty blocks are kept. */
    ok(layer->allocated <= before + (96 << 20), "%llu bytes leak", (unsigned long long)(layer->allocated - before));
    data_destroy(&data);
}

/* ---- */

/* On the second adapter: the first is Vulkan's. */
static struct rig cpu_rig(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    IDXCoreAdapter *adapter = NULL;
    ID3D12Device *d3d = NULL;
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory), S_OK);
    need(factory);
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                  &IID_IDXCoreAdapterList, (void **)&list),
          S_OK);
    need(list);
    const uint32_t count = IDXCoreAdapterList_GetAdapterCount(list);
    ok_hr(IDXCoreAdapterList_GetAdapter(list, count - 1, &IID_IDXCoreAdapter, (void **)&adapter), S_OK);
    need(count > 1 && adapter);
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&d3d), S_OK);
    need(d3d);
    api_release(adapter);
    api_release(list);
    api_release(factory);
    return rig_of(d3d, DML_CREATE_DEVICE_FLAG_NONE);
}

static void test_limits(struct rig *rig, bool sparse)
{
    struct rig cpu = cpu_rig();
    if (sparse)
        test_buffer(rig);
    else
        refuse(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, "41943040", "8388608", "sparseBinding");
    refuse(rig->d3d, D3D12_HEAP_TYPE_UPLOAD, "41943040", "8388608", "maxMemoryAllocationSize");
    refuse(rig->d3d, D3D12_HEAP_TYPE_READBACK, "41943040", "8388608", "maxMemoryAllocationSize");
    /* Without sparse buffers constants may still exceed the limit together, if none does alone. */
    test_graph(rig, &cpu, "c");
    if (sparse)
        test_graph(rig, &cpu, "cdot");
    ok(layer->allocation_max <= LIMIT, "an allocation of %llu bytes", (unsigned long long)layer->allocation_max);
    rig_destroy(&cpu);
}

int main(int count, char **arguments)
{
    void *library = count > 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    setenv("ANYDML_ADAPTERS", "vulkan,cpu", 1);
    setenv("ANYDML_LOG", "none", 0);
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    ID3D12Debug *debug = NULL; /* messages are kept */
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    need(debug);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_DEBUG);
    if (!strcmp(arguments[2], "full"))
        test_full(&rig);
    else
        test_limits(&rig, !strcmp(arguments[2], "sparse"));
    rig_destroy(&rig);
    ok(!layer->allocated && !layer->sparse_buffers, "%llu bytes and %u sparse buffers stay",
       (unsigned long long)layer->allocated, (unsigned)layer->sparse_buffers);
    return api_end();
}
