/* SPDX-License-Identifier: Apache-2.0 */
/* What `anydml tune` found on a device: for ops of one class (kind, types, layouts, about these sizes) another row than
 * the first one that takes them, or other tiles. */
#ifndef SHADERS_CHOICES_H
#define SHADERS_CHOICES_H

#include "shaders/shader.h"

struct shader_choice {
    uint64_t key; /* of the class */
    const struct shader_row *row;
    uint8_t tile; /* kern_op.tile */
};

struct shader_choices {
    const struct shader_choice *forced; /* NULL, or what every op gets that it takes (ANYDML_ROWS) */
    uint32_t count;
    struct shader_choice *sorted; /* by key */
};

/* 0: of an op between whose rows there is nothing to choose. */
uint64_t shader_choice_key(const struct kern_op *op);

/* "gemm_coop", "gemm_coop:3". */
bool shader_choice_parse(const char *name, size_t length, struct shader_choice *out);
void shader_choice_print(const struct shader_choice *choice, char *out, size_t size);

/* As shader_find, with the choice where there is one and it takes the op, whose `tile` is set. `choices` may be NULL.
 */
bool shader_choose(struct kern_op *op, uint32_t capabilities, const struct shader_choices *choices,
                   struct shader_work *out, const char **out_reason);

/* All that may be measured for the op, the last row of its kind left out; returns how many there are, of which `out`
 * has the first ones. */
uint32_t shader_choice_list(const struct kern_op *op, uint32_t capabilities, struct shader_choice *out,
                            uint32_t capacity);

#endif
