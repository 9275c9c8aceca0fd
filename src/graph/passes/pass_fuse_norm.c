/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and similar computations written as separate ops, (x - mean) / sqrt(mean of (x - mean)^2 +
 * epsilon), with or without the mean, become one NORM that reads x, over however many MAP ops the parts are spread. A
 * following multiplication and addition become its scale and bias, the rest of that MAP op its epilogue. With k = scale
 * / sqrt(...), exporters also write x * k + (bias - mean * k).
 *
 * The result is the same except for rounding. Conditions: one x under one view everywhere; means over one set of axes,
 * each read by its own group; no intermediate value is written twice, and x does not change before the last op.
 * Intermediate values may be FLOAT16 only if x is and epsilon is a FLOAT16 above zero, so that roots and quotients stay
 * finite; the squares, which NORM keeps in FLOAT32, then no longer overflow either. The mean of squares and values
 * computed from it must not have other readers, since they would have to be computed in addition; the mean and the
 * differences may. */
#include "graph/passes/pass.h"

#include <math.h>

#define F32          DML_TENSOR_DATA_TYPE_FLOAT32
#define F16          DML_TENSOR_DATA_TYPE_FLOAT16
#define HALF_EPSILON 0x1p-24f /* the smallest FLOAT16 above zero */

struct search {
    const struct graph *graph;
    const struct graph_uses *uses;
    bool half;      /* an intermediate value between x and the result was stored as FLOAT16 */
    uint32_t first; /* position of the first op that reads x */
    uint32_t last;  /* of the MAP op at the end of the normalisation */
};

/* A register of the MAP op at position `at`, in the shape in which its reader views it. */
struct node {
    struct graph_op op;
    uint32_t at, reg;
};

struct parts {
    struct graph_operand x, scale, bias; /* value GRAPH_NONE: none, or not yet known */
    uint32_t axes;
    float epsilon;
    bool centered;
};

static bool short_float(DML_TENSOR_DATA_TYPE type)
{
    return type == F32 || type == F16;
}

/* The view without broadcast dimensions. */
static struct kern_view collapsed(const struct kern_view *view)
{
    struct kern_view result = *view;
    for (uint32_t d = 0; d < view->rank; d++)
        result.sizes[d] = view->strides[d] ? view->sizes[d] : 1;
    return result;
}

static bool same_sizes(const struct kern_view *a, const struct kern_view *b)
{
    return a->rank == b->rank && !memcmp(a->sizes, b->sizes, a->rank * sizeof(*a->sizes));
}

static bool same_operand(const struct graph_operand *a, const struct graph_operand *b)
{
    return a->value == b->value && graph_view_equal(&a->view, &b->view);
}

/* Position of the only op that writes the value, before `at`; alone: and the given read is the only one. */
static uint32_t writer_of(const struct search *s, uint32_t value, uint32_t at, bool alone)
{
    struct graph_use_summary sum = graph_uses_of(s->uses, value);
    bool found = s->graph->values[value].place == GRAPH_TEMP && sum.writes == 1 && sum.writer < at &&
                 s->graph->ops[sum.writer]->k.output_count == 1 && (!alone || sum.reading_ops == 1);
    return found ? sum.writer : GRAPH_NONE;
}

/* The result of the MAP op that wrote the operand `from` of the op at `at`. */
static bool enter(const struct search *s, const struct graph_operand *from, uint32_t at, bool alone, struct node *out)
{
    struct kern_view seen = collapsed(&from->view);
    out->at = writer_of(s, from->value, at, alone);
    if (out->at == GRAPH_NONE || s->graph->ops[out->at]->k.kind != KERN_MAP || !short_float(seen.type) ||
        !graph_map_in_shape(s->graph->ops[out->at], &seen, &out->op))
        return false;
    out->reg = out->op.k.u.map.store[0];
    return graph_view_equal(&out->op.k.tensors[out->op.k.input_count], &seen);
}

