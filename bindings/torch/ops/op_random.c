/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the words of Philox 4x32-10, converted to distributions. Equal seeds give equal numbers, regardless
 * of the number of threads and of the adapter. */
#include "index.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

#define PI 3.14159265358979323846

/* The index of the generator: the first argument that is one. */
static uint32_t generator_of(const struct aten_node *n)
{
    uint32_t i = 0;
    while (i < n->arg_count && n->args[i].kind != ATEN_GENERATOR)
        i++;
    return i;
}

static int64_t wanted_count(const struct aten_node *n)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < n->outputs[0].rank; i++)
        count *= n->outputs[0].sizes[i];
    return count;
}

static bool result(struct aten_graph *g, const struct aten_node *n, struct aten_value *y)
{
    return aten_result(g, n, 0, aten_reshape(g, y, n->outputs[0].rank, n->outputs[0].sizes));
}

static int32_t computed_in(int32_t type)
{
    return type == ATEN_FLOAT64 ? type : ATEN_FLOAT32;
}

static struct aten_value *uniform(struct aten_graph *g, const struct aten_node *n, int32_t type)
{
    return aten_uniform(g, n, generator_of(n), type, wanted_count(n));
}

/* Uniform numbers in (0, 1], with a finer resolution near 0 than `uniform`, for logarithms. */
static struct aten_value *positive(struct aten_graph *g, const struct aten_node *n, int32_t type, int64_t count)
{
    const bool wide = type == ATEN_FLOAT64;
    struct aten_value *w = aten_random_words(g, n, generator_of(n), wide, count);
    const double step = wide ? 0x1p-53 : 0x1p-32;
    if (wide)
        w = aten_divide(g, w, aten_scalar_int(g, ATEN_UINT64, INT64_C(1) << 11));
    return aten_scaled(g, aten_convert(g, w, computed_in(type)), step, step / 2);
}

/* The Box-Muller transform: two uniform numbers yield two normal ones. */
static struct aten_value *normal(struct aten_graph *g, const struct aten_node *n, int32_t type)
{
    const int64_t count = wanted_count(n), half = (count + 1) / 2;
    struct aten_value *u = positive(g, n, type, 2 * half), *parts[2];
    struct aten_value *radius = aten_apply(g, EW(LOG), aten_slice(g, u, 0, 0, half, 1));
    radius = aten_apply(g, EW(SQRT), aten_scaled(g, radius, -2, 0));
    struct aten_value *angle = aten_scaled(g, aten_slice(g, u, 0, half, half, 1), 2 * PI, 0);
    parts[0] = aten_multiply(g, radius, aten_apply(g, EW(COS), angle));
    parts[1] = aten_multiply(g, radius, aten_apply(g, EW(SIN), angle));
    return count ? aten_slice(g, aten_join(g, parts, 2, 0), 0, 0, count, 1) : u;
}

/* Reshapes to the shape of the result, so that tensors of means, deviations and probabilities broadcast. */
static struct aten_value *shaped(struct aten_graph *g, const struct aten_node *n, struct aten_value *y)
{
    return aten_reshape(g, y, n->outputs[0].rank, n->outputs[0].sizes);
}

/* uniform(self, from, to, generator) */
bool aten_build_uniform(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type, in = computed_in(type);
    struct aten_value *from = aten_in_as(g, n, 1, in), *to = aten_in_as(g, n, 2, in);
    aten_bound(g, n, (struct aten_bound){ ATEN_BOUND_ORDER, .argument = 1, .element = 2 });
    return result(g, n, aten_add(g, aten_multiply(g, uniform(g, n, type), aten_subtract(g, to, from)), from));
}

/* normal(self, mean, std, generator): parameter 1; normal(mean, std, ...): 0, with numbers or tensors; 2: its
 * exponential */
bool aten_build_normal(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t in = computed_in(n->outputs[0].type);
    const uint32_t first = n->parameter != 0;
    struct aten_value *z = shaped(g, n, normal(g, n, n->outputs[0].type));
    z = aten_multiply(g, z, aten_in_as(g, n, first + 1, in));
    z = aten_add(g, z, aten_in_as(g, n, first, in));
    return aten_result(g, n, 0, n->parameter == 2 ? aten_apply(g, EW(EXP), z) : z);
}

/* bernoulli(self, generator), bernoulli(self, p, generator): parameter: index of the probability */
bool aten_build_bernoulli(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_value *self = aten_is_tensor(n, (uint32_t)n->parameter) ? n->args[n->parameter].values[0] : NULL;
    const int32_t in = self && self->type == ATEN_FLOAT64 ? ATEN_FLOAT64 : ATEN_FLOAT32;
    struct aten_value *p = aten_in_as(g, n, (uint32_t)n->parameter, in);
    return aten_result(g, n, 0, aten_apply2(g, EW(LOGICAL_LESS_THAN), shaped(g, n, uniform(g, n, in)), p));
}

