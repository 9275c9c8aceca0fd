/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan: their bodies run once per iteration, each time with values of the previous one. */
#include "onnx/emit/build.h"
#include "onnx/run/flow_graph.h"

#include <stdlib.h>

#define AXES_MAX  64
#define ROW_BYTES 128 /* of an allocation beside the elements */

/* Results that the iterations produce one by one: elements of an axis that does not exist yet. */
struct rows {
    const struct onnx_value_info *declared; /* of the body */
    struct onnx_array *arrays;
    uint32_t count, capacity;
};

static HRESULT no_memory(struct onnx_flow *flow, const struct onnx_node *n)
{
    onnx_flow_fail(flow, n, "out of memory");
    return E_OUTOFMEMORY;
}

static void finish_all(struct onnx_array *arrays, uint32_t count)
{
    for (uint32_t i = 0; arrays && i < count; i++)
        onnx_array_finish(&arrays[i]);
    free(arrays);
}

/* What a row takes: small ones are mostly overhead. */
static uint64_t row_bytes(const struct onnx_array *row)
{
    return row->bytes + sizeof(*row) + ROW_BYTES;
}

static void rows_finish(struct onnx_flow *flow, struct rows *rows, uint32_t count)
{
    for (uint32_t i = 0; rows && i < count; i++) {
        for (uint32_t r = 0; r < rows[i].count; r++)
            flow->held -= row_bytes(&rows[i].arrays[r]);
        finish_all(rows[i].arrays, rows[i].count);
    }
    free(rows);
}

/* `value`, which `from` replaces, passes to the next iteration. */
static HRESULT carry(struct onnx_flow *flow, const struct onnx_node *n, struct onnx_array *value,
                     struct onnx_array *from)
{
    const uint64_t before = value->bytes;
    onnx_array_finish(value);
    *value = *from;
    memset(from, 0, sizeof(*from));
    flow->held += value->bytes - before;
    return onnx_flow_may_hold(flow, n, 0);
}

/* Values that begin or end to be carried. */
static void hold(struct onnx_flow *flow, const struct onnx_array *values, uint32_t count, bool begin)
{
    for (uint32_t i = 0; values && i < count; i++)
        flow->held += begin ? values[i].bytes : -values[i].bytes;
}

/* Takes ownership of the array. */
static HRESULT rows_add(struct onnx_flow *flow, const struct onnx_node *n, struct rows *rows, struct onnx_array *array)
{
    const HRESULT hr = onnx_flow_may_hold(flow, n, row_bytes(array));
    if (FAILED(hr))
        return hr;
    if (!base_array_reserve((void **)&rows->arrays, rows->count, &rows->capacity, sizeof(*rows->arrays)))
        return no_memory(flow, n);
    flow->held += row_bytes(array);
    rows->arrays[rows->count++] = *array;
    memset(array, 0, sizeof(*array));
    return S_OK;
}

/* All rows along `axis`, which has `length` positions (zeros where there is no row), the last one first if `reverse`.
 * Without rows, the declaration of the body's output defines their shape. */
static HRESULT rows_join(struct onnx_flow *flow, const struct onnx_node *n, const struct rows *rows, int64_t axis,
                         int64_t length, bool reverse, struct onnx_array *out)
{
    const struct onnx_value_info *declared = rows->declared;
    struct onnx_array like = { .type = declared->type, .rank = declared->rank };
    int64_t dims[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < declared->rank && i < ONNX_RANK_MAX; i++)
        like.dims[i] = BASE_MAX(declared->dims[i], 0);
    if (rows->count)
        like = rows->arrays[0];
    const uint32_t rank = like.rank + 1;
    const int64_t given = axis;
    axis += axis < 0 ? rank : 0;
    if (rank > ONNX_RANK_MAX || axis < 0 || axis >= rank)
        return onnx_flow_fail(flow, n, "results of rank %u cannot be concatenated along axis %lld", like.rank,
                              (long long)given);
    if (!onnx_type_bytes(like.type) || like.type == ONNX_UINT4 || like.type == ONNX_INT4)
        return onnx_flow_fail(flow, n, "results of data type %s are not supported", onnx_type_name(like.type));
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? length : like.dims[i - (i > axis)];
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct onnx_array *row = &rows->arrays[i];
        if (row->type != like.type || row->rank != like.rank ||
            memcmp(row->dims, like.dims, like.rank * sizeof(*like.dims)))
            return onnx_flow_fail(flow, n, "the shapes of '%.80s' differ between iterations", declared->name);
    }
    if (!onnx_array_make(out, like.type, rank, dims))
        return no_memory(flow, n);
    for (uint32_t i = 0; i < rows->count; i++)
        onnx_array_set_element(out, (uint32_t)axis, reverse ? rows->count - 1 - i : i, &rows->arrays[i]);
    return S_OK;
}

