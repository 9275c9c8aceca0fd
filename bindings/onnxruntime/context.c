/* SPDX-License-Identifier: Apache-2.0 */
/* The serialised form. All numbers are little-endian. A file is a sequence of subgraphs, each
 *    0  "AnyDMLcx"
 *    8  u32 format, u32 0
 *   16  u64 size of the whole, a multiple of 64
 *   24  u64 end of the description
 *   32  128-bit hash of everything from 48 on
 *   48  description: texts and numbers in sequence
 *       weights, each at a multiple of 64
 * The reader never accesses memory outside of the bytes, whatever they are; its result satisfies the rules of struct
 * onnx_model. */
#include "context.h"

#include "base/hash.h"
#include "ep.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC  "AnyDMLcx"
#define HEADER 48
#define HASHED 48

enum attribute_parts {
    HAS_TEXT = 1,
    HAS_TENSOR = 2,
    HAS_FLOATS = 4,
    HAS_INTS = 8,
    HAS_STRINGS = 16,
};

/* The minimum size of each of them in the description. */
#define MIN_TEXT      4
#define MIN_TENSOR    28
#define MIN_ATTRIBUTE 24
#define MIN_NODE      32
#define MIN_VALUE     16

enum ep_context_fit ep_context_fit(const char *made_for, const char *here)
{
    const char *end = strchr(here, ';');
    end = end ? strchr(end + 1, ';') : NULL;
    if (!strcmp(made_for, here))
        return EP_CONTEXT_SAME;
    return end && !strncmp(made_for, here, (size_t)(end + 1 - here)) ? EP_CONTEXT_FITS : EP_CONTEXT_FOREIGN;
}

/* ---- writing: a first pass counts, a second one writes ---- */

struct writer {
    uint8_t *base; /* NULL: only counts */
    size_t at, data_at;
};

static void put_number(struct writer *w, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; w->base && i < bytes; i++)
        w->base[w->at + i] = (uint8_t)(value >> (8 * i));
    w->at += bytes;
}

static void put_bytes(struct writer *w, size_t at, const void *data, size_t bytes)
{
    if (w->base && bytes)
        memcpy(w->base + at, data, bytes);
}

static void put_text(struct writer *w, const char *text)
{
    size_t length = strlen(text);
    put_number(w, length, 4);
    put_bytes(w, w->at, text, length);
    w->at += length;
}

static void put_float(struct writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_number(w, bits, 4);
}

static void put_tensor(struct writer *w, const struct onnx_tensor *t)
{
    put_text(w, t->name);
    put_number(w, (uint32_t)t->type, 4);
    put_number(w, t->rank, 4);
    for (uint32_t i = 0; i < t->rank; i++)
        put_number(w, (uint64_t)t->dims[i], 8);
    put_number(w, t->bytes, 8);
    put_number(w, w->data_at, 8);
    put_bytes(w, w->data_at, t->data, t->bytes);
    w->data_at += base_align_up(t->bytes, EP_CONTEXT_ALIGNMENT);
}

static void put_attribute(struct writer *w, const struct onnx_attribute *a)
{
    uint32_t parts = (a->s ? HAS_TEXT : 0) | (a->t ? HAS_TENSOR : 0) | (a->floats ? HAS_FLOATS : 0) |
                     (a->ints ? HAS_INTS : 0) | (a->strings ? HAS_STRINGS : 0);
    put_text(w, a->name);
    put_float(w, a->f);
    put_number(w, (uint64_t)a->i, 8);
    put_number(w, parts, 4);
    put_number(w, a->count, 4);
    if (a->s)
        put_text(w, a->s);
    if (a->t)
        put_tensor(w, a->t);
    for (uint32_t i = 0; a->floats && i < a->count; i++)
        put_float(w, a->floats[i]);
    for (uint32_t i = 0; a->ints && i < a->count; i++)
        put_number(w, (uint64_t)a->ints[i], 8);
    for (uint32_t i = 0; a->strings && i < a->count; i++)
        put_text(w, a->strings[i]);
}

static void put_names(struct writer *w, const char *const *names, uint32_t count)
{
    put_number(w, count, 4);
    for (uint32_t i = 0; i < count; i++)
        put_text(w, names[i]);
}

static void put_node(struct writer *w, const struct onnx_node *n)
{
    put_text(w, n->op);
    put_text(w, n->domain);
    put_text(w, n->name);
    put_number(w, (uint64_t)n->version, 8);
    put_names(w, n->inputs, n->input_count);
    put_names(w, n->outputs, n->output_count);
    put_number(w, n->attribute_count, 4);
    for (uint32_t i = 0; i < n->attribute_count; i++)
        put_attribute(w, &n->attributes[i]);
}

