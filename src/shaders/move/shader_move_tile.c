/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes (move_tile.comp): moves whose input is contiguous in another dimension than the result.
 */
#include "shaders/core/shader_block.h"
#include "shaders/core/shader_dims.h"
#include "shaders/map/shader_map.h"
#include "shaders/move/move_params.h"

#define SIDE_LEAST 8 /* elements along either dimension, from which a tile pays off */

struct tiles {
    struct kern_op op; /* with the minimum number of dimensions, those of move_params.h last */
    uint64_t units;
};

static uint32_t tiles_along(const struct tiles *tiles, uint32_t d)
{
    const struct kern_view *x = &tiles->op.tensors[0];
    const uint32_t side = d + 2 == x->rank ? MOVE_TILE : 128 / kern_type_bytes(x->type);
    return (x->sizes[d] + side - 1) / side;
}

/* false: not a transpose. */
static bool tiles_of(const struct kern_op *op, struct tiles *out)
{
    const struct kern_view *x = &out->op.tensors[0];
    uint32_t order[KERN_RANK_MAX], count = 0, row;
    out->op = *op;
    memcpy(out->op.tensors[0].sizes, op->tensors[1].sizes, sizeof(op->tensors[1].sizes));
    for (uint32_t t = 0; t < 2; t++)
        out->op.tensors[t].type = (DML_TENSOR_DATA_TYPE)shader_move_type(op->tensors[t].type);
    uint32_t rank = shader_dims_pick(&op->tensors[1], UINT32_MAX, true, order, 0);
    shader_dims_permute(&out->op, order, rank);
    shader_dims_merge(&out->op, 0, &rank);
    if (rank < 2 || out->op.tensors[1].strides[rank - 1] != 1 || x->strides[rank - 1] == 1)
        return false;
    for (row = 0; row < rank - 1 && x->strides[row] != 1; row++) {
    }
    if (row == rank - 1 || x->sizes[row] < SIDE_LEAST || x->sizes[rank - 1] < SIDE_LEAST)
        return false;
    for (uint32_t d = 0; d < rank - 1; d++)
        if (d != row)
            order[count++] = d;
    order[count++] = row;
    order[count++] = rank - 1;
    shader_dims_permute(&out->op, order, rank);
    out->units = kern_view_elements(x) / x->sizes[rank - 1] / x->sizes[rank - 2] * tiles_along(out, rank - 1) *
                 tiles_along(out, rank - 2);
    return true;
}

const char *shader_move_tile_unsupported(const struct kern_op *op)
{
    const uint32_t bytes = kern_type_bytes(op->tensors[0].type);
    struct tiles tiles;
    if (bytes != 2 && bytes != 4)
        return "no shader for elements of this width";
    if (!shader_specializes(op, kern_view_elements(&op->tensors[1])))
        return "too few elements for this shader";
    if (!tiles_of(op, &tiles))
        return "it is not a transpose";
    return shader_size_unsupported(op);
}

void shader_move_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    struct tiles tiles;
    tiles_of(op, &tiles);
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_move_tile, &tiles.op, tiles.units, 1, sizeof(struct move_tile_params));
    shader_specialize(&tiles.op, kern_view_elements(&op->tensors[1]), dispatch);
}

void shader_move_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    struct tiles tiles;
    (void)index; /* there is one */
    tiles_of(op, &tiles);
    const struct kern_view *x = &tiles.op.tensors[0];
    struct move_tile_params params = { .rows = x->sizes[x->rank - 2],
                                       .columns = x->sizes[x->rank - 1],
                                       .outer = x->rank - 2 };
    for (uint32_t k = 0; k < 2; k++)
        params.by_tiles[k] = shader_divisor(tiles_along(&tiles, x->rank - 2 + k));
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        params.by_outer[d] = shader_divisor(x->sizes[x->rank - 3 - d]);
    shader_block_write(&tiles.op, places, tiles.units, &params, sizeof(params), words);
}
