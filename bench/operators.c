/* SPDX-License-Identifier: Apache-2.0 */
/* Times single operators through the DirectML interfaces.
 *
 * usage: operators [--seconds S] [--busy N] OPERATOR "Field=value ..." [OPERATOR "Field=value ..."]...
 *
 * Prints one line for each: median seconds of one execution (a recorded list executed, and a host wait), runs, least
 * seconds, and the 99th percentile. With --busy, N other processes compute all the while, and there are 99 runs. Fields
 * that are not given are as in src/schema/sample.c, which also has the syntax (2x3! = OWNED_BY_DML, as weights of a
 * model are). ANYDML_THREADS sets the threads. */
#include "api/dml_test.h"

#include "base/half.h"
#include "schema/sample.h"
#include "schema/schema.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
    SLOTS = 32,
    RUNS_MAX = 4096,
    RUNS_BUSY = 99,
    BUSY_MAX = 256,
};

static pid_t busy[BUSY_MAX];
static long busy_count;

static bool busy_begin(long count)
{
    for (; busy_count < count && busy_count < BUSY_MAX; busy_count++) {
        pid_t child = fork();
        if (child < 0)
            return false;
        if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                __asm__ volatile("" ::: "memory");
        }
        busy[busy_count] = child;
    }
    return busy_count == count;
}

static void busy_end(void)
{
    for (long i = 0; i < busy_count; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
}

static DML_OPERATOR_TYPE operator_named(const char *name)
{
    for (uint32_t i = 0; i < schema_op_count(); i++)
        if (!strcmp(schema_op_at(i)->name + strlen("DML_OPERATOR_"), name))
            return schema_op_at(i)->type;
    return DML_OPERATOR_INVALID;
}

/* Small positive numbers of every type; indices stay small. */
static void fill(DML_TENSOR_DATA_TYPE type, uint8_t *data, uint64_t bytes)
{
    uint32_t width = BASE_MAX(schema_data_type_bits(type) / 8, 1), state = 1;
    memset(data, 0, bytes);
    for (uint64_t i = 0; i + width <= bytes; i += width) {
        state = state * 1664525u + 1013904223u;
        float real = (float)(state >> 8) / 16777216.0f + 0.25f;
        double wide = real;
        uint16_t half = base_float_to_half(real), bfloat = base_float_to_bfloat(real);
        if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
            memcpy(data + i, &real, sizeof(real));
        else if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
            memcpy(data + i, &wide, sizeof(wide));
        else if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
            memcpy(data + i, &half, sizeof(half));
        else if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
            memcpy(data + i, &bfloat, sizeof(bfloat));
        else
            data[i] = (uint8_t)(state >> 26);
    }
}

static struct bound upload(struct rig *rig, const DML_BUFFER_TENSOR_DESC *tensor)
{
    if (!tensor)
        return (struct bound){ NULL, 0, 0 };
    uint64_t bytes = (tensor->TotalTensorSizeInBytes + 3) & ~UINT64_C(3);
    uint8_t *data = malloc(bytes);
    need(data);
    fill(tensor->DataType, data, bytes);
    struct bound out = buffer_of(rig, data, bytes);
    free(data);
    return out;
}

/* Owned tensors are bound to its initializer, and not bound again; returns whether there are any.
 */
static bool split_owned(const struct schema_desc *desc, struct bound *inputs, struct bound *owned)
{
    bool any = false;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        if (!desc->inputs[i] || !(desc->inputs[i]->Flags & DML_TENSOR_FLAG_OWNED_BY_DML))
            continue;
        owned[i] = inputs[i];
        inputs[i] = (struct bound){ NULL, 0, 0 };
        any = true;
    }
    return any;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The list is closed and executed again and again. */
static void time_list(struct rig *rig, const char *name, double seconds)
{
    static double times[RUNS_MAX];
    uint32_t runs = 0;
    double end = api_seconds() + seconds;
    ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
    for (uint32_t warm = 0; warm < 2; warm++) {
        api_queue_execute(&rig->q);
        api_queue_wait(&rig->q);
    }
    while (busy_count ? runs < RUNS_BUSY : runs < 3 || (runs < RUNS_MAX && api_seconds() < end)) {
        double start = api_seconds();
        api_queue_execute(&rig->q);
        api_queue_wait(&rig->q);
        times[runs++] = api_seconds() - start;
    }
    qsort(times, runs, sizeof(*times), by_value);
    printf("%s %.9f %u %.9f %.9f\n", name, times[runs / 2], runs, times[0], times[(runs - 1) * 99 / 100]);
    fflush(stdout);
}

static int run(const char *name, const char *changes, double seconds)
{
    static struct schema_sample_storage storage;
    struct bound bound[2 * SLOTS] = { { 0 } }, owned[SLOTS] = { { 0 } };
    struct schema_desc *desc = NULL;
    DML_OPERATOR_DESC op_desc;
    if (!schema_sample_with(operator_named(name), changes, &storage, &op_desc)) {
        fprintf(stderr, "operators: %s: no such operator, or its fields cannot be read\n", name);
        return 2;
    }
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op =
        compile(rig.dml, make_operator(rig.dml, op_desc.Type, op_desc.Desc), DML_EXECUTION_FLAG_NONE);
    need(schema_desc_create(&op_desc, &desc) == S_OK && desc->input_count <= SLOTS && desc->output_count <= SLOTS);
    for (uint32_t i = 0; i < desc->input_count; i++)
        bound[i] = upload(&rig, desc->inputs[i]);
    for (uint32_t i = 0; i < desc->output_count; i++)
        bound[SLOTS + i] = upload(&rig, desc->outputs[i]);
    bool owns = split_owned(desc, bound, owned);
    struct prepared prepared = prepare(&rig, op, owns ? desc->input_count : 0, owned);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, desc->input_count, bound);
    bind_outputs(table, desc->output_count, bound + SLOTS);
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    time_list(&rig, name, seconds);
    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        if (bound[i].buffer)
            api_release(bound[i].buffer);
    for (uint32_t i = 0; i < SLOTS; i++)
        if (owned[i].buffer)
            api_release(owned[i].buffer);
    prepared_release(&prepared);
    schema_desc_destroy(desc);
    api_release(table);
    api_release(op);
    rig_destroy(&rig);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 0.5;
    long others = 0;
    int first = 1, status = 0;
    for (; first + 1 < argc && !strncmp(argv[first], "--", 2); first += 2) {
        if (!strcmp(argv[first], "--seconds"))
            seconds = atof(argv[first + 1]);
        else if (!strcmp(argv[first], "--busy"))
            others = strtol(argv[first + 1], NULL, 10);
        else
            break;
    }
    if (argc <= first || (argc - first) % 2 || !busy_begin(others)) {
        busy_end();
        fprintf(stderr, "usage: operators [--seconds S] [--busy N] OPERATOR \"Field=value ...\"...\n");
        return 2;
    }
    for (int i = first; i + 1 < argc && !status; i += 2)
        status = run(argv[i], argv[i + 1], seconds);
    busy_end();
    return status ? status : api_end();
}
