/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlRunOperator: it computes the same as dispatches, at addresses that are aligned to elements only, with outputs
 * over inputs, on several threads, with weights that are packed at the first run. */
#include "dml_build.h"

#include "schema/sample.h"
#include "schema/schema.h"

#include <anydml.h>
#include <pthread.h>

enum { SLOTS = 64, GUARD = 64, BYTES_MAX = 1 << 16 };

static uint32_t rnd(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % below);
}

static UINT64 address(const void *data)
{
    return (UINT64)(uintptr_t)data;
}

/* ---- every operator's sample ---- */

static UINT64 bytes_of(const DML_BUFFER_TENSOR_DESC *tensor)
{
    return tensor ? (tensor->TotalTensorSizeInBytes + 3) & ~UINT64_C(3) : 0;
}

/* Small numbers that are valid as indices, lengths, counts and values. */
static void fill(const DML_BUFFER_TENSOR_DESC *tensor, unsigned char *out)
{
    const UINT64 bytes = bytes_of(tensor);
    memset(out, 0, bytes);
    for (UINT64 i = 0; tensor && i < bytes / 8 * 8; i += 8) {
        const float single[2] = { (float)(1 + rnd(8)) / 4, (float)(1 + rnd(8)) / 4 };
        const double wide = (double)(1 + rnd(8)) / 4;
        const uint16_t half = tensor->DataType == DML_TENSOR_DATA_TYPE_FLOAT16 ? 0x3c00 : 0x3f80;
        switch ((uint32_t)tensor->DataType) {
        case DML_TENSOR_DATA_TYPE_FLOAT32:
            memcpy(out + i, single, 8);
            break;
        case DML_TENSOR_DATA_TYPE_FLOAT64:
            memcpy(out + i, &wide, 8);
            break;
        case DML_TENSOR_DATA_TYPE_FLOAT16:
        case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
            for (UINT k = 0; k < 8; k += 2)
                memcpy(out + i + k, &(uint16_t){ (uint16_t)(half + rnd(64)) }, 2);
            break;
        default:
            out[i] = (unsigned char)rnd(2);
        }
    }
}

struct slots {
    UINT input_count, output_count;
    UINT64 bytes[SLOTS];
    UINT element[SLOTS];        /* bytes, at least 1 */
    unsigned char *data[SLOTS]; /* inputs, then outputs, which are poisoned */
};

static struct slots slots_of(const struct schema_desc *desc)
{
    struct slots slots = { .input_count = desc->input_count, .output_count = desc->output_count };
    need(desc->input_count + desc->output_count <= SLOTS);
    for (UINT i = 0; i < slots.input_count + slots.output_count; i++) {
        const bool in = i < slots.input_count;
        const DML_BUFFER_TENSOR_DESC *tensor = in ? desc->inputs[i] : desc->outputs[i - slots.input_count];
        slots.bytes[i] = bytes_of(tensor);
        slots.element[i] =
            tensor && schema_data_type_bits(tensor->DataType) >= 8 ? schema_data_type_bits(tensor->DataType) / 8 : 1;
        need(slots.bytes[i] <= BYTES_MAX);
        slots.data[i] = malloc(slots.bytes[i] + 1);
        if (in)
            fill(tensor, slots.data[i]);
        else
            memset(slots.data[i], 0x5b, slots.bytes[i]);
    }
    return slots;
}

static void slots_free(struct slots *slots)
{
    for (UINT i = 0; i < slots->input_count + slots->output_count; i++)
        free(slots->data[i]);
}

