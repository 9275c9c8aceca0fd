/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that run on oneDNN. One op becomes a short list of stages (reorders and the primitive itself) over buffers that
 * are either the op's tensors or places in scratch memory. Before the stages, inputs that oneDNN cannot address
 * (FLOAT16, negative strides) are copied to scratch as dense FLOAT32; after them, what its post-ops cannot express is
 * applied row by row. Primitives run on the calling thread's OpenMP team: the work has one unit. Rows that compute in
 * BFLOAT16 take and give it in place, too; what is FLOAT32 becomes so on the way in. */
#ifndef KERNELS_DNNL_OP_H
#define KERNELS_DNNL_OP_H

#include "kernels/core/dense.h"
#include "kernels/core/epilogue.h"

#include <dnnl.h>
#include <stdatomic.h>

/* oneDNN throws where memory is short, through C, which ends the process. Here the same calls return false instead:
 * dnnl_safe_memory_create is dnnl_memory_create, and so on. */
#define DNNL_CALL(name, parameters, arguments) bool dnnl_safe_##name parameters;
#include "kernels/onednn/dnnl_calls.def"
#undef DNNL_CALL

#define DNNL_BUFFERS_MAX 24
#define DNNL_STAGES_MAX  6
#define DNNL_ARGS_MAX    12
#define DNNL_COPIES_MAX  4
#define DNNL_SLOTS       2

struct dnnl_buffer {
    dnnl_memory_desc_t md;
    bool scratch;
    uint32_t tensor; /* when not in scratch */
    uint64_t offset; /* bytes in scratch */
};

/* What a primitive takes: DNNL_ARG_... and buffers. */
struct dnnl_args {
    uint32_t count;
    int arg[DNNL_ARGS_MAX];
    uint32_t buffer[DNNL_ARGS_MAX];
};

struct dnnl_stage {
    dnnl_primitive_t primitive;
    struct dnnl_args args;
};

/* Tensor `tensor`, seen through `view` from element `start` on, as dense FLOAT32 at `offset` in scratch. */
struct dnnl_copy {
    uint32_t tensor;
    struct kern_view view;
    int64_t start;
    uint64_t offset;
};

/* A zero point, INT8 or UINT8, that becomes INT32 at `offset` in scratch. */
struct dnnl_zero {
    uint32_t tensor;
    DML_TENSOR_DATA_TYPE type;
    uint64_t offset;
};

/* Memory objects for one execution at a time; a second thread takes the next slot. */
struct dnnl_slot {
    atomic_flag busy;
    dnnl_stream_t stream;
    dnnl_memory_t memory[DNNL_BUFFERS_MAX];
    void *handle[DNNL_BUFFERS_MAX];
};

struct dnnl_state {
    uint32_t threads;
    bool probe; /* of KERN_FLAG_PROBE: stages have no primitive, there are no slots */
    uint64_t scratch_bytes;
    uint32_t buffer_count, stage_count, copy_count;
    struct dnnl_buffer buffers[DNNL_BUFFERS_MAX];
    struct dnnl_stage stages[DNNL_STAGES_MAX];
    struct dnnl_copy copies[DNNL_COPIES_MAX];
    uint32_t zero_count;
    struct dnnl_zero zeros[2];

    /* Input 1 is packed: from plain (possibly through a FLOAT32 copy) to packed. */
    bool packs, pack_copies;
    struct dnnl_copy pack_copy;
    dnnl_memory_desc_t pack_from, pack_to;

    /* The last pass over the output: source -> C -> epilogue -> tensor. Dimensions are in memory order. */
    bool finishes, finish_scratch, finish_c, finish_epilogue;
    uint64_t finish_offset;
    uint64_t finish_worker_offset, finish_worker_bytes; /* scratch of the epilogue */
    struct kern_view finish_view;
    struct kern_op finish_op;

    struct dnnl_slot *slots;
};

/* NULL when the library has no processor engine. */
dnnl_engine_t dnnl_engine(void);

struct dnnl_state *dnnl_state_create(const struct kern_op *op, uint32_t threads);
bool dnnl_state_finish(struct dnnl_state *state); /* makes the slots; call last */
void kern_dnnl_destroy(void *state);
bool dnnl_slot_init(struct dnnl_slot *slot, const struct dnnl_state *state); /* finish it even if this fails */
void dnnl_slot_finish(struct dnnl_slot *slot);

/* Buffers; their numbers. DNNL_BUFFERS_MAX when there is no room, which dnnl_stage_add then refuses. */
uint32_t dnnl_buffer_tensor(struct dnnl_state *state, const dnnl_memory_desc_t *md, uint32_t tensor);
uint32_t dnnl_buffer_scratch(struct dnnl_state *state, const dnnl_memory_desc_t *md);
/* The dense FLOAT32 copy of a tensor that is seen through `view` from element `start` on; direct: the tensor itself. */
uint32_t dnnl_buffer_input(struct dnnl_state *state, const dnnl_memory_desc_t *md, uint32_t tensor, bool direct,
                           const struct kern_view *view, int64_t start);
/* Input 1 (likewise), packed once from `from` to `wanted` where they differ. */
uint32_t dnnl_buffer_packed(struct dnnl_state *state, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *wanted,
                            bool direct, const struct kern_view *view, int64_t start);
