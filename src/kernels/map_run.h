/* How a whole element-wise program is run; shared by map.c (row by row) and map_tiles.c (inputs that lie across). */
#ifndef KERNELS_MAP_RUN_H
#define KERNELS_MAP_RUN_H

#include "kernels/map.h"

struct map_run {
    const struct kern_call *call;
    const struct kern_op *op;
    struct kern_walk walk; /* views: output 0, inputs, further outputs */
    struct kern_map_block block;
    bool far;                                /* the outputs are too large for the caches */
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
static inline void map_ask(const char *at, uint64_t bytes)
{
    for (uint64_t b = 0; b < bytes; b += 64)
        __builtin_prefetch(at + b);
}

void map_walk_init(struct kern_walk *walk, const struct kern_op *op);

/* Input i of the block is one element, repeated. */
void map_load_repeated(struct map_run *run, uint32_t i, const void *element);

/* Units are tiles where an input's unit stride is along `across`, not along rows. */
struct map_tiles {
    uint32_t across;
    uint32_t crossed;        /* inputs that lie so: bit i = input i */
    uint64_t strips, pieces; /* that dimension `across` and rows are cut in */
    uint64_t units;
};

/* Is that worth it? */
bool map_tiles_init(struct map_tiles *tiles, const struct kern_op *op, const struct kern_walk *walk);
/* Of each worker, behind the block's. */
uint64_t map_tiles_bytes(const struct map_tiles *tiles, const struct kern_op *op);
void map_tiles_run(struct map_run *run, const struct map_tiles *tiles, uint64_t begin, uint64_t end);

#endif