/* By a dispatch: the outputs, as one contiguous block. */
static void dispatch(struct rig *rig, IDMLCompiledOperator *op, const struct slots *slots, unsigned char *results)
{
    struct bound bound[SLOTS] = { { 0 } };
    struct prepared prepared = prepare(rig, op, 0, NULL);
    for (UINT i = 0; i < slots->input_count + slots->output_count; i++)
        if (slots->bytes[i])
            bound[i] = buffer_of(rig, slots->data[i], slots->bytes[i]);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, slots->input_count, bound);
    bind_outputs(table, slots->output_count, bound + slots->input_count);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (UINT i = 0; i < slots->input_count + slots->output_count; i++) {
        if (!slots->bytes[i])
            continue;
        if (i >= slots->input_count) {
            api_read(&rig->q, bound[i].buffer, 0, results, slots->bytes[i]);
            results += slots->bytes[i];
        }
        api_release(bound[i].buffer);
    }
    rig_set_heap(rig);
    prepared_release(&prepared);
    api_release(table);
}

/* On addresses that are `elements` elements behind multiples of 64. */
static void check_shifted(IDMLCompiledOperator *op, const struct slots *slots, UINT elements, const unsigned char *want,
                          const char *name)
{
    unsigned char *blocks[SLOTS];
    UINT64 at[SLOTS] = { 0 };
    for (UINT i = 0; i < slots->input_count + slots->output_count; i++) {
        const UINT shift = elements * slots->element[i];
        blocks[i] = aligned_alloc(64, (slots->bytes[i] + 3 * GUARD) / 64 * 64);
        memset(blocks[i], 0x5b, (slots->bytes[i] + 3 * GUARD) / 64 * 64);
        memcpy(blocks[i] + shift, slots->data[i], slots->bytes[i]);
        if (slots->bytes[i])
            at[i] = address(blocks[i] + shift);
    }
    ok_hr(AnydmlRunOperator(NULL, op, slots->input_count, at, slots->output_count, at + slots->input_count), S_OK);
    for (UINT i = 0; i < slots->input_count + slots->output_count; i++) {
        const UINT shift = elements * slots->element[i];
        const unsigned char *expected = i < slots->input_count ? slots->data[i] : want;
        ok(!memcmp(blocks[i] + shift, expected, slots->bytes[i]), "%s: slot %u at %u bytes", name, i, shift);
        for (UINT k = 0; k < GUARD; k++)
            ok(k >= shift || blocks[i][k] == 0x5b, "%s: byte %u before slot %u", name, k, i);
        ok(blocks[i][shift + slots->bytes[i]] == 0x5b, "%s: behind slot %u", name, i);
        want += i < slots->input_count ? 0 : slots->bytes[i];
        free(blocks[i]);
    }
}

static void check_sample(struct rig *rig, const DML_OPERATOR_DESC *op_desc)
{
    static unsigned char results[4 * BYTES_MAX];
    struct schema_desc *desc = NULL;
    DML_OPERATOR_DESC copy = *op_desc;
    IDMLOperator *op = NULL;
    IDMLCompiledOperator *compiled = NULL;
    BOOL quiet = AnydmlQuiet(TRUE);
    if (SUCCEEDED(IDMLDevice1_CreateOperator(rig->dml, &copy, &IID_IDMLOperator, (void **)&op)))
        IDMLDevice1_CompileOperator(rig->dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator,
                                    (void **)&compiled);
    AnydmlQuiet(quiet);
    if (compiled) {
        need(schema_desc_create(op_desc, &desc) == S_OK);
        struct slots slots = slots_of(desc);
        dispatch(rig, compiled, &slots, results);
        check_shifted(compiled, &slots, 0, results, desc->op->name);
        check_shifted(compiled, &slots, 1, results, desc->op->name);
        check_shifted(compiled, &slots, 3, results, desc->op->name);
        slots_free(&slots);
        schema_desc_destroy(desc);
        api_release(compiled);
    }
    if (op)
        api_release(op);
}

static void test_samples(struct rig *rig)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        const struct schema_op *op = schema_op_at(i);
        need(schema_sample(op->type, &storage, &desc));
        check_sample(rig, &desc);
        for (uint32_t type = 1; type < 16; type++)
            if (schema_sample_typed(op, 0, (DML_TENSOR_DATA_TYPE)type, &storage, &desc))
                check_sample(rig, &desc);
    }
}

/* ---- elements of 2 and 4 bytes at unaligned addresses, long rows: vectors of every width ---- */

