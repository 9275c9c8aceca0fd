/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs: the scalar definition (map_eval.c) and the block interpreter (map_block.c). */
#ifndef KERNELS_MAP_H
#define KERNELS_MAP_H

#include "kernels/core/number.h"
#include "kernels/core/iterator.h"

/* Elements that the block interpreter computes at once. */
#define KERN_MAP_BLOCK 1024

/* Raw elements of any type precede the slots. */
#define KERN_MAP_STAGING_BYTES (KERN_MAP_BLOCK * 8 + 64)

/* Rows of at least this length are processed as rows. */
#define KERN_MAP_MIN_ROW 8

#define KERN_MAP_REGISTERS (KERN_TENSORS_MAX + KERN_MAP_INST_MAX)

/* The definition of one instruction, on numbers already in the instruction's type. */
struct kern_number kern_map_eval(const struct kern_map_inst *inst, struct kern_number a, struct kern_number b,
                                 struct kern_number c);

/* Runs the program on registers[0 .. input_count), which have the inputs in their load types; fills the rest. */
void kern_map_eval_program(const struct kern_map *map, uint32_t input_count, struct kern_number *registers);

/* An instruction of a chain: its operand other than the previous result. */
struct kern_map_link {
    uint8_t code;
    bool same; /* the other operand is one number */
    const float *other;
    float p, q;
};

/* to the nearest(((a - zero) * scale + or * (b - zero) * scale) / scale) + zero, from low to high: a, b, the result.
 * floats: the elements of b are FLOAT32, without scale and zero point. */
struct kern_map_pair {
    float scale[3], zero[3], low, high;
    bool is_signed[3], product, floats;
};

struct move_isa;

/* A whole program of one FLOAT32 instruction over dense elements. */
struct kern_map_direct {
    const struct kern_map_inst *inst;
    const void *src[3]; /* NULL: one[] for all elements */
    float one[3];
    void *out;   /* may be one of the sources */
    bool half;   /* elements are FLOAT16, else FLOAT32 */
    bool bytes;  /* except for those of src[0] of a selection, which are UINT8 */
    bool stream; /* past the caches */
};

/* Block functions of one instruction set; out may be one of the sources. Both return false for cases left to the
 * portable functions. src[] has three valid pointers for every operation. */
struct kern_map_isa {
    bool (*exec)(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t count);
    bool (*convert)(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count);
    /* out[i] = in[(phase + i) / length] for i < count; elements of 4 or 8 bytes */
    void (*repeat)(uint32_t bytes, void *out, const void *in, uint32_t phase, uint32_t length, uint32_t count);
    /* `bytes` bytes of 4-bit elements, two of them each, to FLOAT32 */
    void (*nibbles)(float *out, const uint8_t *in, bool sign, uint32_t bytes);
    /* exec where src[1], and src[2] if there is one, have one FLOAT32 for each `length` elements; false: expand them */
    bool (*exec_rows)(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t length,
                      uint32_t count);
    /* out[r][i] = results[r][the i-th 4-bit element of in[r]]: rows of in_bytes bytes, 16 results of 2 or 4 bytes */
    void (*look_up)(uint32_t bytes, void *out, const void *results, const uint8_t *in, uint32_t in_bytes,
                    uint32_t rows);
    /* convert past the caches; false: not these types */
    bool (*stream)(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count);
    /* false: unsupported instruction; NULL: none */
    bool (*direct)(const struct kern_map_direct *direct, uint32_t count);
    /* All links in sequence, on FLOAT32 elements that stay in registers; returns the number of elements, as it leaves a
     * remainder. NULL: none */
    uint32_t (*chain)(const struct kern_map_link *links, uint32_t link_count, float *out, const float *in,
                      uint32_t count);
    /* out[i] = table[in[i]] of 256 bytes */
    void (*look_up_bytes)(uint8_t *out, const uint8_t *table, const uint8_t *in, uint64_t count);
    void (*pair_bytes)(const struct kern_map_pair *pair, uint8_t *out, const uint8_t *a, const void *b,
                       uint64_t count); /* NULL: none */
    /* out[i] = a[i] (code) b[i] of 8 bits; false: not an instruction of these. */
    bool (*plain_bytes)(uint8_t code, bool is_signed, uint8_t *out, const uint8_t *a, const uint8_t *b, uint64_t count);
    const struct move_isa *transpose; /* NULL: none */
};
extern const struct kern_map_isa kern_map_isa_portable, kern_map_isa_avx2, kern_map_isa_avx512, kern_map_isa_neon;
/* The best one for this CPU. */
const struct kern_map_isa *kern_map_isa(void);

/* Converts exactly `count` dense elements; 4-bit types take one byte each here. */
void kern_convert(const struct kern_map_isa *isa, DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from,
                  const void *in, uint32_t count);

