/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/tuning/tuning_rows.h"

#include "base/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 96
#define FILE_BYTES (1024 + GRAPH_ROWS_MAX * LINE_BYTES)

/* Everything that measurements depend on, including the list and order of kernels. */
static size_t header(const struct graph_rows_device *device, char *out, size_t size)
{
    static const char rows[] =
#define ROW(kind, name, max_ulp, speed, chain) #name ";"
#define ROW_PACKS                              ROW
#include "shaders/rows.def"
#undef ROW_PACKS
#undef ROW
        ;
    char uuid[33];
    for (uint32_t i = 0; i < 16; i++)
        snprintf(uuid + 2 * i, 3, "%02x", device->driver_uuid[i]);
    return (size_t)snprintf(
        out, size, "AnyDML rows 1\nversion %d.%d.%d\ndevice %.256s\ndriver %llx %s\ncapabilities %x\nrows %016llx\n",
        ANYDML_VERSION_MAJOR, ANYDML_VERSION_MINOR, ANYDML_VERSION_PATCH, device->name,
        (unsigned long long)device->driver_version, uuid, device->capabilities,
        (unsigned long long)base_hash(rows, sizeof(rows)).low);
}

bool graph_rows_path(const struct graph_rows_device *device, char out[BASE_CACHE_PATH_BYTES])
{
    char text[1024], name[64];
    const struct base_hash hash = base_hash(text, header(device, text, sizeof(text)));
    snprintf(name, sizeof(name), "rows-%016llx.txt", (unsigned long long)hash.low);
    return base_cache_path(name, out);
}

/* The selections line by line, and the hash of all lines. */
static size_t print(const struct graph_rows_device *device, const struct shader_choices *choices, char *out)
{
    size_t used = header(device, out, FILE_BYTES);
    for (uint32_t i = 0; i < choices->count; i++) {
        char name[64];
        shader_choice_print(&choices->sorted[i], name, sizeof(name));
        used += (size_t)snprintf(out + used, FILE_BYTES - used, "%016llx %s\n",
                                 (unsigned long long)choices->sorted[i].key, name);
    }
    const struct base_hash hash = base_hash(out, used);
    return used + (size_t)snprintf(out + used, FILE_BYTES - used, "hash %016llx\n", (unsigned long long)hash.low);
}

static bool parse_line(const char *line, size_t length, struct shader_choice *out)
{
    char *end;
    if (length < 18 || line[16] != ' ' || !shader_choice_parse(line + 17, length - 17, out))
        return false;
    out->key = strtoull(line, &end, 16);
    return end == line + 16 && out->key;
}

/* Printing the parsed file must give the same text. `text` is zero-terminated. */
static bool parse(const struct graph_rows_device *device, const char *text, size_t length, struct shader_choices *out)
{
    char *again = malloc(FILE_BYTES);
    const size_t used = again ? header(device, again, FILE_BYTES) : 0;
    bool good = again && length > used && !memcmp(text, again, used);
    for (const char *line = text + used, *end; good && strncmp(line, "hash ", 5) != 0; line = end + 1) {
        end = strchr(line, '\n');
        good = end && out->count < GRAPH_ROWS_MAX && parse_line(line, (size_t)(end - line), &out->sorted[out->count]) &&
               (!out->count || out->sorted[out->count - 1].key < out->sorted[out->count].key);
        out->count += good;
        if (!end)
            break;
    }
    good = good && print(device, out, again) == length && !memcmp(again, text, length);
    free(again);
    return good;
}

bool graph_rows_load(const struct graph_rows_device *device, struct shader_choices *out)
{
    char path[BASE_CACHE_PATH_BYTES];
    size_t length;
    const char *wanted = getenv("ANYDML_TUNING");
    *out = (struct shader_choices){ 0 };
    if ((wanted && !strcmp(wanted, "off")) || !graph_rows_path(device, path))
        return true;
    char *text = base_cache_read(path, FILE_BYTES - 1, &length);
    char *ended = text ? realloc(text, length + 1) : NULL;
    if (!ended) {
        free(text);
        return !text;
    }
    ended[length] = '\0';
    out->sorted = calloc(GRAPH_ROWS_MAX, sizeof(*out->sorted));
    if (out->sorted && !parse(device, ended, length, out))
        out->count = 0;
    base_log(BASE_LOG_DEBUG, "tuning: %s: %u kernels", path, (unsigned)out->count);
    free(ended);
    return out->sorted != NULL;
}

void graph_rows_free(struct shader_choices *choices)
{
    free(choices->sorted);
    *choices = (struct shader_choices){ 0 };
}

static int by_key(const void *a, const void *b)
{
    const struct shader_choice *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

const char *graph_rows_save(const struct graph_rows_device *device, const struct shader_choices *choices)
{
    char path[BASE_CACHE_PATH_BYTES], *text = malloc(FILE_BYTES);
    if (!text)
        return "memory is short";
    qsort(choices->sorted, choices->count, sizeof(*choices->sorted), by_key);
    const char *problem = graph_rows_path(device, path)
                              ? base_cache_write(path, text, print(device, choices, text))
                              : "neither ANYDML_CACHE_DIR nor XDG_CACHE_HOME nor HOME is an absolute path";
    free(text);
    return problem;
}