/* native_dropout(input, p, train) -> (output, mask) */
bool aten_build_dropout(struct aten_graph *g, const struct aten_node *n)
{
    const double p = aten_real(g, n, 1, 0.5);
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x)
        return false;
    if (aten_given(n, 2) && !aten_int(g, n, 2, 1))
        return aten_result(g, n, 0, x) && aten_result(g, n, 1, aten_scalar(g, ATEN_BOOLEAN, 1));
    if (p >= 1)
        return aten_result(g, n, 0, aten_scalar(g, x->type, 0)) &&
               aten_result(g, n, 1, aten_scalar(g, ATEN_BOOLEAN, 0));
    struct aten_value *kept = aten_apply2(g, EW(LOGICAL_LESS_THAN), shaped(g, n, uniform(g, n, ATEN_FLOAT32)),
                                          aten_scalar(g, ATEN_FLOAT32, 1 - p));
    struct aten_value *y = aten_select(g, kept, aten_scaled(g, x, 1 / (1 - p), 0), aten_scalar(g, x->type, 0));
    return aten_result(g, n, 0, y) && aten_result(g, n, 1, kept);
}

/* native_dropout_backward(grad_output, mask, scale) */
bool aten_build_dropout_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *grad = aten_multiply(g, aten_in_as(g, n, 0, type), aten_in_as(g, n, 2, type));
    struct aten_value *kept = aten_convert(g, aten_in(g, n, 1), ATEN_BOOLEAN);
    return aten_result(g, n, 0, aten_select(g, kept, grad, aten_scalar(g, type, 0)));
}

/* exponential(self, lambd) */
bool aten_build_exponential(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t in = computed_in(n->outputs[0].type);
    struct aten_value *u = aten_apply(g, EW(LOG), positive(g, n, in, wanted_count(n)));
    return result(g, n, aten_divide(g, aten_apply(g, EW(NEGATE), u), aten_in_as(g, n, 1, in)));
}

/* cauchy(self, median, sigma) */
bool aten_build_cauchy(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t in = computed_in(n->outputs[0].type);
    struct aten_value *u = aten_scaled(g, positive(g, n, in, wanted_count(n)), PI, -PI / 2);
    u = aten_multiply(g, aten_apply(g, EW(TAN), u), aten_in_as(g, n, 2, in));
    return result(g, n, aten_add(g, u, aten_in_as(g, n, 1, in)));
}

/* geometric(self, p) */
bool aten_build_geometric(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t in = computed_in(n->outputs[0].type);
    struct aten_value *u = aten_apply(g, EW(LOG), positive(g, n, in, wanted_count(n)));
    struct aten_value *fail = aten_apply(g, EW(LOG), aten_scaled(g, aten_in_as(g, n, 1, in), -1, 1));
    struct aten_value *y = aten_apply(g, EW(CEIL), aten_divide(g, u, fail));
    return result(g, n, aten_apply2(g, EW(MAX), y, aten_scalar(g, in, 1)));
}

/* ---- gamma distributions ---- */

/* Proposals for each number. At least 0.95 of them are accepted, so that 3 of 10^11 numbers are the most probable one
 * instead. */
#define ROUNDS 8

static double least_of(int32_t type)
{
    return type == ATEN_FLOAT16 ? 0x1p-14 : type == ATEN_FLOAT64 ? 0x1p-1022 : 0x1p-126;
}

/* Row `row` of x of rank 2, as rank 1. */
static struct aten_value *row_of(struct aten_graph *g, struct aten_value *x, int64_t row)
{
    return aten_squeeze(g, aten_slice(g, x, 0, row, 1, 1), 0);
}

/* Marsaglia and Tsang: d v with v = (1 + x / (3 sqrt(d)))^3, d = alpha - 1/3 and a normal x, accepted if
 * log u < x^2 / 2 + d (1 - v + log v). Below 1, the variate of alpha + 1 times u^(1 / alpha). Of rank 1, as alpha. */
