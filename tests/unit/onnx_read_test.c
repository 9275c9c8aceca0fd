/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of ONNX files: the wire format byte by byte, and tensors in every form in which they may stand. */
#include "onnx/onnx.h"
#include "onnx/read/wire.h"

#include "test.h"

#include <stdlib.h>
#include <time.h>

/* ---- fields ---- */

static struct onnx_wire wire_of(const void *bytes, size_t size)
{
    const uint8_t *first = bytes;
    return (struct onnx_wire){ first, first + size, false };
}

#define WIRE(text) wire_of(text, sizeof(text) - 1)

static void test_fields(void)
{
    struct onnx_field f;
    struct onnx_wire wire = WIRE("\x08\x96\x01\x15\x00\x00\x80\x3f\x19\x01\0\0\0\0\0\0\x80\x22\x03"
                                 "abc\x2a\x00");
    TEST(onnx_wire_next(&wire, &f) && f.number == 1 && f.kind == ONNX_WIRE_VARINT && onnx_field_int(&wire, &f) == 150);
    TEST(onnx_wire_next(&wire, &f) && f.number == 2 && onnx_field_float(&wire, &f) == 1.0f);
    TEST(onnx_wire_next(&wire, &f) && f.number == 3 && f.kind == ONNX_WIRE_FIXED64 &&
         f.value == UINT64_C(0x8000000000000001));
    TEST(onnx_wire_next(&wire, &f) && f.number == 4 && f.size == 3 && !memcmp(f.data, "abc", 3));
    TEST(onnx_wire_next(&wire, &f) && f.number == 5 && f.kind == ONNX_WIRE_BYTES && f.size == 0);
    TEST(!onnx_wire_next(&wire, &f) && !wire.bad);
}

/* What is no message: each is noticed, and stays noticed. */
static void test_bad_fields(void)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        { "\x08", 1 },                                              /* no value */
        { "\x08\xff", 2 },                                          /* a varint that does not end */
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 }, /* nor after ten bytes */
        { "\x80", 1 },                                              /* a tag that does not end */
        { "\x00\x01", 2 },                                          /* field 0 */
        { "\xf8\xff\xff\xff\xff\x01\x00", 7 },                      /* a field of more than 29 bits */
        { "\x0b\x0c", 2 },                                          /* a group */
        { "\x0e\x00", 2 },                                          /* a kind that there is not */
        { "\x0d\x00\x00\x00", 4 },                                  /* 32 bits, cut short */
        { "\x09\x00\x00\x00\x00\x00\x00\x00", 8 },                  /* 64 bits, cut short */
        { "\x0a\x02x", 3 },                                         /* a text, cut short */
        { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },     /* a length of 2^64 - 1 */
        { "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },     /* of 2^63 */
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct onnx_field f;
        char *exact = malloc(bad[i].size); /* for sanitizers */
        memcpy(exact, bad[i].bytes, bad[i].size);
        struct onnx_wire wire = wire_of(exact, bad[i].size);
        TEST_FOR(!onnx_wire_next(&wire, &f) && wire.bad, "case %zu", i);
        TEST_FOR(!onnx_wire_next(&wire, &f) && wire.bad, "case %zu again", i);
        TEST_FOR(onnx_wire_fields(wire_of(exact, bad[i].size), 1) == 0, "case %zu", i);
        free(exact);
    }
}

/* Values of another kind than their reader wants. */
static void test_kinds(void)
{
    struct onnx_field f;
    struct onnx_wire wire = WIRE("\x0a\x01x");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_int(&wire, &f) == 0 && wire.bad);
    wire = WIRE("\x08\x01");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_float(&wire, &f) != 1.0f && wire.bad);
    wire = WIRE("\x08\x01");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_message(&wire, &f).bad && wire.bad);
    wire = WIRE("\x0a\x05\0\0\0\0\0"); /* 5 bytes of floats */
    TEST(onnx_wire_next(&wire, &f));
    onnx_field_count(&wire, &f, ONNX_WIRE_FIXED32);
    TEST(wire.bad);
    wire = WIRE("\x0a\x02\x01\x80"); /* the last number does not end */
    TEST(onnx_wire_next(&wire, &f) && onnx_field_count(&wire, &f, ONNX_WIRE_VARINT) == 1 && wire.bad);
}

