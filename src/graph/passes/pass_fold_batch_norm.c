/* SPDX-License-Identifier: Apache-2.0 */
/* After a convolution with constant weights, an affine function a * x + b with known a and b per output channel (above
 * all batch normalisation) is folded into the weights and the bias. The element-wise program is evaluated once
 * symbolically, to find its last register that is affine in x and through which alone x is used; then numerically for
 * each channel.
 */
#include "graph/passes/pass.h"

#include "base/half.h"
#include "base/parallel.h"

#include <math.h>
#include <stdlib.h>

#define ELEMENTS_MIN UINT64_C(32768) /* weights that are worth a thread */

enum shape { KNOWN, LINE, OTHER };

#define REGISTERS (KERN_TENSORS_MAX + KERN_MAP_INST_MAX)

struct line {
    double a, b;
};

struct folding {
    struct graph *graph;
    const struct graph_uses *uses;
    const struct graph_options *options;
    uint32_t conv_at, map_at;
    struct graph_op *conv, *map;
    uint32_t x;   /* the MAP op's input that is the convolution's result */
    uint32_t cut; /* the register that the new convolution computes */
};

/* The same, for making weights and biases: a derivation of the weights, the bias and the MAP op's known inputs. */
struct scaling {
    struct kern_op conv, map;
    bool known[KERN_TENSORS_MAX]; /* the MAP op's inputs */
    uint32_t x, cut;
};

struct scaling_data {
    const void *weights, *bias; /* bias NULL: none */
    const void *map[KERN_TENSORS_MAX];
};

static bool float_compute(uint8_t type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

/* The result of an instruction on affine operands; *out = its value if that is affine or known. */
static enum shape step(const struct kern_map_inst *inst, const enum shape *shapes, const struct line *lines,
                       struct line *out)
{
    double p = inst->type == DML_TENSOR_DATA_TYPE_FLOAT64 ? inst->imm[0].f64 : inst->imm[0].f32;
    double q = inst->type == DML_TENSOR_DATA_TYPE_FLOAT64 ? inst->imm[1].f64 : inst->imm[1].f32;
    enum shape most = KNOWN, x_shape = shapes[inst->src[0]], y_shape = shapes[inst->src[1]];
    struct line x = lines[inst->src[0]], y = lines[inst->src[1]], z = lines[inst->src[2]];
    uint32_t known = 0;
    for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++) {
        most = BASE_MAX(most, shapes[inst->src[s]]);
        known += shapes[inst->src[s]] == KNOWN;
    }
    if (most == OTHER || !float_compute(inst->type) || !float_compute(inst->to_type))
        return OTHER;
    switch (inst->code) {
    case KERN_MAP_CONST:
        *out = (struct line){ 0, p };
        return KNOWN;
    case KERN_MAP_CONVERT:
        *out = x;
        return most;
    case KERN_MAP_NEG:
        *out = (struct line){ -x.a, -x.b };
        return most;
    case KERN_MAP_MULADD:
        *out = (struct line){ x.a * p, x.b * p + q };
        return most;
    case KERN_MAP_ADD:
        *out = (struct line){ x.a + y.a, x.b + y.b };
        return most;
    case KERN_MAP_SUB:
        *out = (struct line){ x.a - y.a, x.b - y.b };
        return most;
    case KERN_MAP_MUL:
        *out = (struct line){ x.a * y.b + y.a * x.b, x.b * y.b };
        return known ? most : OTHER;
    case KERN_MAP_DIV:
        *out = (struct line){ x.a / y.b, x.b / y.b };
        return y_shape == KNOWN ? most : OTHER;
    case KERN_MAP_FMA:
        *out = (struct line){ x.a * y.b + y.a * x.b + z.a, x.b * y.b + z.b };
        return x_shape == KNOWN || y_shape == KNOWN ? most : OTHER;
    case KERN_MAP_SQRT:
        *out = (struct line){ 0, sqrt(x.b) };
        return most == KNOWN ? KNOWN : OTHER;
    case KERN_MAP_RECIP:
        *out = (struct line){ 0, 1 / x.b };
        return most == KNOWN ? KNOWN : OTHER;
    default:
        return OTHER;
    }
}