/* The operand of a register that is an input viewed as FLOAT32. */
static bool operand_of(const struct node *node, struct graph_operand *out)
{
    const struct kern_op *op = &node->op.k;
    if (node->reg >= op->input_count || op->u.map.load_type[node->reg] != F32)
        return false;
    *out = (struct graph_operand){ node->op.value[node->reg], op->tensors[node->reg] };
    return short_float(out->view.type);
}

/* The FLOAT32 instruction that computes the register, possibly in an earlier op, to which `node` moves. NULL: none; the
 * register may be an input. */
static const struct kern_map_inst *instruction(struct search *s, struct node *node, bool alone)
{
    struct graph_operand from;
    struct node next;
    while (operand_of(node, &from) && enter(s, &from, node->at, alone, &next)) {
        s->half |= from.view.type == F16;
        *node = next;
    }
    if (node->reg < node->op.k.input_count)
        return NULL;
    const struct kern_map_inst *inst = &node->op.k.u.map.inst[node->reg - node->op.k.input_count];
    return inst->type == F32 && inst->to_type == F32 ? inst : NULL;
}

/* The FLOAT32 instruction of this code in the op itself. */
static const struct kern_map_inst *local(const struct node *node, uint32_t reg, enum kern_map_code code)
{
    if (reg < node->op.k.input_count)
        return NULL;
    const struct kern_map_inst *inst = &node->op.k.u.map.inst[reg - node->op.k.input_count];
    return inst->code == code && inst->type == F32 && inst->to_type == F32 ? inst : NULL;
}

static bool is_constant(const struct node *node, uint32_t reg, float value)
{
    const struct kern_map_inst *inst = local(node, reg, KERN_MAP_CONST);
    return inst && inst->imm[0].f32 == value;
}

/* ---- the normalised tensor -------------------------------------------------------------------------------------- */

/* The same elements before copies and lossless casts. */
static struct graph_operand origin(struct search *s, struct graph_operand x, uint32_t at)
{
    struct graph_operand before;
    struct node node;
    while (enter(s, &x, at, false, &node) && operand_of(&node, &before) && same_sizes(&before.view, &x.view) &&
           (x.view.type == F32 || x.view.type == before.view.type)) {
        x = before;
        at = node.at;
    }
    s->first = BASE_MIN(s->first, at);
    return x;
}

static bool origin_of(struct search *s, const struct node *node, struct graph_operand *out)
{
    if (!operand_of(node, out))
        return false;
    *out = origin(s, *out, node->at);
    return true;
}

/* Position of the op that computes the means in the register, each broadcast to the elements of its group; `node` moves
 * there. */
static uint32_t mean_of(struct search *s, struct node *node, bool alone)
{
    struct graph_operand from;
    if (instruction(s, node, alone) || !operand_of(node, &from))
        return GRAPH_NONE;
    struct kern_view seen = collapsed(&from.view);
    uint32_t at = writer_of(s, from.value, node->at, alone);
    const struct graph_op *op = at == GRAPH_NONE ? NULL : s->graph->ops[at];
    if (!op || op->k.kind != KERN_REDUCE || op->k.u.reduce.function != DML_REDUCE_FUNCTION_AVERAGE ||
        !graph_view_equal(&op->k.tensors[1], &seen))
        return GRAPH_NONE;
    s->half |= seen.type == F16;
    return at;
}

/* The register is the mean of x over these axes. */
static bool is_mean(struct search *s, struct node node, uint32_t axes, const struct graph_operand *x)
{
    uint32_t at = mean_of(s, &node, false);
    if (at == GRAPH_NONE)
        return false;
    const struct graph_op *reduce = s->graph->ops[at];
    struct graph_operand of = origin(s, (struct graph_operand){ reduce->value[0], reduce->k.tensors[0] }, at);
    return reduce->k.u.reduce.axes == axes && same_operand(&of, x);
}

static struct node source(const struct node *node, uint32_t reg)
{
    struct node result = *node;
    result.reg = reg;
    return result;
}

