/* SPDX-License-Identifier: Apache-2.0 */
/* Words that grow, and the table of instructions. */
#include "shaders/spirv/spirv_module.h"

#include <stdlib.h>

/* By number; the extensions' follow the core's. */
enum { CORE = 512, EXTENSIONS = 4450, EXTENSION_COUNT = 16 };
#define PLACE(number) ((number) < CORE ? (number) : CORE + (number)-EXTENSIONS)

static const struct spirv_op ops[CORE + EXTENSION_COUNT] = {
#define ALL                                             SPIRV_ALL
#define OP(name, number, result, literals, ids, effect) [PLACE(number)] = { number, ids, result, literals, effect },
#include "shaders/spirv/spirv_ops.def"
#undef OP
#undef ALL
};

const struct spirv_op *spirv_op(uint32_t number)
{
    if (number >= CORE && (number < EXTENSIONS || number >= EXTENSIONS + EXTENSION_COUNT))
        return NULL;
    const struct spirv_op *op = &ops[PLACE(number)];
    return number && op->number == number ? op : NULL;
}

void spirv_put(struct spirv_words *words, const uint32_t *from, uint32_t count)
{
    if (words->failed)
        return;
    if (count > words->room - words->count) {
        const uint32_t room = BASE_MAX(words->room * 2, words->count + count + 256);
        uint32_t *more = realloc(words->at, room * sizeof(*more));
        if (!more) {
            words->failed = true;
            return;
        }
        words->at = more;
        words->room = room;
    }
    if (count)
        memcpy(words->at + words->count, from, count * sizeof(*from));
    words->count += count;
}

void spirv_put_word(struct spirv_words *words, uint32_t word)
{
    spirv_put(words, &word, 1);
}

uint32_t spirv_begin(struct spirv_words *words, uint32_t op)
{
    spirv_put_word(words, op);
    return words->count;
}

void spirv_end(struct spirv_words *words, uint32_t begin)
{
    if (!words->failed)
        words->at[begin - 1] |= (words->count - begin + 1) << 16;
}
