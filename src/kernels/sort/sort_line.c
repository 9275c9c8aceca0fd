/* SPDX-License-Identifier: Apache-2.0 */
/* One line. Compiled twice: for elements up to 32 bits, and for 64-bit ones with SORT_WIDE defined. The first few items
 * of a line are kept sorted by insertion. If K is larger but small relative to the line, only items that can be among
 * the first K are kept, below a bound that a sample sets and that decreases whenever the buffer is full; the rest, or
 * the whole line, is radix-sorted. */
#include "kernels/sort/sort.h"
#include "kernels/core/iterator.h"

#ifdef SORT_WIDE
typedef uint64_t sort_key;
typedef unsigned __int128 sort_item;
#define SORTED(what) kern_sort_wide##what
#else
typedef uint32_t sort_key;
typedef uint64_t sort_item;
#define SORTED(what) kern_sort_narrow##what
#endif

enum {
    KEY_SHIFT = 8 * sizeof(sort_key),
    SMALL = 40,    /* insertion is faster up to here */
    FEW = 16,      /* this many first items are inserted one by one, for any length of the line */
    LARGE = 32768, /* digits of 11 bits instead of 8 from here on */
    CHUNK = 64,    /* keys that are kept or dropped together */
    SAMPLE = 1024,
    SAMPLED_FROM = 16384,
};

struct sorter {
    const struct kern_sort_line *line;
    uint32_t capacity; /* items there is room for */
    sort_item *items, *spare;
    sort_key keys[KERN_SORT_BLOCK];
    uint64_t raw[KERN_SORT_BLOCK];
    uint32_t places[2048];
};

static sort_item make_item(sort_key key, uint32_t position)
{
    return (sort_item)key << KEY_SHIFT | position;
}

static sort_key item_key(sort_item item)
{
    return (sort_key)(item >> KEY_SHIFT);
}

static uint64_t capacity_for(uint32_t length, uint32_t k)
{
    uint64_t spare = length < SAMPLED_FROM ? CHUNK : BASE_MAX(SAMPLE, length / 256);
    return UINT64_C(2) * k + CHUNK + spare;
}

static bool keeps_few(uint32_t length, uint32_t k)
{
    return 2 * capacity_for(length, k) <= length;
}

uint64_t SORTED(_bytes)(uint32_t length, uint32_t k)
{
    uint64_t items = k <= FEW ? k : keeps_few(length, k) ? capacity_for(length, k) : length;
    return sizeof(struct sorter) + 64 + 2 * items * sizeof(sort_item);
}

static void insertion_sort(sort_item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        sort_item moving = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1] > moving; at--)
            items[at] = items[at - 1];
        items[at] = moving;
    }
}

/* Moves the items to `spare` in the order of one digit, which ends `shift` bits above the lowest of the item. */
static void scatter(struct sorter *sorter, uint32_t count, uint32_t shift, uint32_t mask)
{
    uint32_t *places = sorter->places, place = 0;
    const sort_item *items = sorter->items;
    memset(places, 0, (mask + 1) * sizeof(*places));
    for (uint32_t i = 0; i < count; i++)
        places[(uint32_t)(items[i] >> shift) & mask]++;
    if (places[(uint32_t)(items[0] >> shift) & mask] == count)
        return;
    for (uint32_t d = 0; d <= mask; d++) {
        uint32_t size = places[d];
        places[d] = place;
        place += size;
    }
    for (uint32_t i = 0; i < count; i++)
        sorter->spare[places[(uint32_t)(items[i] >> shift) & mask]++] = items[i];
    sort_item *swapped = sorter->items;
    sorter->items = sorter->spare;
    sorter->spare = swapped;
}

/* Items with equal keys are ordered by position, and every pass is stable. */
static void sort_items(struct sorter *sorter, uint32_t count)
{
    uint32_t digit = count >= LARGE ? 11 : 8;
    if (count <= SMALL) {
        insertion_sort(sorter->items, count);
        return;
    }
    for (uint32_t bit = 0; bit < 8 * sorter->line->code->bytes; bit += digit)
        scatter(sorter, count, KEY_SHIFT + bit, (UINT32_C(1) << digit) - 1);
}