/* The register is x - mean of x. */
static bool centered(struct search *s, struct node node, uint32_t axes, struct graph_operand *out_x)
{
    const struct kern_map_inst *inst = instruction(s, &node, false);
    if (!inst || inst->code != KERN_MAP_SUB)
        return false;
    const struct node x = source(&node, inst->src[0]), mean = source(&node, inst->src[1]);
    return origin_of(s, &x, out_x) && is_mean(s, mean, axes, out_x);
}

/* The register is a square: `node` becomes its root. */
static bool take_square(struct search *s, struct node *node)
{
    const struct kern_map_inst *inst = instruction(s, node, true);
    struct graph_operand a, b;
    if (!inst || (inst->code != KERN_MAP_MUL && inst->code != KERN_MAP_POW))
        return false;
    struct node other = *node;
    node->reg = inst->src[0];
    other.reg = inst->src[1];
    if (inst->code == KERN_MAP_POW)
        return is_constant(node, other.reg, 2);
    return node->reg == other.reg || (operand_of(node, &a) && operand_of(&other, &b) && same_operand(&a, &b));
}

/* The register is sqrt(v + epsilon), or with `inverse` 1 / sqrt(v + epsilon): returns the position of the op that
 * computes v, a mean.
 */
static uint32_t deviation_of(struct search *s, struct node node, bool inverse, float *out_epsilon)
{
    const struct kern_map_inst *inst = instruction(s, &node, true);
    bool quotient = inst && inst->code == KERN_MAP_DIV && is_constant(&node, inst->src[0], 1);
    if (inverse && inst && (quotient || inst->code == KERN_MAP_RECIP)) {
        node.reg = inst->src[quotient];
        inst = instruction(s, &node, true);
        inverse = false;
    }
    bool root = inst && (inverse ? inst->code == KERN_MAP_POW && is_constant(&node, inst->src[1], -0.5f)
                                 : inst->code == KERN_MAP_SQRT ||
                                       (inst->code == KERN_MAP_POW && is_constant(&node, inst->src[1], 0.5f)));
    if (!root)
        return GRAPH_NONE;
    *out_epsilon = 0;
    node.reg = inst->src[0];
    inst = instruction(s, &node, true);
    if (inst) {
        *out_epsilon = inst->imm[1].f32;
        node.reg = inst->src[0];
        if (inst->code != KERN_MAP_MULADD || inst->imm[0].f32 != 1 || !(*out_epsilon >= 0) || isinf(*out_epsilon))
            return GRAPH_NONE;
    }
    return mean_of(s, &node, true);
}

/* The register is the deviation of some x (or with `inverse` 1 / deviation), by which MAP ops that write `like` divide.
 */
static bool deviates(struct search *s, const struct node *node, bool inverse, const struct kern_view *like,
                     struct parts *out)
{
    struct node squared;
    *out = (struct parts){ .scale = { .value = GRAPH_NONE }, .bias = { .value = GRAPH_NONE } };
    uint32_t at = deviation_of(s, *node, inverse, &out->epsilon);
    if (at == GRAPH_NONE)
        return false;
    const struct graph_op *reduce = s->graph->ops[at];
    struct graph_operand squares = { reduce->value[0], reduce->k.tensors[0] };
    if (!same_sizes(&squares.view, like) || !enter(s, &squares, at, true, &squared) || !take_square(s, &squared))
        return false;
    s->half |= squares.view.type == F16;
    out->axes = reduce->k.u.reduce.axes;
    struct search plain = *s;
    out->centered = centered(s, squared, out->axes, &out->x);
    if (!out->centered) { /* possibly of something that is only squared */
        *s = plain;
        if (!origin_of(s, &squared, &out->x))
            return false;
    }
    return same_sizes(&out->x.view, like) && (!s->half || (out->x.view.type == F16 && out->epsilon >= HALF_EPSILON));
}

/* `d` divided by `deviation`, or with `inverse` multiplied by it, is a normalised x. */
static bool match(struct search *s, const struct node *d, const struct node *deviation, bool inverse, struct parts *out)
{
    struct graph_operand again;
    if (!deviates(s, deviation, inverse, &d->op.k.tensors[d->op.k.input_count], out))
        return false;
    return (out->centered ? centered(s, *d, out->axes, &again) : origin_of(s, d, &again)) &&
           same_operand(&out->x, &again) && (!s->half || out->x.view.type == F16);
}