/* lines[0 .. inputs) and shapes[0 .. inputs) are given; the function fills the rest. */
static void follow(const struct kern_op *map, enum shape *shapes, struct line *lines)
{
    for (uint32_t i = 0; i < map->u.map.inst_count; i++) {
        uint32_t reg = map->input_count + i;
        lines[reg] = (struct line){ 0, 0 };
        shapes[reg] = step(&map->u.map.inst[i], shapes, lines, &lines[reg]);
    }
}

static bool is_known(const struct folding *folding, uint32_t t)
{
    return t != folding->x && graph_value_fixed(folding->graph, folding->options, folding->map->value[t]);
}

/* x affects the result only through register `cut`. */
static bool all_through(const struct graph_op *map, uint32_t x, uint32_t cut)
{
    bool depends[REGISTERS] = { 0 };
    uint32_t inputs = map->k.input_count;
    depends[x] = true;
    for (uint32_t i = 0; i < map->k.u.map.inst_count; i++) {
        const struct kern_map_inst *inst = &map->k.u.map.inst[i];
        for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++) {
            bool passes = depends[inst->src[s]] && !(inst->src[s] == cut);
            if (inputs + i > cut && passes && inst->src[s] < cut)
                return false;
            depends[inputs + i] |= depends[inst->src[s]];
        }
    }
    return map->k.u.map.store[0] >= cut || !depends[map->k.u.map.store[0]];
}

static bool find_cut(struct folding *folding)
{
    enum shape shapes[REGISTERS] = { KNOWN };
    struct line lines[REGISTERS] = { { 0, 0 } };
    const struct graph_op *map = folding->map;
    for (uint32_t t = 0; t < map->k.input_count; t++)
        shapes[t] = t == folding->x ? LINE : is_known(folding, t) ? KNOWN : OTHER;
    follow(&map->k, shapes, lines);
    for (uint32_t reg = map->k.input_count + map->k.u.map.inst_count; reg-- > map->k.input_count;) {
        if (shapes[reg] != LINE || map->k.u.map.inst[reg - map->k.input_count].to_type != DML_TENSOR_DATA_TYPE_FLOAT32)
            continue;
        folding->cut = reg;
        if (all_through(map, folding->x, reg))
            return true;
    }
    return false;
}

static double load(const void *data, DML_TENSOR_DATA_TYPE type, int64_t index)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        return ((const float *)data)[index];
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return base_half_to_float(((const uint16_t *)data)[index]);
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return ((const double *)data)[index];
    default:
        return NAN;
    }
}

static void store(void *data, DML_TENSOR_DATA_TYPE type, uint64_t index, double value)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        ((uint16_t *)data)[index] = base_double_to_half(value);
    else
        ((float *)data)[index] = (float)value;
}

/* One value per channel: only dimension 1 has a stride. */
static bool per_channel(const struct kern_view *view)
{
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != 1 && view->sizes[d] > 1 && view->strides[d])
            return false;
    return true;
}

static double channel_value(const void *data, const struct kern_view *view, uint32_t channel)
{
    int64_t step_elements = view->sizes[1] > 1 ? view->strides[1] : 0;
    return load(data, view->type, view->offset + channel * step_elements);
}

static uint32_t channels(const struct scaling *s)
{
    return s->conv.tensors[s->conv.input_count].sizes[1];
}

