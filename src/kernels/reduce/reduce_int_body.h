/* Included by reduce_int_exec.h for each width of a word. */

static uint64_t ROW(enum kern_total fold, const void *data, uint32_t count, uint64_t flip)
{
    const WORD *x = data;
    WORD total = fold == KERN_TOTAL_PRODUCT, mask = (WORD)flip;
    switch (fold) {
    case KERN_TOTAL_SUM:
        for (uint32_t i = 0; i < count; i++)
            total += x[i];
        break;
    case KERN_TOTAL_SIZE:
        for (uint32_t i = 0; i < count; i++)
            total += (SIGNED)x[i] < 0 ? 0 - x[i] : x[i];
        break;
    case KERN_TOTAL_SQUARES:
        for (uint32_t i = 0; i < count; i++)
            total += x[i] * x[i];
        break;
    case KERN_TOTAL_PRODUCT:
        for (uint32_t i = 0; i < count; i++)
            total *= x[i];
        break;
    case KERN_TOTAL_MAX:
        for (uint32_t i = 0; i < count; i++)
            total = (x[i] ^ mask) > total ? x[i] ^ mask : total;
        break;
    }
    return total;
}

static void COLUMN(enum kern_total fold, void *into, const void *data, uint32_t count, uint64_t flip)
{
    const WORD *x = data;
    WORD *acc = into, mask = (WORD)flip;
    switch (fold) {
    case KERN_TOTAL_SUM:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) acc[i] += x[i];
        break;
    case KERN_TOTAL_SIZE:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) acc[i] += (SIGNED)x[i] < 0 ? 0 - x[i] : x[i];
        break;
    case KERN_TOTAL_SQUARES:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) acc[i] += x[i] * x[i];
        break;
    case KERN_TOTAL_PRODUCT:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) acc[i] *= x[i];
        break;
    case KERN_TOTAL_MAX:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) acc[i] =
            (x[i] ^ mask) > acc[i] ? x[i] ^ mask : acc[i];
        break;
    }
}

static void POSITION(void *extremes, uint32_t *position, const void *data, uint32_t index, bool last, uint32_t count,
                     uint64_t flip)
{
    const WORD *x = data;
    WORD *best = extremes, mask = (WORD)flip;
    _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++)
    {
        WORD v = x[i] ^ mask, b = best[i];
        bool better = (v > b) | (last & (v == b));
        best[i] = better ? v : b;
        position[i] = better ? index : position[i];
    }
}

#undef WORD
#undef SIGNED
#undef ROW
#undef COLUMN
#undef POSITION
