/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: operands are combined from left to right. Each step is a matrix product over the labels that are not needed
 * any more; labels of only one operand that are not needed are summed first. */
#include "onnx/convert/converters.h"

#define LABELS_MAX   64
#define OPERANDS_MAX 32
#define ELLIPSIS     52 /* labels 0..51 are letters in ASCII order, followed by the dimensions of "..." */

struct term {
    uint8_t labels[LABELS_MAX];
    uint32_t count;
    uint32_t dots; /* position of the ellipsis; LABELS_MAX = none */
};

struct operand {
    struct onnx_value *value;
    uint8_t labels[ONNX_RANK_MAX]; /* of each dimension, no repeats */
    uint64_t mask;
};

struct einsum {
    struct term terms[OPERANDS_MAX], out;
    uint32_t count, dots; /* operands; dimensions behind an ellipsis */
    bool explicit_output;
    int64_t sizes[LABELS_MAX];
};

/* ---- the equation ---- */

static int label_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static bool parse_term(struct onnx_builder *b, const char **text, struct term *out)
{
    const char *s = *text;
    out->dots = LABELS_MAX;
    for (; *s && *s != ',' && *s != '-'; s++) {
        if (*s == ' ')
            continue;
        if (!strncmp(s, "...", 3) && out->dots == LABELS_MAX) {
            out->dots = out->count;
            s += 2;
        } else if (label_of(*s) >= 0 && out->count < ONNX_RANK_MAX) {
            out->labels[out->count++] = (uint8_t)label_of(*s);
        } else {
            return onnx_fail(b, "the equation cannot be read at '%.20s'", s);
        }
    }
    *text = s;
    return true;
}

static bool parse(struct onnx_builder *b, const char *text, struct einsum *e)
{
    for (e->count = 0;; text++) {
        if (e->count == OPERANDS_MAX)
            return onnx_fail(b, "more than %d operands are not supported", OPERANDS_MAX);
        if (!parse_term(b, &text, &e->terms[e->count++]))
            return false;
        if (*text != ',')
            break;
    }
    e->out.dots = LABELS_MAX;
    if (!*text)
        return true;
    e->explicit_output = true;
    if (text[1] != '>')
        return onnx_fail(b, "the equation cannot be read at '%.20s'", text);
    text += 2;
    return parse_term(b, &text, &e->out) && (!*text || onnx_fail(b, "the equation continues after its output"));
}

/* Replaces the ellipsis of a term by labels, the last `used` of `all`, as broadcasting aligns them. */
static bool expand_dots(struct onnx_builder *b, struct term *t, uint32_t used, uint32_t all)
{
    if (t->dots == LABELS_MAX)
        return true;
    if (t->count + used > ONNX_RANK_MAX || ELLIPSIS + all > LABELS_MAX)
        return onnx_fail(b, "more than 8 dimensions are not supported");
    memmove(t->labels + t->dots + used, t->labels + t->dots, t->count - t->dots);
    for (uint32_t i = 0; i < used; i++)
        t->labels[t->dots + i] = (uint8_t)(ELLIPSIS + all - used + i);
    t->count += used;
    return true;
}

static bool implicit_output(struct onnx_builder *b, struct einsum *e)
{
    uint32_t seen[LABELS_MAX] = { 0 };
    for (uint32_t i = 0; i < e->count; i++) {
        for (uint32_t j = 0; j < e->terms[i].count; j++)
            seen[e->terms[i].labels[j]]++;
    }
    for (uint32_t i = 0; i < e->dots; i++)
        e->out.labels[e->out.count++] = (uint8_t)(ELLIPSIS + i);
    for (uint8_t l = 0; l < ELLIPSIS; l++) {
        if (seen[l] == 1 && e->out.count < LABELS_MAX)
            e->out.labels[e->out.count++] = l;
    }
    return e->out.count <= ONNX_RANK_MAX || onnx_fail(b, "the result has %u dimensions", e->out.count);
}

