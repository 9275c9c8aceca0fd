/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/doctor/doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The elements that differ too much, the worst first. */
struct difference {
    const struct tools_doctor_tensor *tensor;
    uint32_t index, count;
    double found, error; /* as a share of what is allowed */
};

const char *tools_doctor_result_word(enum tools_doctor_result result)
{
    switch (result) {
    case TOOLS_DOCTOR_RIGHT:
        return "right";
    case TOOLS_DOCTOR_WRONG:
        return "wrong";
    case TOOLS_DOCTOR_UNSUPPORTED:
        return "unsupported";
    case TOOLS_DOCTOR_FAILED:
        return "failed";
    case TOOLS_DOCTOR_UNTRIED:
        return "untried";
    }
    return "";
}

/* JSON has no infinities and NaN: they are strings, as are large integers. Digits of a FLOAT32 are enough to tell it
 * from others, not its value. */
static double number(const struct tools_doctor_tensor *t, const json_t *value)
{
    double found = NAN;
    if (json_is_string(value))
        found = strtod(json_string_value(value), NULL);
    else if (json_is_number(value))
        found = json_number_value(value);
    return !strcmp(t->type, "FLOAT32") ? (double)(float)found : found;
}

/* NaN is an infinite error. */
static double error_of(const struct tools_doctor_tensor *t, uint32_t index, double found)
{
    const double difference = fabs(found - t->values[index]);
    if (difference == 0)
        return 0;
    return difference < INFINITY && t->allowed[index] > 0 ? difference / t->allowed[index] : INFINITY;
}

/* False: it is not there, or not whole. */
static bool compare(const struct tools_doctor_tensor *t, const json_t *values, struct difference *worst,
                    struct tools_doctor_verdict *out)
{
    if (json_array_size(values) != t->count) {
        snprintf(out->text, sizeof(out->text), "failed: %s has %u elements, not %u", t->name,
                 (unsigned)json_array_size(values), t->count);
        return false;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const double found = number(t, json_array_get(values, i)), error = error_of(t, i, found);
        out->error = fmax(out->error, error);
        worst->count += !(error <= 1);
        if (!(error <= 1) && !(error <= worst->error)) {
            worst->tensor = t;
            worst->index = i;
            worst->found = found;
            worst->error = error;
        }
    }
    return true;
}

static uint32_t total(const struct tools_doctor_case *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->output_count; i++)
        count += c->outputs[i].count;
    return count;
}

/* "WRONG at [3, 17]: 1.25, expected 1.5; 12 of 345 elements" */
static void describe(const struct tools_doctor_case *c, const struct difference *worst,
                     struct tools_doctor_verdict *out)
{
    const struct tools_doctor_tensor *t = worst->tensor;
    uint32_t at[TOOLS_DOCTOR_RANK], rest = worst->index, first = 0;
    for (uint32_t i = TOOLS_DOCTOR_RANK; i-- > 0; rest /= t->sizes[i])
        at[i] = rest % t->sizes[i];
    while (first < TOOLS_DOCTOR_RANK - 2 && t->sizes[first] == 1)
        first++;
    size_t used = (size_t)snprintf(out->text, sizeof(out->text), "WRONG at %s[", c->output_count > 1 ? t->name : "");
    for (uint32_t i = first; i < TOOLS_DOCTOR_RANK; i++)
        used += (size_t)snprintf(out->text + used, sizeof(out->text) - used, "%s%u", i > first ? ", " : "", at[i]);
    snprintf(out->text + used, sizeof(out->text) - used, "]: %.9g, expected %.9g; %u of %u elements", worst->found,
             t->values[worst->index], worst->count, total(c));
}

void tools_doctor_check(const struct tools_doctor_case *c, uint32_t index, const json_t *printed,
                        struct tools_doctor_verdict *out)
{
    struct difference worst = { .error = -1 };
    *out = (struct tools_doctor_verdict){ .result = TOOLS_DOCTOR_FAILED };
    for (uint32_t i = 0; i < c->output_count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "c%u_%s", index, c->outputs[i].name);
        const json_t *output = json_object_get(json_object_get(printed, "outputs"), name);
        if (!compare(&c->outputs[i], json_object_get(output, "values"), &worst, out))
            return;
    }
    out->result = worst.count ? TOOLS_DOCTOR_WRONG : TOOLS_DOCTOR_RIGHT;
    if (worst.count)
        describe(c, &worst, out);
    else if (c->outputs[0].allowed[0] > 0)
        snprintf(out->text, sizeof(out->text), "right (error %.2g of what is allowed)", out->error);
    else
        snprintf(out->text, sizeof(out->text), "right (exact)");
}
