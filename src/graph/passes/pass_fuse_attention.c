/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(scale * Q K^T [+ mask]) V becomes one attention if the scores and the weights have no other readers, so they
 * are never written to memory. At this point, the scale and the mask are in the first GEMM's epilogue. A scale of each
 * head or query (cosine attention) multiplies Q before. Torch's exports replace weights that are NaN by 0, which gives
 * queries whose keys are all masked the result 0. */
#include "graph/passes/pass.h"

#include "kernels/core/epilogue.h"

#define MASKS_MAX 4 /* such as positions and windows: their sum is the attention's */

struct attention {
    const struct graph_op *scores, *softmax, *product;
    uint32_t scores_at, softmax_at, product_at;
    uint32_t select_at; /* the op that replaces NaN by 0, GRAPH_NONE: none */
    float scale;
    uint32_t masks[MASKS_MAX], mask_count; /* inputs of `scores` */
    uint32_t factor;                       /* likewise: the scale of each query; 0: none */
    uint8_t factor_code;                   /* MUL or DIV */
};

static bool is_product(const struct graph_op *op)
{
    return op->k.kind == KERN_GEMM && !op->k.u.gemm.integer && !op->k.u.gemm.has_c && op->k.output_count == 1 &&
           op->k.tensors[0].rank <= 4;
}

/* `read` shows the whole of what was written by `written`: perhaps in different sizes, but in lines of equal length. */
static bool is_whole(const struct kern_view *read, const struct kern_view *written)
{
    struct kern_view seen;
    return written->type == read->type && written->sizes[written->rank - 1] == read->sizes[read->rank - 1] &&
           (graph_view_equal(read, written) ||
            (graph_view_reshape(read, written->rank, written->sizes, &seen) && graph_view_equal(&seen, written)));
}

