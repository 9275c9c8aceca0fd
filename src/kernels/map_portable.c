/* Block functions for every processor; what has no loop of its own goes through the definition, number by number. */
#include "kernels/map_exec.h"

static bool exec_portable(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t count)
{
    if (exec_block(inst, out, src, count))
        return true;
    for (uint32_t i = 0; i < count; i++) {
        struct kern_number a = kern_read(inst->type, src[0], i);
        struct kern_number b = kern_read(inst->type, src[1], i);
        struct kern_number c = kern_read(inst->type, src[2], i);
        kern_write(inst->type, out, i, kern_map_eval(inst, a, b, c));
    }
    return true;
}

const struct kern_map_isa kern_map_isa_portable = MAP_ISA(exec_portable, NULL);
