/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs with constants: GELU by tanh becomes the form that kernels recognise, and small powers become
 * products. */
#include "graph_make.h"

#include "kernels/core/epilogue.h"

#include <math.h>

#define COUNT 37

static struct graph_operand number(struct graph *graph, float value)
{
    return make_constant(graph, 2, SIZES(1, 1), value, 0);
}

static struct graph_operand apply(struct graph *graph, enum kern_map_code code, struct graph_operand a,
                                  struct graph_operand b, bool unary)
{
    struct graph_operand in[2] = { a, b }, out = graph_temp(graph, F32, a.view.rank, a.view.sizes);
    make_map(graph, code, in, unary ? 1 : 2, out, 0, 0);
    return out;
}

static struct graph_operand by(struct graph *graph, enum kern_map_code code, struct graph_operand a, float value)
{
    return apply(graph, code, a, number(graph, value), false);
}

enum form { BY_POW, BY_PRODUCTS, BY_SIGMOID, ANOTHER_CENTER, FORMS };

/* 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), in its spellings, or with a form that must stay. */
static void gelu(struct graph *graph, enum form form, struct graph_operand x, struct graph_operand out)
{
    const float root = 0.7978845608f;
    struct graph_operand cube = form == BY_POW
                                    ? by(graph, KERN_MAP_POW, x, 3)
                                    : apply(graph, KERN_MAP_MUL, apply(graph, KERN_MAP_MUL, x, x, false), x, false);
    struct graph_operand sum = apply(graph, KERN_MAP_ADD, x, by(graph, KERN_MAP_MUL, cube, 0.044715f), false);
    struct graph_operand gate, scaled = by(graph, KERN_MAP_MUL, sum, form == BY_SIGMOID ? 2 * root : root);
    if (form == BY_SIGMOID)
        gate = apply(graph, KERN_MAP_SIGMOID, scaled, scaled, true);
    else
        gate = by(graph, KERN_MAP_ADD, apply(graph, KERN_MAP_TANH, scaled, scaled, true),
                  form == ANOTHER_CENTER ? 1.5f : 1);
    struct graph_operand in[2] = { form == BY_SIGMOID ? x : by(graph, KERN_MAP_MUL, x, 0.5f), gate };
    make_map(graph, KERN_MAP_MUL, in, 2, out, 0, 0);
}