uint32_t dnnl_buffer_zero(struct dnnl_state *state, uint32_t tensor, DML_TENSOR_DATA_TYPE type);

/* At most DNNL_ARGS_MAX: three tensors, bias, two zero points, four post-ops, scratchpad. */
void dnnl_arg(struct dnnl_args *args, int arg, uint32_t buffer);
/* Appends the primitive (consumes nothing); its scratchpad is added to the arguments. */
bool dnnl_stage_add(struct dnnl_state *state, const_dnnl_primitive_desc_t pd, const struct dnnl_args *args);
/* Appends a reorder when the descriptors differ. Returns the number of the buffer to use instead of `from`. */
uint32_t dnnl_stage_reorder_in(struct dnnl_state *state, uint32_t from, const dnnl_memory_desc_t *wanted);
bool dnnl_stage_reorder(struct dnnl_state *state, uint32_t from, uint32_t to);

/* oneDNN can address the view in place: as FLOAT32, or (half) BFLOAT16. */
bool dnnl_view_direct(const struct kern_view *view, bool half);
/* Whatever its type: it is no larger than needed, and no element is there twice. */
bool dnnl_view_lies(const struct kern_view *view);
/* The type of what is addressed in place, or has been densified. */
dnnl_data_type_t dnnl_view_type(const struct kern_view *view);
/* Turns `view` into that of a dense FLOAT32 copy which keeps the order of the dimensions in memory. */
void dnnl_view_densify(struct kern_view *view);
/* Channels are the innermost of [N, C, pixels], and not just as much as outermost. */
bool dnnl_view_is_last(const struct kern_view *view);

/* The tensor has the shape of the output: C, the epilogue's inputs and the output itself. */
bool dnnl_output_like(const struct kern_op *op, uint32_t tensor);
/* Asks for the last pass: `source` (FLOAT32) lies in scratch at `offset`, or is the output itself. */
void dnnl_finish_set(struct dnnl_state *state, const struct kern_op *op, bool scratch, uint64_t offset,
                     const struct kern_view *source, bool add_c, bool epilogue);

/* Convolutions that are gradients of another one's weights (dnnl_conv_grad.c): FLOAT32, without bias and epilogue. */
bool dnnl_conv_grad_accepts(const struct kern_op *op);
bool dnnl_conv_grad_create(const struct kern_op *op, uint32_t threads, void **out_state);

/* An attribute with user scratchpad. */
bool dnnl_attr_create(dnnl_primitive_attr_t *out);
/* `part` is in the name of the implementation behind it, or that has none. "ref": a plain loop nest. */
bool dnnl_is_named(const_dnnl_primitive_desc_t pd, const char *part);
/* strides == NULL: in whatever layout the library likes. */
bool dnnl_md_init(dnnl_memory_desc_t *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                  const dnnl_dims_t strides);
/* Dense, with channels innermost. */
bool dnnl_md_last(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *out);
const dnnl_memory_desc_t *dnnl_query_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what);

/* The epilogue as post-ops (dnnl_post.c). */
extern const struct kern_epilogue_support dnnl_epilogue_support;
struct dnnl_post {
    uint32_t count; /* tensors that binary post-ops read */
    uint32_t tensor[4];
    int arg[4];
    dnnl_memory_desc_t md[4];
};
void dnnl_post_args(struct dnnl_state *state, const struct dnnl_post *post, struct dnnl_args *args);
/* false when an operation has no counterpart; `ops` may then hold a part. md_of gives the descriptor of an input tensor
 * in the shape of the output, false when it has none. */
typedef bool dnnl_md_fn(void *context, uint32_t tensor, dnnl_memory_desc_t *out);
bool dnnl_post_epilogue(const struct kern_op *op, dnnl_post_ops_t ops, dnnl_md_fn *md_of, void *context,
                        struct dnnl_post *out);
bool dnnl_post_binary(dnnl_post_ops_t ops, dnnl_alg_kind_t algorithm, uint32_t tensor, const dnnl_memory_desc_t *md,
                      struct dnnl_post *post);

/* Integer products: the epilogue is [times scales,] [post-ops,] [[by a divisor,] to the nearest, plus zero point]. */
struct dnnl_epilogue {
    const struct kern_op *op;
    bool scales, by_channel; /* one scale, or one per channel or column */
    bool quantizes;
    struct kern_requantize how; /* divisor and zero: tensors of one element */
    struct kern_epilogue steps;
    uint32_t first, end; /* of the post-ops among the steps */
};
/* `channel` = the dimension along which scales may vary. false when the library cannot say it. */
bool dnnl_epilogue_init(const struct kern_op *op, uint32_t channel, struct dnnl_epilogue *out);
/* The attribute for it; in_zero: the source has a zero point. `y` = the output, whose dimension 1 is the channels'. */
bool dnnl_int_attr(const struct dnnl_epilogue *ending, bool in_zero, const dnnl_memory_desc_t *y, dnnl_md_fn *md_of,
                   void *context, struct dnnl_post *post, dnnl_primitive_attr_t *out);
/* The zero points' arguments; x_zero = tensor or 0. */
void dnnl_int_args(struct dnnl_state *state, const struct dnnl_epilogue *ending, uint32_t x_zero,
                   struct dnnl_args *args);

#endif
