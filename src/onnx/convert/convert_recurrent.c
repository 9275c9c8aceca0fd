/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM. */
#include "onnx/convert/converters.h"

#include <strings.h>

struct cell {
    const char *op;
    uint32_t gates, activations;
    const char *usual[3];
};

static const struct cell cells[] = {
    { "RNN", 1, 1, { "Tanh" } },
    { "GRU", 3, 2, { "Sigmoid", "Tanh" } },
    { "LSTM", 4, 3, { "Sigmoid", "Tanh", "Tanh" } },
};

/* Activations, the number of their attributes and the defaults, in the order of the DirectML fields. */
static const struct function {
    const char *name;
    DML_OPERATOR_TYPE type;
    uint32_t parameters;
    float otherwise[2];
} functions[] = {
    { "Relu", DML_OPERATOR_ACTIVATION_RELU, 0, { 0 } },
    { "Tanh", DML_OPERATOR_ACTIVATION_TANH, 0, { 0 } },
    { "Sigmoid", DML_OPERATOR_ACTIVATION_SIGMOID, 0, { 0 } },
    { "Softsign", DML_OPERATOR_ACTIVATION_SOFTSIGN, 0, { 0 } },
    { "Softplus", DML_OPERATOR_ACTIVATION_SOFTPLUS, 0, { 1.0f } },
    { "LeakyRelu", DML_OPERATOR_ACTIVATION_LEAKY_RELU, 1, { 0.01f } },
    { "ThresholdedRelu", DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU, 1, { 1.0f } },
    { "Elu", DML_OPERATOR_ACTIVATION_ELU, 1, { 1.0f } },
    { "Affine", DML_OPERATOR_ACTIVATION_LINEAR, 2, { 1.0f, 0.0f } },
    { "ScaledTanh", DML_OPERATOR_ACTIVATION_SCALED_TANH, 2, { 1.0f, 1.0f } },
    { "HardSigmoid", DML_OPERATOR_ACTIVATION_HARD_SIGMOID, 2, { 0.2f, 0.5f } },
};

#define ACTIVATIONS_MAX 6

struct recurrent {
    const struct cell *cell;
    int64_t steps, batch, inputs, hidden, directions;
    bool batch_first;
    bool transposed; /* W and R are [D, I, 4 H] and [D, H, 4 H] */
    DML_RECURRENT_NETWORK_DIRECTION direction;
    DML_OPERATOR_DESC activations[ACTIVATIONS_MAX];
    DML_ACTIVATION_LINEAR_OPERATOR_DESC parameters[ACTIVATIONS_MAX]; /* no desc is larger */
    struct onnx_desc d[12];
};

/* ---- attributes ---- */

static const struct function *function_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
        if (!strcasecmp(functions[i].name, name))
            return &functions[i];
    }
    return NULL;
}

/* activation_alpha and activation_beta have values only for functions that use one, in their order. */
static bool read_activations(struct onnx_builder *b, const struct onnx_node *n, struct recurrent *r)
{
    const struct onnx_attribute *names = onnx_attribute(n, "activations");
    const struct onnx_attribute *given[2] = { onnx_attribute(n, "activation_alpha"),
                                              onnx_attribute(n, "activation_beta") };
    uint32_t used[2] = { 0, 0 }, count = r->cell->activations * (uint32_t)r->directions;
    /* More are allowed: the schema's default for RNN lists those of both directions. */
    if (names && names->count && (!names->strings || names->count < count))
        return onnx_fail(b, "activations has %u values, %u are needed", names->count, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = names && names->count ? names->strings[i] : r->cell->usual[i % r->cell->activations];
        const struct function *f = function_find(name);
        if (!f)
            return onnx_fail(b, "activation '%.60s' is not supported", name);
        float value[2] = { f->otherwise[0], f->otherwise[1] };
        for (uint32_t p = 0; p < f->parameters; p++) {
            if (given[p] && given[p]->floats && used[p] < given[p]->count)
                value[p] = given[p]->floats[used[p]++];
        }
        r->parameters[i] = (DML_ACTIVATION_LINEAR_OPERATOR_DESC){ NULL, NULL, value[0], value[1] };
        r->activations[i] = (DML_OPERATOR_DESC){ f->type, &r->parameters[i] };
    }
    return true;
}