/* The line of each output channel; false when one is not finite. */
static bool make_lines(const struct scaling *s, const struct scaling_data *data, struct line *out)
{
    enum shape shapes[REGISTERS] = { KNOWN };
    struct line lines[REGISTERS] = { { 0, 0 } };
    bool finite = true;
    for (uint32_t t = 0; t < s->map.input_count; t++)
        shapes[t] = t == s->x ? LINE : s->known[t] ? KNOWN : OTHER;
    for (uint32_t c = 0; c < channels(s); c++) {
        for (uint32_t t = 0; t < s->map.input_count; t++)
            if (s->known[t])
                lines[t] = (struct line){ 0, channel_value(data->map[t], &s->map.tensors[t], c) };
        lines[s->x] = (struct line){ 1, 0 };
        follow(&s->map, shapes, lines);
        out[c] = lines[s->cut];
        finite = finite && isfinite(out[c].a) && isfinite(out[c].b);
    }
    return finite;
}

/* Output channel that element (i0, i1, ...) of the weights belongs to. */
static uint32_t weight_channel(const struct kern_op *conv, uint32_t i0, uint32_t i1)
{
    const struct kern_view *w = &conv->tensors[1];
    if (!conv->u.conv.transposed)
        return i0;
    return i0 / (w->sizes[0] / conv->u.conv.groups) * w->sizes[1] + i1;
}

struct scaled {
    const struct kern_op *conv;
    const void *data;
    const struct line *lines;
    void *out;
};

/* Dense FLOAT32 weights of a channel are contiguous: offsets need no computation. */
static void scale_rows(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct scaled *scaled = context;
    const struct kern_view *view = &scaled->conv->tensors[1];
    const uint64_t each = kern_view_elements(view) / view->sizes[0];
    const float *data = (const float *)scaled->data + view->offset + begin * each;
    float *out = (float *)scaled->out + begin * each;
    (void)worker;
    for (size_t c = begin; c < end; c++, data += each, out += each)
        for (uint64_t i = 0; i < each; i++)
            out[i] = (float)(data[i] * scaled->lines[c].a);
}

/* Of [begin, end) along the first dimension. */
static void scale_elements(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct scaled *scaled = context;
    const struct kern_view *view = &scaled->conv->tensors[1];
    const uint64_t each = kern_view_elements(view) / view->sizes[0];
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)begin };
    (void)worker;
    for (uint64_t i = begin * each; i < end * each; i++) {
        int64_t index = view->offset;
        for (uint32_t d = 0; d < view->rank; d++)
            index += at[d] * view->strides[d];
        store(scaled->out, view->type, i,
              load(scaled->data, view->type, index) * scaled->lines[weight_channel(scaled->conv, at[0], at[1])].a);
        for (uint32_t d = view->rank; d-- && ++at[d] == view->sizes[d];)
            at[d] = 0;
    }
}

static void scale_weights(const struct scaling *s, const void *data, const struct line *lines, void *out)
{
    const struct kern_view *view = &s->conv.tensors[1];
    const uint64_t each = BASE_MAX(kern_view_elements(view) / view->sizes[0], 1);
    const bool plain =
        view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && !s->conv.u.conv.transposed && kern_view_packed(view);
    struct scaled scaled = { &s->conv, data, lines, out };
    base_parallel_for(view->sizes[0], (size_t)(ELEMENTS_MIN / each + 1), plain ? scale_rows : scale_elements, &scaled);
}

static void make_bias(const struct scaling *s, const void *data, const struct line *lines, void *out)
{
    DML_TENSOR_DATA_TYPE type = s->conv.tensors[s->conv.input_count].type;
    for (uint32_t c = 0; c < channels(s); c++) {
        double bias = data ? channel_value(data, &s->conv.tensors[2], c) : 0;
        store(out, type, c, bias * lines[c].a + lines[c].b);
    }
}

/* The transform's inputs by role. */
static void sort_inputs(const struct scaling *s, const void *const *in, struct scaling_data *out)
{
    uint32_t count = 0;
    *out = (struct scaling_data){ .weights = in[count++] };
    if (s->conv.u.conv.has_bias)
        out->bias = in[count++];
    for (uint32_t t = 0; t < s->map.input_count; t++)
        if (s->known[t])
            out->map[t] = in[count++];
}