/* One number or boolean, of the rank that the body declares for it. */
static bool make_one(struct onnx_array *out, const struct onnx_value_info *declared, int32_t type, int64_t value)
{
    static const int64_t one = 1;
    if (!onnx_array_make(out, type, declared->has_shape && declared->rank == 1, &one))
        return false;
    memcpy(out->data, &value, out->bytes); /* little-endian */
    return true;
}

/* The value of an optional input of one number or boolean. */
static HRESULT read_one(struct onnx_flow *flow, const struct flow_scope *scope, const struct onnx_node *n, uint32_t i,
                        int32_t type, int64_t *value)
{
    struct onnx_array array;
    if (i >= n->input_count || !n->inputs[i][0])
        return S_OK;
    HRESULT hr = onnx_flow_value(flow, scope, n->inputs[i], &array);
    if (FAILED(hr))
        return hr;
    bool good = array.type == type && array.bytes == onnx_type_bytes(type);
    if (good) {
        *value = 0;
        memcpy(value, array.data, array.bytes);
    }
    onnx_array_finish(&array);
    return good ? S_OK : onnx_flow_fail(flow, n, "input %u must be one %s", i, onnx_type_name(type));
}

/* ---- Loop ---- */

struct loop {
    const struct onnx_node *node;
    const struct onnx_model *body;
    struct onnx_array *in, *out; /* of the body: in = iteration, condition, values; out = condition, values, results */
    struct rows *rows;
    uint32_t values, results;
};

static HRESULT loop_open(struct onnx_flow *flow, const struct flow_scope *scope, struct loop *l)
{
    const struct onnx_node *n = l->node;
    const struct onnx_attribute *body = onnx_attribute(n, "body");
    l->values = BASE_MAX(n->input_count, 2u) - 2;
    if (!body || !body->graph)
        return onnx_flow_fail(flow, n, "the body is missing");
    l->body = body->graph;
    if (l->body->input_count != 2 + l->values || l->body->output_count < 1 + l->values ||
        n->output_count > l->body->output_count - 1)
        return onnx_flow_fail(flow, n, "the body has %u inputs and %u outputs for %u values and %u outputs",
                              l->body->input_count, l->body->output_count, l->values, n->output_count);
    l->results = l->body->output_count - 1 - l->values;
    l->in = calloc(2u + l->values, sizeof(*l->in));
    l->out = calloc(l->body->output_count, sizeof(*l->out));
    l->rows = calloc(l->results + 1u, sizeof(*l->rows));
    if (!l->in || !l->out || !l->rows)
        return no_memory(flow, n);
    for (uint32_t i = 0; i < l->results; i++)
        l->rows[i].declared = &l->body->outputs[1 + l->values + i];
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < l->values; i++)
        hr = onnx_flow_value(flow, scope, n->inputs[2 + i], &l->in[2 + i]);
    return hr;
}

static HRESULT loop_iterate(struct onnx_flow *flow, struct flow_scope *scope, struct loop *l, int64_t iteration,
                            int64_t *condition)
{
    onnx_array_finish(&l->in[0]);
    onnx_array_finish(&l->in[1]);
    if (!make_one(&l->in[0], &l->body->inputs[0], ONNX_INT64, iteration) ||
        !make_one(&l->in[1], &l->body->inputs[1], ONNX_BOOL, *condition))
        return no_memory(flow, l->node);
    HRESULT hr = onnx_flow_run_graph(flow, l->body, scope, true, l->in, l->out);
    if (FAILED(hr))
        return hr;
    if (l->out[0].type != ONNX_BOOL || l->out[0].bytes != 1)
        return onnx_flow_fail(flow, l->node, "the body's condition must be one boolean");
    *condition = *(const uint8_t *)l->out[0].data;
    onnx_array_finish(&l->out[0]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < l->values; i++)
        hr = carry(flow, l->node, &l->in[2 + i], &l->out[1 + i]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < l->results; i++)
        hr = rows_add(flow, l->node, &l->rows[i], &l->out[1 + l->values + i]);
    return hr;
}