static void put_values(struct writer *w, const struct onnx_value_info *values, uint32_t count)
{
    put_number(w, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        put_text(w, values[i].name);
        put_number(w, (uint32_t)values[i].type, 4);
        put_number(w, values[i].has_shape, 4);
        put_number(w, values[i].rank, 4);
        for (uint32_t d = 0; d < values[i].rank; d++)
            put_number(w, (uint64_t)values[i].dims[d], 8);
    }
}

static void put_model(struct writer *w, const struct onnx_model *m, const char *partition, const char *made_for)
{
    w->at = HEADER;
    put_text(w, partition);
    put_text(w, made_for);
    put_values(w, m->inputs, m->input_count);
    put_values(w, m->outputs, m->output_count);
    put_number(w, m->initializer_count, 4);
    for (uint32_t i = 0; i < m->initializer_count; i++)
        put_tensor(w, &m->initializers[i]);
    put_number(w, m->node_count, 4);
    for (uint32_t i = 0; i < m->node_count; i++)
        put_node(w, &m->nodes[i]);
}

bool ep_context_write(const struct onnx_model *model, const char *partition, const char *made_for, void **out,
                      size_t *out_bytes)
{
    struct writer w = { 0 };
    put_model(&w, model, partition, made_for);
    size_t end = w.at, data = base_align_up(end, EP_CONTEXT_ALIGNMENT), size = data + w.data_at;
    w = (struct writer){ .base = calloc(1, size), .data_at = data };
    if (!w.base)
        return false;
    put_model(&w, model, partition, made_for);
    memcpy(w.base, MAGIC, 8);
    w.at = 8;
    put_number(&w, EP_CONTEXT_FORMAT, 4);
    put_number(&w, 0, 4);
    put_number(&w, size, 8);
    put_number(&w, end, 8);
    struct base_hash hash = base_hash(w.base + HASHED, size - HASHED);
    put_number(&w, hash.low, 8);
    put_number(&w, hash.high, 8);
    *out = w.base;
    *out_bytes = size;
    return true;
}

/* ---- reading ---- */

struct reader {
    const uint8_t *base;
    size_t size, at, end; /* end of the description */
    struct base_arena *arena;
    const char *why; /* the first error */
};

static bool bad(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    r->at = r->end; /* nothing more to read */
    return false;
}

static uint64_t get_number(struct reader *r, uint32_t bytes)
{
    uint64_t value = 0;
    if (r->end - r->at < bytes) {
        bad(r, "its description is too short");
        return 0;
    }
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)r->base[r->at + i] << (8 * i);
    r->at += bytes;
    return value;
}

/* The number of following elements of at least that many bytes each: limits allocations. */
static uint32_t get_count(struct reader *r, uint32_t least)
{
    uint32_t count = (uint32_t)get_number(r, 4);
    if (count <= (r->end - r->at) / least)
        return count;
    bad(r, "it counts more than it holds");
    return 0;
}

static void *get_memory(struct reader *r, size_t bytes)
{
    void *memory = base_arena_alloc(r->arena, BASE_MAX(bytes, 1u));
    if (!memory)
        bad(r, "memory is short");
    return memory;
}

/* Never NULL. */
static const char *get_text(struct reader *r)
{
    uint32_t length = get_count(r, 1);
    char *text = get_memory(r, (size_t)length + 1);
    if (r->why)
        return "";
    if (memchr(r->base + r->at, 0, length)) {
        bad(r, "a name has a zero in it");
        return "";
    }
    memcpy(text, r->base + r->at, length);
    r->at += length;
    return text;
}

static float get_float(struct reader *r)
{
    uint32_t bits = (uint32_t)get_number(r, 4);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t get_dims(struct reader *r, int64_t least, int64_t dims[ONNX_RANK_MAX])
{
    uint32_t rank = (uint32_t)get_number(r, 4);
    if (rank > ONNX_RANK_MAX) {
        bad(r, "a tensor has more than 8 dimensions");
        return 0;
    }
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = (int64_t)get_number(r, 8);
        if (dims[i] < least || dims[i] > UINT32_MAX)
            bad(r, "a dimension is out of range");
    }
    return rank;
}