/* Position of the op whose whole result is input t of the op at `at`, its only reader; or GRAPH_NONE. */
static uint32_t source_of(const struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t t)
{
    const struct graph_op *reader = graph->ops[at];
    struct graph_use_summary sum = graph_uses_of(uses, reader->value[t]);
    if (graph->values[reader->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= at)
        return GRAPH_NONE;
    for (uint32_t i = 0; i < reader->k.input_count; i++)
        if (i != t && reader->value[i] == reader->value[t]) /* read twice: it must stay */
            return GRAPH_NONE;
    const struct graph_op *writer = graph->ops[sum.writer];
    return writer->k.output_count == 1 && is_whole(&reader->k.tensors[t], &writer->k.tensors[writer->k.input_count])
               ? sum.writer
               : GRAPH_NONE;
}

/* ---- NaN as 0 ---------------------------------------------------------------------------------------------------- */

/* One constant 0 for all elements. */
static bool is_zero(struct graph *graph, const struct graph_op *op, uint32_t t)
{
    static const char zero[sizeof(double)];
    const struct kern_view *view = &op->k.tensors[t];
    const struct graph_value *value = &graph->values[op->value[t]];
    const int64_t at = graph_view_byte_offset(view);
    for (uint32_t d = 0; d < view->rank; d++)
        if (view->sizes[d] > 1 && view->strides[d] != 0)
            return false;
    const uint32_t bytes = kern_type_bytes(view->type);
    if (value->place != GRAPH_CONSTANT || value->size_bytes > sizeof(zero) || at < 0 || !bytes ||
        (uint64_t)at + bytes > value->size_bytes)
        return false;
    const char *data = graph_constant_data(graph, op->value[t]);
    return data && !memcmp(data + at, zero, bytes);
}

/* The instruction that writes the register; NULL: it is an input. */
static const struct kern_map_inst *written_by(const struct graph_op *map, uint32_t reg)
{
    return reg < map->k.input_count ? NULL : &map->k.u.map.inst[reg - map->k.input_count];
}

/* Position of the op whose result the MAP op at `at` stores with 0 for NaN, SELECT(IS_NAN(x), 0, x); or GRAPH_NONE. */
static uint32_t replaced_of(struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    const struct graph_op *op = graph->ops[at];
    const struct kern_map_inst *select = written_by(op, op->k.u.map.store[0]);
    if (graph->flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS || !select || select->code != KERN_MAP_SELECT ||
        op->k.u.map.inst_count > 3)
        return GRAPH_NONE;
    const uint32_t x = select->src[2];
    const struct kern_map_inst *test = written_by(op, select->src[0]), *zero = written_by(op, select->src[1]);
    if (x >= op->k.input_count || !test || test->code != KERN_MAP_IS_NAN || test->src[0] != x ||
        (zero ? zero->code != KERN_MAP_CONST || zero->type != DML_TENSOR_DATA_TYPE_FLOAT32 || zero->imm[0].f32 != 0
              : !is_zero(graph, op, select->src[1])))
        return GRAPH_NONE;
    return source_of(graph, uses, at, x);
}

/* ---- the pattern ------------------------------------------------------------------------------------------------- */

/* Divisions by constants as multiplications: their rounding is that of a scale. */
static void without_divisions(const struct kern_op *op, struct kern_map *out)
{
    const uint32_t inputs = kern_epilogue_inputs(op);
    for (uint32_t i = 0; i < out->inst_count; i++) {
        struct kern_map_inst *inst = &out->inst[i];
        if (inst->code != KERN_MAP_DIV || inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->src[1] < inputs ||
            out->inst[inst->src[1] - inputs].code != KERN_MAP_CONST)
            continue;
        const float divisor = out->inst[inst->src[1] - inputs].imm[0].f32;
        inst->code = KERN_MAP_MULADD;
        inst->imm[0].f32 = 1 / divisor;
        inst->imm[1].f32 = -0.0f;
    }
}

/* The same for all keys of a query. */
static bool is_by_query(const struct kern_view *view)
{
    return view->strides[view->rank - 1] == 0 || view->sizes[view->rank - 1] == 1;
}

/* The epilogue multiplies by constants, multiplies or divides by one number for each query, adds tensors, or does some
 * of this in this order. */
static bool read_epilogue(struct attention *at)
{
    static const struct kern_epilogue_support support = { KERN_EPILOGUE_STEPS_MAX,
                                                          { [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_DIV] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR } };
    struct kern_op op = at->scores->k;
    struct kern_epilogue epilogue;
    struct kern_map map;
    at->scale = op.u.gemm.alpha;
    at->mask_count = at->factor = 0;
    if (op.epilogue) {
        map = *op.epilogue;
        without_divisions(&op, &map);
        op.epilogue = &map;
    }
    if (!kern_epilogue_match(&op, &support, &epilogue))
        return false;
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_epilogue_step *step = &epilogue.step[i];
        if (!step->tensor && (step->q != 0 || at->mask_count))
            return false;
        if (!step->tensor) {
            at->scale *= step->p;
        } else if (step->code != KERN_MAP_ADD) {
            if (at->factor || at->mask_count || !is_by_query(&op.tensors[step->tensor]))
                return false;
            at->factor = step->tensor;
            at->factor_code = step->code;
        } else if (at->mask_count < MASKS_MAX) {
            at->masks[at->mask_count++] = step->tensor;
        } else {
            return false;
        }
    }
    return true;
}

static bool find(struct graph *graph, const struct graph_uses *uses, uint32_t position, struct attention *out)
{
    out->product_at = position;
    out->product = graph->ops[position];
    if (!is_product(out->product) || out->product->k.epilogue || out->product->k.u.gemm.alpha != 1)
        return false;
    out->softmax_at = source_of(graph, uses, position, 0);
    out->select_at = GRAPH_NONE;
    if (out->softmax_at != GRAPH_NONE && graph->ops[out->softmax_at]->k.kind == KERN_MAP) {
        out->select_at = out->softmax_at;
        out->softmax_at = replaced_of(graph, uses, out->select_at);
    }
    if (out->softmax_at == GRAPH_NONE)
        return false;
    out->softmax = graph->ops[out->softmax_at];
    if (out->softmax->k.kind != KERN_SOFTMAX || out->softmax->k.u.softmax.mode != KERN_SOFTMAX_PLAIN ||
        out->softmax->k.u.softmax.axes != UINT32_C(1) << (out->softmax->k.tensors[0].rank - 1))
        return false;
    out->scores_at = source_of(graph, uses, out->softmax_at, 0);
    if (out->scores_at == GRAPH_NONE)
        return false;
    out->scores = graph->ops[out->scores_at];
    return is_product(out->scores) && read_epilogue(out);
}

