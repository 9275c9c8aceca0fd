/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors with partial lengths. A graph that is compiled for the maximum of a size is also valid for all smaller ones,
 * as long as each operator keeps valid elements independent of those after them: element-wise operators, products and
 * norms of rows, lookups, and moves do. For others, graphs are compiled for each size. The elements after the valid
 * part are copies of the last rows, so that they have no unusual values: masked rows of attention must be finite. */
#include "onnx/emit/build.h"

static struct onnx_value *input(struct onnx_builder *b, const struct onnx_node *n, uint32_t i)
{
    return i < n->input_count && n->inputs[i][0] ? onnx_value_find(b, n->inputs[i]) : NULL;
}

static struct onnx_value *output(struct onnx_builder *b, const struct onnx_node *n, uint32_t i)
{
    return i < n->output_count && n->outputs[i][0] ? onnx_value_find(b, n->outputs[i]) : NULL;
}

static uint8_t all_of(const struct onnx_value *v)
{
    uint8_t mask = 0;
    for (uint32_t d = 0; v && d < v->rank; d++)
        mask |= v->lengths[d];
    return mask;
}

bool onnx_refuse_part(struct onnx_builder *b, const struct onnx_value *v)
{
    if (!b->failed)
        b->error->partial = all_of(v);
    return onnx_fail(b, "'%s' cannot be filled in part", v->name);
}

/* Dimension `to` of y is partial like dimension d of x; all inputs that state one must agree. */
static bool fill_times(struct onnx_builder *b, struct onnx_value *y, uint32_t to, const struct onnx_value *x,
                       uint32_t d, uint32_t times)
{
    if (!x->lengths[d])
        return true;
    int64_t most = 0;
    for (uint32_t i = 0; i < ONNX_LENGTHS_MAX; i++)
        most += x->lengths[d] >> i & 1 ? b->most[i] : 0;
    if (to >= y->rank || y->dims[to] < most * times ||
        (y->lengths[to] && (y->lengths[to] != x->lengths[d] || y->times[to] != times)))
        return onnx_refuse_part(b, x);
    y->lengths[to] = x->lengths[d];
    y->times[to] = times;
    return true;
}

static bool fill(struct onnx_builder *b, struct onnx_value *y, uint32_t to, const struct onnx_value *x, uint32_t d)
{
    return fill_times(b, y, to, x, d, x->times[d]);
}

/* z is combined with y element by element: partial dimensions of one are partial in the other, unless broadcast. */
static bool agree(struct onnx_builder *b, const struct onnx_value *z, const struct onnx_value *y)
{
    for (uint32_t d = 0; z && d < z->rank; d++) {
        uint32_t to = y->rank - z->rank + d;
        if (z->rank > y->rank || (z->dims[d] != 1 && (z->lengths[d] != y->lengths[to] || z->times[d] != y->times[to])))
            return onnx_refuse_part(b, z);
    }
    return true;
}

/* Inputs from `first` on are whole. */
static bool whole_from(struct onnx_builder *b, const struct onnx_node *n, uint32_t first)
{
    for (uint32_t i = first; i < n->input_count; i++) {
        const struct onnx_value *x = input(b, n, i);
        if (all_of(x))
            return onnx_refuse_part(b, x);
    }
    return true;
}

struct onnx_value *onnx_length(struct onnx_builder *b, uint32_t number)
{
    static const int64_t one[] = { 1 };
    struct onnx_value *v = b->lengths[number];
    if (v)
        return v;
    v = onnx_temp(b, ONNX_INT32, 1, one);
    if (!v)
        return NULL;
    v->source = ONNX_SOURCE_INPUT;
    v->index = b->emit.input_count++;
    return b->lengths[number] = v;
}

bool onnx_follow_lengths(struct onnx_builder *b, const struct onnx_converter *row, const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        const struct onnx_value *x = input(b, n, i);
        if (all_of(x))
            return row->rows ? row->rows(b, n) : onnx_refuse_part(b, x);
    }
    return true;
}

/* Element-wise, with numpy's broadcasting. */
bool onnx_rows_map(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *y = output(b, n, 0);
    for (uint32_t i = 0; y && i < n->input_count; i++) {
        const struct onnx_value *x = input(b, n, i);
        if (x && all_of(x) && x->rank > y->rank)
            return onnx_refuse_part(b, x);
        for (uint32_t d = 0; x && d < x->rank; d++) {
            uint32_t to = y->rank - x->rank + d;
            if (!fill(b, y, to, x, d))
                return false;
        }
    }
    for (uint32_t i = 0; y && i < n->input_count; i++)
        if (!agree(b, input(b, n, i), y))
            return false;
    return true;
}

/* Rows of input 0 times a matrix; Gemm adds a tensor. */
bool onnx_rows_product(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    struct onnx_value *y = output(b, n, 0);
    if (!x || !y || x->rank != y->rank || !x->rank || x->lengths[x->rank - 1] || onnx_attr_int(n, "transA", 0))
        return x ? onnx_refuse_part(b, x) : true;
    for (uint32_t d = 0; d + 1 < x->rank; d++)
        if (!fill(b, y, d, x, d))
            return false;
    bool sum = !strcmp(n->op, "Gemm");
    if (sum && !agree(b, input(b, n, 2), y))
        return false;
    return all_of(input(b, n, 1)) ? onnx_refuse_part(b, input(b, n, 1)) : sum || whole_from(b, n, 2);
}