/* Makes sorter->keys of elements at, at + step, ... */
static void load_keys(struct sorter *sorter, uint32_t at, uint32_t step, uint32_t count)
{
    const struct kern_sort_line *line = sorter->line;
    uint32_t bytes = line->code->bytes;
    const void *from = line->x + (int64_t)at * line->x_stride * bytes;
    if (line->x_stride * step != 1) {
        kern_copy_row(bytes, sorter->raw, 1, from, line->x_stride * step, count);
        from = sorter->raw;
    }
    line->isa->encode[bytes](line->code, from, count, sorter->keys);
}

/* Makes items of `count` elements, `step` apart; positions are consecutive. */
static void load_items(struct sorter *sorter, uint32_t step, uint32_t count)
{
    for (uint32_t at = 0, n; at < count; at += n) {
        n = BASE_MIN(count - at, KERN_SORT_BLOCK);
        load_keys(sorter, at * step, step, n);
        for (uint32_t i = 0; i < n; i++)
            sorter->items[at + i] = make_item(sorter->keys[i], at + i);
    }
}

/* Keeps the first k items, sorted. false if no later element can precede the last of them. */
static bool shorten(struct sorter *sorter, uint32_t *count, sort_key *bound)
{
    sort_items(sorter, *count);
    *count = sorter->line->k;
    sort_key last = item_key(sorter->items[*count - 1]);
    if (last == 0)
        return false;
    *bound = last - 1;
    return true;
}

/* Collects the items with keys up to `bound` that may be among the first k; returns how many. */
static uint32_t collect(struct sorter *sorter, sort_key bound)
{
    const struct kern_sort_line *line = sorter->line;
    uint32_t kept = 0;
    for (uint32_t at = 0, count; at < line->length; at += count) {
        count = BASE_MIN(line->length - at, KERN_SORT_BLOCK);
        load_keys(sorter, at, 1, count);
        for (uint32_t i = 0; i < count; i += CHUNK) {
            uint32_t end = BASE_MIN(i + CHUNK, count);
            if (!line->isa->any_within(line->code, sorter->keys + i, end - i, bound))
                continue;
            if (kept + CHUNK > sorter->capacity && !shorten(sorter, &kept, &bound))
                return kept;
            for (uint32_t j = i; j < end; j++) {
                sorter->items[kept] = make_item(sorter->keys[j], at + j);
                kept += sorter->keys[j] <= bound;
            }
        }
    }
    return kept;
}

/* A key that is probably, but not surely, behind the first k. */
static sort_key sample_bound(struct sorter *sorter)
{
    uint32_t length = sorter->line->length, step = length / SAMPLE;
    uint64_t rank = (uint64_t)sorter->line->k * SAMPLE / length, root = 1;
    load_items(sorter, step, SAMPLE);
    sort_items(sorter, SAMPLE);
    while (root * root < rank)
        root++;
    rank += 3 * root + 4; /* three standard deviations of the k-th element's position in the sample */
    return rank < SAMPLE ? item_key(sorter->items[rank]) : (sort_key)-1;
}

/* The first k items, which are few and kept sorted: inserts those of `count` keys that precede the last one. false if
 * no later element can precede the last of them. */
static bool insert_few(struct sorter *sorter, const sort_key *keys, uint32_t position, uint32_t count, uint32_t *kept,
                       sort_key *bound)
{
    uint32_t k = sorter->line->k;
    sort_item *items = sorter->items;
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i] > *bound)
            continue;
        sort_item moving = make_item(keys[i], position + i);
        uint32_t at = *kept < k ? (*kept)++ : k - 1;
        for (; at > 0 && items[at - 1] > moving; at--)
            items[at] = items[at - 1];
        items[at] = moving;
        if (*kept < k)
            continue;
        if (item_key(items[k - 1]) == 0)
            return false;
        *bound = item_key(items[k - 1]) - 1;
    }
    return true;
}

