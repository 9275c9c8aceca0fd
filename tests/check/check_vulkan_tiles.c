/* SPDX-License-Identifier: Apache-2.0 */
/* Products with more tiles than the random cases have: several bands of them, and more batches than a dispatch has
 * workgroups. Of cooperative matrices, sizes of which all is loaded and stored by whole vectors. */
#include "check_vulkan_map.h"

#include "shaders/gemm/shader_tile.h"

static const struct {
    uint32_t batches, m, n, k;
    enum shader_tile_kind kind;
} tiles[] = { { 1, 650, 100, 33, SHADER_TILE_CHOSEN },
              { 1, 1200, 150, 20, SHADER_TILE_LARGE },
              { 4200, 8, 8, 9, SHADER_TILE_CHOSEN } },
  vectors[] = { { 2, 72, 136, 72, SHADER_TILE_CHOSEN },
                { 1, 136, 200, 104, SHADER_TILE_LARGE },
                { 1, 40, 264, 264, SHADER_TILE_WIDE } };

bool check_vulkan_tiles(uint32_t i, bool coop, struct check_case *out)
{
    const DML_TENSOR_DATA_TYPE type = coop ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    if (i >= ARRAY_SIZE(tiles))
        return false;
    const uint32_t b = coop ? vectors[i].batches : tiles[i].batches, m = coop ? vectors[i].m : tiles[i].m;
    const uint32_t n = coop ? vectors[i].n : tiles[i].n, k = coop ? vectors[i].k : tiles[i].k;
    *out = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    out->op.u.gemm.alpha = 1;
    kern_view_set_packed(&out->op.tensors[0], type, 3, (uint32_t[]){ b, m, k });
    kern_view_set_packed(&out->op.tensors[1], type, 3, (uint32_t[]){ b, k, n });
    kern_view_set_packed(&out->op.tensors[2], type, 3, (uint32_t[]){ b, m, n });
    shader_tile_force(coop ? vectors[i].kind : tiles[i].kind);
    return true;
}
