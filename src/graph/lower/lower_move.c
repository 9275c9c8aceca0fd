/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement: mostly views and KERN_MOVE. */
#include "graph/lower/lower.h"

static struct graph_operand slice(const struct graph_operand *operand, const uint32_t *start, const uint32_t *sizes,
                                  const int32_t *steps)
{
    struct graph_operand result = *operand;
    result.view = graph_view_slice(&operand->view, start, sizes, steps);
    return result;
}

HRESULT lower_slice(struct graph_lowering *lowering)
{
    const DML_SLICE_OPERATOR_DESC *desc = LOWER_DESC(lowering, SLICE);
    int32_t steps[KERN_RANK_MAX];
    for (uint32_t i = 0; i < lowering->inputs[0].view.rank; i++)
        steps[i] = (int32_t)desc->Strides[i];
    lower_move(lowering, slice(&lowering->inputs[0], desc->Offsets, desc->Sizes, steps), lowering->outputs[0]);
    return lower_done(lowering);
}

HRESULT lower_slice1(struct graph_lowering *lowering)
{
    const DML_SLICE1_OPERATOR_DESC *desc = LOWER_DESC(lowering, SLICE1);
    uint32_t start[KERN_RANK_MAX];
    for (uint32_t i = 0; i < lowering->inputs[0].view.rank; i++) {
        bool backward = desc->InputWindowStrides[i] < 0;
        start[i] = desc->InputWindowOffsets[i] + (backward ? desc->InputWindowSizes[i] - 1 : 0);
    }
    lower_move(lowering, slice(&lowering->inputs[0], start, lowering->outputs[0].view.sizes, desc->InputWindowStrides),
               lowering->outputs[0]);
    return lower_done(lowering);
}

/* The part of `whole` that starts at `offset` along `axis` and has `part`'s sizes. */
static struct graph_operand section(const struct graph_operand *whole, uint32_t axis, uint32_t offset,
                                    const struct kern_view *part)
{
    uint32_t start[KERN_RANK_MAX] = { 0 };
    start[axis] = offset;
    return slice(whole, start, part->sizes, NULL);
}

HRESULT lower_split(struct graph_lowering *lowering)
{
    uint32_t axis = LOWER_DESC(lowering, SPLIT)->Axis, offset = 0;
    for (uint32_t i = 0; i < lowering->desc->output_count; i++) {
        const struct graph_operand *out = &lowering->outputs[i];
        lower_move(lowering, section(&lowering->inputs[0], axis, offset, &out->view), *out);
        offset += out->view.sizes[axis];
    }
    return lower_done(lowering);
}

HRESULT lower_join(struct graph_lowering *lowering)
{
    uint32_t axis = LOWER_DESC(lowering, JOIN)->Axis, offset = 0;
    for (uint32_t i = 0; i < lowering->desc->input_count; i++) {
        const struct graph_operand *in = &lowering->inputs[i];
        lower_move(lowering, *in, section(&lowering->outputs[0], axis, offset, &in->view));
        offset += in->view.sizes[axis];
    }
    return lower_done(lowering);
}

/* Exporters write paddings of zero elements where sizes happen to fit. */
static bool pads_nothing(const struct kern_view *x, const struct kern_view *y, const uint32_t *start)
{
    for (uint32_t d = 0; d < x->rank; d++)
        if (start[d] || x->sizes[d] != y->sizes[d])
            return false;
    return true;
}

