/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/choices.h"

#include "base/hash.h"
#include "shaders/gemm/shader_tile.h"

#include <stdio.h>
#include <stdlib.h>

/* Two classes per octave: sizes this close nearly always have the same best kernel. */
static uint32_t about(uint64_t size)
{
    uint32_t exponent = 0;
    while (size >> exponent > 1)
        exponent++;
    return size < 4 ? (uint32_t)size : 2 * exponent + (size >> (exponent - 1) & 1);
}

/* The dimension of elements that are adjacent in memory, counted from the last. */
static uint32_t innermost(const struct kern_view *view)
{
    for (uint32_t d = view->rank; d-- > 0;)
        if (view->strides[d] == 1 && view->sizes[d] > 1)
            return view->rank - d;
    return 0;
}

struct class
{
    uint32_t count, words[48];
};

static void add(struct class *class, uint64_t word)
{
    if (class->count < ARRAY_SIZE(class->words))
        class->words[class->count++] = (uint32_t)word;
}

static void add_product(const struct kern_op *op, struct class *class)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t batches = 1;
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        batches *= y->sizes[d];
    add(class, about(batches));
    add(class, about(y->sizes[y->rank - 2]));
    add(class, about(y->sizes[y->rank - 1]));
    add(class, about(a->sizes[a->rank - 1]));
    if (op->kind == KERN_QGEMM)
        add(class, about(op->u.qgemm.block));
}

static void add_convolution(const struct kern_op *op, struct class *class)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *x = &op->tensors[0], *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint64_t pixels = y->sizes[0];
    add(class, conv->spatial | (uint32_t)conv->transposed << 4 | (uint32_t)conv->integer << 5);
    for (uint32_t d = 0; d < conv->spatial; d++) {
        pixels *= y->sizes[2 + d];
        add(class, w->sizes[2 + d]);
        add(class, conv->strides[d]);
        add(class, conv->dilations[d]);
    }
    add(class, about(pixels));
    add(class, about(x->sizes[1]));
    add(class, about(y->sizes[1]));
    add(class, about(conv->groups));
}

static void add_attention(const struct kern_op *op, struct class *class)
{
    for (uint32_t t = 0; t < 3; t++)
        for (uint32_t d = 0; d < op->tensors[t].rank; d++)
            add(class, about(op->tensors[t].sizes[d]));
    add(class, op->u.attention.has_mask);
}

uint64_t shader_choice_key(const struct kern_op *op)
{
    struct class class = { 0 };
    add(&class, op->kind);
    if (op->kind == KERN_GEMM || op->kind == KERN_QGEMM)
        add_product(op, &class);
    else if (op->kind == KERN_CONV)
        add_convolution(op, &class);
    else if (op->kind == KERN_ATTENTION)
        add_attention(op, &class);
    else
        return 0;
    for (uint32_t t = 0; t <= op->input_count; t++)
        add(&class, (uint32_t)op->tensors[t].type << 8 | innermost(&op->tensors[t]));
    add(&class, op->flags);
    const uint64_t key = base_hash(class.words, class.count * sizeof(*class.words)).low;
    return key ? key : 1;
}

/* ---- names ---- */

bool shader_choice_parse(const char *name, size_t length, struct shader_choice *out)
{
    uint32_t count;
    const struct shader_row *rows = shader_rows(&count);
    const char *colon = memchr(name, ':', length);
    const size_t of_row = colon ? (size_t)(colon - name) : length;
    *out = (struct shader_choice){ 0 };
    if (colon && (length - of_row != 2 || colon[1] < '1' || colon[1] > '9'))
        return false;
    out->tile = colon ? (uint8_t)(colon[1] - '0') : 0;
    for (uint32_t i = 0; i < count && !out->row; i++)
        if (strlen(rows[i].name) == of_row && !memcmp(rows[i].name, name, of_row))
            out->row = &rows[i];
    return out->row != NULL;
}

void shader_choice_print(const struct shader_choice *choice, char *out, size_t size)
{
    if (choice->tile)
        snprintf(out, size, "%s:%u", choice->row->name, choice->tile);
    else
        snprintf(out, size, "%s", choice->row->name);
}

/* ---- selection ---- */

static int by_key(const void *a, const void *b)
{
    const struct shader_choice *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static const struct shader_choice *choice_of(const struct kern_op *op, const struct shader_choices *choices)
{
    struct shader_choice wanted = { .key = choices ? shader_choice_key(op) : 0 };
    if (!wanted.key)
        return NULL;
    if (choices->forced)
        return choices->forced;
    return choices->count ? bsearch(&wanted, choices->sorted, choices->count, sizeof(wanted), by_key) : NULL;
}

bool shader_choose(struct kern_op *op, uint32_t capabilities, const struct shader_choices *choices,
                   struct shader_work *out, const char **out_reason)
{
    const struct shader_choice *choice = choice_of(op, choices);
    if (choice && choice->row->kind == op->kind) {
        op->tile = choice->tile;
        if (shader_row_find(choice->row, op, capabilities, out, out_reason))
            return true;
    }
    op->tile = 0;
    return shader_find(op, capabilities, out, out_reason);
}

/* Tiles are distinguished by their dispatches. */
static uint32_t add_tiles(const struct shader_row *row, const struct kern_op *op, uint32_t capabilities,
                          struct shader_choice *out, uint32_t count, uint32_t capacity)
{
    struct kern_op tiled = *op;
    struct shader_work plain, other;
    const char *reason;
    shader_row_find(row, op, capabilities, &plain, &reason);
    for (tiled.tile = 1; tiled.tile <= shader_coop_tiles(); tiled.tile++)
        if (shader_row_find(row, &tiled, capabilities, &other, &reason) && memcmp(&plain, &other, sizeof(plain)) != 0) {
            if (count < capacity)
                out[count] = (struct shader_choice){ .row = row, .tile = tiled.tile };
            count++;
        }
    return count;
}

uint32_t shader_choice_list(const struct kern_op *op, uint32_t capabilities, struct shader_choice *out,
                            uint32_t capacity)
{
    uint32_t count = 0, row_count;
    const struct shader_row *rows = shader_rows(&row_count);
    struct shader_work work;
    const char *reason;
    for (uint32_t i = 0; i < row_count && shader_choice_key(op); i++) {
        const bool last = i + 1 == row_count || rows[i + 1].kind != rows[i].kind;
        if (rows[i].kind != op->kind || last || !shader_row_find(&rows[i], op, capabilities, &work, &reason))
            continue;
        if (count < capacity)
            out[count] = (struct shader_choice){ .row = &rows[i] };
        count = add_tiles(&rows[i], op, capabilities, out, count + 1, capacity);
    }
    return count;
}