/* Affine functions of owned values may not be finite: then the results are not finite either, as without folding. */
static bool run_scaling(const void *context, const void *const *in, void *const *out)
{
    const struct scaling *s = context;
    struct scaling_data data;
    struct line *lines = calloc(channels(s), sizeof(*lines));
    if (!lines)
        return false;
    sort_inputs(s, in, &data);
    make_lines(s, &data, lines);
    scale_weights(s, data.weights, lines, out[0]);
    make_bias(s, data.bias, lines, out[1]);
    free(lines);
    return true;
}

static bool fixed_float(const struct folding *folding, const struct graph_op *op, uint32_t t)
{
    DML_TENSOR_DATA_TYPE type = op->k.tensors[t].type;
    return graph_value_fixed(folding->graph, folding->options, op->value[t]) &&
           (type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16);
}

/* The rest of the MAP op if the convolution computes register `cut`. */
static void shorten_map(const struct folding *folding)
{
    struct graph_op *map = folding->map, old = *folding->map;
    struct graph_program program;
    graph_program_of(map, &program);
    for (uint32_t i = 0; i < program.map.inst_count; i++)
        for (uint32_t s = 0; s < ARRAY_SIZE(program.map.inst[i].src); s++)
            if (program.map.inst[i].src[s] == folding->cut)
                program.map.inst[i].src[s] = (uint8_t)folding->x;
    if (program.map.store[0] == folding->cut)
        program.map.store[0] = (uint8_t)folding->x;
    graph_program_trim(&program);
    map->k.u.map = program.map;
    map->k.input_count = program.input_count;
    for (uint32_t t = 0; t < program.input_count; t++) {
        map->value[t] = program.inputs[t].value;
        map->k.tensors[t] = program.inputs[t].view;
    }
    map->value[program.input_count] = old.value[old.k.input_count];
    map->k.tensors[program.input_count] = old.k.tensors[old.k.input_count];
}

/* The MAP op is empty: the convolution writes its result directly if it may. */
static void take_over(const struct folding *folding)
{
    struct graph_op *conv = folding->conv, *map = folding->map, made = *conv;
    if (map->k.u.map.inst_count || map->k.input_count != 1 || map->k.tensors[0].type != map->k.tensors[1].type ||
        !graph_op_may_sink(folding->uses, conv, folding->conv_at, folding->map_at))
        return;
    made.value[made.k.input_count] = map->value[1];
    made.k.tensors[made.k.input_count] = map->k.tensors[1];
    if (graph_op_reads(&made, map->value[1]) || !graph_op_no_worse(folding->graph, folding->options, conv, &made))
        return;
    *conv = made;
    map->dead = true;
    folding->graph->ops[folding->conv_at] = map;
    folding->graph->ops[folding->map_at] = conv;
}

/* The lines are finite, as far as they are known. */
static bool finite_lines(const struct folding *folding, const struct scaling *s)
{
    struct graph *graph = folding->graph;
    struct scaling_data data = { NULL };
    for (uint32_t t = 0; t < s->map.input_count; t++) {
        if (!s->known[t])
            continue;
        if (graph->values[folding->map->value[t]].place != GRAPH_CONSTANT)
            return true;
        data.map[t] = graph_constant_data(graph, folding->map->value[t]);
        if (!data.map[t])
            return false;
    }
    struct line *lines = calloc(channels(s), sizeof(*lines));
    bool finite = lines && make_lines(s, &data, lines);
    graph->failed |= !lines;
    free(lines);
    return finite;
}

