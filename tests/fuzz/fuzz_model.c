/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the reader of ONNX files: any bytes give a model, of which all can be read, or one line that says why not.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz); without, a program that runs the files and folders
 * it is given, each whole, cut short at every byte, with every byte changed in several ways, and with lengths that lie;
 * then messages of random fields. The bytes end where a page does that cannot be read, so that no sanitizer is needed
 * to notice a reader that goes too far. */
#include "onnx/onnx.h"

#include "files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;
static uint64_t models, refused;

/* ---- all of a model is read ---- */

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_model: %s\n", what);
    abort();
}

static void read_bytes(const void *data, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)data)[i];
    sink += sum;
}

static void read_text(const char *text)
{
    need(text, "a text is missing");
    read_bytes(text, strlen(text));
}

static void read_tensor(const struct onnx_tensor *t)
{
    int64_t elements = 1;
    read_text(t->name);
    need(t->rank <= ONNX_RANK_MAX && t->data, "a tensor's rank or data");
    for (uint32_t i = 0; i < t->rank; i++) {
        need(t->dims[i] >= 0, "a tensor's size is negative");
        elements *= t->dims[i];
    }
    need(t->bytes == onnx_bytes(t->type, elements) && !t->mapped, "a tensor's bytes");
    read_bytes(t->data, t->bytes);
}

static void read_graph(const struct onnx_model *graph);

static void read_attribute(const struct onnx_attribute *a)
{
    read_text(a->name);
    if (a->s)
        read_text(a->s);
    if (a->t)
        read_tensor(a->t);
    if (a->graph)
        read_graph(a->graph);
    need((a->floats != NULL) + (a->ints != NULL) + (a->strings != NULL) == (a->count > 0), "an attribute's list");
    read_bytes(a->floats, a->floats ? a->count * sizeof(*a->floats) : 0);
    read_bytes(a->ints, a->ints ? a->count * sizeof(*a->ints) : 0);
    for (uint32_t i = 0; a->strings && i < a->count; i++)
        read_text(a->strings[i]);
}

static void read_node(const struct onnx_node *n)
{
    read_text(n->op);
    read_text(n->domain);
    read_text(n->name);
    for (uint32_t i = 0; i < n->input_count; i++)
        read_text(n->inputs[i]);
    for (uint32_t i = 0; i < n->output_count; i++)
        read_text(n->outputs[i]);
    for (uint32_t i = 0; i < n->attribute_count; i++)
        read_attribute(&n->attributes[i]);
}

static void read_infos(const struct onnx_value_info *infos, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        read_text(infos[i].name);
        need(infos[i].rank <= ONNX_RANK_MAX, "a value's rank");
        for (uint32_t d = 0; d < infos[i].rank; d++) {
            need(infos[i].dims[d] == -1 || infos[i].dims[d] > 0, "a value's size");
            if (infos[i].symbols[d])
                read_text(infos[i].symbols[d]);
        }
    }
}

static void read_graph(const struct onnx_model *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        read_node(&graph->nodes[i]);
    for (uint32_t i = 0; i < graph->initializer_count; i++)
        read_tensor(&graph->initializers[i]);
    read_infos(graph->inputs, graph->input_count);
    read_infos(graph->outputs, graph->output_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct onnx_model *model;
    struct onnx_error error = { "" };
    if (FAILED(onnx_model_parse(data, size, &model, &error))) {
        need(!model && error.text[0] && memchr(error.text, 0, sizeof(error.text)), "a refusal says nothing");
        refused++;
        return 0;
    }
    read_graph(model);
    onnx_model_destroy(model);
    models++;
    return 0;
}

#ifndef FUZZ_LIBFUZZER
/* ---- without libFuzzer ---- */

#define ROOM (1u << 16)

static uint8_t *page_end; /* of memory that ends there */
static uint64_t state = 1;

static uint32_t random_below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % bound);
}

static void make_room(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *room = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(room != MAP_FAILED && !mprotect(room + ROOM, page, PROT_NONE), "no memory");
    page_end = room + ROOM;
}

static void run(const uint8_t *data, size_t size)
{
    memcpy(page_end - size, data, size);
    LLVMFuzzerTestOneInput(page_end - size, size);
}