/* One register, or two with equal instructions. */
static bool same_register(const struct node *node, uint32_t a, uint32_t b)
{
    const uint32_t inputs = node->op.k.input_count;
    const struct kern_map_inst *inst = node->op.k.u.map.inst;
    return a == b || (a >= inputs && b >= inputs && !memcmp(&inst[a - inputs], &inst[b - inputs], sizeof(*inst)));
}

/* Register k is scale / deviation of some x. */
static bool scaled(struct search *s, struct node k, const struct kern_view *like, struct parts *out)
{
    const struct kern_map_inst *inst = instruction(s, &k, true);
    const struct search inside = *s;
    for (uint32_t i = 0; inst && inst->code == KERN_MAP_MUL && i < 2; i++, *s = inside) {
        const struct node inverse = source(&k, inst->src[i]), scale = source(&k, inst->src[!i]);
        if (deviates(s, &inverse, true, like, out))
            return operand_of(&scale, &out->scale) && same_sizes(&out->scale.view, like) &&
                   graph_stable_between(s->uses, out->scale.value, k.at, s->last);
    }
    return false;
}

/* x * k + (bias - mean * k), where `add` is the addition and `product` the index of its operand x * k. */
static bool match_sum(struct search *s, const struct node *map, const struct kern_map_inst *add, uint32_t product,
                      struct parts *out)
{
    const struct kern_map_inst *xk = local(map, add->src[product], KERN_MAP_MUL);
    const struct kern_map_inst *rest = local(map, add->src[!product], KERN_MAP_SUB);
    const struct kern_map_inst *mk = rest ? local(map, rest->src[1], KERN_MAP_MUL) : NULL;
    const struct search begin = *s;
    for (uint32_t i = 0; xk && mk && i < 4; i++, *s = begin) {
        const struct node x = source(map, xk->src[i & 1]), k = source(map, xk->src[!(i & 1)]);
        const struct node mean = source(map, mk->src[i >> 1]), bias = source(map, rest->src[0]);
        struct graph_operand again, shift;
        if (same_register(map, k.reg, mk->src[!(i >> 1)]) &&
            scaled(s, k, &map->op.k.tensors[map->op.k.input_count], out) && out->centered && origin_of(s, &x, &again) &&
            same_operand(&again, &out->x) && is_mean(s, mean, out->axes, &again) &&
            (!s->half || again.view.type == F16) && operand_of(&bias, &shift)) {
            out->bias = shift;
            return true;
        }
    }
    return false;
}

/* Register `reg` of the MAP op is a normalised x. */
static bool find(struct search *s, const struct graph_op *map, uint32_t reg, struct parts *out)
{
    const struct kern_map_inst *inst = &map->k.u.map.inst[reg - map->k.input_count];
    const struct search begin = *s;
    const struct node result = { *map, s->last, reg };
    if (inst->type != F32 || inst->to_type != F32)
        return false;
    for (uint32_t i = 0; i < 2; i++, *s = begin) {
        const struct node a = source(&result, inst->src[i]), b = source(&result, inst->src[!i]);
        if ((inst->code == KERN_MAP_DIV && i == 0 && match(s, &a, &b, false, out)) ||
            (inst->code == KERN_MAP_MUL && match(s, &a, &b, true, out)) ||
            (inst->code == KERN_MAP_ADD && match_sum(s, &result, inst, i, out)))
            return true;
    }
    return false;
}

/* ---- scale, bias and epilogue ------------------------------------------------------------------------------------ */

