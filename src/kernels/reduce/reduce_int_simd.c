/* The loops of struct kern_total_isa; each instruction set's file includes this once and is compiled with its flags. */
#include "kernels/core/isa.h"
#include "kernels/reduce/reduce_int.h"

#define WORD     uint32_t
#define SIGNED   int32_t
#define ROW      fold_row_32
#define COLUMN   fold_column_32
#define POSITION fold_position_32
#include "kernels/reduce/reduce_int_body.h"
#define WORD     uint64_t
#define SIGNED   int64_t
#define ROW      fold_row_64
#define COLUMN   fold_column_64
#define POSITION fold_position_64
#include "kernels/reduce/reduce_int_body.h"

static uint8_t fold_bytes(const uint8_t *x, uint64_t count, uint8_t flip)
{
    uint8_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = (x[i] ^ flip) > most ? x[i] ^ flip : most;
    return most;
}

#define KERN_TOTAL_ISA(map)                                                                                            \
    {                                                                                                                  \
        map, { fold_row_32, fold_row_64 }, fold_bytes, { fold_column_32, fold_column_64 },                             \
        {                                                                                                              \
            fold_position_32, fold_position_64                                                                         \
        }                                                                                                              \
    }

static const struct kern_total_isa reduce_int_isa = KERN_TOTAL_ISA(&KERN_ISA_TABLE(kern_map_isa_));

KERN_ISA_RUN_WITH(reduce_int, kern_reduce_int_on(call, &reduce_int_isa, begin, end))