/* One byte each, then the byte and the four after it: a length that is huge. */
static void run_changed(uint8_t *data, size_t size)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    for (size_t at = 0; at < size; at++) {
        uint8_t old[5], huge[5] = { 0xff, 0xff, 0xff, 0xff, (uint8_t)random_below(256) };
        size_t more = size - at < 5 ? size - at : 5;
        memcpy(old, data + at, more);
        for (size_t i = 0; i < sizeof(values); i++) {
            data[at] = values[i];
            run(data, size);
        }
        for (uint32_t bit = 0; bit < 8; bit++) { /* the kind of field and its number are in one byte */
            data[at] = (uint8_t)(old[0] ^ 1u << bit);
            run(data, size);
        }
        memcpy(data + at, huge, more);
        run(data, size);
        memcpy(data + at, old, more);
    }
}

/* Some bytes go or come twice, so that fields end elsewhere than their message says. */
static void run_moved(const uint8_t *data, size_t size)
{
    static uint8_t other[2 * ROOM];
    for (uint32_t n = 0; n < 500 && size; n++) {
        size_t at = random_below((uint32_t)size), count = 1 + random_below((uint32_t)BASE_MIN(size - at, (size_t)16));
        bool twice = random_below(2) && size + count <= ROOM;
        memcpy(other, data, at + (twice ? count : 0));
        memcpy(other + at + (twice ? count : 0), data + at + (twice ? 0 : count), size - at - (twice ? 0 : count));
        run(other, twice ? size + count : size - count);
    }
}

static void run_file(const char *path)
{
    static uint8_t data[ROOM];
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    for (size_t cut = 0; cut <= size; cut++)
        run(data, cut);
    run_changed(data, size);
    run_moved(data, size);
}

/* Fields of numbers that ONNX has, nested, mostly of the right kinds; returns where it stopped. */
static uint8_t *random_message(uint8_t *at, const uint8_t *end, uint32_t depth)
{
    static const uint8_t numbers[] = { 1, 1, 2, 3, 4, 5, 5, 7, 7, 8, 9, 10, 11, 12, 13, 14, 20 };
    static const uint8_t kinds[] = { 0, 0, 2, 2, 2, 2, 5, 1, 3 };
    for (uint32_t fields = random_below(6); fields && end - at > 16; fields--) {
        uint8_t kind = kinds[random_below(random_below(8) ? 7 : sizeof(kinds))];
        *at++ = (uint8_t)(numbers[random_below(sizeof(numbers))] << 3 | kind);
        if (kind != 2) {
            uint32_t bytes = kind == 0 ? 1 : kind == 1 ? 8 : 4;
            for (uint32_t i = 0; i < bytes; i++)
                *at++ = (uint8_t)(kind == 0 ? random_below(24) : random_below(256));
            continue;
        }
        uint8_t *inner = at + 1, *stop = depth ? random_message(inner, end, depth - 1) : inner + random_below(9);
        if (stop - inner > 127)
            stop = inner + 127;
        for (uint8_t *i = inner; !depth && i < stop; i++)
            *i = (uint8_t)random_below(random_below(2) ? 256 : 4);
        *at = (uint8_t)(stop - inner);
        at = stop;
    }
    return at;
}

static void run_random(uint32_t count)
{
    static uint8_t data[4096];
    for (uint32_t n = 0; n < count; n++) {
        uint8_t *first = data + 2, *last = first;
        for (uint32_t parts = 1 + random_below(8); parts; parts--)
            last = random_message(last, data + sizeof(data), 4);
        size_t size = (size_t)(last - first);
        if (size > 127) { /* a graph, whose length takes two bytes */
            data[0] = 7 << 3 | 2;
            data[1] = (uint8_t)(size & 127) | 128;
            memmove(data + 3, first, size);
            data[2] = (uint8_t)(size >> 7);
            run(data, size + 3);
        } else {
            data[0] = 7 << 3 | 2;
            data[1] = (uint8_t)size;
            run(data, size + 2);
        }
        run(first, size);
    }
}

int main(int argc, char **argv)
{
    make_room();
    for (int i = 1; i < argc; i++)
        fuzz_each_file(argv[i], run_file);
    need(models > 0 && refused > 0, "no file gave a model, or all did");
    printf("changed files: %" PRIu64 " models, %" PRIu64 " refused\n", models, refused);
    models = refused = 0;
    run_random(100000);
    printf("random fields: %" PRIu64 " models, %" PRIu64 " refused\n", models, refused);
    need(models > 0 && refused > 0, "random fields never gave a model, or always");
    return 0;
}
#endif