/* The rest of the MAP op after register `reg`, as an epilogue's program. */
static bool program_behind(const struct graph_op *map, uint32_t reg, struct graph_program *out)
{
    struct graph_program own;
    graph_program_of(map, &own);
    if (own.input_count == KERN_TENSORS_MAX)
        return false;
    memset(out, 0, sizeof(*out));
    out->map = own.map;
    out->input_count = own.input_count + 1;
    out->inputs[0].value = GRAPH_NONE;
    out->map.load_type[0] = F32;
    for (uint32_t i = 0; i < own.input_count; i++) {
        out->inputs[i + 1] = own.inputs[i];
        out->map.load_type[i + 1] = own.map.load_type[i];
    }
    for (uint32_t i = 0; i < own.map.inst_count; i++)
        for (uint32_t j = 0; j < kern_map_arity[own.map.inst[i].code]; j++) {
            uint8_t *src = &out->map.inst[i].src[j];
            *src = *src == reg ? 0 : (uint8_t)(*src + 1);
        }
    out->map.store[0] = own.map.store[0] == reg ? 0 : (uint8_t)(own.map.store[0] + 1);
    graph_program_trim(out);
    for (uint32_t i = 0; i < out->input_count; i++)
        if (out->map.load_type[i] != F32)
            return false;
    return out->input_count && out->inputs[0].value == GRAPH_NONE;
}

/* The only instruction that reads the kernel's result, once; or GRAPH_NONE. */
static uint32_t only_reader(const struct graph_program *program)
{
    uint32_t found = GRAPH_NONE, uses = program->map.store[0] == 0;
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        for (uint32_t j = 0; j < kern_map_arity[program->map.inst[i].code]; j++)
            if (program->map.inst[i].src[j] == 0) {
                found = i;
                uses++;
            }
    return uses == 1 ? found : GRAPH_NONE;
}

static bool insert_input(struct graph_op *op, uint32_t at, const struct graph_operand *input)
{
    uint32_t count = op->k.input_count + op->k.output_count;
    if (count == KERN_TENSORS_MAX)
        return false;
    for (uint32_t t = count; t > at; t--) {
        op->value[t] = op->value[t - 1];
        op->k.tensors[t] = op->k.tensors[t - 1];
    }
    op->value[at] = input->value;
    op->k.tensors[at] = input->view;
    op->k.input_count++;
    return true;
}

/* Registers of the scale and the bias that the instruction applies to register 0; 0 = none. */
static bool read_affine(const struct kern_norm *norm, const struct kern_map_inst *inst, uint32_t *scale, uint32_t *bias)
{
    uint32_t other = inst->src[inst->src[0] == 0];
    *scale = *bias = 0;
    if (inst->type != F32 || inst->to_type != F32 || norm->has_bias)
        return false;
    if (inst->code == KERN_MAP_ADD)
        *bias = other;
    if (inst->code == KERN_MAP_MUL || inst->code == KERN_MAP_FMA)
        *scale = other;
    if (inst->code == KERN_MAP_FMA)
        *bias = inst->src[2];
    return (*scale || *bias) && !(*scale && norm->has_scale) && (inst->code != KERN_MAP_FMA || (*scale && *bias));
}

/* A multiplication or addition at the start of the program becomes scale or bias of the NORM op, which does not have an
 * epilogue. */
static bool take_affine(struct graph_op *op, struct graph_program *program)
{
    struct kern_norm *norm = &op->k.u.norm;
    uint32_t at = only_reader(program), own = program->input_count, regs[2];
    if (at == GRAPH_NONE || !read_affine(norm, &program->map.inst[at], &regs[0], &regs[1]))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (regs[i] && (regs[i] >= own || !short_float(program->inputs[regs[i]].view.type)))
            return false;
    for (uint32_t i = 0; i < 2; i++)
        if (regs[i] && !insert_input(op, op->k.input_count, &program->inputs[regs[i]]))
            return false;
    norm->has_scale |= regs[0] != 0;
    norm->has_bias |= regs[1] != 0;
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        for (uint32_t j = 0; j < ARRAY_SIZE(program->map.inst[i].src); j++)
            if (program->map.inst[i].src[j] == own + at)
                program->map.inst[i].src[j] = 0;
    if (program->map.store[0] == own + at)
        program->map.store[0] = 0;
    graph_program_trim(program);
    return true;
}