static struct aten_value *gamma_of(struct aten_graph *g, const struct aten_node *n, struct aten_value *alpha)
{
    const int64_t count = alpha ? aten_elements(alpha) : 0, sizes[2] = { 3 * ROUNDS + 1, count };
    if (!count)
        return alpha;
    struct aten_value *one = aten_scalar(g, alpha->type, 1);
    struct aten_value *u = positive(g, n, alpha->type, sizes[0] * count);
    u = aten_reshape(g, u, 2, sizes);
    struct aten_value *x =
        aten_apply(g, EW(SQRT), aten_scaled(g, aten_apply(g, EW(LOG), aten_slice(g, u, 0, 0, ROUNDS, 1)), -2, 0));
    x = aten_multiply(g, x, aten_apply(g, EW(COS), aten_scaled(g, aten_slice(g, u, 0, ROUNDS, ROUNDS, 1), 2 * PI, 0)));
    struct aten_value *chance = aten_apply(g, EW(LOG), aten_slice(g, u, 0, 2 * ROUNDS, ROUNDS, 1));
    struct aten_value *small = aten_apply2(g, EW(LOGICAL_LESS_THAN), alpha, one);
    struct aten_value *d = aten_scaled(g, aten_select(g, small, aten_scaled(g, alpha, 1, 1), alpha), 1, -1.0 / 3);
    struct aten_value *wide_d = aten_unsqueeze(g, d, 0);
    struct aten_value *root = aten_divide(g, x, aten_scaled(g, aten_apply(g, EW(SQRT), wide_d), 3, 0));
    root = aten_scaled(g, root, 1, 1);
    struct aten_value *v = aten_multiply(g, root, aten_multiply(g, root, root));
    struct aten_value *bound = aten_add(g, aten_scaled(g, v, -1, 1), aten_apply(g, EW(LOG), v)); /* NaN below 0 */
    bound = aten_add(g, aten_scaled(g, aten_multiply(g, x, x), 0.5, 0), aten_multiply(g, wide_d, bound));
    struct aten_value *taken =
        aten_apply2(g, EW(LOGICAL_AND), aten_apply2(g, EW(LOGICAL_LESS_THAN), chance, bound),
                    aten_apply2(g, EW(LOGICAL_GREATER_THAN), root, aten_scalar(g, alpha->type, 0)));
    struct aten_value *y = one;
    for (int64_t i = ROUNDS; i-- > 0;)
        y = aten_select(g, row_of(g, taken, i), row_of(g, v, i), y);
    struct aten_value *less = aten_divide(g, aten_apply(g, EW(LOG), row_of(g, u, 3 * ROUNDS)), alpha);
    y = aten_multiply(g, aten_multiply(g, d, y), aten_select(g, small, aten_apply(g, EW(EXP), less), one));
    return aten_apply2(g, EW(MAX), y, aten_scalar(g, y ? y->type : ATEN_FLOAT32, least_of(n->outputs[0].type)));
}

/* _standard_gamma(self, generator) */
bool aten_build_standard_gamma(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *alpha = aten_in_as(g, n, 0, computed_in(n->outputs[0].type));
    return result(g, n, gamma_of(g, n, aten_flat(g, alpha)));
}

/* _sample_dirichlet(self, generator): gamma variates divided by their sum */
bool aten_build_sample_dirichlet(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *alpha = aten_in_as(g, n, 0, computed_in(n->outputs[0].type));
    struct aten_value *y = shaped(g, n, gamma_of(g, n, aten_flat(g, alpha)));
    if (!y || !y->rank || !aten_elements(y))
        return result(g, n, y && !y->rank ? aten_scalar(g, y->type, 1) : y);
    y = aten_divide(g, y, aten_reduced(g, DML_REDUCE_FUNCTION_SUM, y, 1u << (y->rank - 1), y->type));
    y = aten_apply2(g, EW(MAX), y, aten_scalar(g, y ? y->type : ATEN_FLOAT32, least_of(n->outputs[0].type)));
    return aten_result(g, n, 0, y);
}

/* ---- integers ---- */

/* The exponent of 2 up to which the type represents every integer. */
static int digits_of(int32_t type)
{
    switch (type) {
    case ATEN_BOOLEAN:
        return 1;
    case ATEN_UINT8:
        return 8;
    case ATEN_INT8:
        return 7;
    case ATEN_INT16:
        return 15;
    case ATEN_INT32:
        return 31;
    case ATEN_FLOAT16:
        return 11;
    case ATEN_BFLOAT16:
        return 8;
    case ATEN_FLOAT32:
        return 24;
    case ATEN_FLOAT64:
        return 53;
    default:
        return 63;
    }
}

/* random(self), random(self, to): parameter 1; random(self, from, to): 2. */
bool aten_build_random(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    const int digits = digits_of(type);
    const bool whole = n->parameter == 2 && !aten_given(n, 2) && type == ATEN_INT64;
    const int64_t from = n->parameter == 2 ? aten_int(g, n, 1, 0) : 0;
    const int64_t most = digits == 63 ? INT64_MAX : (INT64_C(1) << digits) - (aten_is_float(type) ? 0 : 1);
    const int64_t to = n->parameter ? aten_int(g, n, (uint32_t)n->parameter, most) : most;
    const bool closed = !n->parameter || !aten_given(n, (uint32_t)n->parameter); /* `to` itself is included */
    const uint64_t range = (uint64_t)to - (uint64_t)from + closed;
    const bool wide = whole || range >= UINT64_C(1) << 28 || !range;
    struct aten_value *w = aten_random_words(g, n, generator_of(n), wide, wanted_count(n));
    if (w && range && !(whole && from == INT64_MIN))
        w = aten_apply2(g, EW(MODULUS_TRUNCATE), w, aten_scalar_int(g, w->type, (int64_t)range));
    w = aten_convert(g, w, ATEN_INT64);
    return result(g, n, aten_add(g, w, aten_scalar_int(g, ATEN_INT64, from)));
}

