/* SPDX-License-Identifier: Apache-2.0 */
/* How a whole element-wise program is run; shared by map.c (row by row) and map_tiles.c (inputs that lie across). */
#ifndef KERNELS_MAP_RUN_H
#define KERNELS_MAP_RUN_H

#include "kernels/map/map.h"

struct map_run {
    const struct kern_call *call;
    const struct kern_op *op;
    struct kern_iterator iterator; /* views: output 0, inputs, further outputs */
    struct kern_map_block block;
    bool non_temporal;                       /* the outputs are too large for the caches */
    const void *filled[KERN_TENSORS_MAX];    /* what the input's buffer holds already: from here ... */
    uint32_t filled_count[KERN_TENSORS_MAX]; /* ... so many; UINT32_MAX: one element, repeated */
};

static inline uint32_t map_view_of_input(uint32_t i)
{
    return i + 1;
}

static inline uint32_t map_view_of_output(const struct kern_op *op, uint32_t j)
{
    return j ? op->input_count + j : 0;
}

/* Memory that will be read soon. */
static inline void map_prefetch(const char *at, uint64_t bytes)
{
    for (uint64_t b = 0; b < bytes; b += 64)
        __builtin_prefetch(at + b);
}

/* Operands that an instruction reads. */
uint32_t map_arity(uint8_t code);

void map_iterator_init(struct kern_iterator *iterator, const struct kern_op *op);

/* Input i of the block is one element, repeated. */
void map_load_repeated(struct map_run *run, uint32_t i, const void *element);

/* Does the view repeat one element along each row, with rows evenly apart? */
bool map_repeats_in_rows(const struct kern_iterator *iterator, uint32_t view);

/* Loads `count` elements of such an input from row `row` on, where each stands for `length` but the first for `phase`
 * fewer; whole rows of FLOAT32 stay one element each (kern_map_block.rows). */
void map_load_rows(struct map_run *run, uint32_t i, uint64_t row, uint32_t phase, uint32_t length, uint32_t count);

/* `count` elements of `type` to where they lie one after the other, past the caches. */
void map_store_dense(struct map_run *run, void *out, DML_TENSOR_DATA_TYPE type, const void *value, uint32_t count);

/* Programs of one instruction, from where its operands lie to where its result goes. */
struct map_direct {
    uint32_t inputs;
    bool half, bytes; /* as in struct kern_map_direct */
};
bool map_direct_init(struct map_direct *direct, const struct map_run *run);

/* Programs of 4-bit elements and of what repeats along rows: computed once for each row and each of the 16 elements,
 * and looked up. Units are pieces of rows. */
struct map_table {
    uint32_t input;  /* with the 4-bit elements */
    uint64_t row;    /* elements */
    uint64_t pieces; /* of each row */
    uint64_t units;
};
bool map_table_init(struct map_table *table, const struct kern_op *op, const struct kern_iterator *iterator);
void map_table_run(struct map_run *run, const struct map_table *table, uint64_t begin, uint64_t end);

/* Programs from bytes to bytes; units are blocks. */
struct map_bytes {
    bool pair, product;
    bool plain; /* one instruction on the integers themselves */
    struct map_bytes_input {
        uint32_t input, scale, zero; /* numbers of inputs; UINT32_MAX: there is none */
    } in[2], out;
    uint64_t units;
};
bool map_bytes_init(struct map_bytes *bytes, const struct kern_op *op, const struct kern_iterator *iterator);
/* false: it takes the usual way, because of the inputs' data. */
bool map_bytes_run(struct map_run *run, const struct map_bytes *bytes, uint64_t begin, uint64_t end);

/* Units are tiles where an input's unit stride is along `across`, not along rows. */
struct map_tiles {
    uint32_t across;
    uint32_t crossed;        /* inputs that lie so: bit i = input i */
    uint32_t strip;          /* rows of a tile */
    uint64_t strips, pieces; /* that dimension `across` and rows are cut in */
    uint64_t units;
};

/* Is that worth it? */
bool map_tiles_init(struct map_tiles *tiles, const struct kern_op *op, const struct kern_iterator *iterator);
/* Of each worker, behind the block's. */
uint64_t map_tiles_bytes(const struct map_tiles *tiles, const struct kern_op *op);
void map_tiles_run(struct map_run *run, const struct map_tiles *tiles, uint64_t begin, uint64_t end);

#endif