/* The NORM op with as much of the program as possible without changing its kernel. */
static bool finish(const struct graph *graph, const struct graph_options *options, struct graph_op *norm,
                   struct graph_program *program)
{
    while (take_affine(norm, program)) { /* each time there is less of it */
    }
    struct graph_op plain = *norm;
    return (!program->map.inst_count || graph_op_set_epilogue(norm, program)) &&
           graph_op_as_fast(graph, options, &plain, norm);
}

/* ---- changing the graph ------------------------------------------------------------------------------------------ */

static void put(struct graph *graph, struct graph_uses *uses, uint32_t at, struct graph_op *made)
{
    if (made->k.epilogue) {
        made->k.epilogue = base_arena_copy(&graph->arena, made->k.epilogue, sizeof(*made->k.epilogue));
        graph->failed |= !made->k.epilogue;
    }
    *graph->ops[at] = *made;
    graph->failed |= !graph_uses_refresh(uses, at);
}

static bool build(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at,
                  uint32_t reg, const struct parts *parts)
{
    const struct graph_op *map = graph->ops[at];
    struct graph_op made = *map;
    struct graph_program program;
    memset(&made.k, 0, sizeof(made.k));
    made.k.kind = KERN_NORM;
    made.k.flags = map->k.flags;
    made.k.output_count = 1;
    made.k.tensors[0] = map->k.tensors[map->k.input_count];
    made.value[0] = map->value[map->k.input_count];
    made.k.u.norm = (struct kern_norm){ .axes = parts->axes,
                                        .epsilon = parts->epsilon,
                                        .use_mean = parts->centered,
                                        .use_variance = true,
                                        .has_scale = parts->scale.value != GRAPH_NONE,
                                        .has_bias = parts->bias.value != GRAPH_NONE };
    if (!insert_input(&made, 0, &parts->x) ||
        (made.k.u.norm.has_scale && !insert_input(&made, made.k.input_count, &parts->scale)) ||
        (made.k.u.norm.has_bias && !insert_input(&made, made.k.input_count, &parts->bias)))
        return false;
    if (!program_behind(map, reg, &program) || !finish(graph, options, &made, &program) ||
        graph_op_reads(&made, made.value[made.k.input_count]))
        return false;
    put(graph, uses, at, &made);
    return true;
}

/* Replaces the MAP op at `at`, the end of a normalisation, by it. */
static bool fuse(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at)
{
    const struct graph_op *map = graph->ops[at];
    if (map->k.output_count != 1 || !short_float(map->k.tensors[map->k.input_count].type))
        return false;
    for (uint32_t i = 0; i < map->k.u.map.inst_count; i++) {
        struct search search = { graph, uses, false, at, at };
        struct parts parts;
        uint32_t reg = map->k.input_count + i;
        if (find(&search, map, reg, &parts) && graph_stable_between(uses, parts.x.value, search.first, at) &&
            build(graph, uses, options, at, reg, &parts))
            return true;
    }
    return false;
}

/* Scale and bias out of a NORM op's epilogue. */
static bool shorten(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at)
{
    const struct graph_op *norm = graph->ops[at];
    struct graph_op made = *norm;
    struct graph_program program;
    if (!norm->k.epilogue || norm->k.output_count != 1)
        return false;
    graph_program_of_epilogue(norm, &program);
    made.k.epilogue = NULL;
    made.k.input_count = norm->k.epilogue_input;
    made.k.epilogue_input = 0;
    made.value[made.k.input_count] = norm->value[norm->k.input_count];
    made.k.tensors[made.k.input_count] = norm->k.tensors[norm->k.input_count];
    const struct kern_norm *before = &norm->k.u.norm, *after = &made.k.u.norm;
    if (!finish(graph, options, &made, &program) ||
        (before->has_scale == after->has_scale && before->has_bias == after->has_bias) ||
        !graph_op_as_fast(graph, options, norm, &made))
        return false;
    put(graph, uses, at, &made);
    return true;
}

HRESULT graph_pass_fuse_norm(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (graph->ops[i]->k.kind == KERN_MAP)
            *changed |= fuse(graph, &uses, options, i);
        else if (graph->ops[i]->k.kind == KERN_NORM)
            *changed |= shorten(graph, &uses, options, i);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