/* A matrix per batch and head; `batches` and `heads` are those of the result. */
static struct graph_operand heads_of(const struct graph_op *op, uint32_t t, bool transposed, uint32_t batches,
                                     uint32_t heads)
{
    static const uint32_t order[] = { 0, 1, 3, 2 };
    struct graph_operand out = { op->value[t], op->k.tensors[t] };
    uint32_t rank = out.view.rank;
    out.view = graph_view_broadcast(
        &op->k.tensors[t], 4,
        (const uint32_t[]){ batches, heads, op->k.tensors[t].sizes[rank - 2], op->k.tensors[t].sizes[rank - 1] });
    if (transposed)
        out.view = graph_view_permute(&out.view, order);
    return out;
}

static bool short_floats(const struct graph_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].view.type != DML_TENSOR_DATA_TYPE_FLOAT32 &&
            operands[i].view.type != DML_TENSOR_DATA_TYPE_FLOAT16)
            return false;
    return true;
}

/* The sum of the masks, if there are several, as a tensor that no op writes yet: in the sizes in which they differ. */
static bool sum_of(const struct attention *at, const struct graph_operand *masks, struct graph_operand *out)
{
    uint32_t sizes[4] = { 1, 1, 1, 1 };
    *out = masks[0];
    if (at->mask_count == 1)
        return true;
    for (uint32_t i = 0; i < at->mask_count; i++) {
        if (masks[i].view.type != masks[0].view.type)
            return false;
        for (uint32_t d = 0; d < 4; d++)
            sizes[d] = masks[i].view.strides[d] ? masks[0].view.sizes[d] : sizes[d];
    }
    out->value = GRAPH_NONE;
    kern_view_set_packed(&out->view, masks[0].view.type, 4, sizes);
    out->view = graph_view_broadcast(&out->view, 4, masks[0].view.sizes);
    return true;
}

/* Q times the factor, as a tensor that no op writes yet. */
static void scale_queries(const struct attention *at, struct graph_operand *queries)
{
    const struct kern_view q = queries->view;
    if (at->factor) {
        kern_view_set_packed(&queries->view, q.type, 4, q.sizes);
        queries->value = GRAPH_NONE;
    }
}

static void masks_of(const struct attention *at, struct graph_operand *out)
{
    const struct kern_view *s = &at->scores->k.tensors[at->scores->k.input_count];
    for (uint32_t i = 0; i < at->mask_count; i++)
        out[i] = heads_of(at->scores, at->masks[i], false, s->rank > 3 ? s->sizes[s->rank - 4] : 1,
                          s->rank > 2 ? s->sizes[s->rank - 3] : 1);
}

/* Inserts an op before the attention: `code` of all operands, from the first one on. Returns its result, in the first
 * one's type and sizes. */
static uint32_t insert(struct graph *graph, const struct attention *at, uint8_t code, const struct graph_operand *in,
                       uint32_t count)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct graph_operand result = graph_temp(graph, in->view.type, in->view.rank, in->view.sizes);
    struct graph_op *op = graph_op_insert(graph, at->product_at, at->scores, KERN_MAP, in, count, &result);
    if (!op)
        return GRAPH_NONE;
    struct kern_map *map = &op->k.u.map;
    for (uint8_t i = 0; i < count; i++)
        map->load_type[i] = f32;
    for (uint8_t i = 1; i < count; i++)
        map->inst[map->inst_count++] =
            (struct kern_map_inst){ code, f32, f32, { i > 1 ? (uint8_t)(count + i - 2) : 0, i }, { { 0 } } };
    map->store[0] = (uint8_t)(2 * count - 2);
    return result.value;
}