static HRESULT loop_close(struct onnx_flow *flow, struct flow_scope *scope, struct loop *l)
{
    const struct onnx_node *n = l->node;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->output_count; i++) {
        struct onnx_array y = { 0 };
        if (i < l->values)
            y = onnx_array_share(&l->in[2 + i]);
        else if (n->outputs[i][0])
            hr = rows_join(flow, n, &l->rows[i - l->values], 0, l->rows[i - l->values].count, false, &y);
        if (SUCCEEDED(hr))
            hr = onnx_flow_define(flow, scope, n->outputs[i], &y);
    }
    return hr;
}

HRESULT onnx_flow_run_loop(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n)
{
    struct loop l = { .node = n };
    int64_t most = INT64_MAX, condition = 1;
    HRESULT hr = loop_open(flow, scope, &l);
    if (SUCCEEDED(hr))
        hr = read_one(flow, scope, n, 0, ONNX_INT64, &most);
    if (SUCCEEDED(hr))
        hr = read_one(flow, scope, n, 1, ONNX_BOOL, &condition);
    hold(flow, l.in ? l.in + 2 : NULL, l.values, true);
    for (int64_t i = 0; SUCCEEDED(hr) && i < most && condition; i++)
        hr = loop_iterate(flow, scope, &l, i, &condition);
    hold(flow, l.in ? l.in + 2 : NULL, l.values, false);
    if (SUCCEEDED(hr))
        hr = loop_close(flow, scope, &l);
    finish_all(l.in, l.body ? 2 + l.values : 0);
    finish_all(l.out, l.body ? l.body->output_count : 0);
    rows_finish(flow, l.rows, l.results);
    return hr;
}

/* ---- Scan ---- */

struct scan {
    const struct onnx_node *node;
    const struct onnx_model *body;
    uint32_t states, inputs, results;
    struct onnx_array *in;   /* states, then the whole inputs; the states move on */
    struct onnx_array *step; /* of the body: states, then elements of the inputs */
    struct onnx_array *out;  /* of the body: states, then one row of each result */
    struct onnx_array *joined;
    int64_t in_axes[AXES_MAX], in_reverse[AXES_MAX], out_axes[AXES_MAX], out_reverse[AXES_MAX];
};

static bool read_list(const struct onnx_node *n, const char *name, int64_t *out, uint32_t count)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    for (uint32_t i = 0; a && a->ints && i < a->count && i < count; i++)
        out[i] = a->ints[i];
    return !a || !a->ints || a->count == count;
}

/* The first version has batch rows, and inputs and results along axis 0 of each. */
static bool has_batch(const struct onnx_node *n)
{
    return n->version < 9;
}

static HRESULT scan_open(struct onnx_flow *flow, const struct flow_scope *scope, struct scan *s)
{
    const struct onnx_node *n = s->node;
    const struct onnx_attribute *body = onnx_attribute(n, "body");
    uint32_t first = has_batch(n), given = BASE_MAX(n->input_count, first) - first;
    int64_t inputs = onnx_attr_int(n, "num_scan_inputs", 0);
    if (!body || !body->graph)
        return onnx_flow_fail(flow, n, "the body is missing");
    s->body = body->graph;
    if (inputs < 1 || inputs > given || s->body->input_count != given || s->body->output_count != n->output_count ||
        n->output_count < given - inputs || s->body->input_count > AXES_MAX || n->output_count > AXES_MAX)
        return onnx_flow_fail(
            flow, n, "the body has %u inputs and %u outputs for %u inputs with num_scan_inputs = %lld, and %u outputs",
            s->body->input_count, s->body->output_count, given, (long long)inputs, n->output_count);
    s->inputs = (uint32_t)inputs;
    s->states = given - s->inputs;
    s->results = n->output_count - s->states;
    if (!read_list(n, has_batch(n) ? "directions" : "scan_input_directions", s->in_reverse, s->inputs) ||
        (!has_batch(n) && (!read_list(n, "scan_input_axes", s->in_axes, s->inputs) ||
                           !read_list(n, "scan_output_axes", s->out_axes, s->results) ||
                           !read_list(n, "scan_output_directions", s->out_reverse, s->results))))
        return onnx_flow_fail(flow, n, "axes or directions are not one per input or output");
    s->in = calloc(given, sizeof(*s->in));
    s->step = calloc(given, sizeof(*s->step));
    s->out = calloc(n->output_count + 1u, sizeof(*s->out));
    s->joined = calloc(n->output_count + 1u, sizeof(*s->joined));
    if (!s->in || !s->step || !s->out || !s->joined)
        return no_memory(flow, n);
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < given; i++)
        hr = onnx_flow_value(flow, scope, n->inputs[first + i], &s->in[i]);
    return hr;
}