static void test_elements(struct rig *rig)
{
    enum { COUNT = 1001 };
    static unsigned char x[COUNT * 4 + 64], y[COUNT * 4 + 64], z[COUNT * 4 + 64];
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    for (UINT shift = 4; shift < 64; shift += 4) {
        for (UINT i = 0; i < COUNT; i++) {
            memcpy(x + shift + 4 * i, &(float){ (float)i }, 4);
            memcpy(y + 4 * i, &(float){ (float)(2 * i + shift) }, 4);
        }
        const UINT64 in[2] = { address(x + shift), address(y) }, out[1] = { address(z + 64 - shift) };
        ok_hr(AnydmlRunOperator(NULL, op, 2, in, 1, out), S_OK);
        for (UINT i = 0; i < COUNT; i++) {
            float got;
            memcpy(&got, z + 64 - shift + 4 * i, 4);
            if (got != (float)(3 * i + shift)) {
                ok(false, "element %u at %u bytes is %g", i, shift, (double)got);
                break;
            }
        }
    }
    api_release(op);
}

/* ---- outputs over inputs ---- */

static void test_in_place(struct rig *rig)
{
    enum { SIDE = 8, COUNT = SIDE * SIDE };
    float a[COUNT], b[COUNT], want[COUNT], long_a[COUNT + 4];
    IDMLCompiledOperator *op =
        compile(rig->dml, gemm_operator(rig->dml, SIDE, SIDE, SIDE, DML_TENSOR_FLAG_NONE), DML_EXECUTION_FLAG_NONE);
    for (UINT over = 0; over < 3; over++) { /* a, b, a part of a */
        for (UINT i = 0; i < COUNT; i++)
            a[i] = long_a[i] = (float)rnd(9) - 4, b[i] = (float)rnd(9) - 4;
        UINT64 in[3] = { address(over == 2 ? long_a : a), address(b), 0 }, out[1] = { address(want) };
        ok_hr(AnydmlRunOperator(NULL, op, 3, in, 1, out), S_OK);
        float *to = over == 2 ? long_a + 4 : over ? b : a;
        out[0] = address(to);
        ok_hr(AnydmlRunOperator(NULL, op, 3, in, 1, out), S_OK);
        ok(!memcmp(to, want, sizeof(want)), "over %u", over);
    }
    api_release(op);
}

/* ---- weights and threads ---- */

enum { ROWS = 4, SIDE = 48 };
static float weights[SIDE * SIDE];

struct worker {
    IDMLCompiledOperator *op;
    pthread_t thread;
    bool good;
};

static void *work(void *context)
{
    struct worker *worker = context;
    worker->good = true;
    for (UINT turn = 0; turn < 200; turn++) {
        float x[ROWS * SIDE] = { 0 }, y[ROWS * SIDE];
        const UINT row = turn % SIDE;
        x[row] = 2; /* twice row `row` of the weights */
        const UINT64 in[1] = { address(x) }, out[1] = { address(y) };
        HRESULT hr = AnydmlRunOperator(NULL, worker->op, 1, in, 1, out);
        for (UINT i = 0; i < SIDE; i++)
            worker->good = worker->good && hr == S_OK && y[i] == 2 * weights[row * SIDE + i] && !y[SIDE + i];
    }
    return NULL;
}