/* The weights have exactly the size that type and dimensions imply. */
static void get_tensor(struct reader *r, struct onnx_tensor *t)
{
    int64_t count = 1;
    bool large = false;
    t->name = get_text(r);
    t->type = (int32_t)get_number(r, 4);
    t->rank = get_dims(r, 0, t->dims);
    t->bytes = get_number(r, 8);
    uint64_t offset = get_number(r, 8);
    for (uint32_t i = 0; i < t->rank; i++)
        large = large || __builtin_mul_overflow(count, t->dims[i], &count);
    if (r->why || large || count > INT64_MAX / 16 || t->bytes != onnx_bytes(t->type, count)) {
        bad(r, "a tensor's size is not that of its type and dimensions");
        return;
    }
    if (offset % EP_CONTEXT_ALIGNMENT || offset < r->end || offset > r->size || t->bytes > r->size - offset)
        bad(r, "a tensor's data is outside of it");
    else
        t->data = r->base + offset;
}

static void get_list(struct reader *r, uint32_t parts, struct onnx_attribute *a)
{
    float *floats = parts & HAS_FLOATS ? get_memory(r, a->count * sizeof(*floats)) : NULL;
    int64_t *ints = parts & HAS_INTS ? get_memory(r, a->count * sizeof(*ints)) : NULL;
    const char **strings = parts & HAS_STRINGS ? get_memory(r, a->count * sizeof(*strings)) : NULL;
    for (uint32_t i = 0; !r->why && floats && i < a->count; i++)
        floats[i] = get_float(r);
    for (uint32_t i = 0; !r->why && ints && i < a->count; i++)
        ints[i] = (int64_t)get_number(r, 8);
    for (uint32_t i = 0; !r->why && strings && i < a->count; i++)
        strings[i] = get_text(r);
    a->floats = floats;
    a->ints = ints;
    a->strings = strings;
}

static void get_attribute(struct reader *r, struct onnx_attribute *a)
{
    a->name = get_text(r);
    a->f = get_float(r);
    a->i = (int64_t)get_number(r, 8);
    uint32_t parts = (uint32_t)get_number(r, 4), lists = parts & (HAS_FLOATS | HAS_INTS | HAS_STRINGS);
    a->count = get_count(r, lists ? MIN_TEXT : UINT32_MAX);
    if (parts >= HAS_STRINGS * 2 || (lists & (lists - 1))) {
        bad(r, "an attribute is of no known kind");
        return;
    }
    if (parts & HAS_TEXT)
        a->s = get_text(r);
    struct onnx_tensor *t = parts & HAS_TENSOR ? get_memory(r, sizeof(*t)) : NULL;
    if (t)
        get_tensor(r, t);
    a->t = t;
    get_list(r, parts, a);
}

static const char **get_names(struct reader *r, uint32_t *out_count)
{
    uint32_t count = get_count(r, MIN_TEXT);
    const char **names = get_memory(r, count * sizeof(*names));
    for (uint32_t i = 0; !r->why && i < count; i++)
        names[i] = get_text(r);
    *out_count = count;
    return names;
}

static void get_node(struct reader *r, struct onnx_node *n)
{
    n->op = get_text(r);
    n->domain = get_text(r);
    n->name = get_text(r);
    n->version = (int64_t)get_number(r, 8);
    n->inputs = get_names(r, &n->input_count);
    n->outputs = get_names(r, &n->output_count);
    n->attribute_count = get_count(r, MIN_ATTRIBUTE);
    struct onnx_attribute *attributes = get_memory(r, n->attribute_count * sizeof(*attributes));
    for (uint32_t i = 0; !r->why && i < n->attribute_count; i++)
        get_attribute(r, &attributes[i]);
    n->attributes = attributes;
}

static void get_values(struct reader *r, struct onnx_value_info *values, uint32_t count)
{
    for (uint32_t i = 0; !r->why && i < count; i++) {
        values[i].name = get_text(r);
        values[i].type = (int32_t)get_number(r, 4);
        values[i].has_shape = get_number(r, 4) != 0;
        values[i].rank = get_dims(r, -1, values[i].dims);
    }
}

/* The arrays that ep_model_destroy frees one by one. */
static void *get_array(struct reader *r, uint32_t count, size_t element)
{
    void *array = calloc((size_t)count + 1, element);
    if (!array)
        bad(r, "memory is short");
    return array;
}

