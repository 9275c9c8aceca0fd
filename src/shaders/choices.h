/* SPDX-License-Identifier: Apache-2.0 */
/* Results of `anydml tune` for a device: for ops of one class (kind, types, layouts, approximate sizes) another kernel
 * than the first one that accepts them, or other tiles. */
#ifndef SHADERS_CHOICES_H
#define SHADERS_CHOICES_H

#include "shaders/shader.h"

struct shader_choice {
    uint64_t key; /* of the class */
    const struct shader_row *row;
    uint8_t tile; /* kern_op.tile */
};

struct shader_choices {
    const struct shader_choice *forced; /* NULL, or forced for every op that the kernel accepts (ANYDML_KERNELS) */
    uint32_t count;
    struct shader_choice *sorted; /* by key */
};

/* 0: of an op with only one kernel. */
uint64_t shader_choice_key(const struct kern_op *op);

/* "gemm_coop", "gemm_coop:3". */
bool shader_choice_parse(const char *name, size_t length, struct shader_choice *out);
void shader_choice_print(const struct shader_choice *choice, char *out, size_t size);

/* Like shader_find, with the selected kernel if there is one and it accepts the op; its `tile` is set. `choices` may be
 * NULL.
 */
bool shader_choose(struct kern_op *op, uint32_t capabilities, const struct shader_choices *choices,
                   struct shader_work *out, const char **out_reason);

/* All kernels that may be measured for the op, except for the last of its kind; returns their number, and the first
 * ones in `out`. */
uint32_t shader_choice_list(const struct kern_op *op, uint32_t capabilities, struct shader_choice *out,
                            uint32_t capacity);

#endif
