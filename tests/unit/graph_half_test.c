/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision that the caller allows: values between GEMMs become BFLOAT16 and results stay within the error
 * that docs/decisions/half-precision.md states. Without the flag, or on a CPU that does not multiply BFLOAT16, nothing
 * changes by a bit. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

#define ALLOW   ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32
#define RESULTS 160

/* Two convolutions with a residual and a pooling between, then a product. */
static void make_network(struct graph *graph, uint32_t flags)
{
    graph_init(graph, 1, 1, flags);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 32, 12, 12);
    struct graph_operand a = make4(graph, GRAPH_TEMP, 0, 1, 32, 12, 12), b = a, c = a, d = a, e = a;
    struct graph_operand w1 = make_constant(graph, 4, SIZES(32, 32, 3, 3), -0.1f, 2.1e-5f);
    struct graph_operand w2 = make_constant(graph, 4, SIZES(32, 32, 1, 1), 0.3f, -5.7e-4f);
    b.value = graph_temp(graph, F32, 4, a.view.sizes).value;
    c.value = graph_temp(graph, F32, 4, a.view.sizes).value;
    d.value = graph_temp(graph, F32, 4, a.view.sizes).value;
    e.value = graph_temp(graph, F32, 4, a.view.sizes).value;
    make_conv(graph, (struct graph_operand[]){ x, w1 }, 2, a, 1, 1, 1);
    make_map(graph, KERN_MAP_RELU, &a, 1, b, 0, 0);
    make_conv(graph, (struct graph_operand[]){ b, w2 }, 2, c, 1, 1, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ c, b }, 2, d, 0, 0);
    make_map(graph, KERN_MAP_RELU, &d, 1, e, 0, 0);
    struct graph_operand sum = make4(graph, GRAPH_TEMP, 0, 1, 32, 1, 12), row = sum;
    struct graph_op *reduce = graph_op_add(graph, KERN_REDUCE, &e, 1, &sum, 1);
    reduce->k.u.reduce = (struct kern_reduce){ .function = DML_REDUCE_FUNCTION_AVERAGE, .axes = 4 };
    kern_view_set_packed(&row.view, F32, 4, SIZES(1, 1, 1, 384));
    make_gemm(graph,
              (struct graph_operand[]){ row, make_constant(graph, 4, SIZES(1, 1, 384, RESULTS), 0.05f, -1.6e-6f) }, 2,
              make4(graph, GRAPH_OUTPUT, 0, 1, 1, 1, RESULTS));
}

/* The network's results; *out_text = the graph after the passes, without the line of the flags. */
static bool run_network(uint32_t flags, uint32_t cpu, uint64_t disabled, float *results, char **out_text)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct make_run run = { 0 };
    struct graph_options options = make_options(disabled);
    char error[256] = "";
    static float x[32 * 12 * 12];
    options.cpu = cpu;
    for (uint32_t i = 0; i < ARRAY_SIZE(x); i++)
        x[i] = (float)((i * 7919 + 13) % 1009) / 504.5f - 1;
    run.inputs[0] = x;
    run.outputs[0] = results;
    make_network(&graph, flags);
    HRESULT hr = graph_run_passes(&graph, &options);
    *out_text = graph_print(&graph);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&graph, &options, &plan, error);
    graph_finish(&graph);
    bool good = TEST_FOR(SUCCEEDED(hr), "%s", error) && TEST(*out_text != NULL) && make_execute(plan, &run);
    graph_plan_destroy(plan);
    return good;
}

static const char *behind_flags(const char *text)
{
    return strchr(text, '\n');
}

static void same(uint32_t base, uint32_t flags, uint32_t cpu, const char *what)
{
    float a[RESULTS], b[RESULTS];
    char *texts[2] = { NULL, NULL };
    if (run_network(base, cpu, GRAPH_PASS_BIT(half), a, &texts[0]) && run_network(base | flags, cpu, 0, b, &texts[1])) {
        TEST_FOR(!strcmp(behind_flags(texts[0]), behind_flags(texts[1])), "%s", what);
        TEST_FOR(!memcmp(a, b, sizeof(a)), "%s", what);
    }
    free(texts[0]);
    free(texts[1]);
}

static void close_enough(uint32_t cpu)
{
    float exact[RESULTS], half[RESULTS];
    char *texts[2] = { NULL, NULL };
    double most = 0, worst = 0, sum = 0;
    if (run_network(0, cpu, 0, exact, &texts[0]) && run_network(ALLOW, cpu, 0, half, &texts[1])) {
        for (uint32_t i = 0; i < RESULTS; i++) {
            most = fmax(most, fabs((double)exact[i]));
            worst = fmax(worst, fabs((double)half[i] - exact[i]));
            sum += fabs((double)half[i] - exact[i]);
        }
        printf("greatest error %.2g, mean %.2g of the greatest result\n", worst / most, sum / RESULTS / most);
        TEST(worst > 0 && worst <= 0x1p-7 * most);
        TEST(strstr(texts[1], " bf16[") != NULL && strstr(texts[0], " bf16[") == NULL);
    }
    free(texts[0]);
    free(texts[1]);
}

int main(void)
{
    uint32_t cpu = base_cpu_flags();
    same(0, 0, cpu, "without the flag");
    same(0, DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, cpu, "16-bit tensors only");
    same(0, ALLOW, cpu & ~(uint32_t)(BASE_CPU_AMX_BF16 | BASE_CPU_AVX512_BF16), "without the instructions");
    same(DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, ALLOW, cpu, "portable kernels");
    if (cpu & BASE_CPU_AMX_BF16)
        close_enough(cpu);
    return test_result();
}