static double gelu_of(enum form form, double x)
{
    const double center = form == ANOTHER_CENTER ? 1.5 : 1;
    return 0.5 * x * (center + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/* Behind a product by the unit matrix, whose epilogue becomes one step. */
static void check_gelu(enum form form)
{
    static const struct kern_epilogue_support support = { 1, { [KERN_MAP_SWISH] = KERN_EPILOGUE_CUBIC } };
    struct kern_epilogue epilogue;
    struct graph graph;
    float x[COUNT * 2], unit[4] = { 1, 0, 0, 1 }, y[COUNT * 2];
    for (uint32_t i = 0; i < COUNT * 2; i++)
        x[i] = ((float)i - COUNT) * 0.29f;
    graph_init(&graph, 2, 1, 0);
    struct graph_operand a = make_value(&graph, GRAPH_INPUT, 0, F32, 2, SIZES(COUNT, 2));
    struct graph_operand b = make_value(&graph, GRAPH_INPUT, 1, F32, 2, SIZES(2, 2));
    struct graph_operand product = graph_temp(&graph, F32, 2, SIZES(COUNT, 2));
    make_gemm(&graph, (struct graph_operand[]){ a, b }, 2, product);
    gelu(&graph, form, product, make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(COUNT, 2)));
    struct graph_options options = make_options(0);
    HRESULT hr = graph_run_passes(&graph, &options);
    const struct graph_op *gemm = NULL;
    for (uint32_t i = 0; i < graph.op_count; i++)
        if (!graph.ops[i]->dead && graph.ops[i]->k.kind == KERN_GEMM)
            gemm = graph.ops[i];
    const bool one = gemm && gemm->k.epilogue && kern_epilogue_match(&gemm->k, &support, &epilogue);
    TEST_FOR(one == (form != ANOTHER_CENTER), "form %d: %d", form, one);
    TEST(!one || (fabsf(epilogue.step[0].p - 1.5957691f) < 1e-6f && fabsf(epilogue.step[0].q - 0.0713548f) < 1e-7f));
    struct make_run run = { { x, unit }, { y } };
    if (!make_run_graph(&graph, &options, hr, form, &run))
        return;
    for (uint32_t i = 0; i < COUNT * 2; i++)
        TEST_FOR(fabs(y[i] - gelu_of(form, x[i])) < 2e-6 * fmax(1, fabs(x[i])), "form %d: %g: %g", form, x[i], y[i]);
}

static bool alike(float got, double want)
{
    const float rounded = (float)want;
    return isnan(rounded)   ? isnan(got)
           : got == rounded ? !signbit(got) == !signbit(rounded)
                            : fabs(got - want) <= 4e-7 * fabs(want);
}

/* x to a constant power: `product` if no power remains in the program. */
static void check_power(float power, bool product)
{
    const float x[] = { 0.0f, -0.0f, 1, -1, 1.7f, -2.3f, 1e-13f, -1e-12f, 3e12f, -4e12f, INFINITY, -INFINITY, NAN };
    float y[ARRAY_SIZE(x)];
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    struct graph_operand in[2] = { make_value(&graph, GRAPH_INPUT, 0, F32, 2, SIZES(1, ARRAY_SIZE(x))) };
    in[1] = number(&graph, power);
    make_map(&graph, KERN_MAP_POW, in, 2, make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(1, ARRAY_SIZE(x))), 0, 0);
    struct graph_options options = make_options(0);
    HRESULT hr = graph_run_passes(&graph, &options);
    char *text = graph_print(&graph);
    TEST_FOR(text && !strstr(text, "POW(") == product, "%g: %s", power, text);
    free(text);
    struct make_run run = { { (void *)(uintptr_t)x }, { y } };
    if (!make_run_graph(&graph, &options, hr, 0, &run))
        return;
    for (uint32_t i = 0; i < ARRAY_SIZE(x); i++)
        TEST_FOR(alike(y[i], pow(x[i], power)), "%g^%g: %g", x[i], power, y[i]);
}

/* |x| / divisor, and the opposite: a division by one leaves no instruction. */
static void check_quotient(float divisor)
{
    const float x[] = { 0.0f, -0.0f, 1, -1.7f, 3e38f, 1e-45f, INFINITY, -INFINITY, NAN };
    const uint32_t *sizes = SIZES(1, ARRAY_SIZE(x));
    float y[ARRAY_SIZE(x)];
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    struct graph_operand in = make_value(&graph, GRAPH_INPUT, 0, F32, 2, sizes);
    struct graph_operand parts[2] = { make_value(&graph, GRAPH_TEMP, 0, F32, 2, sizes), number(&graph, divisor) };
    struct graph_operand quotient = make_value(&graph, GRAPH_TEMP, 0, F32, 2, sizes);
    make_map(&graph, KERN_MAP_ABS, &in, 1, parts[0], 0, 0);
    make_map(&graph, KERN_MAP_DIV, parts, 2, quotient, 0, 0);
    make_map(&graph, KERN_MAP_NEG, &quotient, 1, make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, sizes), 0, 0);
    struct graph_options options = make_options(0);
    HRESULT hr = graph_run_passes(&graph, &options);
    char *text = graph_print(&graph);
    TEST_FOR(text && !strstr(text, "MULADD(") == (divisor == 1) && !strstr(text, "DIV("), "%g: %s", divisor, text);
    free(text);
    struct make_run run = { { (void *)(uintptr_t)x }, { y } };
    if (!make_run_graph(&graph, &options, hr, 0, &run))
        return;
    for (uint32_t i = 0; i < ARRAY_SIZE(x); i++)
        TEST_FOR(alike(y[i], -fabs(x[i]) / divisor), "-|%g| / %g: %g", x[i], divisor, y[i]);
}

int main(void)
{
    for (enum form form = 0; form < FORMS; form++)
        check_gelu(form);
    check_power(2, true);
    check_power(3, true);
    check_power(4, true);
    check_power(-1, true);
    check_power(0.5f, false);
    check_power(5, false);
    check_quotient(1);
    check_quotient(4);
    return test_result();
}