static bool read_direction(struct onnx_builder *b, const struct onnx_node *n, struct recurrent *r)
{
    static const char *const names[] = { "forward", "reverse", "bidirectional" };
    const char *direction = onnx_attr_string(n, "direction", "forward");
    uint32_t i = 0;
    while (i < ARRAY_SIZE(names) && strcmp(names[i], direction))
        i++;
    if (i == ARRAY_SIZE(names))
        return onnx_fail(b, "direction '%.60s' is not supported", direction);
    r->direction = (DML_RECURRENT_NETWORK_DIRECTION)i;
    r->directions = i == 2 ? 2 : 1;
    return true;
}

/* ---- inputs ---- */

static bool has_shape(struct onnx_builder *b, const struct onnx_value *v, uint32_t rank, const int64_t *dims)
{
    bool same = !v || v->rank == rank;
    for (uint32_t i = 0; v && same && i < rank; i++)
        same = v->dims[i] == dims[i];
    return same || onnx_misfit(b, "'%s' does not have the shape that follows from the other inputs", v->name);
}

static bool read_shapes(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *const *in,
                        struct recurrent *r)
{
    if (in[0]->rank != 3 || in[2]->rank != 3)
        return onnx_fail(b, "X and R must have 3 dimensions");
    r->batch_first = onnx_attr_int(n, "layout", 0) != 0;
    r->steps = in[0]->dims[r->batch_first];
    r->batch = in[0]->dims[!r->batch_first];
    r->inputs = in[0]->dims[2];
    r->hidden = in[2]->dims[r->transposed ? 1 : 2];
    const int64_t d = r->directions, h = r->hidden, rows = r->cell->gates * h;
    const int64_t state[] = { r->batch_first ? r->batch : d, r->batch_first ? d : r->batch, h };
    if (onnx_attr_int(n, "hidden_size", h) != h)
        return onnx_misfit(b, "hidden_size is %lld, R has %lld columns", (long long)onnx_attr_int(n, "hidden_size", 0),
                           (long long)h);
    for (uint32_t i = 0; i < 8; i++) {
        if (in[i] && i != 4 && in[i]->type != in[0]->type)
            return onnx_fail(b, "'%s' is %s, X is %s", in[i]->name, onnx_type_name(in[i]->type),
                             onnx_type_name(in[0]->type));
    }
    const int64_t w[2][3] = { { d, rows, r->inputs }, { d, r->inputs, rows } };
    const int64_t recurrence[2][3] = { { d, rows, h }, { d, h, rows } };
    return has_shape(b, in[1], 3, w[r->transposed]) && has_shape(b, in[2], 3, recurrence[r->transposed]) &&
           has_shape(b, in[3], 2, (const int64_t[]){ d, 2 * rows }) && has_shape(b, in[4], 1, &r->batch) &&
           has_shape(b, in[5], 3, state) && has_shape(b, in[6], 3, state) &&
           has_shape(b, in[7], 2, (const int64_t[]){ d, 3 * h });
}

/* {1, a, b, c}, viewed through an exchange of the first two dimensions if `swap`: the value is packed as {b, a, c}. */
static const DML_TENSOR_DESC *swapped(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, bool swap,
                                      int64_t first, int64_t second, int64_t third)
{
    const int64_t dims[4] = { 1, first, second, third };
    const uint32_t strides[4] = { (uint32_t)(first * second * third), (uint32_t)(swap ? third : second * third),
                                  (uint32_t)(swap ? first * third : third), 1 };
    return onnx_desc_strided(b, d, v, 4, dims, swap ? strides : NULL);
}

