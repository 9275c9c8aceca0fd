/* SPDX-License-Identifier: Apache-2.0 */
/* Random small graphs give the same results without passes, with each pass alone, and with all of them. */
#include "graph_random.h"

#include "base/cpu.h"
#include "base/half.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

struct slots {
    uint64_t input_bytes[INPUTS], output_bytes[OUTPUTS];
    DML_TENSOR_DATA_TYPE output_type[OUTPUTS];
    uint64_t output_elements[OUTPUTS];
};

static void note_slots(const struct graph *graph, struct slots *slots)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct graph_value *value = &graph->values[v];
        if (value->place == GRAPH_OUTPUT)
            slots->output_bytes[value->index] = value->size_bytes;
        else if (value->place == GRAPH_INPUT || value->place == GRAPH_OWNED)
            slots->input_bytes[value->index] = value->size_bytes;
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct graph_op *op = graph->ops[i];
        const struct graph_value *value = &graph->values[op->value[op->k.input_count]];
        if (value->place != GRAPH_OUTPUT)
            continue;
        slots->output_type[value->index] = op->k.tensors[op->k.input_count].type;
        slots->output_elements[value->index] = kern_view_elements(&op->k.tensors[op->k.input_count]);
    }
}

static uint32_t fired[GRAPH_PASS_COUNT];

/* Runs the passes; notes for a single one whether it did anything. */
static HRESULT run_passes(struct graph *graph, const struct graph_options *options)
{
    char *before = graph_print(graph);
    HRESULT hr = graph_run_passes(graph, options);
    char *after = graph_print(graph);
    for (uint32_t i = 0; i < GRAPH_PASS_COUNT; i++)
        fired[i] += options->disabled_passes == ~(UINT64_C(1) << i) && before && after && strcmp(before, after) != 0;
    free(before);
    free(after);
    return hr;
}

/* Some constants become owned inputs with the same bytes, as long as there are slots. */
static void own_constants(struct graph *graph, uint64_t seed, struct make_run *run)
{
    uint32_t slot = INPUTS;
    state = seed ^ 0xdead;
    for (uint32_t v = 0; v < graph->value_count && slot < ARRAY_SIZE(run->inputs); v++) {
        struct graph_value *value = &graph->values[v];
        if (value->place != GRAPH_CONSTANT || !rnd(4))
            continue;
        run->inputs[slot] = malloc(value->size_bytes);
        graph_constant_copy(value, run->inputs[slot]);
        graph_constant_release(graph, v);
        value->place = GRAPH_OWNED;
        value->index = slot++;
    }
    graph->input_count = slot;
}

static bool owning; /* in the ways to come */

/* Results of one way to compile and run; the caller frees run->inputs and run->outputs. */
static bool run_way(uint64_t seed, uint32_t flags, const struct graph_options *options, struct slots *slots,
                    struct make_run *run, bool *half)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    char error[256] = "";
    memset(run, 0, sizeof(*run));
    make_graph(&graph, seed, flags, half);
    note_slots(&graph, slots);
    if (!TEST(!graph.failed))
        return false;
    if (owning)
        own_constants(&graph, seed, run);
    for (uint32_t i = 0; i < INPUTS; i++) {
        run->inputs[i] = malloc(slots->input_bytes[i]);
        state = seed + i;
        for (uint64_t e = 0; e < slots->input_bytes[i] / 4; e++)
            ((float *)run->inputs[i])[e] = rnd_float();
    }
    for (uint32_t i = 0; i < OUTPUTS; i++)
        run->outputs[i] = malloc(slots->output_bytes[i]);
    HRESULT hr = run_passes(&graph, options);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&graph, options, &plan, error);
    graph_finish(&graph);
    bool good = TEST_FOR(SUCCEEDED(hr), "seed %llu: %s", (unsigned long long)seed, error);
    good = good && TEST(plan->temp_lower_bound <= plan->temp_bytes) && make_execute(plan, run);
    graph_plan_destroy(plan);
    return good;
}

static void free_run(struct make_run *run)
{
    for (uint32_t i = 0; i < 16; i++) {
        free(run->inputs[i]);
        free(run->outputs[i]);
    }
}

static double element(const void *data, DML_TENSOR_DATA_TYPE type, uint64_t i)
{
    return type == F16 ? base_half_to_float(((const uint16_t *)data)[i]) : ((const float *)data)[i];
}