static void get_model(struct reader *r, struct onnx_model *m)
{
    m->input_count = get_count(r, MIN_VALUE);
    m->inputs = get_array(r, m->input_count, sizeof(*m->inputs));
    get_values(r, m->inputs, m->input_count);
    m->output_count = get_count(r, MIN_VALUE);
    m->outputs = get_memory(r, m->output_count * sizeof(*m->outputs));
    get_values(r, m->outputs, m->output_count);
    m->initializer_count = get_count(r, MIN_TENSOR);
    m->initializers = get_array(r, m->initializer_count, sizeof(*m->initializers));
    for (uint32_t i = 0; !r->why && i < m->initializer_count; i++)
        get_tensor(r, &m->initializers[i]);
    m->node_count = get_count(r, MIN_NODE);
    m->nodes = get_memory(r, m->node_count * sizeof(*m->nodes));
    for (uint32_t i = 0; !r->why && i < m->node_count; i++)
        get_node(r, &m->nodes[i]);
    if (r->at != r->end)
        bad(r, "its description extends beyond its end");
}

static HRESULT refuse(struct onnx_error *error, const char *partition, const char *why)
{
    snprintf(error->text, sizeof(error->text), "the compiled form of '%.100s' cannot be used: %.300s", partition, why);
    return E_INVALIDARG;
}

/* Checks the header, and that the content is unmodified. */
static bool read_header(struct reader *r, size_t capacity)
{
    r->at = 8;
    r->end = r->size = capacity;
    if (capacity < HEADER || memcmp(r->base, MAGIC, 8))
        return bad(r, "it is damaged");
    uint64_t format = get_number(r, 4), zero = get_number(r, 4);
    if (format != EP_CONTEXT_FORMAT)
        return bad(r, "it was written by another version of AnyDML; recompile the model");
    uint64_t size = get_number(r, 8), end = get_number(r, 8);
    uint64_t low = get_number(r, 8), high = get_number(r, 8);
    if (zero || size > capacity || size % EP_CONTEXT_ALIGNMENT || size < HEADER || end < HEADER || end > size)
        return bad(r, "it is damaged");
    struct base_hash hash = base_hash(r->base + HASHED, (size_t)size - HASHED);
    if (hash.low != low || hash.high != high)
        return bad(r, "it is damaged");
    r->size = (size_t)size;
    r->end = (size_t)end;
    return true;
}

uint64_t ep_context_part(const void *bytes, size_t known, const char *partition, bool *out_named)
{
    const size_t length = strlen(partition);
    struct reader r = { .base = bytes, .size = known, .end = known, .at = 8 };
    *out_named = false;
    if (known < HEADER || memcmp(bytes, MAGIC, 8) || get_number(&r, 4) != EP_CONTEXT_FORMAT || get_number(&r, 4))
        return 0;
    uint64_t size = get_number(&r, 8);
    r.at = HEADER;
    if (size < HEADER || size % EP_CONTEXT_ALIGNMENT || get_number(&r, 4) != length || r.why)
        return size < HEADER || size % EP_CONTEXT_ALIGNMENT ? 0 : size;
    *out_named = known - r.at >= length && !memcmp(r.base + r.at, partition, length);
    return size;
}

static HRESULT read_one(struct reader *r, const char *partition, const char *here, struct onnx_model *model,
                        struct onnx_error *error)
{
    const char *made_for = get_text(r);
    for (const char *c = made_for; *c; c++) {
        if (*c < ' ')
            bad(r, "the name of its device is missing"); /* it would go into a message */
    }
    if (!r->why && ep_context_fit(made_for, here) == EP_CONTEXT_FOREIGN) {
        snprintf(error->text, sizeof(error->text),
                 "the model was compiled for another kind of device (%.180s); this one is %.180s: compile it again",
                 made_for, here);
        return E_INVALIDARG;
    }
    get_model(r, model);
    return r->why ? refuse(error, partition, r->why) : S_OK;
}

HRESULT ep_context_read(const void *bytes, size_t size, const char *partition, const char *here,
                        struct onnx_model **out, struct onnx_error *error)
{
    struct onnx_model *model = calloc(1, sizeof(*model));
    HRESULT hr = model ? S_OK : E_OUTOFMEMORY;
    struct reader r = { .base = bytes };
    bool found = false;
    *out = NULL;
    snprintf(error->text, sizeof(error->text), "out of memory");
    for (size_t left = size; SUCCEEDED(hr) && !found; left -= r.size, r.base += r.size) {
        r.arena = &model->arena;
        if (!left)
            hr = refuse(error, partition, "it is not there");
        else if (!read_header(&r, left))
            hr = refuse(error, partition, r.why);
        else
            found = !strcmp(get_text(&r), partition);
        if (found)
            break;
    }
    if (SUCCEEDED(hr))
        hr = read_one(&r, partition, here, model, error);
    if (FAILED(hr))
        ep_model_destroy(model);
    else
        *out = model;
    return hr;
}