/* Determines the sizes of all labels; a size of 1 is overridden by any other. */
static bool resolve(struct onnx_builder *b, struct einsum *e, struct operand *operands)
{
    uint32_t used[OPERANDS_MAX] = { 0 };
    for (uint32_t i = 0; i < e->count; i++) {
        const struct onnx_value *v = operands[i].value;
        bool dots = e->terms[i].dots != LABELS_MAX;
        if (dots ? v->rank < e->terms[i].count : v->rank != e->terms[i].count)
            return onnx_fail(b, "operand %u of rank %u does not fit the equation", i, v->rank);
        used[i] = v->rank - e->terms[i].count;
        e->dots = BASE_MAX(e->dots, used[i]);
    }
    for (uint32_t l = 0; l < LABELS_MAX; l++)
        e->sizes[l] = -1;
    for (uint32_t i = 0; i < e->count; i++) {
        const struct onnx_value *v = operands[i].value;
        if (!expand_dots(b, &e->terms[i], used[i], e->dots))
            return false;
        for (uint32_t j = 0; j < v->rank; j++) {
            int64_t *size = &e->sizes[e->terms[i].labels[j]];
            if (*size > 1 && v->dims[j] != 1 && *size != v->dims[j])
                return onnx_misfit(b, "operand %u has size %lld where another one has %lld", i, (long long)v->dims[j],
                                   (long long)*size);
            *size = *size < 0 || *size == 1 ? v->dims[j] : *size;
        }
    }
    return e->explicit_output ? expand_dots(b, &e->out, e->dots, e->dots) : implicit_output(b, e);
}

static bool output_exists(struct onnx_builder *b, const struct einsum *e)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < e->out.count; i++) {
        if (e->sizes[e->out.labels[i]] < 0 || (seen >> e->out.labels[i] & 1))
            return onnx_fail(b, "the output has a label that no operand has, or one twice");
        seen |= (uint64_t)1 << e->out.labels[i];
    }
    return true;
}

/* ---- operands ---- */

/* A repeated label means the diagonal; a size of 1 where others have more is handled by broadcasting. */
static bool read_operand(struct onnx_builder *b, const struct term *t, struct operand *o)
{
    uint32_t packed[ONNX_RANK_MAX], strides[ONNX_RANK_MAX] = { 0 }, rank = 0;
    int64_t dims[ONNX_RANK_MAX];
    onnx_packed_strides(o->value->rank, o->value->dims, packed);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = 0;
        while (at < rank && o->labels[at] != t->labels[i])
            at++;
        if (at == rank) {
            dims[rank] = o->value->dims[i];
            o->labels[rank++] = t->labels[i];
        } else if (dims[at] != o->value->dims[i]) {
            return onnx_misfit(b, "a repeated label has sizes %lld and %lld", (long long)dims[at],
                               (long long)o->value->dims[i]);
        }
        strides[at] += packed[i];
        o->mask |= (uint64_t)1 << t->labels[i];
    }
    o->value = onnx_view(b, o->value, rank, dims, strides);
    return o->value != NULL;
}

/* Removes the dimensions of the labels in `gone` after summing over them. A broadcast size of 1 (another operand has
 * more) only occurs among labels of both operands, which are not handled here. */
static void sum_out(struct onnx_builder *b, struct operand *o, uint64_t gone)
{
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank = 0;
    struct onnx_value *v = o->value;
    for (uint32_t i = 0; v && i < o->value->rank; i++) {
        if (gone >> o->labels[i] & 1)
            v = o->value->dims[i] == 1 ? v : onnx_reduced(b, DML_REDUCE_FUNCTION_SUM, v, &(UINT){ i }, 1);
    }
    for (uint32_t i = 0; v && i < v->rank; i++) {
        if (gone >> o->labels[i] & 1)
            continue;
        o->labels[rank] = o->labels[i];
        dims[rank++] = v->dims[i];
    }
    o->value = onnx_as(b, v, rank, dims);
    o->mask &= ~gone;
}

#define GROUPS 4

/* The operand as [labels of a..., of b..., of c..., of d...], each group one dimension; absent labels and sizes of 1
 * are broadcast, except for the labels of `own` groups, which are known to be complete then. */
