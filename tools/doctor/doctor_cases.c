/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/doctor/doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- tensors ---- */

static struct tools_doctor_tensor *tensor(struct tools_doctor_case *c, struct tools_doctor_tensor *out,
                                          const char *name, const char *type, const uint32_t sizes[TOOLS_DOCTOR_RANK])
{
    *out = (struct tools_doctor_tensor){ .name = name, .type = type, .count = 1 };
    for (uint32_t i = 0; i < TOOLS_DOCTOR_RANK; i++)
        out->count *= out->sizes[i] = sizes[i];
    out->values = base_arena_alloc(c->arena, out->count * sizeof(*out->values));
    out->allowed = base_arena_alloc(c->arena, out->count * sizeof(*out->allowed));
    return out->values && out->allowed ? out : NULL;
}

struct tools_doctor_tensor *tools_doctor_input(struct tools_doctor_case *c, const char *name, const char *type,
                                               const uint32_t sizes[TOOLS_DOCTOR_RANK])
{
    return tensor(c, &c->inputs[c->input_count++], name, type, sizes);
}

struct tools_doctor_tensor *tools_doctor_output(struct tools_doctor_case *c, const char *name, const char *type,
                                                const uint32_t sizes[TOOLS_DOCTOR_RANK])
{
    return tensor(c, &c->outputs[c->output_count++], name, type, sizes);
}

/* xorshift64*, 53 bits: from 0 to 1. */
static double next_random(struct tools_doctor_case *c)
{
    c->random ^= c->random >> 12;
    c->random ^= c->random << 25;
    c->random ^= c->random >> 27;
    return (double)(c->random * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

void tools_doctor_fill(struct tools_doctor_case *c, struct tools_doctor_tensor *t)
{
    const bool half = !strcmp(t->type, "FLOAT16");
    for (uint32_t i = 0; i < t->count; i++) {
        const double value = 2 * next_random(c) - 1;
        t->values[i] = half ? nearbyint(value * 0x1p10) * 0x1p-10 : (double)(float)value;
    }
}

void tools_doctor_fill_whole(struct tools_doctor_case *c, struct tools_doctor_tensor *t, int low, int high)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->values[i] = low + floor(next_random(c) * (high - low + 1));
}

/* Each step in FLOAT32 errs by half a unit in the last place, of at most `magnitude`; the last rounding gets a whole
 * one, for conversions that round twice or that cut. Numbers below the normal ones may be flushed to zero. */
void tools_doctor_expect(struct tools_doctor_tensor *t, uint32_t index, double value, double roundings,
                         double magnitude)
{
    const bool half = !strcmp(t->type, "FLOAT16");
    t->values[index] = value;
    t->allowed[index] = roundings * 0x1p-24 * magnitude + (half ? 0x1p-10 * fabs(value) + 0x1p-24 : 0) + 0x1p-126;
}

/* ---- all of them ---- */

bool tools_doctor_cases_make(struct tools_doctor_cases *out)
{
    *out = (struct tools_doctor_cases){ .count = 0 };
    for (uint32_t i = 0; i < tools_doctor_operator_count && i < TOOLS_DOCTOR_CASES_MAX; i++) {
        struct tools_doctor_case *c = &out->list[out->count++];
        const struct tools_doctor_operator *row = &tools_doctor_operators[i];
        char name[64];
        snprintf(name, sizeof(name), "%s %s", row->name, row->type);
        *c = (struct tools_doctor_case){ .arena = &out->arena, .type = row->type };
        c->random = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        c->name = base_arena_strdup(&out->arena, name);
        if (!c->name || !row->make(c) || !c->desc)
            return false;
    }
    return true;
}

void tools_doctor_cases_finish(struct tools_doctor_cases *cases)
{
    for (uint32_t i = 0; i < cases->count; i++)
        json_decref(cases->list[i].desc);
    base_arena_finish(&cases->arena);
}

/* ---- as JSON ---- */

static json_t *sizes_json(const uint32_t sizes[TOOLS_DOCTOR_RANK])
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < TOOLS_DOCTOR_RANK; i++)
        json_array_append_new(list, json_integer(sizes[i]));
    return list;
}

static json_t *tensor_json(const struct tools_doctor_tensor *t)
{
    json_t *out = json_object();
    json_object_set_new(out, "DataType", json_string(t->type));
    json_object_set_new(out, "Sizes", sizes_json(t->sizes));
    if (t->strided)
        json_object_set_new(out, "Strides", sizes_json(t->strides));
    return out;
}

static json_t *values_json(const struct tools_doctor_tensor *t)
{
    const bool is_float = !strncmp(t->type, "FLOAT", 5);
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->count; i++)
        json_array_append_new(list, is_float ? json_real(t->values[i]) : json_integer((json_int_t)t->values[i]));
    return list;
}

static void edge(json_t *edges, const char *const keys[2], uint32_t index, const char *tensor_name)
{
    json_t *out = json_object();
    json_object_set_new(out, keys[0], json_sprintf("c%u%s%s", index, keys[0][0] == 'f' ? "." : "_", tensor_name));
    json_object_set_new(out, keys[1], json_sprintf("c%u%s%s", index, keys[1][0] == 't' ? "." : "_", tensor_name));
    json_array_append_new(edges, out);
}

static void write_case(const struct tools_doctor_case *c, uint32_t index, json_t *nodes, json_t *edges, json_t *inputs)
{
    static const char *const in[] = { "input", "to" }, *const out[] = { "from", "output" };
    json_t *node = json_object(), *desc = json_deep_copy(c->desc);
    for (uint32_t i = 0; i < c->input_count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "c%u_%s", index, c->inputs[i].name);
        json_object_set_new(desc, c->inputs[i].name, tensor_json(&c->inputs[i]));
        json_object_set_new(inputs, name, values_json(&c->inputs[i]));
        edge(edges, in, index, c->inputs[i].name);
    }
    for (uint32_t i = 0; i < c->output_count; i++) {
        json_object_set_new(desc, c->outputs[i].name, tensor_json(&c->outputs[i]));
        edge(edges, out, index, c->outputs[i].name);
    }
    json_object_set_new(node, "name", json_sprintf("c%u", index));
    json_object_set_new(node, "type", json_string(c->operator));
    json_object_set_new(node, "desc", desc);
    json_array_append_new(nodes, node);
}

char *tools_doctor_cases_write(const struct tools_doctor_case *list, uint32_t count)
{
    json_t *nodes = json_array(), *edges = json_array(), *inputs = json_object();
    for (uint32_t i = 0; i < count; i++)
        write_case(&list[i], i, nodes, edges, inputs);
    json_t *all = json_pack("{s: {s: o, s: o}, s: o}", "graph", "nodes", nodes, "edges", edges, "inputs", inputs);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}
