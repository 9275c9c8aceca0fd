/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of Darknet as DirectML graphs: the .cfg file lists the layers in their order, the .weights file has the
 * numbers of the convolutions in the same order. The layers of YOLO v3 and v4 are supported (darknet_layers below);
 * another layer, or a file that does not fit, ends the program with one line and exit code 2. */
#ifndef DARKNET_H
#define DARKNET_H

#include "sample.h"

#include <anydml_graph.h>
#include <ctype.h>
#include <stdarg.h>

enum { DARKNET_HEADS_MAX = 4, DARKNET_ANCHORS_MAX = 16, DARKNET_LIST_MAX = 64, DARKNET_NUMBER_MAX = 1 << 20 };

/* ---- the .cfg file: [section] lines, each with key=value lines behind it ---- */

struct darknet_line {
    char *key, *value; /* value NULL: the section `key` starts */
};

/* A [yolo] layer: the data for reading boxes from an output of the network. */
struct darknet_head {
    UINT columns, rows, anchors, classes;
    float anchor[DARKNET_ANCHORS_MAX][2]; /* width and height in pixels of the network's input */
    float scale;                          /* of a centre's offset within its cell */
};

struct darknet {
    const char *cfg_path, *weights_path;
    struct bytes cfg, weights, left; /* `left`: weights that are not used by a layer yet */
    struct darknet_line *lines;
    size_t line_count, line; /* `line`: the start of the current section */
    struct anydml_graph *graph;
    anydml_expr *layers, x; /* x: of the layer before */
    int layer_count;
    UINT width, height, head_count;
    struct darknet_head heads[DARKNET_HEADS_MAX];
    anydml_expr outputs[DARKNET_HEADS_MAX]; /* [1, anchors * (5 + classes), rows, columns] */
};

