/* SPDX-License-Identifier: Apache-2.0 */
/* DirectML operators as functions of values. */
#include "graph.h"

#include <math.h>

/* Computes the broadcast sizes, by numpy's rules. */
static bool broadcast(struct aten_graph *g, const struct aten_value *x, const struct aten_value *y, uint32_t *out_rank,
                      int64_t *out_sizes)
{
    const uint32_t rank = BASE_MAX(x->rank, y->rank);
    *out_rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t a = i + x->rank < rank ? 1 : x->sizes[i + x->rank - rank];
        int64_t b = i + y->rank < rank ? 1 : y->sizes[i + y->rank - rank];
        if (a != b && a != 1 && b != 1)
            return aten_fail(g, "sizes %lld and %lld at dimension %u do not broadcast", (long long)a, (long long)b, i);
        out_sizes[i] = a == 1 ? b : a;
    }
    return true;
}

/* ---- one tensor ---- */

static struct aten_value *apply(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x, int32_t to)
{
    struct aten_value *y = x ? aten_new(g, to, x->rank, x->sizes) : NULL;
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    /* After the tensors, floating-point operators have a ScaleBias pointer and the others nothing; both are zero
     * here. */
    DML_ACTIVATION_LINEAR_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), 0, 0 };
    return aten_emit(g, type, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_apply(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x)
{
    return x ? apply(g, type, x, x->type) : NULL;
}

struct aten_value *aten_copy_of(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply(g, DML_OPERATOR_ELEMENT_WISE_IDENTITY, x);
}

struct aten_value *aten_test(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x, int mode)
{
    struct aten_value *y = x ? aten_new(g, ATEN_BOOLEAN, x->rank, x->sizes) : NULL;
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y),
                                                        (DML_IS_INFINITY_MODE)mode };
    return aten_emit(g, type, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_round(struct aten_graph *g, struct aten_value *x, DML_ROUNDING_MODE mode)
{
    struct aten_value *y = x ? aten_new(g, x->type, x->rank, x->sizes) : NULL;
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_ROUND_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), mode };
    return aten_emit(g, DML_OPERATOR_ELEMENT_WISE_ROUND, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_not(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply(g, DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT, x);
}

struct aten_value *aten_convert(struct aten_graph *g, struct aten_value *x, int32_t type)
{
    if (!x || g->failed || x->type == type)
        return g->failed ? NULL : x;
    if (type == ATEN_BOOLEAN)
        return aten_not(g, aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, x, aten_scalar(g, x->type, 0)));
    if (x->type == ATEN_BOOLEAN && type == ATEN_UINT8) {
        struct aten_value *y = aten_view(g, x, x->rank, x->sizes, x->strides);
        if (y)
            y->type = ATEN_UINT8; /* BOOLEAN and UINT8 have the same bytes */
        return y;
    }
    return apply(g, DML_OPERATOR_CAST, x, type);
}

struct aten_value *aten_scaled(struct aten_graph *g, struct aten_value *x, double factor, double offset)
{
    if (x && factor != 1)
        x = aten_multiply(g, x, aten_scalar(g, x->type, factor));
    return x && offset != 0 ? aten_add(g, x, aten_scalar(g, x->type, offset)) : x;
}

/* ---- several tensors ---- */

static bool gives_truth(DML_OPERATOR_TYPE type)
{
    switch (type) {
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL:
        return true;
    default:
        return false;
    }
}

struct aten_value *aten_apply2(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x, struct aten_value *y)
{
    struct aten_value *in[2] = { x, y }, *z;
    struct aten_desc dx, dy, dz;
    uint32_t rank;
    int64_t sizes[ATEN_RANK_MAX];
    if (!x || !y || g->failed || !broadcast(g, x, y, &rank, sizes))
        return NULL;
    z = aten_new(g, gives_truth(type) ? ATEN_BOOLEAN : x->type, rank, sizes);
    if (!z)
        return NULL;
    /* POW has a ScaleBias after its three tensors; the descriptions of the others end with the tensors. */
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc = { aten_describe_broadcast(g, &dx, x, rank, sizes),
                                                aten_describe_broadcast(g, &dy, y, rank, sizes),
                                                aten_describe(g, &dz, z), NULL };
    return aten_emit(g, type, &desc, in, 2, &z, 1) ? z : NULL;
}

struct aten_value *aten_add(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_ADD, x, y);
}

struct aten_value *aten_subtract(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, x, y);
}

struct aten_value *aten_multiply(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, y);
}

struct aten_value *aten_divide(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_DIVIDE, x, y);
}

struct aten_value *aten_select(struct aten_graph *g, struct aten_value *condition, struct aten_value *x,
                               struct aten_value *y)
{
    struct aten_value *in[3] = { condition, x, y }, shape = { .type = ATEN_BOOLEAN }, *z;
    struct aten_desc d[4];
    uint32_t rank;
    int64_t sizes[ATEN_RANK_MAX];
    if (!condition || !x || !y || g->failed || !broadcast(g, x, y, &shape.rank, shape.sizes) ||
        !broadcast(g, condition, &shape, &rank, sizes) || !(z = aten_new(g, x->type, rank, sizes)))
        return NULL;
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = {
        aten_describe_broadcast(g, &d[0], condition, rank, sizes),
        aten_describe_broadcast(g, &d[1], x, rank, sizes),
        aten_describe_broadcast(g, &d[2], y, rank, sizes),
        aten_describe(g, &d[3], z),
    };
    return aten_emit(g, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &z, 1) ? z : NULL;
}