static void test_lists(void)
{
    struct onnx_field f;
    int64_t wide[3] = { 0 };
    int32_t narrow[3] = { 0 };
    uint8_t bytes[3] = { 0 };
    struct onnx_wire wire = WIRE("\x0a\x0d\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_count(&wire, &f, ONNX_WIRE_VARINT) == 3 && !wire.bad);
    onnx_field_numbers(&f, ONNX_WIRE_VARINT, 8, wide);
    onnx_field_numbers(&f, ONNX_WIRE_VARINT, 4, narrow);
    onnx_field_numbers(&f, ONNX_WIRE_VARINT, 1, bytes);
    TEST(wide[0] == 1 && wide[1] == -1 && wide[2] == 300);
    TEST(narrow[0] == 1 && narrow[1] == -1 && narrow[2] == 300);
    TEST(bytes[0] == 1 && bytes[1] == 255 && bytes[2] == 44);
    wire = WIRE("\x0a\x00");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_count(&wire, &f, ONNX_WIRE_VARINT) == 0 && !wire.bad);
    double doubles[2];
    wire = WIRE("\x0a\x10\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\x08\x07");
    TEST(onnx_wire_next(&wire, &f) && onnx_field_count(&wire, &f, ONNX_WIRE_FIXED64) == 2);
    onnx_field_numbers(&f, ONNX_WIRE_FIXED64, 8, doubles);
    TEST(doubles[0] == 1 && doubles[1] == -2);
    TEST(onnx_wire_next(&wire, &f) && onnx_field_count(&wire, &f, ONNX_WIRE_VARINT) == 1);
    onnx_field_numbers(&f, ONNX_WIRE_VARINT, 8, wide);
    TEST(wide[0] == 7);
}

/* ---- models ---- */

struct bytes {
    uint8_t data[1024];
    size_t size;
};

static void put_number(struct bytes *out, uint64_t value)
{
    for (; value > 127; value >>= 7)
        out->data[out->size++] = (uint8_t)value | 128;
    out->data[out->size++] = (uint8_t)value;
}

static void put_int(struct bytes *out, uint32_t number, uint64_t value)
{
    put_number(out, number << 3);
    put_number(out, value);
}

static void put_bytes(struct bytes *out, uint32_t number, const void *data, size_t size)
{
    put_number(out, number << 3 | 2);
    put_number(out, size);
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

/* A model of one output and this initializer. */
static HRESULT load(const struct bytes *tensor, struct onnx_model **out)
{
    struct bytes graph = { .size = 0 }, file = { .size = 0 }, tensor_type = { .size = 0 }, type = { .size = 0 },
                 info = { .size = 0 };
    struct onnx_error error = { "" };
    put_int(&tensor_type, 1, 1);
    put_bytes(&type, 1, tensor_type.data, tensor_type.size);
    put_bytes(&info, 1, "y", 1);
    put_bytes(&info, 2, type.data, type.size);
    put_bytes(&graph, 5, tensor->data, tensor->size);
    put_bytes(&graph, 12, info.data, info.size);
    put_bytes(&file, 7, graph.data, graph.size);
    static uint8_t kept[1024]; /* what is parsed outlives the model */
    memcpy(kept, file.data, file.size);
    HRESULT hr = onnx_model_parse(kept, file.size, out, &error);
    TEST(SUCCEEDED(hr) == (*out != NULL) && SUCCEEDED(hr) == !error.text[0]);
    return hr;
}

static struct bytes tensor_of(int32_t type, uint64_t elements)
{
    struct bytes out = { .size = 0 };
    put_int(&out, 1, elements);
    put_int(&out, 2, (uint64_t)type);
    put_bytes(&out, 8, "t", 1);
    return out;
}

/* Numbers of one field alone or in several, packed or not: the tensor is the same. */
static void test_forms(void)
{
    static const float floats[3] = { 1, -2, 0.5f };
    for (uint32_t form = 0; form < 4; form++) {
        struct bytes tensor = tensor_of(ONNX_FLOAT, 3);
        struct onnx_model *model = NULL;
        size_t packed = form == 0 ? 3 : form == 1 ? 0 : form == 2 ? 1 : 2;
        if (packed)
            put_bytes(&tensor, 4, floats, packed * 4);
        for (size_t i = packed; i < 3; i++) {
            put_number(&tensor, 4 << 3 | 5);
            memcpy(tensor.data + tensor.size, &floats[i], 4);
            tensor.size += 4;
        }
        if (!TEST_FOR(SUCCEEDED(load(&tensor, &model)), "form %u", form))
            continue;
        TEST_FOR(!memcmp(model->initializers[0].data, floats, sizeof(floats)), "form %u", form);
        onnx_model_destroy(model);
    }
}

/* Numbers in fields of other types than the tensor's are not its data, whatever their order. */
static void test_other_fields(void)
{
    static const uint8_t three[3] = { 5, 6, 7 }, one[1] = { 9 }, two[2] = { 8, 9 };
    struct onnx_model *model = NULL;
    struct bytes tensor = tensor_of(ONNX_INT64, 5);
    put_bytes(&tensor, 7, three, 3);
    put_bytes(&tensor, 5, one, 1);
    put_bytes(&tensor, 7, two, 2);
    if (TEST(SUCCEEDED(load(&tensor, &model)))) {
        const int64_t *got = model->initializers[0].data;
        TEST(got[0] == 5 && got[2] == 7 && got[3] == 8 && got[4] == 9);
        onnx_model_destroy(model);
    }
    tensor = tensor_of(ONNX_INT64, 2);
    put_bytes(&tensor, 7, three, 3);
    put_bytes(&tensor, 5, one, 1);
    put_bytes(&tensor, 7, two, 2);
    TEST(load(&tensor, &model) == E_INVALIDARG);
    tensor = tensor_of(ONNX_FLOAT, 3); /* integers for a float */
    put_bytes(&tensor, 5, three, 3);
    TEST(load(&tensor, &model) == E_INVALIDARG);
}

static void test_bad_tensors(void)
{
    static const uint8_t raw[16] = { 0 };
    struct onnx_model *model = NULL;
    struct bytes t = tensor_of(ONNX_FLOAT, 4);
    put_bytes(&t, 9, raw, 15);
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, 4);
    put_int(&t, 9, 16); /* raw_data as a number */
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, UINT64_MAX); /* a size of -1 */
    put_bytes(&t, 9, raw, 16);
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, UINT64_C(1) << 62); /* whose bytes 64 bits do not count */
    put_int(&t, 1, 8);
    put_bytes(&t, 9, raw, 16);
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, 1);
    for (uint32_t i = 0; i < 8; i++) /* 9 dimensions */
        put_int(&t, 1, 1);
    put_bytes(&t, 9, raw, 4);
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, 1); /* its data in another file, which bytes in memory cannot have */
    put_bytes(&t, 13, "\x0a\x08location\x12\x01w", 13);
    put_int(&t, 14, 1);
    TEST(load(&t, &model) == E_INVALIDARG);
    t = tensor_of(ONNX_FLOAT, 0);
    if (TEST(SUCCEEDED(load(&t, &model)))) {
        TEST(model->initializers[0].bytes == 0 && model->initializers[0].data);
        onnx_model_destroy(model);
    }
}