/* {1, directions, rows, columns} */
static const DML_TENSOR_DESC *matrices(struct onnx_builder *b, const struct recurrent *r, struct onnx_desc *d,
                                       struct onnx_value *v, int64_t rows, int64_t columns)
{
    const int64_t dims[4] = { 1, r->directions, rows, columns };
    const uint32_t each = (uint32_t)(rows * columns), strides[4] = { each, each, 1, (uint32_t)rows };
    return onnx_desc_strided(b, d, v, 4, dims, r->transposed ? strides : NULL);
}

/* {1, 1, directions, n} */
static const DML_TENSOR_DESC *rows_of(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, int64_t rows)
{
    return onnx_desc_as(b, d, v, 4, (const int64_t[]){ 1, 1, rows, v ? onnx_elements(v) / rows : 1 });
}

/* Y is [T, D, B, H]; with the batch first [B, T, D, H]. */
static const DML_TENSOR_DESC *sequence_desc(struct onnx_builder *b, const struct recurrent *r, struct onnx_desc *d,
                                            struct onnx_value *v)
{
    const int64_t dims[4] = { r->steps, r->directions, r->batch, r->hidden };
    const uint32_t strides[4] = { (uint32_t)(r->directions * r->hidden), (uint32_t)r->hidden,
                                  (uint32_t)(r->steps * r->directions * r->hidden), 1 };
    return onnx_desc_strided(b, d, v, 4, dims, r->batch_first ? strides : NULL);
}

static bool make_outputs(struct onnx_builder *b, const struct onnx_node *n, const struct recurrent *r, int32_t type,
                         struct onnx_value **out)
{
    const int64_t t = r->steps, d = r->directions, h = r->hidden, rows = r->batch;
    const int64_t plain[] = { t, d, rows, h }, transposed[] = { rows, t, d, h };
    const int64_t state[] = { d, rows, h }, transposed_state[] = { rows, d, h };
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 0 && onnx_has_output(n, 0))
            out[0] = onnx_out(b, n, 0, type, 4, r->batch_first ? transposed : plain);
        else if (onnx_has_output(n, i) && (i < 2 || r->cell->gates == 4))
            out[i] = onnx_out(b, n, i, type, 3, r->batch_first ? transposed_state : state);
    }
    if (!out[0] && !out[1] && !out[2])
        out[0] = onnx_temp(b, type, 4, r->batch_first ? transposed : plain);
    return !b->failed;
}

/* ---- the operators ---- */

/* in: ONNX's inputs. LSTM's fields start like the others, except for the initial cell state and the peepholes. */
static bool emit_recurrent(struct onnx_builder *b, const struct onnx_node *n, struct recurrent *r,
                           struct onnx_value **in, struct onnx_value **out)
{
    const int64_t d = r->directions, h = r->hidden, rows = r->cell->gates * h;
    struct onnx_desc *t = r->d;
    bool swap = r->batch_first;
    const DML_TENSOR_DESC *x = swapped(b, &t[0], in[0], swap, r->steps, r->batch, r->inputs);
    const DML_TENSOR_DESC *weight = matrices(b, r, &t[1], in[1], rows, r->inputs);
    const DML_TENSOR_DESC *recurrence = matrices(b, r, &t[2], in[2], rows, h);
    const DML_TENSOR_DESC *bias = rows_of(b, &t[3], in[3], d), *lengths = rows_of(b, &t[4], in[4], 1);
    const DML_TENSOR_DESC *hidden = swapped(b, &t[5], in[5], swap, d, r->batch, h);
    const DML_TENSOR_DESC *y = sequence_desc(b, r, &t[6], out[0]);
    const DML_TENSOR_DESC *last = swapped(b, &t[7], out[1], swap, d, r->batch, h);
    const UINT count = r->cell->activations * (UINT)d;
    const float clip = onnx_attr_float(n, "clip", 0);
    if (r->cell->gates == 1) {
        DML_RNN_OPERATOR_DESC desc = { x, weight, recurrence, bias,           hidden,      lengths,
                                       y, last,   count,      r->activations, r->direction };
        struct onnx_value *slots[] = { in[0], in[1], in[2], in[3], in[5], in[4] };
        return onnx_emit(b, DML_OPERATOR_RNN, &desc, slots, 6, out, 2);
    }
    if (r->cell->gates == 3) {
        DML_GRU_OPERATOR_DESC desc = {
            x, weight, recurrence, bias,           hidden,       lengths,
            y, last,   count,      r->activations, r->direction, onnx_attr_int(n, "linear_before_reset", 0) != 0
        };
        struct onnx_value *slots[] = { in[0], in[1], in[2], in[3], in[5], in[4] };
        return onnx_emit(b, DML_OPERATOR_GRU, &desc, slots, 6, out, 2);
    }
    DML_LSTM_OPERATOR_DESC desc = { x,
                                    weight,
                                    recurrence,
                                    bias,
                                    hidden,
                                    swapped(b, &t[8], in[6], swap, d, r->batch, h),
                                    lengths,
                                    rows_of(b, &t[9], in[7], d),
                                    y,
                                    last,
                                    swapped(b, &t[10], out[2], swap, d, r->batch, h),
                                    count,
                                    r->activations,
                                    r->direction,
                                    clip,
                                    clip > 0,
                                    onnx_attr_int(n, "input_forget", 0) != 0 };
    struct onnx_value *slots[] = { in[0], in[1], in[2], in[3], in[5], in[6], in[4], in[7] };
    return onnx_emit(b, DML_OPERATOR_LSTM, &desc, slots, 8, out, 3);
}