static struct onnx_value *grouped(struct onnx_builder *b, const struct einsum *e, const struct operand *o,
                                  const uint8_t *const *groups, const uint32_t *counts)
{
    uint32_t packed[ONNX_RANK_MAX], strides[ONNX_RANK_MAX], rank = 0;
    int64_t dims[ONNX_RANK_MAX], merged[GROUPS] = { 1, 1, 1, 1 };
    onnx_packed_strides(o->value->rank, o->value->dims, packed);
    for (uint32_t g = 0; g < GROUPS; g++) {
        for (uint32_t i = 0; i < counts[g]; i++) {
            uint32_t at = 0;
            while (o->labels[at] != groups[g][i])
                at++;
            if (rank == ONNX_RANK_MAX)
                return onnx_fail(b, "more than 8 dimensions are not supported"), NULL;
            dims[rank] = e->sizes[groups[g][i]];
            strides[rank++] = o->value->dims[at] == 1 ? 0 : packed[at];
            merged[g] *= e->sizes[groups[g][i]];
        }
    }
    return onnx_as(b, onnx_view(b, o->value, rank, dims, strides), GROUPS, merged);
}

/* [batch, heads, m, k] x [batch, heads, n, k], summed over k. Integers have no matrix product. */
static struct onnx_value *product(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z)
{
    if (!x || !z)
        return NULL;
    int64_t dims[GROUPS] = { x->dims[0], x->dims[1], x->dims[2], z->dims[2] };
    if (onnx_type_is_float(x->type)) {
        struct onnx_value *in[3] = { x, z, NULL }, *y = onnx_temp(b, x->type, GROUPS, dims);
        struct onnx_desc d[3];
        if (!y)
            return NULL;
        DML_GEMM_OPERATOR_DESC desc = {
            .ATensor = onnx_desc(b, &d[0], x),
            .BTensor = onnx_desc(b, &d[1], z),
            .OutputTensor = onnx_desc(b, &d[2], y),
            .TransB = DML_MATRIX_TRANSFORM_TRANSPOSE,
            .Alpha = 1.0f,
        };
        return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1) ? y : NULL;
    }
    const int64_t batch = x->dims[0] * x->dims[1];
    int64_t left[4] = { batch, x->dims[2], 1, x->dims[3] }, right[4] = { batch, 1, z->dims[2], z->dims[3] };
    struct onnx_value *y =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, onnx_as(b, x, 4, left), onnx_as(b, z, 4, right));
    return onnx_as(b, onnx_reduced(b, DML_REDUCE_FUNCTION_SUM, y, &(UINT){ 3 }, 1), GROUPS, dims);
}

/* How many of the shared labels are DirectML's first batch dimension: those before the last one that has a size, such
 * as that of heads, so that transposed heads are views. */
static uint32_t outer_count(const struct einsum *e, const uint8_t *shared, uint32_t count)
{
    while (count > 0 && e->sizes[shared[count - 1]] == 1)
        count--;
    return count ? count - 1 : 0;
}

/* x becomes the product of both, with the labels [shared and needed, of x, of z]. */
static bool join(struct onnx_builder *b, const struct einsum *e, struct operand *x, struct operand *z, uint64_t needed)
{
    uint64_t both = x->mask & z->mask;
    uint8_t sets[4][LABELS_MAX]; /* shared, of x, of z, summed */
    uint32_t counts[4] = { 0 }, rank = 0;
    int64_t dims[ONNX_RANK_MAX];
    sum_out(b, x, x->mask & ~both & ~needed);
    sum_out(b, z, z->mask & ~both & ~needed);
    if (!x->value || !z->value)
        return false;
    for (uint8_t l = 0; l < LABELS_MAX; l++) {
        uint32_t set = both >> l & 1 ? (needed >> l & 1 ? 0 : 3) : x->mask >> l & 1 ? 1 : 2;
        if ((x->mask | z->mask) >> l & 1)
            sets[set][counts[set]++] = l;
    }
    const uint32_t outer = outer_count(e, sets[0], counts[0]), inner = counts[0] - outer;
    const uint8_t *left[GROUPS] = { sets[0], sets[0] + outer, sets[1], sets[3] };
    const uint8_t *right[GROUPS] = { sets[0], sets[0] + outer, sets[2], sets[3] };
    struct onnx_value *y = product(b, grouped(b, e, x, left, (uint32_t[]){ outer, inner, counts[1], counts[3] }),
                                   grouped(b, e, z, right, (uint32_t[]){ outer, inner, counts[2], counts[3] }));
    if (counts[0] + counts[1] + counts[2] > ONNX_RANK_MAX)
        return onnx_fail(b, "more than 8 dimensions are not supported");
    x->mask = 0;
    for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t i = 0; i < counts[s]; i++, rank++) {
            x->labels[rank] = sets[s][i];
            x->mask |= (uint64_t)1 << sets[s][i];
            dims[rank] = e->sizes[sets[s][i]];
        }
    }
    x->value = onnx_as(b, y, rank, dims);
    return x->value != NULL;
}