HRESULT lower_padding(struct graph_lowering *lowering)
{
    struct kern_pad params = { 0 };
    const UINT *start;
    if (lowering->desc->op->type == DML_OPERATOR_PADDING1) {
        const DML_PADDING1_OPERATOR_DESC *desc = LOWER_DESC(lowering, PADDING1);
        params.mode = desc->PaddingMode;
        params.value = desc->PaddingValue;
        start = desc->StartPadding;
    } else {
        const DML_PADDING_OPERATOR_DESC *desc = LOWER_DESC(lowering, PADDING);
        params.mode = desc->PaddingMode;
        params.value = lower_element(lowering->inputs[0].view.type, desc->PaddingValue);
        start = desc->StartPadding;
    }
    for (uint32_t i = 0; i < lowering->inputs[0].view.rank; i++)
        params.start[i] = start[i];
    if (pads_nothing(&lowering->inputs[0].view, &lowering->outputs[0].view, start)) {
        lower_move(lowering, lowering->inputs[0], lowering->outputs[0]);
        return lower_done(lowering);
    }
    struct graph_op *op = lower_op(lowering, KERN_PAD, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pad = params;
    return lower_done(lowering);
}

/* [N, C, H, W] as blocks: `depth` is the view with the block inside the channels, `space` the one with it inside the
 * rows and columns. Both become [N, by, bx, c, y, x]; then one is copied to the other. */
static HRESULT depth_space(struct graph_lowering *lowering, const struct graph_operand *depth,
                           const struct graph_operand *space, uint32_t block, bool column_row_depth, bool to_space)
{
    const struct kern_view *s = &space->view;
    uint32_t channels = s->sizes[1], rows = s->sizes[2] / block, columns = s->sizes[3] / block;
    const uint32_t depth_sizes[2][6] = {
        { s->sizes[0], block, block, channels, rows, columns },
        { s->sizes[0], channels, block, block, rows, columns },
    };
    const uint32_t space_sizes[6] = { s->sizes[0], channels, rows, block, columns, block };
    static const uint32_t depth_order[6] = { 0, 2, 3, 1, 4, 5 }, space_order[6] = { 0, 3, 5, 1, 2, 4 };
    struct graph_operand from = *depth, to = *space;
    /* Splitting dimensions never moves data, whatever the strides. */
    bool ok = graph_view_reshape(&depth->view, 6, depth_sizes[column_row_depth], &from.view) &&
              graph_view_reshape(&space->view, 6, space_sizes, &to.view);
    if (!ok)
        return lower_unsupported(lowering, "this block size");
    if (column_row_depth)
        from.view = graph_view_permute(&from.view, depth_order);
    to.view = graph_view_permute(&to.view, space_order);
    if (to_space)
        lower_move(lowering, from, to);
    else
        lower_move(lowering, to, from);
    return lower_done(lowering);
}

HRESULT lower_depth_to_space(struct graph_lowering *lowering)
{
    const DML_DEPTH_TO_SPACE1_OPERATOR_DESC *desc = LOWER_DESC(lowering, DEPTH_TO_SPACE1);
    bool column_row_depth = lowering->desc->op->type == DML_OPERATOR_DEPTH_TO_SPACE1 &&
                            desc->Order == DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH;
    return depth_space(lowering, &lowering->inputs[0], &lowering->outputs[0], desc->BlockSize, column_row_depth, true);
}

HRESULT lower_space_to_depth(struct graph_lowering *lowering)
{
    const DML_SPACE_TO_DEPTH1_OPERATOR_DESC *desc = LOWER_DESC(lowering, SPACE_TO_DEPTH1);
    bool column_row_depth = lowering->desc->op->type == DML_OPERATOR_SPACE_TO_DEPTH1 &&
                            desc->Order == DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH;
    return depth_space(lowering, &lowering->outputs[0], &lowering->inputs[0], desc->BlockSize, column_row_depth, false);
}

/* Splits every tiled dimension from `from` on into (repeat, size): the input repeats by stride 0. Dimensions of size 1
 * are dropped. false if that needs more dimensions than views have. */
static bool tile_views(const struct kern_view *in, const struct kern_view *out, const UINT *repeats, uint32_t from,
                       struct kern_view *out_in, struct kern_view *out_out)
{
    uint32_t used = 0;
    *out_in = *in;
    *out_out = *out;
    for (uint32_t i = 0; i < in->rank; i++) {
        bool split = i >= from && repeats[i] > 1 && in->sizes[i] > 1;
        if (out->sizes[i] == 1)
            continue;
        if (used + (split ? 2 : 1) > KERN_RANK_MAX)
            return false;
        if (split) {
            out_in->sizes[used] = out_out->sizes[used] = repeats[i];
            out_in->strides[used] = 0;
            out_out->strides[used++] = out->strides[i] * (int64_t)in->sizes[i];
        }
        out_in->sizes[used] = out_out->sizes[used] = split ? in->sizes[i] : out->sizes[i];
        out_in->strides[used] = in->sizes[i] == 1 ? 0 : in->strides[i];
        out_out->strides[used++] = out->strides[i];
    }
    if (!used)
        out_in->sizes[0] = out_out->sizes[0] = 1;
    out_in->rank = out_out->rank = BASE_MAX(used, 1u);
    return true;
}

/* One copy if the views allow it; otherwise the first tiled dimension becomes one copy per repeat. */
static void tile_dimension(struct graph_lowering *lowering, struct graph_operand in, struct graph_operand out,
                           const UINT *repeats, uint32_t from)
{
    struct graph_operand whole_in = in, whole_out = out;
    if (tile_views(&in.view, &out.view, repeats, from, &whole_in.view, &whole_out.view)) {
        lower_move(lowering, whole_in, whole_out);
        return;
    }
    uint32_t d = from;
    while (repeats[d] == 1 || in.view.sizes[d] == 1)
        d++; /* terminates: without a tiled dimension the views would have fitted */
    for (UINT r = 0; r < repeats[d]; r++) {
        uint32_t start[KERN_RANK_MAX] = { 0 }, sizes[KERN_RANK_MAX];
        memcpy(sizes, out.view.sizes, sizeof(sizes));
        start[d] = r * in.view.sizes[d];
        sizes[d] = in.view.sizes[d];
        tile_dimension(lowering, in, slice(&out, start, sizes, NULL), repeats, d + 1);
    }
}

HRESULT lower_tile(struct graph_lowering *lowering)
{
    tile_dimension(lowering, lowering->inputs[0], lowering->outputs[0], LOWER_DESC(lowering, TILE)->Repeats, 0);
    return lower_done(lowering);
}
