/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

bool tools_parse_uint(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || *end || value < low || value > high)
        return false;
    *out = value;
    return true;
}

bool tools_parse_double(const char *text, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || *end || !(value > -1e30 && value < 1e30))
        return false;
    *out = value;
    return true;
}

bool tools_parse_shape(const char *text, struct onnx_input *out)
{
    out->rank = 0;
    for (;;) {
        char *end;
        errno = 0;
        if (*text < '0' || *text > '9' || out->rank == ONNX_RANK_MAX)
            return false;
        unsigned long long value = strtoull(text, &end, 10);
        if (errno || value < 1 || value > INT32_MAX)
            return false;
        out->dims[out->rank++] = (int64_t)value;
        if (!*end)
            return true;
        if (*end != 'x')
            return false;
        text = end + 1;
    }
}

bool tools_parse_triple(const char *text, float out[3])
{
    char copy[128];
    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
        return false;
    uint32_t count = 0;
    char *rest = copy;
    for (char *part; (part = strsep(&rest, ",")); count++) {
        double value;
        if (count == 3 || !tools_parse_double(part, &value))
            return false;
        out[count] = (float)value;
    }
    if (count == 1)
        out[1] = out[2] = out[0];
    return count == 1 || count == 3;
}

const char *tools_shape_text(char *buffer, size_t size, int32_t type, uint32_t rank, const int64_t *dims,
                             const char *const *symbols)
{
    size_t used = 0;
    const char *name = onnx_type_name(type);
    int n = snprintf(buffer, size, "%s[", name ? name : "?");
    for (uint32_t i = 0; n >= 0 && (used += (size_t)n) < size && i < rank; i++) {
        const char *comma = i ? "," : "";
        if (dims[i] >= 0)
            n = snprintf(buffer + used, size - used, "%s%lld", comma, (long long)dims[i]);
        else
            n = snprintf(buffer + used, size - used, "%s%s", comma, symbols && symbols[i] ? symbols[i] : "?");
    }
    if (used < size)
        snprintf(buffer + used, size - used, "]");
    return buffer;
}

bool tools_ends_with(const char *text, const char *ending)
{
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && strcasecmp(text + a - b, ending) == 0;
}

void tools_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 32 || *c == 127)
            fprintf(file, "\\u%04x", *c);
        else if (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) /* a control character of two bytes */
            fprintf(file, "\\u%04x", *++c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

double tools_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tools_percentile(double *values, uint32_t count, double p)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    double at = p * (count - 1);
    uint32_t low = (uint32_t)at;
    uint32_t high = BASE_MIN(low + 1, count - 1);
    return values[low] + (values[high] - values[low]) * (at - low);
}