static void darknet_fail(const struct darknet *d, const char *path, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", path);
    if (path == d->cfg_path && d->line < d->line_count)
        fprintf(stderr, "layer %d [%s]: ", d->layer_count, d->lines[d->line].key);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static void *darknet_allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Removes blanks from a line; NULL if only a comment is left. */
static char *darknet_strip(char *line)
{
    char *to = line;
    for (const char *from = line; *from; from++)
        if (!isspace((unsigned char)*from))
            *to++ = *from;
    *to = 0;
    return *line && *line != '#' && *line != ';' ? line : NULL;
}

static void darknet_parse(struct darknet *d)
{
    const size_t size = (size_t)(d->cfg.end - d->cfg.at);
    char *text = darknet_allocate(size, 1), *rest = text;
    memcpy(text, d->cfg.at, size);
    free((void *)d->cfg.at);
    d->cfg.at = (unsigned char *)text;
    for (size_t i = d->line = 0; i < size; i++)
        d->line += text[i] == '\n';
    d->lines = darknet_allocate(d->line + 1, sizeof(*d->lines));
    d->line = SIZE_MAX; /* in no layer yet */
    for (char *line; (line = strsep(&rest, "\n"));) {
        struct darknet_line *to = &d->lines[d->line_count];
        if (!(line = darknet_strip(line)))
            continue;
        to->key = line;
        char *mark = strchr(line, *line == '[' ? ']' : '=');
        if (!mark || (*line != '[' && !d->line_count))
            darknet_fail(d, d->cfg_path, "not a .cfg file: \"%.40s\"", line);
        *mark = 0;
        if (*line == '[')
            to->key++;
        else
            to->value = mark + 1;
        d->line_count++;
    }
}

/* ---- options of the current section ---- */

static const char *darknet_text(const struct darknet *d, const char *key, const char *otherwise)
{
    for (size_t i = d->line + 1; i < d->line_count && d->lines[i].value; i++)
        if (!strcmp(d->lines[i].key, key))
            return d->lines[i].value;
    return otherwise;
}

/* Numbers with commas between them. */
static int darknet_list(const struct darknet *d, const char *key, float *out, int most)
{
    const char *at = darknet_text(d, key, "");
    int count = 0;
    while (*at) {
        char *end;
        if (count == most)
            darknet_fail(d, d->cfg_path, "%s has more than %d numbers", key, most);
        out[count] = strtof(at, &end);
        if (end == at || (*end && *end != ',') ||
            !(out[count] >= -DARKNET_NUMBER_MAX && out[count] <= DARKNET_NUMBER_MAX))
            darknet_fail(d, d->cfg_path, "%s=%.40s", key, darknet_text(d, key, ""));
        at = end + (*end == ',');
        count++;
    }
    return count;
}

static float darknet_float(const struct darknet *d, const char *key, float otherwise)
{
    darknet_list(d, key, &otherwise, 1);
    return otherwise;
}

static UINT darknet_uint(const struct darknet *d, const char *key, UINT otherwise, UINT least)
{
    const float value = darknet_float(d, key, (float)otherwise);
    if (value < (float)least || value != (float)(UINT)value)
        darknet_fail(d, d->cfg_path, "%s=%.40s", key, darknet_text(d, key, "(missing)"));
    return (UINT)value;
}

/* ---- layers ---- */

#define DARKNET_F32 DML_TENSOR_DATA_TYPE_FLOAT32

static const UINT *darknet_sizes(anydml_expr x)
{
    static const UINT none[4] = { 1, 1, 1, 1 }; /* of the failure */
    return x ? AnydmlGraphTensor(x)->Sizes : none;
}

/* The next numbers of the .weights file, as [a, b, c, c]. */
static anydml_expr darknet_weights(struct darknet *d, UINT a, UINT b, UINT c)
{
    const UINT64 count = (UINT64)a * b * c * c;
    if (count > (UINT64)(d->left.end - d->left.at) / sizeof(float))
        darknet_fail(d, d->weights_path, "ends in layer %d", d->layer_count);
    const void *elements = d->left.at;
    d->left.at += count * sizeof(float);
    return AnydmlGraphConstant(d->graph, DARKNET_F32, 4, (UINT[]){ a, b, c, c }, elements);
}

static anydml_expr darknet_activate(struct darknet *d, anydml_expr x)
{
    const char *name = darknet_text(d, "activation", "logistic");
    if (!strcmp(name, "leaky"))
        return AnydmlActivationLeakyRelu(d->graph, x, &(struct anydml_activation_leaky_relu_options){ { 1, 0.1f } });
    if (!strcmp(name, "mish"))
        return AnydmlMultiply(d->graph, x, AnydmlActivationTanh(d->graph, AnydmlActivationSoftplus(d->graph, x, NULL)));
    if (!strcmp(name, "relu"))
        return AnydmlActivationRelu(d->graph, x);
    if (!strcmp(name, "logistic"))
        return AnydmlActivationSigmoid(d->graph, x);
    if (strcmp(name, "linear"))
        darknet_fail(d, d->cfg_path, "unknown activation %.40s", name);
    return x;
}

static anydml_expr darknet_convolution(struct darknet *d)
{
    const UINT filters = darknet_uint(d, "filters", 1, 1), size = darknet_uint(d, "size", 1, 1);
    const UINT stride = darknet_uint(d, "stride", 1, 1), groups = darknet_uint(d, "groups", 1, 1);
    const UINT pad = darknet_uint(d, "pad", 0, 0) ? size / 2 : darknet_uint(d, "padding", 0, 0);
    const UINT inner = darknet_sizes(d->x)[1], normalize = darknet_uint(d, "batch_normalize", 0, 0);
    anydml_expr bias = darknet_weights(d, 1, filters, 1), scale = NULL, mean = NULL, variance = NULL;
    if (normalize) {
        scale = darknet_weights(d, 1, filters, 1);
        mean = darknet_weights(d, 1, filters, 1);
        variance = darknet_weights(d, 1, filters, 1);
    }
    if (inner % groups)
        darknet_fail(d, d->cfg_path, "%u groups of %u channels", groups, inner);
    const struct anydml_convolution_options options = { .BiasTensor = normalize ? NULL : bias,
                                                        .Strides = (UINT[]){ stride, stride },
                                                        .StartPadding = (UINT[]){ pad, pad },
                                                        .EndPadding = (UINT[]){ pad, pad },
                                                        .GroupCount = groups };
    anydml_expr x = AnydmlConvolution(d->graph, d->x, darknet_weights(d, filters, inner / groups, size), &options);
    if (normalize)
        x = AnydmlBatchNormalization(d->graph, x, mean, variance, scale, bias, NULL);
    return darknet_activate(d, x);
}

/* Darknet pads by size - 1 in total, the smaller half first; its windows may extend beyond that. */
static anydml_expr darknet_maxpool(struct darknet *d)
{
    const UINT stride = darknet_uint(d, "stride", 1, 1), size = darknet_uint(d, "size", stride, 1);
    const UINT padding = darknet_uint(d, "padding", size - 1, 0), *in = darknet_sizes(d->x) + 2;
    UINT start[2], end[2];
    for (int i = 0; i < 2; i++) {
        if (in[i] + padding < size)
            darknet_fail(d, d->cfg_path, "size=%u is larger than its input", size);
        const UINT reach = (in[i] + padding - size) / stride * stride + size;
        start[i] = padding / 2;
        end[i] = reach > in[i] + start[i] ? reach - in[i] - start[i] : 0;
    }
    const struct anydml_max_pooling2_options options = { .Strides = (UINT[]){ stride, stride },
                                                         .WindowSize = (UINT[]){ size, size },
                                                         .StartPadding = start,
                                                         .EndPadding = end };
    return AnydmlMaxPooling2(d->graph, d->x, &options);
}

static anydml_expr darknet_upsample(struct darknet *d)
{
    const UINT factor = darknet_uint(d, "stride", 2, 1);
    const struct anydml_upsample_2d_options options = { .ScaleSize = { factor, factor } };
    return AnydmlUpsample2d(d->graph, d->x, &options);
}

/* The layers that an option names: by number, or counted back from this one. */
static UINT darknet_layers_of(const struct darknet *d, const char *key, anydml_expr *out)
{
    float numbers[DARKNET_LIST_MAX];
    const int count = darknet_list(d, key, numbers, DARKNET_LIST_MAX);
    for (int i = 0; i < count; i++) {
        const int number = (int)numbers[i] + (numbers[i] < 0 ? d->layer_count : 0);
        if (number < 0 || number >= d->layer_count)
            darknet_fail(d, d->cfg_path, "%s=%.40s: no previous layer has that number", key, darknet_text(d, key, ""));
        out[i] = d->layers[number];
    }
    if (!count)
        darknet_fail(d, d->cfg_path, "%s is missing", key);
    return (UINT)count;
}

/* Channels of several layers concatenated, or one part of each of them. */
static anydml_expr darknet_route(struct darknet *d)
{
    anydml_expr parts[DARKNET_LIST_MAX];
    const UINT count = darknet_layers_of(d, "layers", parts), groups = darknet_uint(d, "groups", 1, 1);
    const UINT group = darknet_uint(d, "group_id", 0, 0);
    for (UINT i = 0; groups > 1 && i < count; i++) {
        const UINT *sizes = darknet_sizes(parts[i]), part = sizes[1] / groups;
        if (sizes[1] % groups || group >= groups)
            darknet_fail(d, d->cfg_path, "group %u of %u of %u channels", group, groups, sizes[1]);
        const struct anydml_slice1_options options = {
            .InputWindowOffsets = (UINT[]){ 0, group * part, 0, 0 },
            .InputWindowSizes = (UINT[]){ 1, part, sizes[2], sizes[3] },
        };
        parts[i] = AnydmlSlice1(d->graph, parts[i], &options);
    }
    return count == 1 ? parts[0] : AnydmlJoin(d->graph, count, parts, &(struct anydml_join_options){ .Axis = 1 });
}

static anydml_expr darknet_shortcut(struct darknet *d)
{
    anydml_expr others[DARKNET_LIST_MAX], x = d->x;
    const UINT count = darknet_layers_of(d, "from", others);
    for (UINT i = 0; i < count; i++)
        x = AnydmlAdd(d->graph, x, others[i]);
    return darknet_activate(d, x);
}

static anydml_expr darknet_yolo(struct darknet *d)
{
    float anchors[2 * DARKNET_LIST_MAX], mask[DARKNET_ANCHORS_MAX];
    const int numbers = darknet_list(d, "anchors", anchors, 2 * DARKNET_LIST_MAX);
    const UINT *sizes = darknet_sizes(d->x);
    if (d->head_count == DARKNET_HEADS_MAX)
        darknet_fail(d, d->cfg_path, "there are %d before", DARKNET_HEADS_MAX);
    if (darknet_uint(d, "new_coords", 0, 0))
        darknet_fail(d, d->cfg_path, "new_coords=1 is another way to write boxes, which this program does not read");
    struct darknet_head *head = &d->heads[d->head_count];
    head->anchors = (UINT)darknet_list(d, "mask", mask, DARKNET_ANCHORS_MAX);
    head->classes = darknet_uint(d, "classes", 20, 1);
    head->scale = darknet_float(d, "scale_x_y", 1);
    head->rows = sizes[2];
    head->columns = sizes[3];
    for (UINT i = 0; i < head->anchors; i++) {
        if (mask[i] < 0 || 2 * (int)mask[i] + 1 >= numbers)
            darknet_fail(d, d->cfg_path, "mask=%.40s: the anchor does not exist", darknet_text(d, "mask", ""));
        memcpy(head->anchor[i], &anchors[2 * (int)mask[i]], 2 * sizeof(float));
    }
    if (!head->anchors || sizes[1] != head->anchors * (5 + head->classes))
        darknet_fail(d, d->cfg_path, "%u channels for %u anchors and %u classes", sizes[1], head->anchors,
                     head->classes);
    d->outputs[d->head_count++] = d->x;
    return d->x;
}

static const struct {
    const char *name;
    anydml_expr (*build)(struct darknet *d);
} darknet_layers[] = {
    { "convolutional", darknet_convolution }, { "maxpool", darknet_maxpool },
    { "upsample", darknet_upsample },         { "route", darknet_route },
    { "shortcut", darknet_shortcut },         { "yolo", darknet_yolo },
};

/* ---- the network ---- */

/* The .weights file starts with three version numbers and the count of images seen in training, which has 64 bits from
 * version 0.2. */
static void darknet_open_weights(struct darknet *d)
{
    INT32 version[3] = { 0 };
    d->left = d->weights = read_file(d->weights_path);
    const size_t size = (size_t)(d->left.end - d->left.at);
    memcpy(version, d->left.at, size < sizeof(version) ? 0 : sizeof(version));
    const size_t head = size < 20 || version[0] * 10 + version[1] < 2 ? 16 : 20;
    if (size < head || version[0] < 0 || version[0] > 9 || version[1] < 0 || version[1] > 9)
        darknet_fail(d, d->weights_path, "not a .weights file");
    d->left.at += head;
}

static void darknet_build(struct darknet *d, IDMLDevice *dml)
{
    d->line = 0;
    if (!d->line_count || (strcmp(d->lines[0].key, "net") && strcmp(d->lines[0].key, "network")))
        darknet_fail(d, d->cfg_path, "the first section is not [net]");
    d->width = darknet_uint(d, "width", 0, 1);
    d->height = darknet_uint(d, "height", 0, 1);
    const UINT sizes[4] = { 1, darknet_uint(d, "channels", 3, 3), d->height, d->width };
    if (sizes[1] != 3)
        darknet_fail(d, d->cfg_path, "images have 3 channels, not %u", sizes[1]);
    CHECK(AnydmlGraphCreate(dml, &d->graph));
    d->layers = darknet_allocate(d->line_count, sizeof(*d->layers));
    d->x = AnydmlGraphInput(d->graph, 0, DARKNET_F32, 4, sizes);
    for (size_t i = 1; i < d->line_count; i++) {
        if (d->lines[i].value)
            continue;
        size_t kind = 0;
        const size_t kinds = sizeof(darknet_layers) / sizeof(darknet_layers[0]);
        for (d->line = i; kind < kinds && strcmp(darknet_layers[kind].name, d->lines[i].key);)
            kind++;
        if (kind == kinds)
            darknet_fail(d, d->cfg_path, "unknown kind of layer");
        d->x = darknet_layers[kind].build(d);
        if (!d->x)
            darknet_fail(d, d->cfg_path, "%s", AnydmlGraphMessage(d->graph));
        d->layers[d->layer_count++] = d->x;
    }
    d->line = SIZE_MAX;
    if (!d->head_count)
        darknet_fail(d, d->cfg_path, "the [yolo] layer is missing");
    if (d->left.at != d->left.end)
        darknet_fail(d, d->weights_path, "has %zu bytes more than the network needs",
                     (size_t)(d->left.end - d->left.at));
}

/* Input [1, 3, height, width], red first, from 0 to 1; output i is that of heads[i]. */
static IDMLCompiledOperator *darknet_compile(struct darknet *d, IDMLDevice *dml, const char *cfg, const char *weights)
{
    IDMLCompiledOperator *compiled;
    *d = (struct darknet){ .cfg_path = cfg, .weights_path = weights, .cfg = read_file(cfg) };
    darknet_parse(d);
    darknet_open_weights(d);
    darknet_build(d, dml);
    const HRESULT hr = AnydmlGraphCompile(d->graph, DML_EXECUTION_FLAG_NONE, d->head_count, d->outputs, &compiled);
    if (hr == E_INVALIDARG)
        darknet_fail(d, cfg, "%s", AnydmlGraphMessage(d->graph));
    CHECK(hr);
    AnydmlGraphDestroy(d->graph);
    free(d->layers);
    free(d->lines);
    free((void *)d->cfg.at);
    free((void *)d->weights.at); /* compiling has copied them */
    return compiled;
}

#endif