struct aten_value *aten_reduced(struct aten_graph *g, DML_REDUCE_FUNCTION function, struct aten_value *x, uint32_t axes,
                                int32_t type)
{
    UINT list[ATEN_RANK_MAX], count = 0;
    int64_t sizes[ATEN_RANK_MAX] = { 1 };
    struct aten_desc dx, dy;
    if (!x || g->failed)
        return NULL;
    uint32_t rank = BASE_MAX(x->rank, 1u);
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = !x->rank || axes >> i & 1 ? 1 : x->sizes[i];
        if (axes >> i & 1)
            list[count++] = i;
    }
    struct aten_value *y = aten_new(g, type, x->rank, sizes);
    if (!y)
        return NULL;
    DML_REDUCE_OPERATOR_DESC desc = { function, aten_describe(g, &dx, x), aten_describe(g, &dy, y), count, list };
    return aten_emit(g, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_matmul(struct aten_graph *g, struct aten_value *x, struct aten_value *y, struct aten_value *z,
                               double alpha, double beta)
{
    struct aten_value *in[3] = { x, y, z };
    struct aten_desc d[4];
    if (!x || !y || g->failed)
        return NULL;
    uint32_t rank = BASE_MAX(x->rank, y->rank);
    int64_t xs[ATEN_RANK_MAX], ys[ATEN_RANK_MAX], sizes[ATEN_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        int64_t a = i + x->rank < rank ? 1 : x->sizes[i + x->rank - rank];
        int64_t b = i + y->rank < rank ? 1 : y->sizes[i + y->rank - rank];
        bool batch = i + 2 < rank;
        sizes[i] = batch ? BASE_MAX(a, b) : i + 2 == rank ? a : b;
        xs[i] = batch ? sizes[i] : a;
        ys[i] = batch ? sizes[i] : b;
    }
    struct aten_value *out = aten_new(g, x->type, rank, sizes);
    if (!out)
        return NULL;
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = aten_describe_broadcast(g, &d[0], x, rank, xs),
        .BTensor = aten_describe_broadcast(g, &d[1], y, rank, ys),
        .CTensor = z ? aten_describe_broadcast(g, &d[2], z, rank, sizes) : NULL,
        .OutputTensor = aten_describe(g, &d[3], out),
        .Alpha = (float)alpha,
        .Beta = (float)beta,
    };
    return aten_emit(g, DML_OPERATOR_GEMM, &desc, in, 3, &out, 1) ? out : NULL;
}

struct aten_value *aten_pick(struct aten_graph *g, struct aten_value *x, struct aten_value *indices, uint32_t axis)
{
    struct aten_value *in[2] = { x, indices };
    struct aten_desc d[3];
    struct aten_value *y = x && indices ? aten_new(g, x->type, indices->rank, indices->sizes) : NULL;
    if (!y)
        return NULL;
    DML_GATHER_ELEMENTS_OPERATOR_DESC desc = { aten_describe(g, &d[0], x), aten_describe(g, &d[1], indices),
                                               aten_describe(g, &d[2], y), axis };
    return aten_emit(g, DML_OPERATOR_GATHER_ELEMENTS, &desc, in, 2, &y, 1) ? y : NULL;
}

/* ---- parts ---- */

struct aten_value *aten_slice(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t start, int64_t count,
                              int64_t step)
{
    UINT offsets[ATEN_RANK_MAX] = { 0 }, windows[ATEN_RANK_MAX];
    INT steps[ATEN_RANK_MAX];
    int64_t sizes[ATEN_RANK_MAX];
    struct aten_desc dx, dy;
    if (!x || g->failed || (!start && count == x->sizes[axis] && step == 1))
        return g->failed ? NULL : x;
    for (uint32_t i = 0; i < x->rank; i++) {
        sizes[i] = i == axis ? count : x->sizes[i];
        steps[i] = i == axis ? (INT)step : 1;
        windows[i] = (UINT)(i == axis ? (count - 1) * llabs((long long)step) + 1 : x->sizes[i]);
    }
    offsets[axis] = (UINT)(step < 0 ? start + (count - 1) * step : start);
    struct aten_value *y = aten_new(g, x->type, x->rank, sizes);
    if (!y)
        return NULL;
    DML_SLICE1_OPERATOR_DESC desc = {
        aten_describe(g, &dx, x), aten_describe(g, &dy, y), BASE_MAX(x->rank, 1u), offsets, windows, steps
    };
    return aten_emit(g, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_join(struct aten_graph *g, struct aten_value *const *x, uint32_t count, uint32_t axis)
{
    struct aten_desc *d = aten_alloc(g, (count + 1u) * sizeof(*d));
    DML_TENSOR_DESC *tensors = aten_alloc(g, (count + 1u) * sizeof(*tensors));
    struct aten_value **in = aten_alloc(g, (count + 1u) * sizeof(struct aten_value *));
    int64_t sizes[ATEN_RANK_MAX], size = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; in && i < count; i++) {
        if (!x[i] || g->failed)
            return NULL;
        memcpy(sizes, x[i]->sizes, sizeof(sizes));
        size += x[i]->sizes[axis];
        if (!aten_elements(x[i]))
            continue;
        const DML_TENSOR_DESC *tensor = aten_describe(g, &d[used], x[i]);
        if (tensor)
            tensors[used] = *tensor;
        in[used++] = x[i];
    }
    if (!in || !count)
        return NULL;
    sizes[axis] = size;
    if (used == 1)
        return in[0];
    struct aten_value *y = aten_new(g, x[0]->type, x[0]->rank, sizes);
    if (!y)
        return NULL;
    DML_JOIN_OPERATOR_DESC desc = { used, tensors, aten_describe(g, &d[used], y), axis };
    return aten_emit(g, DML_OPERATOR_JOIN, &desc, in, used, &y, 1) ? y : NULL;
}