static uint64_t needed_after(const struct einsum *e, const struct operand *operands, uint32_t next)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < e->out.count; i++)
        mask |= (uint64_t)1 << e->out.labels[i];
    for (uint32_t i = next; i < e->count; i++)
        mask |= operands[i].mask;
    return mask;
}

static bool finish(struct onnx_builder *b, const struct onnx_node *n, const struct einsum *e, struct operand *o,
                   int32_t type)
{
    const uint8_t *groups[GROUPS] = { e->out.labels };
    int64_t dims[ONNX_RANK_MAX];
    sum_out(b, o, o->mask & ~needed_after(e, NULL, e->count));
    for (uint32_t i = 0; i < e->out.count; i++)
        dims[i] = e->sizes[e->out.labels[i]];
    if (!o->value)
        return false;
    struct onnx_value *y = grouped(b, e, o, groups, (uint32_t[GROUPS]){ e->out.count });
    return onnx_result_as(b, n, 0, onnx_convert(b, y, type), e->out.count, dims);
}

/* 8- and 16-bit sums are the low bits of 32-bit ones. */
static int32_t sum_type(int32_t type)
{
    bool narrow = type == ONNX_INT8 || type == ONNX_UINT8 || type == ONNX_INT16 || type == ONNX_UINT16;
    return narrow ? ONNX_INT32 : type;
}

bool onnx_einsum(struct onnx_builder *b, const struct onnx_node *n)
{
    struct einsum *e = base_arena_alloc(&b->arena, sizeof(*e));
    struct operand *operands = base_arena_alloc(&b->arena, OPERANDS_MAX * sizeof(*operands));
    bool empty = false;
    if (!e || !operands)
        return onnx_fail(b, "out of memory");
    if (!parse(b, onnx_attr_string(n, "equation", ""), e))
        return false;
    if (e->count != n->input_count)
        return onnx_fail(b, "the equation has %u terms for %u operands", e->count, n->input_count);
    for (uint32_t i = 0; i < e->count; i++) {
        operands[i].value = onnx_in(b, n, i);
        if (!operands[i].value)
            return false;
        empty = empty || !onnx_elements(operands[i].value);
    }
    int32_t type = operands[0].value->type;
    if (!resolve(b, e, operands) || !output_exists(b, e))
        return false;
    if (empty) { /* empty sums */
        int64_t dims[ONNX_RANK_MAX];
        for (uint32_t i = 0; i < e->out.count; i++)
            dims[i] = e->sizes[e->out.labels[i]];
        return onnx_constant_data(b, onnx_out(b, n, 0, type, e->out.count, dims)) != NULL;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        if (operands[i].value->type != type)
            return onnx_fail(b, "operands differ in type");
        operands[i].value = onnx_convert(b, operands[i].value, sum_type(type));
        if (!operands[i].value || !read_operand(b, &e->terms[i], &operands[i]))
            return false;
    }
    for (uint32_t i = 1; i < e->count; i++) {
        if (!join(b, e, &operands[0], &operands[i], needed_after(e, operands, i + 1)))
            return false;
    }
    return finish(b, n, e, &operands[0], type);
}
