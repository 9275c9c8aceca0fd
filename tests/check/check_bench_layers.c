/* SPDX-License-Identifier: Apache-2.0 */
/* check --bench: products with the epilogues of networks. */
#include "check.h"
#include "kernels/core/epilogue.h"

#include <stdio.h>

/* The layers of transformers and ConvNeXt: products followed by what is added to them or done with them. */
void check_bench_layers(const char *filter, uint32_t cpu)
{
    static const uint32_t shapes[][3] = { { 3136, 96, 384 },  { 3136, 384, 96 }, { 784, 192, 768 },
                                          { 196, 384, 1536 }, { 1024, 64, 64 },  { 197, 768, 768 } };
    static const struct {
        const char *name;
        uint32_t count;
        uint8_t code[3]; /* ADD or MUL of one more tensor: a row of columns first, then whole matrices; or alone */
    } ends[] = { { "", 0, { 0 } },
                 { "bias", 1, { KERN_MAP_ADD } },
                 { "bias relu", 2, { KERN_MAP_ADD, KERN_MAP_RELU } },
                 { "bias gelu", 2, { KERN_MAP_ADD, KERN_MAP_GELU } },
                 { "bias scale sum", 3, { KERN_MAP_ADD, KERN_MAP_MUL, KERN_MAP_ADD } },
                 { "swish gate", 2, { KERN_MAP_SWISH, KERN_MAP_MUL } } };
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(ends); i++) {
        const uint32_t *s = shapes[i / ARRAY_SIZE(ends)], e = i % ARRAY_SIZE(ends);
        struct check_case c = { .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
        uint8_t tensors[ARRAY_SIZE(ends[0].code)] = { 0 };
        char name[64];
        kern_view_set_packed(&c.op.tensors[0], f32, 2, (uint32_t[]){ s[0], s[1] });
        kern_view_set_packed(&c.op.tensors[1], f32, 2, (uint32_t[]){ s[1], s[2] });
        c.data[1] = CHECK_DATA_TINY; /* results in the range of activations */
        c.op.u.gemm.alpha = 1;
        c.op.epilogue_input = 2;
        for (uint32_t k = 0; k < BASE_MIN(ends[e].count, ARRAY_SIZE(tensors)); k++) {
            if (kern_map_arity[ends[e].code[k]] != 2)
                continue;
            kern_view_set_packed(&c.op.tensors[c.op.input_count], f32, 2, (uint32_t[]){ s[0], s[2] });
            if (k < 2 && ends[e].code[0] == KERN_MAP_ADD)
                c.op.tensors[c.op.input_count].strides[0] = 0;
            tensors[k] = (uint8_t)(c.op.input_count++ - 1);
        }
        kern_view_set_packed(&c.op.tensors[c.op.input_count], f32, 2, (uint32_t[]){ s[0], s[2] });
        const uint32_t inputs = kern_epilogue_inputs(&c.op);
        for (uint32_t k = 0; k < ends[e].count; k++)
            c.epilogue.inst[k] = (struct kern_map_inst){
                ends[e].code[k], f32, f32, { (uint8_t)(k ? inputs + k - 1 : 0), tensors[k] }, { { 1 } }
            };
        for (uint32_t k = 0; k < inputs; k++)
            c.epilogue.load_type[k] = f32;
        c.epilogue.inst_count = (uint8_t)ends[e].count;
        c.epilogue.store[0] = (uint8_t)(inputs + ends[e].count - 1);
        c.op.epilogue = ends[e].count ? &c.epilogue : NULL;
        snprintf(name, sizeof(name), "gemm %u %u %u %s", s[0], s[1], s[2], ends[e].name);
        check_bench_case(name, &c, filter, cpu);
    }
}