/* randperm(n): sorts random keys */
bool aten_build_randperm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *keys = aten_random_words(g, n, generator_of(n), true, wanted_count(n)), *order;
    if (!keys || !aten_elements(keys))
        return aten_result(g, n, 0, aten_convert(g, keys, n->outputs[0].type));
    aten_sorted(g, keys, 0, keys->sizes[0], false, &order);
    return aten_result(g, n, 0, order);
}

/* multinomial(self, num_samples, replacement): the largest p / e, where e is exponential; with replacement, searches
 * uniform numbers in the running sums. */
bool aten_build_multinomial(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *p = aten_in(g, n, 0), *order;
    const int64_t samples = aten_int(g, n, 1, 1);
    const int32_t in = p ? computed_in(p->type) : ATEN_FLOAT32;
    if (!p || !p->rank || p->rank > 2 || !aten_is_float(p->type) || n->outputs[0].type != ATEN_INT64)
        return aten_fail(g, "self must have 1 or 2 dimensions, of floating point, and the result int64");
    const uint32_t axis = p->rank - 1;
    if (p->sizes[axis] > 1 << 24) /* torch's limit */
        return aten_fail(g, "there are %lld categories, must be at most 2^24", (long long)p->sizes[axis]);
    if (samples < 1 || (!aten_int(g, n, 2, 0) && samples > p->sizes[axis]))
        return aten_fail(g, "num_samples must be at least 1, and without replacement at most %lld",
                         (long long)p->sizes[axis]);
    aten_bound(g, n, (struct aten_bound){ ATEN_BOUND_CHANCE, .argument = 0 });
    p = aten_convert(g, p, in);
    if (aten_int(g, n, 2, 0) && samples > 1) {
        struct aten_value *sums = aten_running_sum(g, p, axis);
        struct aten_value *last = aten_slice(g, sums, axis, p->sizes[axis] - 1, 1, 1);
        struct aten_value *u = aten_multiply(g, shaped(g, n, uniform(g, n, in)), last);
        struct aten_value *after = aten_apply2(g, EW(LOGICAL_GREATER_THAN_OR_EQUAL), aten_unsqueeze(g, u, p->rank),
                                               axis ? aten_unsqueeze(g, sums, axis) : sums);
        after = aten_reduced(g, DML_REDUCE_FUNCTION_SUM, aten_convert(g, after, ATEN_INT64), 1u << p->rank, ATEN_INT64);
        return aten_result(g, n, 0, aten_squeeze(g, after, p->rank));
    }
    if (samples > p->sizes[axis])
        return aten_fail(g, "num_samples is %lld, must be at most %lld without replacement", (long long)samples,
                         (long long)p->sizes[axis]);
    struct aten_value *e = aten_apply(g, EW(LOG), positive(g, n, in, aten_elements(p)));
    e = aten_reshape(g, aten_apply(g, EW(NEGATE), e), p->rank, p->sizes);
    /* An exponential number of 0 would yield 0 / 0 for probabilities of 0. */
    aten_sorted(g, aten_divide(g, p, aten_scaled(g, e, 1, 1e-38)), axis, samples, true, &order);
    return aten_result(g, n, 0, order);
}

/* rrelu_with_noise(self, noise, lower, upper, training, generator), which writes noise. */
bool aten_build_rrelu(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    const double lower = aten_real(g, n, 2, 0.125), upper = aten_real(g, n, 3, 1.0 / 3);
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (!x)
        return false;
    struct aten_value *above =
        aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN, x, aten_scalar(g, type, 0));
    struct aten_value *one = aten_scalar(g, type, 1), *slope = aten_scalar(g, type, (lower + upper) / 2);
    if (!aten_int(g, n, 4, 0)) {
        struct aten_value *y = aten_multiply(g, x, aten_select(g, above, one, slope));
        return aten_result(g, n, 0, y) && (!aten_wanted(n, 1) || aten_result(g, n, 1, aten_in(g, n, 1)));
    }
    slope = aten_convert(g, aten_uniform(g, n, 5, n->outputs[0].type, aten_elements(x)), type);
    slope = aten_reshape(g, aten_scaled(g, slope, upper - lower, lower), x->rank, x->sizes);
    slope = aten_select(g, above, one, slope);
    return aten_result(g, n, 0, aten_multiply(g, x, slope)) && (!aten_wanted(n, 1) || aten_result(g, n, 1, slope));
}