static void select_few(struct sorter *sorter)
{
    const struct kern_sort_line *line = sorter->line;
    sort_key bound = (sort_key)-1;
    uint32_t kept = 0;
    for (uint32_t at = 0, count; at < line->length; at += count) {
        count = BASE_MIN(line->length - at, KERN_SORT_BLOCK);
        load_keys(sorter, at, 1, count);
        if (!line->isa->any_within(line->code, sorter->keys, count, bound))
            continue;
        for (uint32_t i = 0; i < count; i += CHUNK) {
            uint32_t size = BASE_MIN(count - i, CHUNK);
            if (line->isa->any_within(line->code, sorter->keys + i, size, bound) &&
                !insert_few(sorter, sorter->keys + i, at + i, size, &kept, &bound))
                return;
        }
    }
}

static void select_items(struct sorter *sorter)
{
    const struct kern_sort_line *line = sorter->line;
    const sort_key all = (sort_key)-1;
    uint32_t kept = 0;
    if (line->k <= FEW) {
        select_few(sorter);
        return;
    }
    if (!keeps_few(line->length, line->k)) {
        load_items(sorter, 1, line->length);
        sort_items(sorter, line->length);
        return;
    }
    if (line->length >= SAMPLED_FROM)
        kept = collect(sorter, sample_bound(sorter));
    if (kept < line->k)
        kept = collect(sorter, all);
    sort_items(sorter, kept);
}

static void store_positions(struct sorter *sorter, uint32_t at, uint32_t count)
{
    const struct kern_sort_line *line = sorter->line;
    char *to = line->positions + at * line->position_stride * line->position_bytes;
    uint32_t *narrow = (uint32_t *)sorter->raw;
    for (uint32_t i = 0; i < count && line->position_bytes == 4; i++)
        narrow[i] = (uint32_t)sorter->items[at + i];
    for (uint32_t i = 0; i < count && line->position_bytes == 8; i++)
        sorter->raw[i] = (uint32_t)sorter->items[at + i];
    kern_copy_row(line->position_bytes, to, line->position_stride, sorter->raw, 1, count);
}

/* Keys determine the element except for NaNs and the sign of zero, which are fetched. */
static void store_values(struct sorter *sorter, uint32_t at, uint32_t count)
{
    const struct kern_sort_line *line = sorter->line;
    const struct kern_sort_code *code = line->code;
    char *raw = (char *)sorter->raw;
    sort_key zero = (sort_key)(code->sign ^ code->flip), nan = (sort_key)(code->mask ^ code->flip);
    for (uint32_t i = 0; i < count; i++)
        sorter->keys[i] = item_key(sorter->items[at + i]);
    line->isa->decode[code->bytes](code, sorter->keys, count, raw);
    for (uint32_t i = 0; i < count && code->is_float; i++) {
        int64_t position = (uint32_t)sorter->items[at + i];
        if (sorter->keys[i] == zero || sorter->keys[i] == nan)
            memcpy(raw + i * code->bytes, line->x + position * line->x_stride * code->bytes, code->bytes);
    }
    kern_copy_row(code->bytes, line->values + at * line->value_stride * code->bytes, line->value_stride, raw, 1, count);
}

void SORTED(_line)(const struct kern_sort_line *line)
{
    struct sorter *sorter = line->scratch;
    sorter->line = line;
    sorter->capacity = (uint32_t)capacity_for(line->length, line->k);
    uint64_t items = line->k <= FEW ? line->k : keeps_few(line->length, line->k) ? sorter->capacity : line->length;
    sorter->items = (sort_item *)base_align_up((uintptr_t)(sorter + 1), 64);
    sorter->spare = sorter->items + items;
    select_items(sorter);
    for (uint32_t at = 0, count; at < line->k; at += count) {
        count = BASE_MIN(line->k - at, KERN_SORT_BLOCK);
        store_positions(sorter, at, count);
        store_values(sorter, at, count);
    }
}
