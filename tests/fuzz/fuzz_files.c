/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of what the command reads besides models: arrays (.npy), images, and operators and graphs in JSON. Any bytes
 * give what they describe, of which all can be read, or one message.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz), of which the first byte chooses the reader;
 * without, a program that makes files of each kind, cut short at every byte and with every byte changed in several
 * ways, and of the JSON files that it is given each value replaced by values of other kinds. */
#define _GNU_SOURCE
#include "tools/dispatch/dispatch.h"
#include "tools/media/image.h"
#include "tools/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum kind { ARRAY, PNG, JPEG, OPERATOR, KINDS };

static int file = -1;
static char path[64];
static uint64_t read_files[KINDS], refused[KINDS];
static volatile uint64_t sink;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_files: %s\n", what);
    abort();
}

static void read_bytes(const void *data, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)data)[i];
    sink += sum;
}

static bool read_array(struct tools_error *error)
{
    struct tools_array array;
    bool ok = tools_npy_read(path, &array, error);
    if (ok) {
        need(array.bytes == tools_array_count(&array) * onnx_type_bytes(array.type), "an array's bytes");
        read_bytes(array.data, array.bytes);
    }
    tools_array_finish(&array);
    return ok;
}

static bool read_image(bool png, struct tools_error *error)
{
    struct tools_image image = { 0 };
    bool ok = png ? tools_png_read(path, &image, error) : tools_jpeg_read(path, &image, error);
    if (ok)
        read_bytes(image.pixels, (uint64_t)image.width * image.height * 3);
    tools_image_finish(&image);
    return ok;
}

static bool read_operator(struct tools_error *error)
{
    struct dispatch dispatch;
    struct dispatch_reader reader = { .file = path, .error = error, .memory = 1 << 20 };
    bool ok = tools_dispatch_load(&reader, &dispatch);
    for (uint32_t i = 0; ok && i < dispatch.input_count; i++)
        if (dispatch.inputs[i].data)
            read_bytes(dispatch.inputs[i].data, dispatch.inputs[i].tensor->TotalTensorSizeInBytes);
    tools_dispatch_finish(&dispatch);
    return ok;
}

static bool run(enum kind kind, const void *data, size_t size)
{
    struct tools_error error = { .text = "" };
    if (file < 0) {
        file = memfd_create("input", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    need(!ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size, "the file cannot be written");
    bool ok = kind == ARRAY      ? read_array(&error)
              : kind == OPERATOR ? read_operator(&error)
                                 : read_image(kind == PNG, &error);
    need(ok != (error.text[0] != 0), ok ? "an error, and yet it was read" : "a refusal says nothing");
    read_files[kind] += ok;
    refused[kind] += !ok;
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size)
        run((enum kind)(data[0] % KINDS), data + 1, size - 1);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
/* ---- without libFuzzer ---- */

static void run_damaged(enum kind kind, const uint8_t *data, size_t size)
{
    static const uint8_t bytes[] = { 0, 1, '\'', ',', '9', 127, 128, 255 };
    uint8_t *copy = malloc(size);
    need(copy != NULL, "out of memory");
    for (size_t length = 0; length < size; length++)
        run(kind, data, length);
    for (size_t at = 0; at < size; at++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            memcpy(copy, data, size);
            copy[at] = bytes[i];
            run(kind, copy, size);
        }
    }
    free(copy);
}

/* ---- arrays ---- */

static size_t make_array(int version, const char *header, size_t data_bytes, uint8_t out[1024])
{
    const size_t length = strlen(header), head = version > 1 ? 12 : 10;
    need(head + length + data_bytes <= 1024, "an array is too long");
    memset(out, 0, 1024);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version;
    out[8] = (uint8_t)length;
    out[9] = (uint8_t)(length >> 8);
    memcpy(out + head, header, length);
    return head + length + data_bytes;
}

static void run_arrays(void)
{
    static const struct {
        int version;
        const char *header;
        size_t bytes;
        bool good;
    } arrays[] = {
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, true },
        { 2, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", 8, true },
        { 3, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1, true },
        { 1, "{'descr': '=f2', 'fortran_order': True, 'shape': (1, 5L), }", 10, true },
        { 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 7), }", 0, true },
        { 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, false },
        { 1, "{'descr': '<f4', 'fortran_order': None, 'shape': (2,), }", 8, false },
        { 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, false },
        { 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16, false },
        { 1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 8, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4,2), }", 4, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999), }", 4, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", 12, false },
        { 1, "{'fortran_order': False, 'shape': (1,), }", 4, false },
        { 1, "{'descr': '<f4', 'shape': (1,), }", 4, false },
        { 1, "{'descr': '<f4', 'fortran_order': False, }", 4, false },
        { 4, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4, false },
        { 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4, false },
    };
    uint8_t data[1024];
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        size_t size = make_array(arrays[i].version, arrays[i].header, arrays[i].bytes, data);
        need(run(ARRAY, data, size) == arrays[i].good, arrays[i].header);
        if (i < 6)
            run_damaged(ARRAY, data, size);
    }
    size_t size = make_array(2, arrays[1].header, 8, data);
    data[10] = 1; /* the header's length has four bytes */
    need(!run(ARRAY, data, size), "a header of 65 KiB");
}