static void test_threads(struct rig *rig)
{
    struct worker workers[6];
    struct build b;
    for (UINT i = 0; i < SIDE * SIDE; i++)
        weights[i] = (float)rnd(100);
    build_begin(&b, rig->dml, 1, 1);
    add_node(&b, gemm_operator(rig->dml, ROWS, SIDE, SIDE, DML_TENSOR_FLAG_NONE), "product");
    add_constant(&b, weights, sizeof(weights));
    add_input(&b, 0, 0, 0);
    add_middle(&b, 1, 0, 0, 1);
    add_output(&b, 0, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        workers[i].op = op;
        need(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        pthread_join(workers[i].thread, NULL);
        ok(workers[i].good, "thread %zu", i);
    }
    api_release(op);
}

/* ---- owned weights: packed when they are given, and kept ---- */

enum { OWNED_ROWS = 37, OWNED_DEPTH = 61, OWNED_COLUMNS = 45 };

/* Whether y = x w, in the numbers of small integers. */
static bool is_product(const float *x, const float *w, const float *y)
{
    for (UINT i = 0; i < OWNED_ROWS; i++)
        for (UINT j = 0; j < OWNED_COLUMNS; j++) {
            float sum = 0;
            for (UINT k = 0; k < OWNED_DEPTH; k++)
                sum += x[i * OWNED_DEPTH + k] * w[k * OWNED_COLUMNS + j];
            if (sum != y[i * OWNED_COLUMNS + j])
                return false;
        }
    return true;
}

static void fill_small(float *out, UINT count)
{
    for (UINT i = 0; i < count; i++)
        out[i] = (float)rnd(17) - 8;
}

static void test_owned(struct rig *rig)
{
    static float x[OWNED_ROWS * OWNED_DEPTH], w[OWNED_DEPTH * OWNED_COLUMNS], kept[OWNED_DEPTH * OWNED_COLUMNS],
        y[OWNED_ROWS * OWNED_COLUMNS];
    IDMLCompiledOperator *op =
        compile(rig->dml, gemm_operator(rig->dml, OWNED_ROWS, OWNED_DEPTH, OWNED_COLUMNS, DML_TENSOR_FLAG_OWNED_BY_DML),
                DML_EXECUTION_FLAG_NONE);
    UINT64 in[3] = { address(x), 0, 0 }, out[1] = { address(y) };
    fill_small(x, OWNED_ROWS * OWNED_DEPTH);
    BOOL quiet = AnydmlQuiet(TRUE);
    ok_hr(AnydmlRunOperator(NULL, op, 3, in, 1, out), E_INVALIDARG); /* not given yet */
    AnydmlQuiet(quiet);
    for (UINT i = 0; i < 3; i++) {
        fill_small(w, OWNED_DEPTH * OWNED_COLUMNS);
        memcpy(kept, w, sizeof(w));
        in[1] = address(w);
        ok_hr(AnydmlRunOperator(NULL, op, 3, in, 1, out), S_OK);
        ok(is_product(x, kept, y), "given weights %u count", i);
        fill_small(w, OWNED_DEPTH * OWNED_COLUMNS);
        fill_small(x, OWNED_ROWS * OWNED_DEPTH);
        memset(y, 0xff, sizeof(y));
        in[1] = 0;
        ok_hr(AnydmlRunOperator(NULL, op, 3, in, 1, out), S_OK);
        ok(is_product(x, kept, y), "kept weights %u count", i);
    }
    api_release(op);
}

/* ---- errors ---- */

static void test_errors(struct rig *rig)
{
    float x[16] = { 0 };
    UINT64 in[3] = { address(x), address(x), 0 }, out[1] = { address(x) };
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, 16), DML_EXECUTION_FLAG_NONE);
    BOOL quiet = AnydmlQuiet(TRUE);
    ok_hr(AnydmlRunOperator(NULL, NULL, 2, in, 1, out), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, (IDMLCompiledOperator *)(void *)rig->dml, 2, in, 1, out), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, op, 1, in, 1, out), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, op, 2, in, 2, out), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, op, 2, NULL, 1, out), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, op, 2, in, 1, NULL), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(NULL, op, 2, in + 1, 1, out), E_INVALIDARG); /* the second is 0 */
    AnydmlQuiet(quiet);
    ok_hr(AnydmlRunOperator(NULL, op, 2, in, 1, out), S_OK);
    api_release(op);
}

int main(void)
{
    api_begin();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    test_samples(&rig);
    test_elements(&rig);
    test_in_place(&rig);
    test_threads(&rig);
    test_owned(&rig);
    test_errors(&rig);
    rig_destroy(&rig);
    return api_end();
}
