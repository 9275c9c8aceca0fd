/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator that the Vulkan adapter compiles, against the cpu adapter, through the public interfaces: one
 * description of each, in every data type that it takes. Operators without shaders are counted, not tested. */
#include "api/dml_test.h"

#include "base/half.h"
#include "kernels/core/number.h"
#include "schema/sample.h"
#include "schema/schema.h"

#include <anydml_dxcore.h>
#include <math.h>

enum {
    OPERATORS_MIN = 90, /* how many must run: a build that lost its shaders must not pass */
    OPERATOR_TYPES = 256,
    SLOTS = 32,
};

struct count {
    uint32_t ran, unsupported, failed, operators;
};

/* ---- the two adapters ---- */

static ID3D12Device *open_adapter(IDXCoreAdapterList *list, uint32_t index)
{
    IDXCoreAdapter *adapter = NULL;
    ID3D12Device *device = NULL;
    need(list->lpVtbl->GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter) == S_OK);
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    api_release(adapter);
    return device;
}

/* The first adapter and the last: ANYDML_ADAPTERS gives the order. false: there is no Vulkan device. */
static bool open_rigs(struct rig *vulkan, struct rig *cpu)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    setenv("ANYDML_ADAPTERS", "vulkan,cpu", 1);
    setenv("ANYDML_CPU_FLAGS", "none", 0); /* reference kernels: steps of recurrent operators multiply small errors */
    setenv("ANYDML_LOG", "none", 0);
    need(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory) == S_OK);
    need(factory->lpVtbl->CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                            &IID_IDXCoreAdapterList, (void **)&list) == S_OK);
    uint32_t count = list->lpVtbl->GetAdapterCount(list);
    if (count > 1) {
        *vulkan = rig_of(open_adapter(list, 0), DML_CREATE_DEVICE_FLAG_NONE);
        *cpu = rig_of(open_adapter(list, count - 1), DML_CREATE_DEVICE_FLAG_NONE);
    }
    api_release(list);
    api_release(factory);
    return count > 1;
}

/* ---- data ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void fill(DML_TENSOR_DATA_TYPE type, void *data, uint64_t bytes, uint64_t *state)
{
    uint64_t count = bytes * 8 / kern_type_bits(type);
    for (uint64_t i = 0; i < count; i++) {
        double real = (double)(next_random(state) % 8001) / 1000.0 - 4;
        double whole = (double)(next_random(state) % 8);
        kern_write_double(type, data, (int64_t)i, kern_type_class(type) == KERN_CLASS_FLOAT ? real : whole);
    }
}

static bool close_enough(DML_TENSOR_DATA_TYPE type, const void *got, const void *want, int64_t at)
{
    double g = kern_read_double(type, got, at), w = kern_read_double(type, want, at);
    double relative = type == DML_TENSOR_DATA_TYPE_FLOAT16 ? 2e-3 : 2e-5;
    if (kern_type_class(type) != KERN_CLASS_FLOAT)
        return g == w;
    return (g != g && w != w) || g == w || fabs(g - w) <= 2e-6 + relative * fabs(w);
}

/* ---- one operator on one adapter ---- */

struct result {
    uint8_t *data[SLOTS];
};

static struct bound upload(struct rig *rig, const DML_BUFFER_TENSOR_DESC *tensor, uint64_t *state)
{
    uint64_t bytes = (tensor->TotalTensorSizeInBytes + 3) & ~3ull;
    void *data = calloc(1, bytes);
    need(data);
    fill(tensor->DataType, data, bytes, state);
    struct bound out = buffer_of(rig, data, bytes);
    free(data);
    return out;
}

static void run(struct rig *rig, IDMLCompiledOperator *op, const struct schema_desc *desc, struct result *out)
{
    struct bound bound[2 * SLOTS] = { { 0 } };
    struct prepared prepared = prepare(rig, op, 0, NULL);
    uint32_t inputs = desc->input_count, outputs = desc->output_count;
    uint64_t state = 42;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor = i < inputs ? desc->inputs[i] : desc->outputs[i - inputs];
        if (tensor)
            bound[i] = upload(rig, tensor, &state);
    }
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, inputs, bound);
    bind_outputs(table, outputs, bound + inputs);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        if (i >= inputs && bound[i].buffer) {
            out->data[i - inputs] = calloc(1, bound[i].bytes);
            need(out->data[i - inputs]);
            api_read(&rig->q, bound[i].buffer, 0, out->data[i - inputs], bound[i].bytes);
            rig_set_heap(rig);
        }
        if (bound[i].buffer)
            api_release(bound[i].buffer);
    }
    api_release(table);
    prepared_release(&prepared);
}

