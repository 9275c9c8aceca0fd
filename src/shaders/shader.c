/* SPDX-License-Identifier: Apache-2.0 */
/* The table of shader rows and the look-up in it. */
#include "shaders/shader.h"

static const struct shader_row rows[] = {
    { "map", KERN_MAP, shader_map_obstacle, shader_map_plan, shader_map_write },
    { "move", KERN_MOVE, shader_map_obstacle, shader_map_plan, shader_map_write },
};

const struct shader_row *shader_find(const struct kern_op *op, const char **out_reason)
{
    *out_reason = "there is no shader for it";
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].kind != op->kind)
            continue;
        *out_reason = rows[i].obstacle(op);
        if (!*out_reason)
            return &rows[i];
    }
    return NULL;
}

const struct shader_row *shader_rows(uint32_t *out_count)
{
    *out_count = ARRAY_SIZE(rows);
    return rows;
}