/* Over the dimensions from the axis on; other inputs have the same shape, or are whole. */
bool onnx_rows_norm(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    uint32_t axis;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", -1), x->rank, &axis))
        return false;
    for (uint32_t i = 1; i < n->input_count; i++)
        if (!agree(b, input(b, n, i), x))
            return false;
    for (uint32_t d = axis; d < x->rank; d++)
        if (x->lengths[d])
            return onnx_refuse_part(b, x);
    for (uint32_t i = 0; i < n->output_count; i++) {
        struct onnx_value *y = output(b, n, i);
        for (uint32_t d = 0; y && d < axis; d++)
            if (!fill(b, y, d, x, d))
                return false;
    }
    return true;
}

/* Rows of a table by index; the converter of Gather knows the valid end. */
bool onnx_rows_lookup(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *table = input(b, n, 0), *x = input(b, n, 1);
    struct onnx_value *y = output(b, n, 0);
    uint32_t axis;
    const bool plain = !strcmp(n->op, "Gather");
    if (!table || !x || !y || !onnx_axis(b, onnx_attr_int(n, plain ? "axis" : "gather_axis", 0), table->rank, &axis))
        return false;
    if (!plain && all_of(table))
        return onnx_refuse_part(b, table);
    for (uint32_t d = 0; d < table->rank; d++)
        if (d != axis && !fill(b, y, d < axis ? d : d + x->rank - 1, table, d))
            return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!fill(b, y, axis + d, x, d))
            return false;
    return whole_from(b, n, 2);
}

/* Output 0 like input 0; the others have a value for each of its rows. */
bool onnx_rows_first(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    struct onnx_value *y = output(b, n, 0);
    for (uint32_t i = 1; i < n->input_count; i++) {
        const struct onnx_value *z = input(b, n, i);
        if (all_of(z) & ~all_of(x))
            return onnx_refuse_part(b, z);
    }
    for (uint32_t d = 0; x && y && d < x->rank; d++)
        if (!fill(b, y, d, x, d))
            return false;
    return true;
}

/* Whether a Reshape derives dimension `to` from its input or infers it: not a number that matches its size by chance.
 */
static bool follows_input(struct onnx_builder *b, const struct onnx_node *n, uint32_t to)
{
    int64_t shape[ONNX_RANK_MAX];
    uint32_t count = 0;
    const struct onnx_value *wanted = input(b, n, 1);
    if (strcmp(n->op, "Reshape"))
        return true;
    if (wanted ? !onnx_const_ints(b, wanted, shape, ONNX_RANK_MAX, &count)
               : !onnx_attr_ints(b, n, "shape", shape, ONNX_RANK_MAX, &count))
        return false;
    return to < count && shape[to] <= 0;
}

/* A dimension is preserved if the same number of elements precedes it, also if dimensions after it are merged into it
 * or split from it: then as rows of several heads. */
bool onnx_rows_reshape(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    struct onnx_value *y = output(b, n, 0);
    int64_t before = 1;
    for (uint32_t d = 0; x && y && d < x->rank; before = onnx_size_product(before, x->dims[d++])) {
        int64_t passed = 1, size = x->dims[d], times = x->times[d];
        uint32_t to = 0;
        while (to < y->rank && (passed != before || y->dims[to] == 1))
            passed = onnx_size_product(passed, y->dims[to++]);
        if (!x->lengths[d])
            continue;
        if (to == y->rank)
            return onnx_refuse_part(b, x);
        int64_t product = times * y->dims[to];
        if (product % size || !follows_input(b, n, to) || !fill_times(b, y, to, x, d, (uint32_t)(product / size)))
            return onnx_refuse_part(b, x);
    }
    return whole_from(b, n, 1);
}

bool onnx_rows_permute(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    struct onnx_value *y = output(b, n, 0);
    int64_t order[ONNX_RANK_MAX];
    uint32_t count;
    if (!x || !y || !onnx_attr_ints(b, n, "perm", order, ONNX_RANK_MAX, &count))
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!fill(b, y, d, x, count ? (uint32_t)order[d] : x->rank - 1 - d))
            return false;
    return true;
}

/* Parts along an axis that is whole. */
bool onnx_rows_along(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = input(b, n, 0);
    uint32_t axis;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", 0), x->rank, &axis))
        return false;
    for (uint32_t i = 0; i < n->input_count; i++) {
        const struct onnx_value *z = input(b, n, i);
        for (uint32_t o = 0; z && all_of(z) && o < n->output_count; o++) {
            struct onnx_value *y = output(b, n, o);
            for (uint32_t d = 0; y && d < z->rank; d++)
                if ((d == axis && z->lengths[d]) || !fill(b, y, d, z, d))
                    return onnx_refuse_part(b, z);
        }
    }
    return true;
}

/* The converter states it itself. */
bool onnx_rows_own(struct onnx_builder *b, const struct onnx_node *n)
{
    (void)n;
    return !b->failed;
}