static void scan_finish(struct scan *s)
{
    uint32_t given = s->states + s->inputs, outputs = s->states + s->results;
    finish_all(s->in, given);
    finish_all(s->step, given);
    finish_all(s->out, outputs);
    finish_all(s->joined, outputs);
}

/* How many elements the inputs have along their axes. */
static HRESULT scan_length(struct onnx_flow *flow, struct scan *s, int64_t *out)
{
    for (uint32_t i = 0; i < s->inputs; i++) {
        const struct onnx_array *x = &s->in[s->states + i];
        const int64_t given = s->in_axes[i], axis = given + (given < 0 ? x->rank : 0);
        if (axis < 0 || axis >= x->rank)
            return onnx_flow_fail(flow, s->node, "axis %lld is outside the %u dimensions", (long long)given, x->rank);
        if (x->type == ONNX_UINT4 || x->type == ONNX_INT4)
            return onnx_flow_fail(flow, s->node, "inputs of %s are not supported", onnx_type_name(x->type));
        if (i && x->dims[axis] != *out)
            return onnx_flow_fail(flow, s->node, "the inputs have %lld and %lld elements", (long long)*out,
                                  (long long)x->dims[axis]);
        s->in_axes[i] = axis;
        *out = x->dims[axis];
    }
    return S_OK;
}

static HRESULT scan_iterate(struct onnx_flow *flow, struct flow_scope *scope, struct scan *s, int64_t at, int64_t count,
                            struct rows *rows)
{
    for (uint32_t i = 0; i < s->states + s->inputs; i++) {
        bool parted = i >= s->states;
        uint32_t input = parted ? i - s->states : 0;
        onnx_array_finish(&s->step[i]);
        if (!parted)
            s->step[i] = onnx_array_share(&s->in[i]);
        else if (!onnx_array_element(&s->step[i], &s->in[i], (uint32_t)s->in_axes[input],
                                     s->in_reverse[input] ? count - 1 - at : at))
            return no_memory(flow, s->node);
    }
    HRESULT hr = onnx_flow_run_graph(flow, s->body, scope, true, s->step, s->out);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < s->states + s->results; i++) {
        if (i >= s->states) {
            hr = rows_add(flow, s->node, &rows[i - s->states], &s->out[i]);
            continue;
        }
        hr = carry(flow, s->node, &s->in[i], &s->out[i]);
    }
    return hr;
}

/* `count` iterations; results have `length` positions. Fills s->joined. */
static HRESULT scan_run(struct onnx_flow *flow, struct flow_scope *scope, struct scan *s, int64_t count, int64_t length)
{
    struct rows *rows = calloc(s->results + 1u, sizeof(*rows));
    HRESULT hr = rows ? S_OK : no_memory(flow, s->node);
    for (uint32_t i = 0; rows && i < s->results; i++)
        rows[i].declared = &s->body->outputs[s->states + i];
    hold(flow, s->in, s->states, true);
    for (int64_t i = 0; SUCCEEDED(hr) && i < count; i++)
        hr = scan_iterate(flow, scope, s, i, count, rows);
    hold(flow, s->in, s->states, false);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < s->states; i++)
        s->joined[i] = onnx_array_share(&s->in[i]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < s->results; i++)
        hr = rows_join(flow, s->node, &rows[i], s->out_axes[i], length, s->out_reverse[i] != 0,
                       &s->joined[s->states + i]);
    rows_finish(flow, rows, s->results);
    return hr;
}

