/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps wake other threads: small ones of no operator, large ones do. Counted are the threads that libdirectml
 * creates, so all small ones come first. */
#include "dml_test.h"

#include "schema/sample.h"
#include "schema/schema.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SLOTS = 64 };

/* Convolutions in samples have these instead. */
#define PLAIN " GroupCount=1 Strides=1,1 StartPadding=0,0 EndPadding=0,0"

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static atomic_uint teams;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*start)(void *), void *argument)
{
    create_fn *real;
    Dl_info from = { 0 };
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (dladdr(*(void **)&start, &from) && from.dli_fname && strstr(from.dli_fname, "libdirectml"))
        atomic_fetch_add(&teams, 1);
    return real(thread, attributes, start, argument);
}

static struct bound zeros(struct rig *rig, const DML_BUFFER_TENSOR_DESC *tensor)
{
    UINT64 bytes = tensor ? (tensor->TotalTensorSizeInBytes + 3) & ~UINT64_C(3) : 0;
    return (struct bound){ bytes ? api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, bytes) : NULL, 0, bytes };
}

/* Compiles, initialises and runs the operator over zeros; the teams that this started. */
static unsigned teams_of(struct rig *rig, const DML_OPERATOR_DESC *op_desc, DML_EXECUTION_FLAGS flags)
{
    struct bound inputs[SLOTS] = { { 0 } }, outputs[SLOTS] = { { 0 } };
    struct schema_desc *desc = NULL;
    unsigned before = teams;
    IDMLCompiledOperator *op = compile(rig->dml, make_operator(rig->dml, op_desc->Type, op_desc->Desc), flags);
    need(schema_desc_create(op_desc, &desc) == S_OK && desc->input_count <= SLOTS && desc->output_count <= SLOTS);
    for (uint32_t i = 0; i < desc->input_count; i++)
        inputs[i] = zeros(rig, desc->inputs[i]);
    for (uint32_t i = 0; i < desc->output_count; i++)
        outputs[i] = zeros(rig, desc->outputs[i]);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, desc->input_count, inputs);
    bind_outputs(table, desc->output_count, outputs);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (uint32_t i = 0; i < desc->input_count; i++)
        if (inputs[i].buffer)
            api_release(inputs[i].buffer);
    for (uint32_t i = 0; i < desc->output_count; i++)
        if (outputs[i].buffer)
            api_release(outputs[i].buffer);
    prepared_release(&prepared);
    schema_desc_destroy(desc);
    api_release(table);
    api_release(op);
    return teams - before;
}

static unsigned teams_with(struct rig *rig, DML_OPERATOR_TYPE type, const char *fields)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    need(schema_sample_with(type, fields, &storage, &desc));
    return teams_of(rig, &desc, DML_EXECUTION_FLAG_NONE);
}

static void test_samples(struct rig *rig)
{
    static struct schema_sample_storage storage;
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        const struct schema_op *op = schema_op_at(i);
        DML_OPERATOR_DESC desc;
        need(schema_sample(op->type, &storage, &desc));
        unsigned count = teams_of(rig, &desc, DML_EXECUTION_FLAG_NONE);
        ok(!count, "a small %s starts %u threads", op->name, count);
        count = teams_of(rig, &desc, DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION);
        ok(!count, "a small %s in half precision starts %u threads", op->name, count);
    }
}

static void test_products(struct rig *rig)
{
    static const struct {
        DML_OPERATOR_TYPE type;
        const char *small, *large;
    } cases[] = {
        { DML_OPERATOR_CONVOLUTION, "InputTensor=1x1x4x4 FilterTensor=1x1x2x2 OutputTensor=1x1x3x3 BiasTensor=-" PLAIN,
          "InputTensor=1x64x58x58 FilterTensor=64x64x3x3 OutputTensor=1x64x56x56 BiasTensor=-" PLAIN },
        { DML_OPERATOR_CONVOLUTION,
          "InputTensor=1x8x9x9:FLOAT16 FilterTensor=8x8x2x2:FLOAT16 OutputTensor=1x8x8x8:FLOAT16 BiasTensor=-" PLAIN,
          "InputTensor=1x64x58x58:FLOAT16 FilterTensor=64x64x3x3:FLOAT16 OutputTensor=1x64x56x56:FLOAT16 "
          "BiasTensor=-" PLAIN },
        { DML_OPERATOR_GEMM, "ATensor=1x1x20x20 BTensor=1x1x20x20 CTensor=- OutputTensor=1x1x20x20",
          "ATensor=1x1x300x300 BTensor=1x1x300x300 CTensor=- OutputTensor=1x1x300x300" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned count = teams_with(rig, cases[i].type, cases[i].small);
        ok(!count, "case %zu: %u threads for a small product", i, count);
    }
    ok(teams_with(rig, cases[0].type, cases[0].large), "no thread for a large product");
}

int main(void)
{
    setenv("ANYDML_THREADS", "4", 1);
    api_begin();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    test_samples(&rig);
    test_products(&rig);
    rig_destroy(&rig);
    return api_end();
}