/* Raw data start at any byte of the file. */
static void test_raw_anywhere(void)
{
    static const double value[2] = { 3, -4 };
    static const char names[] = "abcdefgh";
    for (size_t length = 1; length <= 8; length++) {
        struct bytes tensor = { .size = 0 };
        struct onnx_model *model = NULL;
        put_int(&tensor, 1, 2);
        put_int(&tensor, 2, ONNX_DOUBLE);
        put_bytes(&tensor, 8, names, length);
        put_bytes(&tensor, 9, value, sizeof(value));
        if (!TEST(SUCCEEDED(load(&tensor, &model))))
            continue;
        const struct onnx_tensor *t = &model->initializers[0];
        TEST_FOR(t->bytes == 16 && !memcmp(t->data, value, 16) && strlen(t->name) == length, "length %zu", length);
        onnx_model_destroy(model);
    }
}

/* ---- many names ---- */

static void put_named(struct bytes *out, uint32_t number, uint32_t name_number, const char *text, uint32_t i,
                      const void *rest, size_t rest_size)
{
    struct bytes message = { .size = 0 };
    char name[24];
    put_bytes(&message, name_number, name, (size_t)snprintf(name, sizeof(name), "%s%u", text, i));
    memcpy(message.data + message.size, rest, rest_size);
    message.size += rest_size;
    put_bytes(out, number, message.data, message.size);
}

/* As many inputs as initializers, of which every other input is one. */
static void test_many_names(void)
{
    enum { COUNT = 60000, EACH = 64 };
    static const char scalar[] = "\x10\x01\x4a\x04\0\0\x80\x3f", tensor[] = "\x12\x04\x0a\x02\x08\x01";
    struct bytes *item = calloc(1, sizeof(*item)), head = { .size = 0 };
    uint8_t *graph = malloc((size_t)2 * COUNT * EACH), *file = malloc((size_t)2 * COUNT * EACH + EACH);
    struct onnx_model *model = NULL;
    struct onnx_error error = { "" };
    size_t size = 0;
    if (!TEST(item && graph && file))
        return;
    for (uint32_t i = 0; i < 2 * COUNT; i++) { /* the inputs first: the order of fields means nothing */
        const bool input = i < COUNT;
        item->size = 0;
        if (input)
            put_named(item, 11, 1, i % 2 ? "x" : "w", i, tensor, sizeof(tensor) - 1);
        else
            put_named(item, 5, 8, "w", 2 * COUNT - 1 - i, scalar, sizeof(scalar) - 1);
        memcpy(graph + size, item->data, item->size);
        size += item->size;
    }
    item->size = 0;
    put_named(item, 12, 1, "x", 1, tensor, sizeof(tensor) - 1);
    put_number(&head, 7 << 3 | 2);
    put_number(&head, size + item->size);
    memcpy(file, head.data, head.size);
    memcpy(file + head.size, graph, size);
    memcpy(file + head.size + size, item->data, item->size);
    clock_t start = clock();
    HRESULT hr = onnx_model_parse(file, head.size + size + item->size, &model, &error);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (TEST_FOR(SUCCEEDED(hr), "%s", error.text)) {
        TEST(model->initializer_count == COUNT && model->input_count == COUNT / 2);
        for (uint32_t i = 0; i < model->input_count; i++)
            TEST(model->inputs[i].name[0] == 'x');
        TEST_FOR(seconds < 3, "%g s for %u names", seconds, 2 * COUNT); /* each with each: 1800 million comparisons */
        onnx_model_destroy(model);
    }
    free(item);
    free(graph);
    free(file);
}

int main(void)
{
    test_many_names();
    test_fields();
    test_bad_fields();
    test_kinds();
    test_lists();
    test_forms();
    test_other_fields();
    test_bad_tensors();
    test_raw_anywhere();
    return test_result();
}