/* ---- images ---- */

static void run_images(void)
{
    static uint8_t pixels[5 * 4 * 3], data[4096];
    const struct tools_image image = { 5, 4, pixels };
    struct tools_error error;
    char name[] = "/tmp/anydml-fuzz-XXXXXX";
    int made = mkstemp(name);
    for (uint32_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)(i * 37);
    need(made >= 0, "no file");
    for (enum kind kind = PNG; kind <= JPEG; kind++) {
        need(kind == PNG ? tools_png_write(name, &image, &error) : tools_jpeg_write(name, &image, &error), "no image");
        FILE *written = fopen(name, "rb");
        need(written != NULL, name);
        size_t size = fread(data, 1, sizeof(data), written);
        fclose(written);
        need(run(kind, data, size), "an image is refused");
        run_damaged(kind, data, size);
    }
    close(made);
    remove(name);
}

/* ---- operators ---- */

static const char *const others[] = {
    "null",   "true",  "-1",       "0",  "1e300", "4294967296",  "9223372036854775807",
    "\"\"",   "\"x\"", "\"0x10\"", "[]", "{}",    "[[1,2],[3]]", "{\"file\":\"x\"}",
    "[null]", "1.5"
};

static json_t *root;

static void run_root(void)
{
    char *text = json_dumps(root, 0);
    need(text != NULL, "no text");
    run(OPERATOR, text, strlen(text));
    free(text);
}

static void change(json_t *value);

static void change_member(json_t *object, const char *key)
{
    json_t *old = json_incref(json_object_get(object, key));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        json_object_set_new(object, key, json_loads(others[i], JSON_DECODE_ANY, NULL));
        run_root();
    }
    json_object_del(object, key);
    run_root();
    json_object_set_new(object, "another", json_incref(old));
    run_root();
    json_object_del(object, "another");
    json_object_set_new(object, key, old);
    change(old);
}

static void change_element(json_t *array, size_t index)
{
    json_t *old = json_incref(json_array_get(array, index));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        json_array_set_new(array, index, json_loads(others[i], JSON_DECODE_ANY, NULL));
        run_root();
    }
    json_array_remove(array, index);
    run_root();
    json_array_insert(array, index, old);
    json_array_insert_new(array, index, json_incref(old));
    run_root();
    json_array_remove(array, index);
    change(old);
    json_decref(old);
}

/* Each value in it. */
static void change(json_t *value)
{
    size_t count = 0;
    char keys[32][64]; /* the object's own go with the members */
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member) if (count < 32) snprintf(keys[count++], sizeof(keys[0]), "%s", key);
    for (size_t i = 0; i < count; i++)
        change_member(value, keys[i]);
    for (size_t i = 0; i < json_array_size(value); i++)
        change_element(value, i);
}

static void run_operators(const char *name)
{
    root = json_load_file(name, 0, NULL);
    need(root != NULL, name);
    run_root();
    change(root);
    char *text = json_dumps(root, 0);
    need(text != NULL, name);
    run_damaged(OPERATOR, (const uint8_t *)text, strlen(text));
    free(text);
    json_decref(root);
}

int main(int argc, char **argv)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit memory = { (rlim_t)4 << 30, (rlim_t)4 << 30 };
    setrlimit(RLIMIT_AS, &memory); /* a file asks for as much as it likes; that is refused */
#endif
    run_arrays();
    run_images();
    for (int i = 1; i < argc; i++)
        run_operators(argv[i]);
    for (int kind = 0; kind < KINDS; kind++) {
        printf("kind %d: %" PRIu64 " read, %" PRIu64 " refused\n", kind, read_files[kind], refused[kind]);
        need(read_files[kind] && refused[kind], "none was read or refused");
    }
    return 0;
}
#endif