/* Tokens without elements are equivalent to tokens of one zero. */
static bool widen_tokens(struct onnx_builder *b, struct recurrent *r, struct onnx_value **in)
{
    for (uint32_t i = 0; i < 2 && !r->inputs; i++) {
        const int64_t dims[] = { in[i]->dims[0], in[i]->dims[1], 1 };
        in[i] = onnx_broadcast_copy(b, onnx_scalar(b, in[i]->type, 0), 3, dims);
        if (!in[i])
            return false;
    }
    r->inputs = r->inputs ? r->inputs : 1;
    return true;
}

/* After no tokens, the states are the initial ones. */
static bool keep_states(struct onnx_builder *b, struct onnx_value *const *in, struct onnx_value *const *out)
{
    if (out[0] && !onnx_constant_data(b, out[0]))
        return false;
    for (uint32_t i = 1; i < 3; i++) {
        bool done = !out[i] ||
                    (in[4 + i] ? onnx_alias(b, out[i], in[4 + i]) : onnx_fill_to(b, out[i], (DML_SCALAR_UNION){ 0 }));
        if (!done)
            return false;
    }
    return true;
}

static bool convert(struct onnx_builder *b, const struct onnx_node *n, bool transposed)
{
    struct recurrent r = { .transposed = transposed };
    struct onnx_value *in[8] = { NULL }, *out[3] = { NULL };
    for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
        r.cell = !strcmp(cells[i].op, n->op) ? &cells[i] : r.cell;
    for (uint32_t i = 0; i < (r.cell->gates == 4 ? 8u : 6u); i++)
        in[i] = i < 3 ? onnx_in(b, n, i) : onnx_in_optional(b, n, i);
    if (b->failed || !read_direction(b, n, &r) || !read_activations(b, n, &r) || !read_shapes(b, n, in, &r))
        return false;
    if (in[0]->type == ONNX_DOUBLE) /* DirectML's operators do not support float64 */
        return onnx_in_type(b, n, onnx_recurrent, 0xef, ONNX_FLOAT);
    if (onnx_attr_float(n, "clip", 0) > 0 && r.cell->gates != 4)
        return onnx_fail(b, "clip is not supported");
    in[4] = onnx_convert(b, in[4], ONNX_UINT32);
    if (b->failed || !make_outputs(b, n, &r, in[0]->type, out))
        return false;
    if (!r.steps)
        return keep_states(b, in, out);
    return widen_tokens(b, &r, in) && emit_recurrent(b, n, &r, in, out);
}

bool onnx_recurrent(struct onnx_builder *b, const struct onnx_node *n)
{
    return convert(b, n, false);
}

bool onnx_lstm_transposed(struct onnx_builder *b, const struct onnx_node *n)
{
    return convert(b, n, true);
}