/* New weights and biases; false when lines are not finite or memory is short. */
static bool scale(const struct folding *folding, struct graph_operand *out_weights, struct graph_operand *out_bias)
{
    const struct graph_op *conv = folding->conv, *map = folding->map;
    const struct kern_view *w = &conv->k.tensors[1], *y = &conv->k.tensors[conv->k.input_count];
    struct scaling s = { .conv = conv->k, .map = map->k, .x = folding->x, .cut = folding->cut };
    uint32_t values[KERN_TENSORS_MAX + 4], count = 0, sizes[KERN_RANK_MAX];
    values[count++] = conv->value[1];
    if (conv->k.u.conv.has_bias)
        values[count++] = conv->value[2];
    for (uint32_t t = 0; t < map->k.input_count; t++) {
        s.known[t] = is_known(folding, t);
        if (s.known[t])
            values[count++] = map->value[t];
    }
    if (!finite_lines(folding, &s))
        return false;
    for (uint32_t d = 0; d < y->rank; d++)
        sizes[d] = d == 1 ? y->sizes[1] : 1;
    *out_weights = graph_temp(folding->graph, w->type, w->rank, w->sizes);
    *out_bias = graph_temp(folding->graph, y->type, y->rank, sizes);
    values[count] = out_weights->value;
    values[count + 1] = out_bias->value;
    return graph_derive(folding->graph,
                        &(struct graph_derivation){ "fold_batch_norm", run_scaling, &s, sizeof(s), count, 2, values });
}

static bool fold(const struct folding *folding)
{
    struct graph_op *conv = folding->conv, old = *conv;
    struct graph_operand weights, bias;
    if (!scale(folding, &weights, &bias))
        return false;
    conv->value[1] = weights.value;
    conv->k.tensors[1] = weights.view;
    conv->value[2] = bias.value;
    conv->k.tensors[2] = bias.view;
    conv->value[3] = old.value[old.k.input_count];
    conv->k.tensors[3] = old.k.tensors[old.k.input_count];
    conv->k.input_count = 3;
    conv->k.u.conv.has_bias = true;
    graph_op_join(conv, folding->map);
    shorten_map(folding);
    take_over(folding);
    graph_constant_drop_unread(folding->graph, folding->uses, old.value[1]);
    return true;
}

static bool conv_suits(const struct folding *folding, const struct graph_op *conv)
{
    DML_TENSOR_DATA_TYPE type = conv->k.tensors[conv->k.input_count].type;
    return conv->k.kind == KERN_CONV && !conv->dead && !conv->k.epilogue && conv->k.input_count <= 3 &&
           fixed_float(folding, conv, 1) && (!conv->k.u.conv.has_bias || fixed_float(folding, conv, 2)) &&
           type == conv->k.tensors[1].type;
}

/* Finds the foldable part of the MAP op at `at`, whose input is a convolution's result. */
static bool find(struct graph *graph, const struct graph_options *options, const struct graph_uses *uses, uint32_t at,
                 struct folding *out)
{
    struct graph_op *map = graph->ops[at];
    uint32_t found = 0;
    *out = (struct folding){ .graph = graph, .uses = uses, .options = options, .map_at = at, .map = map };
    if (map->dead || map->k.kind != KERN_MAP || map->k.output_count != 1)
        return false;
    for (uint32_t t = 0; t < map->k.input_count; t++) {
        struct graph_use_summary sum = graph_uses_of(uses, map->value[t]);
        if (graph_value_fixed(graph, out->options, map->value[t]) &&
            (!fixed_float(out, map, t) || !per_channel(&map->k.tensors[t])))
            return false;
        if (graph->values[map->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
            sum.writer >= at || !conv_suits(out, graph->ops[sum.writer]))
            continue;
        out->conv_at = sum.writer;
        out->conv = graph->ops[sum.writer];
        out->x = t;
        found++;
    }
    return found == 1 && map->k.tensors[out->x].rank >= 3 &&
           map->k.u.map.load_type[out->x] == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           graph_view_equal(&map->k.tensors[out->x], &out->conv->k.tensors[out->conv->k.input_count]);
}

HRESULT graph_pass_fold_batch_norm(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    struct folding folding;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (!find(graph, options, &uses, i, &folding) || !find_cut(&folding) || !fold(&folding))
            continue;
        *changed = true;
        ok = graph_uses_refresh(&uses, i) && graph_uses_refresh(&uses, folding.conv_at);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