static uint32_t differences(const struct schema_desc *desc, const struct result *got, const struct result *want)
{
    uint32_t wrong = 0;
    for (uint32_t o = 0; o < desc->output_count; o++) {
        const DML_BUFFER_TENSOR_DESC *tensor = desc->outputs[o];
        uint64_t count = tensor ? tensor->TotalTensorSizeInBytes * 8 / kern_type_bits(tensor->DataType) : 0;
        for (uint64_t i = 0; i < count; i++) {
            if (close_enough(tensor->DataType, got->data[o], want->data[o], (int64_t)i))
                continue;
            if (!wrong++)
                fprintf(stderr, "%s, type %d, output %u, element %llu: got %.9g, want %.9g\n", desc->op->name,
                        (int)tensor->DataType, o, (unsigned long long)i,
                        kern_read_double(tensor->DataType, got->data[o], (int64_t)i),
                        kern_read_double(tensor->DataType, want->data[o], (int64_t)i));
        }
    }
    return wrong;
}

static IDMLCompiledOperator *try_compile(struct rig *rig, const DML_OPERATOR_DESC *desc, HRESULT *out_hr)
{
    IDMLOperator *op = NULL;
    IDMLCompiledOperator *compiled = NULL;
    *out_hr = IDMLDevice1_CreateOperator(rig->dml, desc, &IID_IDMLOperator, (void **)&op);
    if (*out_hr != S_OK)
        return NULL;
    *out_hr = IDMLDevice1_CompileOperator(rig->dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator,
                                          (void **)&compiled);
    api_release(op);
    return compiled;
}

/* true: the operator ran on both. */
static bool compare(struct rig *vulkan, struct rig *cpu, const DML_OPERATOR_DESC *op_desc, struct count *count)
{
    HRESULT hr_vulkan, hr_cpu;
    IDMLCompiledOperator *there = try_compile(vulkan, op_desc, &hr_vulkan), *here = try_compile(cpu, op_desc, &hr_cpu);
    struct schema_desc *desc = NULL;
    struct result got = { { NULL } }, want = { { NULL } };
    count->unsupported += hr_vulkan == DXGI_ERROR_UNSUPPORTED;
    if (there && here) {
        need(schema_desc_create(op_desc, &desc) == S_OK && desc->input_count <= SLOTS && desc->output_count <= SLOTS);
        run(vulkan, there, desc, &got);
        run(cpu, here, desc, &want);
        count->ran++;
        count->failed += differences(desc, &got, &want) != 0;
        for (uint32_t i = 0; i < SLOTS; i++) {
            free(got.data[i]);
            free(want.data[i]);
        }
        schema_desc_destroy(desc);
    }
    ok(dml_reason(vulkan) == S_OK, "operator %d removed the device", (int)op_desc->Type);
    if (there)
        api_release(there);
    if (here)
        api_release(here);
    return there && here;
}

/* All FLOAT32 tensors of the description in another type. */
static void retype(struct schema_sample_storage *storage, DML_TENSOR_DATA_TYPE type)
{
    for (uint32_t i = 0; i < storage->tensor_count; i++) {
        DML_BUFFER_TENSOR_DESC *tensor = &storage->buffers[i];
        uint64_t elements = 1;
        if (tensor->DataType != DML_TENSOR_DATA_TYPE_FLOAT32)
            continue;
        for (uint32_t d = 0; d < tensor->DimensionCount; d++)
            elements *= tensor->Sizes[d];
        tensor->DataType = type;
        tensor->TotalTensorSizeInBytes = (elements * kern_type_bits(type) / 8 + 3) & ~3ull;
    }
}

/* Whether it adds in FLOAT64: such devices run all that the cpu adapter does. */
static bool has_doubles(struct rig *rig)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    HRESULT hr;
    need(schema_sample(DML_OPERATOR_ELEMENT_WISE_ADD, &storage, &desc));
    retype(&storage, DML_TENSOR_DATA_TYPE_FLOAT64);
    IDMLCompiledOperator *op = try_compile(rig, &desc, &hr);
    if (op)
        api_release(op);
    return op != NULL;
}

int main(void)
{
    static struct schema_sample_storage storage;
    struct rig vulkan, cpu;
    struct count count = { 0 };
    if (!open_rigs(&vulkan, &cpu)) {
        fprintf(stderr, "no Vulkan device on this machine: skipped\n");
        return 77;
    }
    for (uint32_t op = 1; op < OPERATOR_TYPES; op++) {
        bool ran = false;
        for (uint32_t type = DML_TENSOR_DATA_TYPE_FLOAT32; type <= DML_TENSOR_DATA_TYPE_INT64; type++) {
            DML_OPERATOR_DESC desc;
            if (!schema_sample((DML_OPERATOR_TYPE)op, &storage, &desc))
                break;
            retype(&storage, (DML_TENSOR_DATA_TYPE)type);
            ran |= compare(&vulkan, &cpu, &desc, &count);
        }
        count.operators += ran;
    }
    printf("%u operators ran in %u types, %u failed; %u refused\n", count.operators, count.ran, count.failed,
           count.unsupported);
    ok(!count.failed && count.operators >= OPERATORS_MIN, "%u operators", count.operators);
    ok(!count.unsupported || !has_doubles(&vulkan), "%u refused", count.unsupported);
    rig_destroy(&vulkan);
    rig_destroy(&cpu);
    return api_end();
}