/* A program prepared for execution block by block. */
struct kern_map_block {
    const struct kern_map *map;
    const struct kern_map_isa *isa;
    uint32_t input_count, output_count;
    uint64_t slot_bytes;
    char *slots;
    uint8_t slot[KERN_MAP_REGISTERS];
    uint8_t type[KERN_MAP_REGISTERS];      /* compute type of each register */
    uint8_t chain[KERN_MAP_INST_MAX];      /* instructions of the chain that starts here; 0: none */
    const void *value[KERN_MAP_REGISTERS]; /* current block of a register; inputs are set by the caller */
    /* Inputs for which value has one FLOAT32 for each `length` elements (bit i = input i); they are expanded, and
     * removed from the set, when an instruction needs it. */
    uint32_t rows, length;
    uint32_t same; /* inputs whose elements are all equal (bit i = input i), if known */
};

/* Worker scratch of a program. */
uint64_t kern_map_block_bytes(const struct kern_map *map, uint32_t input_count);
void kern_map_block_init(struct kern_map_block *block, const struct kern_map *map, uint32_t input_count,
                         uint32_t output_count, const struct kern_map_isa *isa, void *worker_scratch);
/* The buffer of an input register, for inputs that cannot be used in place. */
void *kern_map_block_buffer(const struct kern_map_block *block, uint32_t reg);
/* Memory for an input's elements that represent rows. */
float *kern_map_block_rows(const struct kern_map_block *block, uint32_t reg);
/* Raw elements of one tensor, before conversion. */
void *kern_map_block_staging(const struct kern_map_block *block);
/* Runs all instructions on block->value[0 .. input_count). The last instruction writes to `last_out` when not NULL. */
void kern_map_run_block(struct kern_map_block *block, void *last_out, uint32_t count);

void kern_map_run(const struct kern_call *call, const struct kern_map_isa *isa, uint64_t begin, uint64_t end);
/* All elements, with no more scratch than kern_map_block_bytes. */
void kern_map_run_all(const struct kern_call *call, const struct kern_map_isa *isa);

/* ---- a whole program: map.c (row by row), map_tiles.c (transposed inputs) and map_bytes.c ---- */

struct map_run {
    const struct kern_call *call;
    const struct kern_op *op;
    struct kern_iterator iterator; /* views: output 0, inputs, further outputs */
    struct kern_map_block block;
    bool non_temporal;                       /* the outputs exceed the caches */
    const void *filled[KERN_TENSORS_MAX];    /* the contents of the input's buffer: from here ... */
    uint32_t filled_count[KERN_TENSORS_MAX]; /* ... this many; UINT32_MAX: one element, broadcast */
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

/* Input i of the block is one element, repeated. */
void map_load_repeated(struct map_run *run, uint32_t i, const void *element);

/* Whether the view broadcasts one element along each row, with rows at a constant distance. */
bool map_repeats_in_rows(const struct kern_iterator *iterator, uint32_t view);

/* Loads `count` elements of such an input from row `row` on, where each represents `length` elements, the first `phase`
 * fewer; whole rows of FLOAT32 stay one element each (kern_map_block.rows). */
void map_load_rows(struct map_run *run, uint32_t i, uint64_t row, uint32_t phase, uint32_t length, uint32_t count);

/* Programs of one instruction, with operands and result in place. */
struct map_direct {
    uint32_t inputs;
    bool half, bytes; /* as in struct kern_map_direct */
};
bool map_direct_init(struct map_direct *direct, const struct map_run *run);

/* Programs of 4-bit elements and of inputs that are constant along rows: computed once for each row and each of the 16
 * elements, and looked up. Units are pieces of rows. */
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
    bool floats; /* the second of a pair is FLOAT32 */
    bool plain;  /* one instruction on the integers themselves */
    struct map_bytes_input {
        uint32_t input, scale, zero; /* numbers of inputs; UINT32_MAX: none */
    } in[2], out;
    uint64_t units;
};
bool map_bytes_init(struct map_bytes *bytes, const struct kern_op *op, const struct kern_iterator *iterator);
/* false: use the general path, because of the inputs' data. */
bool map_bytes_run(struct map_run *run, const struct map_bytes *bytes, uint64_t begin, uint64_t end);

/* Units are tiles if an input is contiguous along `across`, not along rows. */
struct map_tiles {
    uint32_t across;
    uint32_t crossed;        /* such inputs: bit i = input i */
    uint32_t strip;          /* rows of a tile */
    uint64_t strips, pieces; /* into which dimension `across` and rows are split */
    uint64_t units;
};

/* Is that worth it? */
bool map_tiles_init(struct map_tiles *tiles, const struct kern_op *op, const struct kern_iterator *iterator);
/* Of each worker, behind the block's. */
uint64_t map_tiles_bytes(const struct map_tiles *tiles, const struct kern_op *op);
void map_tiles_run(struct map_run *run, const struct map_tiles *tiles, uint64_t begin, uint64_t end);

#endif
