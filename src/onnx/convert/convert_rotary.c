/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embeddings, and caches that are updated at positions. */
#include "onnx/convert/attention.h"
#include "onnx/convert/converters.h"

/* x as [batch, sequence, heads, part, half]: sizes and strides. */
struct halves {
    int64_t dims[5];
    uint32_t strides[5];
    int64_t size;     /* of a head, including the part that is not rotated */
    bool interleaved; /* the two parts */
};

static void find_halves(const struct onnx_value *x, int64_t heads, int64_t size, int64_t rotating, bool interleaved,
                        struct halves *out)
{
    bool tokens = x->rank == 3;
    int64_t sequence = x->dims[tokens ? 1 : 2], half = rotating / 2;
    *out =
        (struct halves){ .dims = { x->dims[0], sequence, heads, 2, half }, .size = size, .interleaved = interleaved };
    out->strides[0] = (uint32_t)(sequence * heads * size);
    out->strides[1] = (uint32_t)(tokens ? heads * size : size);
    out->strides[2] = (uint32_t)(tokens ? size : sequence * size);
    out->strides[3] = interleaved ? 1 : (uint32_t)half;
    out->strides[4] = interleaved ? 2 : 1;
}

/* The two parts of each head exchanged. */
static struct onnx_value *exchange(struct onnx_builder *b, struct onnx_value *x, const struct halves *h)
{
    struct onnx_desc dx, dy;
    const UINT offsets[5] = { 0 };
    UINT sizes[5];
    INT steps[5];
    struct onnx_value *y = onnx_temp(b, x->type, 5, h->dims);
    if (!y)
        return NULL;
    for (uint32_t i = 0; i < 5; i++) {
        sizes[i] = (UINT)h->dims[i];
        steps[i] = i == 3 ? -1 : 1;
    }
    DML_SLICE1_OPERATOR_DESC desc = {
        onnx_desc_strided(b, &dx, x, 5, h->dims, h->strides), onnx_desc(b, &dy, y), 5, offsets, sizes, steps
    };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

/* Angles of the tokens as [batch or 1, sequence, 1, 1, half] */
static struct onnx_value *angles(struct onnx_builder *b, const struct onnx_rotary *r, struct onnx_value *cache,
                                 const struct halves *h)
{
    if (!cache)
        return NULL;
    int64_t half = h->dims[4];
    if (cache->rank != (r->positions ? 2 : 3)) {
        onnx_fail(b, "'%s' must have rank %d", cache->name, r->positions ? 2 : 3);
        return NULL;
    }
    if (cache->dims[cache->rank - 1] != half) {
        onnx_misfit(b, "'%s' must have rows of %lld", cache->name, (long long)half);
        return NULL;
    }
    struct onnx_value *rows = r->positions ? onnx_lookup(b, cache, r->positions) : cache;
    if (!rows)
        return NULL;
    int64_t dims[] = { rows->dims[0], rows->dims[1], 1, 1, half };
    if (rows->rank != 3 || (dims[0] != 1 && dims[0] != h->dims[0]) || dims[1] != h->dims[1]) {
        onnx_misfit(b, "the positions or '%s' do not fit the tokens", cache->name);
        return NULL;
    }
    return onnx_as(b, rows, 5, dims);
}

/* -sin for the first part, sin for the second */
static struct onnx_value *signed_sin(struct onnx_builder *b, struct onnx_value *sin)
{
    const int64_t dims[] = { 2, 1 };
    if (!sin)
        return NULL;
    struct onnx_value *minus = onnx_scalar(b, sin->type, -1), *plus = onnx_scalar(b, sin->type, 1);
    uint32_t bytes = onnx_type_bytes(sin->type);
    uint8_t data[16];
    if (!minus || !plus)
        return NULL;
    memcpy(data, minus->data, bytes);
    memcpy(data + bytes, plus->data, bytes);
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, sin,
                       onnx_constant(b, sin->type, 2, dims, data, 2 * bytes));
}

