/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels for tiled GEMM in shared memory (tile.glsl). */
#ifndef SHADERS_GEMM_SHADER_TILE_H
#define SHADERS_GEMM_SHADER_TILE_H

#include "shaders/core/shader_block.h"
#include "shaders/gemm/tile_params.h"

/* Of one GEMM, for tiles of every size; for integers. */
struct tile_codes {
    enum shader_code plain, large, wide, integer, integer_wide;
};

/* The multiplier: floats, integers, cooperative matrices. */
enum shader_tile_class { SHADER_TILES_FLOAT, SHADER_TILES_INTEGER, SHADER_TILES_COOP, SHADER_TILES_COUNT };

/* A tile along M, N and K (tile_size.glsl), and the minimum number of tiles (tuning.def). */
struct tile_size {
    uint32_t m, n, k, least;
};

enum shader_tile_kind {
    SHADER_TILE_PLAIN,
    SHADER_TILE_LARGE,
    SHADER_TILE_WIDE,
    SHADER_TILE_KINDS,
    SHADER_TILE_CHOSEN = SHADER_TILE_PLAIN,
};

/* tuning.def */
enum {
#define TILE(class, kind, m, n, k, least)
#define COOP_TILE(m, n, k, groups, least)
#define TUNE(name, value) TUNE_##name = (value),
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

enum shader_tile_class shader_tile_class(const struct kern_op *op);
const struct tile_size *shader_tile_choose(enum shader_tile_class class, const struct tile_params *params);

/* Sets all that sizes decide: m, n, k and batches are set. */
void shader_tile_cut(const struct kern_op *op, enum shader_tile_class class, struct tile_params *params);
/* Splits K into this many parts, at most `most`. */
void shader_tile_split(const struct kern_op *op, uint64_t splits, uint32_t most, struct tile_params *params);
/* Splits K into the best number of parts; tiles_m and tiles_n are set, too. */
void shader_tile_cut_depth(const struct kern_op *op, struct tile_params *params);

/* Adds the dispatches, the first one of this code; parameter_bytes: of that. */
void shader_tile_add_code(const struct kern_op *op, enum shader_code code, const struct tile_params *params,
                          size_t parameter_bytes, struct shader_work *out);
/* Adds only the last dispatch, which computes results from split-K sums in scratch memory. */
void shader_tile_add_sum(const struct kern_op *op, const struct tile_params *params, struct shader_work *out);
/* All of them, of tiles of floats or integers. */
void shader_tile_add(const struct kern_op *op, const struct tile_codes *codes, const struct tile_params *params,
                     size_t parameter_bytes, struct shader_work *out);

/* Fills the block of dispatch `index`; `all`: the parameters of the first one, which start with params. */
void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words);

/* Of KERN_GEMM (shader_gemm.c): the unsupported reason of all shaders except for those for FLOAT64 and small shapes,
 * else NULL. */
const char *shader_gemm_single_unsupported(const struct kern_op *op);
/* Those of gemm_line, for GEMMs of any size and depth. */
const char *shader_gemm_line_any_unsupported(const struct kern_op *op);
/* All that does not depend on the size of tiles. */
struct tile_params shader_gemm_tile_params(const struct kern_op *op);

/* Whether the first of two strides is the smaller one. */
static inline bool shader_tile_closer(int64_t stride, int64_t other)
{
    const int64_t a = stride < 0 ? -stride : stride, b = other < 0 ? -other : other;
    return a && (!b || a < b);
}

/* For tests: accepts floating-point GEMMs of any size. */
void shader_tile_force(enum shader_tile_kind kind);
enum shader_tile_kind shader_tile_forced(void);

/* ---- register blocking (gemm/block.glsl, shader_gemm_block.c) ---- */

/* A tile along M, N and K, an invocation's results along M and N, the groups of invocations that share results, and the
 * minimum number of tiles (tuning.def). */
struct block_tile {
    uint32_t m, n, k, side_m, side_n, groups, least;
};

/* Selects the best tile, and sets what depends on it, with at most this many parts along K. */
const struct block_tile *shader_block_cut(const struct kern_op *op, uint32_t most, struct tile_params *params);
/* flags: GEMM_BLOCK_WHOLE, GEMM_BLOCK_WIDE_Y */
void shader_block_add(const struct kern_op *op, enum shader_code code, const struct block_tile *tile,
                      const struct tile_params *params, uint32_t flags, size_t parameter_bytes,
                      struct shader_work *out);

/* For tests: 0, the best one, else this tile of BLOCK_TILE, counted from 1 and cyclically, and this many parts along
 * k. */
void shader_block_force(uint32_t tile, uint32_t splits);

/* ---- cooperative matrices (shader_coop.c) ---- */

/* A tile, the number of subgroups that share its sums, and the minimum number of tiles (tuning.def). */
struct coop_tile {
    uint32_t m, n, k, groups, least;
};

struct coop_codes {
    enum shader_code half_precision, bfloat16, plain;
};

/* Whether elements are contiguous, so that vectors of them are loaded or stored. */
struct coop_wide {
    bool a, b, y;
};

/* For tests: emulates matrices in the shader, for devices without them. */
void shader_coop_plain(bool plain);
bool shader_coop_is_plain(void);
/* The reason why cooperative matrices cannot compute the op, else NULL. */
const char *shader_coop_unsupported(const struct kern_op *op, uint64_t m, uint64_t n, uint64_t k);
/* The same of 16 bytes. */
bool shader_coop_wide(const struct kern_view *view, uint32_t along);
/* For tests: 0, the best one, else this tile of the table, counted from 1 and cyclically, and this many parts along
 * k. */
void shader_coop_force(uint32_t tile, uint32_t splits);
/* How many there are: numbers of kern_op.tile. */
uint32_t shader_coop_tiles(void);
/* The code for the op's types. */
enum shader_code shader_coop_code(const struct kern_op *op, const struct coop_codes *codes);
/* Of GEMMs of two matrices: selects the best tile, and sets what depends on it, like shader_tile_cut(). */
const struct coop_tile *shader_coop_cut(const struct kern_op *op, struct tile_params *params);
void shader_coop_add_tile(const struct kern_op *op, const struct coop_codes *codes, const struct coop_tile *tile,
                          const struct tile_params *params, struct coop_wide wide, size_t parameter_bytes,
                          struct shader_work *out);
/* The same with the tile that shader_tile_cut() chose. */
void shader_coop_add(const struct kern_op *op, const struct coop_codes *codes, const struct tile_params *params,
                     struct coop_wide wide, size_t parameter_bytes, struct shader_work *out);

#endif