static void add_masks(struct graph *graph, const struct attention *at, struct graph_op *fused)
{
    struct graph_operand masks[MASKS_MAX];
    struct kern_view sum = fused->k.tensors[3];
    masks_of(at, masks);
    for (uint32_t d = 0; d < 4; d++)
        sum.sizes[d] = sum.strides[d] ? sum.sizes[d] : 1;
    for (uint32_t i = 0; i < at->mask_count; i++)
        memcpy(masks[i].view.sizes, sum.sizes, 4 * sizeof(*sum.sizes));
    fused->value[3] = insert(graph, at, KERN_MAP_ADD, masks, at->mask_count);
}

static void multiply_queries(struct graph *graph, const struct attention *at, struct graph_op *fused)
{
    const struct kern_view *q = &fused->k.tensors[0];
    struct graph_operand in[2] = { heads_of(at->scores, 0, false, q->sizes[0], q->sizes[1]),
                                   heads_of(at->scores, at->factor, false, q->sizes[0], q->sizes[1]) };
    in[1].view.sizes[3] = q->sizes[3];
    in[1].view.strides[3] = 0;
    fused->value[0] = insert(graph, at, at->factor_code, in, 2);
}

/* Replaces the last GEMM by the attention. */
static bool build(const struct attention *at, struct graph_op *out)
{
    const struct kern_view *y = &at->product->k.tensors[at->product->k.input_count];
    const struct kern_view *s = &at->scores->k.tensors[at->scores->k.input_count];
    uint32_t b = y->rank > 3 ? y->sizes[y->rank - 4] : 1, h = y->rank > 2 ? y->sizes[y->rank - 3] : 1, count = 3;
    uint32_t sb = s->rank > 3 ? s->sizes[s->rank - 4] : 1, sh = s->rank > 2 ? s->sizes[s->rank - 3] : 1;
    struct graph_operand all[5], masks[MASKS_MAX];
    if (sb != b || sh != h || s->sizes[s->rank - 2] != y->sizes[y->rank - 2]) /* the weights are not shared */
        return false;
    all[0] = heads_of(at->scores, 0, false, b, h);
    scale_queries(at, &all[0]);
    all[1] = heads_of(at->scores, 1, true, b, h);
    all[2] = heads_of(at->product, 1, false, b, h);
    masks_of(at, masks);
    if (at->mask_count && !sum_of(at, masks, &all[count++]))
        return false;
    all[count] = heads_of(at->product, at->product->k.input_count, false, b, h);
    if (!short_floats(all, count + 1))
        return false;
    *out = *at->product;
    memset(&out->k, 0, sizeof(out->k));
    out->k.kind = KERN_ATTENTION;
    out->k.flags = at->product->k.flags;
    out->k.input_count = count;
    out->k.output_count = 1;
    out->k.u.attention = (struct kern_attention){ .scale = at->scale,
                                                  .has_mask = at->mask_count != 0,
                                                  .undefined = at->select_at == GRAPH_NONE };
    for (uint32_t t = 0; t <= count; t++) {
        out->k.tensors[t] = all[t].view;
        out->value[t] = all[t].value;
    }
    return !graph_op_reads(out, all[count].value);
}

/* ---- heads that share keys ---- */

/* Operand t, K or V, without repetitions: it has each head for `*share` query heads next to each other, by a stride of
 * 0 or in a copy. */