/* One batch row of the first version: slices it, then scans like later versions. */
static HRESULT scan_batch_row(struct onnx_flow *flow, struct flow_scope *scope, const struct scan *whole, int64_t row,
                              const struct onnx_array *lengths, struct rows *rows)
{
    const struct onnx_node *n = whole->node;
    uint32_t given = whole->states + whole->inputs, outputs = whole->states + whole->results;
    struct scan s = *whole;
    int64_t length = 0;
    s.in = calloc(given, sizeof(*s.in));
    s.step = calloc(given, sizeof(*s.step));
    s.out = calloc(outputs + 1u, sizeof(*s.out));
    s.joined = calloc(outputs + 1u, sizeof(*s.joined));
    HRESULT hr = s.in && s.step && s.out && s.joined ? S_OK : no_memory(flow, n);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < given; i++)
        hr = onnx_array_element(&s.in[i], &whole->in[i], 0, row) ? S_OK : no_memory(flow, n);
    if (SUCCEEDED(hr))
        hr = scan_length(flow, &s, &length);
    int64_t count = lengths->data ? ((const int64_t *)lengths->data)[row] : length;
    if (SUCCEEDED(hr) && (count < 0 || count > length))
        hr = onnx_flow_fail(flow, n, "sequence_lens[%lld] is %lld of %lld", (long long)row, (long long)count,
                            (long long)length);
    if (SUCCEEDED(hr))
        hr = scan_run(flow, scope, &s, count, length);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < outputs; i++)
        hr = rows_add(flow, n, &rows[i], &s.joined[i]);
    scan_finish(&s);
    return hr;
}

static HRESULT scan_batches(struct onnx_flow *flow, struct flow_scope *scope, struct scan *s)
{
    const struct onnx_node *n = s->node;
    uint32_t outputs = s->states + s->results;
    struct onnx_array lengths = { 0 };
    struct rows *rows = calloc(outputs + 1u, sizeof(*rows));
    HRESULT hr = rows ? S_OK : no_memory(flow, n);
    for (uint32_t i = 0; rows && i < outputs; i++)
        rows[i].declared = &s->body->outputs[i];
    if (SUCCEEDED(hr) && n->inputs[0][0])
        hr = onnx_flow_value(flow, scope, n->inputs[0], &lengths);
    int64_t batch = s->in[0].rank ? s->in[0].dims[0] : 0;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < s->states + s->inputs; i++) {
        if (!s->in[i].rank || s->in[i].dims[0] != batch || s->in[i].type == ONNX_UINT4 || s->in[i].type == ONNX_INT4)
            hr = onnx_flow_fail(flow, n, "input %u does not have %lld batch rows", i + 1, (long long)batch);
    }
    if (SUCCEEDED(hr) && lengths.data && (lengths.type != ONNX_INT64 || lengths.bytes != (uint64_t)batch * 8))
        hr = onnx_flow_fail(flow, n, "the number of lengths must equal the batch size");
    for (int64_t i = 0; SUCCEEDED(hr) && i < batch; i++)
        hr = scan_batch_row(flow, scope, s, i, &lengths, rows);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < outputs; i++)
        hr = rows_join(flow, n, &rows[i], 0, batch, false, &s->joined[i]);
    onnx_array_finish(&lengths);
    rows_finish(flow, rows, outputs);
    return hr;
}

HRESULT onnx_flow_run_scan(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n)
{
    struct scan s = { .node = n };
    int64_t length = 0;
    HRESULT hr = scan_open(flow, scope, &s);
    if (SUCCEEDED(hr) && has_batch(n)) {
        hr = scan_batches(flow, scope, &s);
    } else if (SUCCEEDED(hr)) {
        hr = scan_length(flow, &s, &length);
        if (SUCCEEDED(hr))
            hr = scan_run(flow, scope, &s, length, length);
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->output_count; i++)
        hr = onnx_flow_define(flow, scope, n->outputs[i], &s.joined[i]);
    scan_finish(&s);
    return hr;
}
