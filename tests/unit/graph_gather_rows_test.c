/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table that is dequantised: the gather reads bytes, and only what it reads is dequantised. */
#include "graph_make.h"

#include "test.h"

#include <math.h>

enum { ROWS = 11, COLUMNS = 7, SIDE = 2, INDICES_MAX = 12, Y_MAX = INDICES_MAX * ROWS * SIDE };

struct table {
    uint32_t axis;        /* that is gathered along: of [ROWS, COLUMNS] */
    uint32_t count;       /* of indices: [1, count], or [SIDE, count / SIDE] */
    bool square;          /* the latter */
    bool flat;            /* the element-wise op sees one dimension */
    bool scale_each;      /* a scale for each place of the other dimension */
    bool scale_each_axis; /* a scale for each place of the axis */
    bool published;       /* the table is an output, too */
};

static uint32_t place(const struct table *t, uint32_t i)
{
    return (i * 5 + 3) % (t->axis ? COLUMNS : ROWS);
}

static float scale_at(const struct table *t, uint32_t row, uint32_t column)
{
    const uint32_t along = t->axis ? column : row, across = t->axis ? row : column;
    return t->scale_each_axis ? 0.5f + (float)along : t->scale_each ? 0.25f + 0.125f * (float)across : 0.3f;
}

static void build(struct graph *graph, const struct table *t)
{
    const uint32_t sizes[2] = { ROWS, COLUMNS }, flat[1] = { ROWS * COLUMNS };
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, DML_TENSOR_DATA_TYPE_UINT8, 2, sizes);
    struct graph_operand indices = make_value(graph, GRAPH_INPUT, 1, DML_TENSOR_DATA_TYPE_INT64, 2,
                                              SIZES(t->square ? SIDE : 1, t->square ? t->count / SIDE : t->count));
    const uint32_t along = t->scale_each_axis ? t->axis : 1 - t->axis;
    const bool each = t->scale_each || t->scale_each_axis;
    struct graph_operand scale = make_value(graph, GRAPH_INPUT, 2, F32, 2,
                                            SIZES(each && along == 0 ? ROWS : 1, each && along == 1 ? COLUMNS : 1));
    struct graph_operand table = graph_temp(graph, F32, 2, sizes), seen = table;
    if (t->published) {
        graph->values[table.value].place = GRAPH_OUTPUT;
        graph->values[table.value].index = 1;
    }
    if (t->flat) {
        graph_view_reshape(&table.view, 1, flat, &seen.view);
        graph_view_reshape(&q.view, 1, flat, &q.view);
        scale.view.rank = 1;
    }
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ q, scale }, 2, seen, 0, 0);
    const uint32_t before[2] = { t->axis ? ROWS : indices.view.sizes[0], indices.view.sizes[t->axis ? 0 : 1] };
    const struct graph_operand y = make_value(graph, GRAPH_OUTPUT, 0, F32, 3,
                                              SIZES(before[0], before[1], t->axis ? indices.view.sizes[1] : COLUMNS));
    struct graph_op *op = graph_op_add(graph, KERN_GATHER, (struct graph_operand[]){ table, indices }, 2, &y, 1);
    op->k.u.gather.axis = t->axis;
    op->k.u.gather.index_rank = 2;
    op->k.u.gather.mode = KERN_INDEX_AXIS;
}

static bool gathers_bytes(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->k.kind == KERN_GATHER)
            return graph->ops[i]->k.tensors[0].type == DML_TENSOR_DATA_TYPE_UINT8;
    return false;
}

static void test(const struct table *t, bool moved)
{
    static uint8_t q[ROWS * COLUMNS];
    static float scale[ROWS + COLUMNS], y[Y_MAX], more[ROWS * COLUMNS];
    int64_t indices[INDICES_MAX];
    struct graph graph;
    const struct graph_options options = make_options(0);
    graph_init(&graph, 3, 2, 0);
    build(&graph, t);
    const HRESULT hr = graph_run_passes(&graph, &options);
    TEST(hr == S_OK);
    TEST_FOR(gathers_bytes(&graph) == moved, "axis %u, %u indices", t->axis, t->count);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        q[i] = (uint8_t)(i * 37 + 11);
    for (uint32_t i = 0; i < ROWS + COLUMNS; i++)
        scale[i] = scale_at(t, i, i);
    for (uint32_t i = 0; i < t->count; i++)
        indices[i] = place(t, i);
    const struct make_run run = { .inputs = { q, indices, scale }, .outputs = { y, more } };
    if (!TEST(make_run_graph(&graph, &options, hr, t->count, &run)))
        return;
    for (uint32_t i = 0; i < t->count * (t->axis ? ROWS : COLUMNS); i++) {
        const uint32_t row = t->axis ? i / t->count : place(t, i / COLUMNS);
        const uint32_t column = t->axis ? place(t, i % t->count) : i % COLUMNS;
        const float want = (float)q[row * COLUMNS + column] * scale_at(t, row, column);
        if (!TEST_FOR(y[i] == want, "axis %u, element %u: got %g, want %g", t->axis, i, (double)y[i], (double)want))
            return;
    }
}

int main(void)
{
    for (uint32_t axis = 0; axis < 2; axis++)
        for (uint32_t flags = 0; flags < 8; flags++) {
            const struct table t = {
                .axis = axis, .count = 4, .square = flags & 1, .flat = (flags & 6) == 2, .scale_each = (flags & 6) == 4
            };
            test(&t, true);
            test(&(struct table){ .axis = axis, .count = 4, .scale_each_axis = true }, false);
            test(&(struct table){ .axis = axis, .count = 4, .published = true }, false);
            test(&(struct table){ .axis = axis, .count = INDICES_MAX }, false); /* more than there are */
        }
    return test_result();
}