static bool unrepeated(const struct graph *graph, const struct graph_uses *uses, uint32_t position,
                       const struct graph_op *op, uint32_t t, uint32_t *share, struct graph_operand *out)
{
    const struct graph_use_summary sum = graph_uses_of(uses, op->value[t]);
    *out = (struct graph_operand){ op->value[t], op->k.tensors[t] };
    if (out->view.strides[1] == 0 && out->view.sizes[1] > 1) {
        *share = out->view.sizes[1];
        out->view.sizes[1] = 1;
        return true;
    }
    if (graph->values[op->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.writer >= position)
        return false;
    const struct graph_op *move = graph->ops[sum.writer];
    const struct kern_view *from = &move->k.tensors[0], *to = &move->k.tensors[1];
    struct kern_view seen, view = op->k.tensors[t];
    uint32_t d = 0;
    while (d < from->rank && (from->sizes[d] < 2 || from->strides[d]))
        d++;
    if (move->k.kind != KERN_MOVE || d == from->rank || view.sizes[1] % from->sizes[d] ||
        !graph_stable_between(uses, move->value[0], sum.writer, position + 1))
        return false;
    *share = from->sizes[d];
    view.sizes[1] /= *share;
    const int64_t stride = view.strides[1];
    view.strides[1] *= *share;
    for (uint32_t i = 0; i < *share; i++, view.offset += stride) {
        if (!graph_view_through(to, from, &view, &seen) || (i && !graph_view_equal(&seen, &out->view)))
            return false;
        *out = (struct graph_operand){ move->value[0], seen };
    }
    return true;
}

/* Queries of heads that share keys, one of each, as the queries of one head. */
static void gather_queries(struct graph_op *op)
{
    const uint32_t heads = op->k.tensors[1].sizes[1];
    for (uint32_t t = 0; t <= op->k.input_count; t = t == 0 ? 3 : t + 1) {
        struct kern_view *view = &op->k.tensors[t];
        view->sizes[2] = view->sizes[1] / heads;
        view->sizes[1] = heads;
        view->strides[2] = view->strides[1];
        view->strides[1] *= view->sizes[2];
    }
}

/* The attention that reads keys and values from where they are not repeated yet. */
static bool share_keys(const struct graph *graph, const struct graph_uses *uses, uint32_t position,
                       const struct graph_op *op, struct graph_op *out)
{
    struct graph_operand found[2];
    uint32_t share[2];
    *out = *op;
    for (uint32_t i = 0; i < 2; i++) {
        if (!unrepeated(graph, uses, position, op, 1 + i, &share[i], &found[i]) ||
            found[i].value == op->value[op->k.input_count])
            return false;
        out->value[1 + i] = found[i].value;
        out->k.tensors[1 + i] = found[i].view;
    }
    return share[0] == share[1];
}

/* The same, with a single query of each head among those of the head that they share: the op has no more than a mask.
 */
static bool share_all(const struct graph *graph, const struct graph_uses *uses, uint32_t position,
                      const struct graph_op *op, struct graph_op *out)
{
    if (!share_keys(graph, uses, position, op, out))
        return false;
    if (op->k.tensors[0].sizes[2] == 1)
        gather_queries(out);
    return true;
}

/* An attention that the caller asked for. */
static bool share(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t position)
{
    const struct graph_op *op = graph->ops[position];
    struct graph_op shared;
    if (op->dead || op->k.kind != KERN_ATTENTION || op->k.tensors[1].sizes[1] != op->k.tensors[0].sizes[1] ||
        !share_keys(graph, uses, position, op, &shared) || !graph_op_as_fast(graph, options, op, &shared))
        return false;
    *graph->ops[position] = shared;
    graph->failed |= !graph_uses_refresh(uses, position);
    return true;
}

static bool fuse(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t position)
{
    struct attention at;
    struct graph_op fused, shared;
    if (graph->ops[position]->dead || !find(graph, uses, position, &at) || !build(&at, &fused) ||
        !graph_op_may_sink(uses, at.scores, at.scores_at, position))
        return false;
    const bool shares =
        share_all(graph, uses, position, &fused, &shared) && graph_op_pays(graph, options, at.product, &shared);
    if (!shares && !graph_op_pays(graph, options, at.product, &fused))
        return false;
    if (at.mask_count > 1)
        add_masks(graph, &at, &fused);
    if (at.factor)
        multiply_queries(graph, &at, &fused);
    if (graph->failed)
        return false;
    if (shares && share_all(graph, uses, position, &fused, &shared))
        fused = shared;
    graph_op_join(&fused, at.scores);
    graph_op_join(&fused, at.softmax);
    graph->ops[at.scores_at]->dead = graph->ops[at.softmax_at]->dead = true;
    if (at.select_at != GRAPH_NONE) {
        graph_op_join(&fused, graph->ops[at.select_at]);
        graph->ops[at.select_at]->dead = true;
    }
    *graph->ops[position] = fused;
    if (!graph_uses_refresh(uses, position))
        graph->failed = true;
    return true;
}

HRESULT graph_pass_fuse_attention(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= fuse(graph, &uses, options, i) || share(graph, &uses, options, i);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