/* y = x * cos + exchanged x * sin, all viewed through `h` */
static bool emit_rotation(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *cos, struct onnx_value *sin,
                          const struct halves *h, struct onnx_value *y, const uint32_t *y_strides)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *other = exchange(b, x, h), *product = onnx_temp(b, x->type, 5, h->dims), *in[2] = { x, cos };
    other = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, other, sin);
    if (!other || !cos || !product)
        return false;
    DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC first = { onnx_desc_strided(b, &dx, x, 5, h->dims, h->strides),
                                                      onnx_desc_broadcast(b, &dz, cos, 5, h->dims),
                                                      onnx_desc(b, &dy, product) };
    if (!onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, &first, in, 2, &product, 1))
        return false;
    struct onnx_value *sum[2] = { product, other };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC last = { onnx_desc(b, &dx, product), onnx_desc(b, &dz, other),
                                                onnx_desc_strided(b, &dy, y, 5, h->dims, y_strides) };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_ADD, &last, sum, 2, &y, 1);
}

/* Only the first elements of each head are rotated; the others are copied after them. */
static struct onnx_value *rotate_part(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *cos,
                                      struct onnx_value *sin, const struct halves *h, struct onnx_value *y)
{
    int64_t heads = h->dims[2], rotating = h->dims[3] * h->dims[4];
    const int64_t part[] = { x->dims[0], x->dims[1], h->dims[2], rotating };
    const int64_t apart[] = { x->dims[0], x->dims[1], heads, h->size };
    const int64_t *flat = x->rank == 3 ? apart : x->dims;
    int64_t part_heads[] = { x->dims[0], x->dims[1], x->dims[2], rotating };
    struct halves packed;
    struct onnx_value *rotated = onnx_temp(b, x->type, 4, x->rank == 3 ? part : part_heads);
    if (!rotated)
        return NULL;
    struct onnx_value shape = *rotated;
    if (x->rank == 3) { /* tokens of the part alone */
        shape.rank = 3;
        shape.dims[2] = heads * rotating;
    }
    find_halves(&shape, heads, rotating, rotating, h->interleaved, &packed);
    if (!emit_rotation(b, x, cos, sin, h, rotated, packed.strides))
        return NULL;
    struct onnx_value *rest = onnx_cut(b, onnx_as(b, x, 4, flat), 3, rotating, h->size - rotating);
    struct onnx_value *both[] = { rotated, rest };
    return onnx_join_to(b, both, 2, 3, y);
}

struct onnx_value *onnx_rotate(struct onnx_builder *b, const struct onnx_rotary *r, struct onnx_value *x,
                               struct onnx_value *y)
{
    struct halves h;
    if (!x || b->failed)
        return NULL;
    if (!onnx_elements(x)) {
        y = y ? y : onnx_temp(b, x->type, x->rank, x->dims);
        return onnx_constant_data(b, y) ? y : NULL;
    }
    int64_t heads = x->rank == 4 ? x->dims[1] : r->heads;
    if ((x->rank != 3 && x->rank != 4) || heads < 1 || (x->rank == 3 && x->dims[2] % heads)) {
        onnx_misfit(b, "'%s' does not have %lld heads", x->name, (long long)heads);
        return NULL;
    }
    int64_t size = x->rank == 4 ? x->dims[3] : x->dims[2] / heads, rotating = r->size ? r->size : size;
    if (rotating < 1 || rotating > size || rotating % 2) {
        onnx_misfit(b, "%lld of %lld elements cannot be rotated", (long long)rotating, (long long)size);
        return NULL;
    }
    find_halves(x, heads, size, rotating, r->interleaved, &h);
    struct onnx_value *cos = angles(b, r, r->cos, &h), *sin = signed_sin(b, angles(b, r, r->sin, &h));
    if (cos && cos->type != x->type)
        onnx_fail(b, "'%s' is %s, the angles %s", x->name, onnx_type_name(x->type), onnx_type_name(cos->type));
    if (!y)
        y = onnx_temp(b, x->type, x->rank, x->dims);
    if (!cos || !sin || !y || b->failed)
        return NULL;
    if (rotating < size)
        return rotate_part(b, x, cos, sin, &h, y);
    return emit_rotation(b, x, cos, sin, &h, y, h.strides) ? y : NULL;
}