static bool agree(const struct make_run *a, const struct make_run *b, const struct slots *slots, double tolerance)
{
    for (uint32_t o = 0; o < OUTPUTS; o++)
        for (uint64_t i = 0; i < slots->output_elements[o]; i++) {
            double x = element(a->outputs[o], slots->output_type[o], i);
            double y = element(b->outputs[o], slots->output_type[o], i);
            double room = tolerance + (slots->output_type[o] == F16 ? 2e-3 : 0);
            if (!(fabs(x - y) <= room * (1 + fabs(x)))) {
                fprintf(stderr, "output %u element %llu: %g and %g\n", o, (unsigned long long)i, x, y);
                return false;
            }
        }
    return true;
}

static void test_way(uint64_t seed, uint32_t flags, const struct graph_options *options, const struct make_run *plain,
                     const char *name)
{
    struct make_run run;
    struct slots slots = { 0 };
    bool half;
    if (run_way(seed, flags, options, &slots, &run, &half))
        TEST_FOR(agree(plain, &run, &slots, half ? 3e-2 : 3e-4), "seed %llu, %s", (unsigned long long)seed, name);
    free_run(&run);
}

static void test_seed(uint64_t seed)
{
    static const char *const names[] = {
#define PASS(name, meaning) #name " alone",
#include "graph/passes/passes.def"
#undef PASS
    };
    struct make_run plain;
    struct slots slots = { 0 };
    struct graph_options options = make_options(GRAPH_PASSES_ALL);
    bool half;
    if (run_way(seed, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, &options, &slots, &plain, &half)) {
        for (uint32_t i = 0; i < GRAPH_PASS_COUNT; i++) {
            options = make_options(~(UINT64_C(1) << i));
            bool fast = i == GRAPH_PASS_fuse_inverted_residuals; /* does nothing where there is only the reference */
            options.cpu = fast ? base_cpu_flags() : 0;
            test_way(seed, fast ? 0 : DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, &options, &plain, names[i]);
        }
        options = make_options(0);
        test_way(seed, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, &options, &plain, "all passes");
        struct graph_backend as_devices = graph_backend_host;
        as_devices.norms_last = as_devices.lines_last = true;
        options.backend = &as_devices;
        test_way(seed, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, &options, &plain, "all passes, layouts of devices");
        graph_options_init(&options, &graph_backend_host, 2);
        options.disabled_passes = 0;
        test_way(seed, 0, &options, &plain, "all passes, best kernels");
        owning = true;
        test_way(seed, 0, &options, &plain, "owned constants, best kernels");
        options = make_options(0);
        test_way(seed, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, &options, &plain, "owned constants");
        owning = false;
    }
    free_run(&plain);
}

/* Arguments: number of graphs, first seed. */
int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    base_parallel_enter(2);
    for (uint64_t i = 0; i < count && test_failures < 10; i++)
        test_seed(first + i);
    /* Bytes have tests of their own, graph_quantized_test.c and graph_weights_test.c, and so have long sums
     * (graph_split_test.c), windows of patches (graph_patches_test.c), devices without FLOAT64 (graph_narrow_test.c),
     * half precision and FLOAT16, and what only shaders want: filters in another order, images that are not repeated
     * (graph_upsampling_test.c), and levels. */
    fired[GRAPH_PASS_weights] = fired[GRAPH_PASS_integer] = fired[GRAPH_PASS_requantize] = UINT32_MAX;
    fired[GRAPH_PASS_split_products] = fired[GRAPH_PASS_half] = fired[GRAPH_PASS_widen] = UINT32_MAX;
    fired[GRAPH_PASS_narrow] = fired[GRAPH_PASS_sums] = fired[GRAPH_PASS_transposed] = UINT32_MAX;
    fired[GRAPH_PASS_patches] = UINT32_MAX;
    fired[GRAPH_PASS_chains] = fired[GRAPH_PASS_filters] = fired[GRAPH_PASS_fuse_upsampling] =
        fired[GRAPH_PASS_levels] = UINT32_MAX;
    for (uint32_t i = 0; count >= 400 && i < GRAPH_PASS_COUNT; i++)
        TEST_FOR(fired[i] > 10 || (i == GRAPH_PASS_fuse_inverted_residuals && !base_cpu_flags()),
                 "pass %u, which changed %u graphs", i, fired[i]);
    return test_result();
}
