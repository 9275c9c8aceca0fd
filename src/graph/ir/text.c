/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool reserve(struct graph_text *text, size_t more)
{
    if (text->length + more + 1 <= text->capacity)
        return true;
    size_t capacity = (text->length + more + 1) * 2;
    char *data = realloc(text->data, capacity);
    if (!data)
        return false;
    text->data = data;
    text->capacity = capacity;
    return true;
}

void graph_text_add(struct graph_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || text->failed || !reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

char *graph_text_detach(struct graph_text *text)
{
    char *data = text->data;
    if (text->failed) {
        free(data);
        data = NULL;
    }
    memset(text, 0, sizeof(*text));
    return data;
}

#define LETTERS_MAX 64 /* letters of one name */

void graph_text_name(struct graph_text *text, const char *name)
{
    size_t length = strlen(name), from = length > LETTERS_MAX ? length - LETTERS_MAX : 0;
    while (from && ((unsigned char)name[from] & 0xc0) == 0x80) /* within a letter of UTF-8 */
        from++;
    graph_text_add(text, "\"%s", from ? "..." : "");
    for (const char *at = name + from; *at; at++)
        graph_text_add(text, "%c", (unsigned char)*at < 0x20 || *at == '"' || *at == 0x7f ? '_' : *at);
    graph_text_add(text, "\"");
}

static const char *name_of(const struct graph *graph, uint32_t node)
{
    return node < graph->named_nodes ? graph->node_names[node] : NULL;
}

void graph_text_names(struct graph_text *text, const struct graph *graph, const struct graph_op *op)
{
    const char *last = name_of(graph, op->node);
    if (last)
        graph_text_name(text, last);
    for (uint32_t i = 0; i < op->joined_count; i++) {
        const char *name = name_of(graph, op->joined[i]);
        if (!name || (last && !strcmp(name, last))) /* one node of a model may be several here */
            continue;
        graph_text_add(text, "%s", last ? " + " : "");
        graph_text_name(text, name);
        last = name;
    }
}

static const char *const type_names[] = { "?",   "f32", "f16", "u32", "u16", "u8", "i32",
                                          "i16", "i8",  "f64", "u64", "i64", "u4", "i4" };

const char *graph_type_name(uint32_t type)
{
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return "bf16";
    return type < ARRAY_SIZE(type_names) ? type_names[type] : "?";
}

void graph_text_view(struct graph_text *text, const struct kern_view *view)
{
    graph_text_add(text, "%s[", graph_type_name(view->type));
    for (uint32_t i = 0; i < view->rank; i++)
        graph_text_add(text, "%s%u", i ? "," : "", view->sizes[i]);
    graph_text_add(text, "]{");
    for (uint32_t i = 0; i < view->rank; i++)
        graph_text_add(text, "%s%lld", i ? "," : "", (long long)view->strides[i]);
    graph_text_add(text, "}%+lld", (long long)view->offset);
}