bool onnx_rotary_embedding(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_rotary r = { .cos = onnx_in(b, n, 1),
                             .sin = onnx_in(b, n, 2),
                             .positions = onnx_in_optional(b, n, 3),
                             .heads = onnx_attr_int(n, "num_heads", 0),
                             .size = onnx_attr_int(n, "rotary_embedding_dim", 0),
                             .interleaved = onnx_attr_int(n, "interleaved", 0) != 0 };
    struct onnx_value *x = onnx_in(b, n, 0), *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    return y && onnx_rotate(b, &r, x, y);
}

/* com.microsoft: the positions precede the angles; a single one is that of the first token. */
bool onnx_rotary_embedding_ms(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_rotary r = { .cos = onnx_in(b, n, 2),
                             .sin = onnx_in(b, n, 3),
                             .positions = onnx_in(b, n, 1),
                             .heads = onnx_attr_int(n, "num_heads", 0),
                             .size = onnx_attr_int(n, "rotary_embedding_dim", 0),
                             .interleaved = onnx_attr_int(n, "interleaved", 0) != 0 };
    struct onnx_value *x = onnx_in(b, n, 0);
    if (!x || !r.positions || !r.cos || b->failed)
        return false;
    if (onnx_attr_int(n, "is_packed_batching", 0))
        return onnx_fail(b, "is_packed_batching is not supported");
    if (x->rank != 3 && x->rank != 4)
        return onnx_fail(b, "'%s' has rank %u", x->name, x->rank);
    if (x->rank == 3 && !r.heads && r.cos->rank == 2 && r.cos->dims[1])
        r.heads = x->dims[2] / (2 * r.cos->dims[1]);
    if (onnx_elements(r.positions) == 1 && r.positions->rank < 2) {
        const int64_t dims[] = { 1, x->dims[x->rank == 4 ? 2 : 1] };
        struct onnx_value *first = onnx_convert(b, r.positions, ONNX_INT32);
        r.positions = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_counting(b, ONNX_INT32, 0, 2, dims), first);
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    return y && r.positions && onnx_rotate(b, &r, x, y);
}

bool onnx_tensor_scatter(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *updates = onnx_in(b, n, 1), *first = onnx_in_optional(b, n, 2);
    int64_t index_dims[ONNX_RANK_MAX], range_dims[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    uint32_t axis;
    if (!x || !updates || b->failed || !onnx_axis(b, onnx_attr_int(n, "axis", -2), x->rank, &axis))
        return false;
    if (!axis || updates->rank != x->rank)
        return onnx_fail(b, "the axis is the batch, or '%s' has another rank", updates->name);
    if (first && onnx_elements(first) != x->dims[0])
        return onnx_misfit(b, "%lld indices for %lld batch rows", (long long)onnx_elements(first),
                           (long long)x->dims[0]);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis ? updates->dims[i] != x->dims[i] : updates->dims[i] > x->dims[i])
            return onnx_misfit(b, "'%s' does not fit '%s' in dimension %u", updates->name, x->name, i);
        range_dims[i] = i == axis ? updates->dims[i] : 1;
        index_dims[i] = i ? 1 : x->dims[0];
    }
    struct onnx_value *index = onnx_counting(b, ONNX_INT32, 0, x->rank, range_dims);
    if (first) {
        first = onnx_as(b, onnx_convert(b, first, ONNX_INT32), x->rank, index_dims);
        index = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, index, first);
    }
    if (!strcmp(onnx_attr_string(n, "mode", "linear"), "circular"))
        index = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR, index,
                            onnx_scalar(b, ONNX_INT32, (double)x->dims[axis]));
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims), *in[3] = { x, index, updates };
    if (!y || !index)
        return false;
    if (!onnx_elements(updates))
        return onnx_alias(b, y, x);
    DML_SCATTER_OPERATOR_DESC desc = { onnx_desc(b, &d[0], x),
                                       onnx_desc_broadcast(b, &d[1], index, x->rank, updates->dims),
                                       onnx_desc(b, &d[2], updates), onnx_desc(b, &d[3], y), axis };
    return onnx_emit(b, DML_OPERATOR_SCATTER_ELEMENTS, &desc, in, 3, &y, 1);
}
