/* Resampling whose outputs take any number of inputs: antialiased, and the gradient of every kind. Along each dimension
 * an output coordinate takes a run of neighbouring inputs, each with a weight. */
#ifndef KERNELS_RESAMPLE_TABLE_H
#define KERNELS_RESAMPLE_TABLE_H

#include "kernels/resample/resample.h"

struct resample_list {
    uint32_t first, count; /* inputs */
    uint32_t weights;      /* where its weights begin */
};

struct resample_table {
    struct resample_list *lists; /* for each output coordinate */
    float *weights;
};

/* Dimension d of the op. Bytes are a multiple of 8. */
uint64_t resample_table_bytes(const struct kern_op *op, uint32_t d);
void resample_table_init(const struct kern_op *op, uint32_t d, void *memory, struct resample_table *out);

/* Rows that do not look at tables leave such ops alone. */
DENSE_INLINE bool resample_uses_table(const struct kern_op *op)
{
    return op->u.resample.transposed || op->u.resample.antialiased;
}

/* The reference of such ops. */
bool resample_table_accepts(const struct kern_op *op);
void resample_table_ref_plan(const struct kern_op *op, struct kern_work *out);
void resample_table_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end);

#endif
