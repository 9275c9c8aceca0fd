/* SPDX-License-Identifier: Apache-2.0 */
/* check --bench: time and memory traffic of every row on typical shapes, one thread. */
#include "check_window.h"

#include <stdio.h>

static void view(struct kern_op *op, uint32_t tensor, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    kern_view_set_packed(&op->tensors[tensor], type, rank, sizes);
}

static double megabytes(const struct kern_op *op)
{
    double bytes = 0;
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++) {
        uint64_t elements = 1;
        for (uint32_t d = 0; d < op->tensors[i].rank; d++)
            elements *= op->tensors[i].strides[d] ? op->tensors[i].sizes[d] : 1;
        bytes += (double)elements * kern_type_bytes(op->tensors[i].type);
    }
    return bytes / 1e6;
}

void check_bench_case(const char *name, const struct check_case *c, const char *filter, uint32_t cpu)
{
    struct check_rng rng = { 7 };
    struct check_set set;
    uint32_t count;
    const struct kern_row *rows = kern_rows(&count);
    if (!check_set_create(&set, c, &rng))
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].kind != c->op.kind || (rows[i].cpu & ~cpu) || (filter && !strstr(rows[i].name, filter)))
            continue;
        if (!check_accepts(&rows[i], &c->op) ||
            ((c->op.kind == KERN_GEMM || c->op.kind == KERN_CONV) && !rows[i].max_ulp && !rows[i].cpu))
            continue; /* the references of products take seconds */
        double seconds = check_time(&rows[i], &c->op, &set);
        printf("%-36s %-24s %10.1f us %8.2f GB/s\n", name, rows[i].name, seconds * 1e6,
               megabytes(&c->op) / 1e3 / seconds);
    }
    check_set_destroy(&set);
}

static void bench_map(const char *filter, uint32_t cpu)
{
    static const struct {
        const char *name;
        uint8_t code, inputs;
    } ops[] = { { "add", KERN_MAP_ADD, 2 },         { "relu", KERN_MAP_RELU, 1 },         { "exp", KERN_MAP_EXP, 1 },
                { "sigmoid", KERN_MAP_SIGMOID, 1 }, { "tanh", KERN_MAP_TANH, 1 },         { "gelu", KERN_MAP_GELU, 1 },
                { "log", KERN_MAP_LOG, 1 },         { "softplus", KERN_MAP_SOFTPLUS, 1 }, { "sin", KERN_MAP_SIN, 1 } };
    const uint32_t sizes[] = { 1, 64, 112, 112 };
    for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++)
        for (uint32_t half = 0; half < 2; half++) {
            struct check_case c = { .op = { .kind = KERN_MAP, .input_count = ops[i].inputs, .output_count = 1 } };
            DML_TENSOR_DATA_TYPE type = half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
            char name[64];
            for (uint32_t t = 0; t <= c.op.input_count; t++) {
                view(&c.op, t, type, 4, sizes);
                c.op.u.map.load_type[t] = DML_TENSOR_DATA_TYPE_FLOAT32;
            }
            c.op.u.map.inst_count = 1;
            c.op.u.map.store[0] = ops[i].inputs;
            c.op.u.map.inst[0] = (struct kern_map_inst){
                ops[i].code, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, { 0, 1, 0 }, { { 1 }, { 1 } }
            };
            snprintf(name, sizeof(name), "map %s %s", ops[i].name, half ? "f16" : "f32");
            check_bench_case(name, &c, filter, cpu);
        }
}

/* x * scale[c] + bias[c], relu; nhwc = channels last. */
static void bench_scale_bias(const char *filter, uint32_t cpu, bool nhwc)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    const uint32_t nchw_sizes[] = { 1, 64, 56, 56 }, nhwc_sizes[] = { 1, 56, 56, 64 };
    struct check_case c = { .op = { .kind = KERN_MAP, .input_count = 3, .output_count = 1 } };
    for (uint32_t t = 0; t < 4; t++) {
        view(&c.op, t, f32, 4, nhwc ? nhwc_sizes : nchw_sizes);
        c.op.u.map.load_type[t] = f32;
        for (uint32_t d = 0; (t == 1 || t == 2) && d < 4; d++)
            c.op.tensors[t].strides[d] = d == (nhwc ? 3 : 1);
    }
    c.op.u.map.inst_count = 2;
    c.op.u.map.inst[0] = (struct kern_map_inst){ KERN_MAP_FMA, f32, f32, { 0, 1, 2 } };
    c.op.u.map.inst[1] = (struct kern_map_inst){ KERN_MAP_RELU, f32, f32, { 3 } };
    c.op.u.map.store[0] = 4;
    check_bench_case(nhwc ? "map scale bias relu nhwc" : "map scale bias relu nchw", &c, filter, cpu);
}

static void bench_reduce(const char *filter, uint32_t cpu)
{
    static const struct {
        const char *name;
        uint32_t axes;
    } shapes[] = { { "inner", 8 }, { "channels", 2 }, { "spatial", 12 }, { "all", 15 }, { "outer", 1 } };
    const uint32_t sizes[] = { 4, 64, 56, 56 };
    static const struct {
        const char *name;
        DML_REDUCE_FUNCTION function;
        DML_TENSOR_DATA_TYPE type, to;
    } functions[] = {
        { "sum", DML_REDUCE_FUNCTION_SUM, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "max", DML_REDUCE_FUNCTION_MAX, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "argmax", DML_REDUCE_FUNCTION_ARGMAX, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_UINT32 },
        { "sum int32", DML_REDUCE_FUNCTION_SUM, DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_INT32 },
        { "max int64", DML_REDUCE_FUNCTION_MAX, DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_DATA_TYPE_INT64 },
        { "argmax int8", DML_REDUCE_FUNCTION_ARGMAX, DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT32 },
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(functions); i++) {
        uint32_t s = i / ARRAY_SIZE(functions), f = i % ARRAY_SIZE(functions), small[4];
        struct check_case c = { .op = { .kind = KERN_REDUCE, .input_count = 1, .output_count = 1 } };
        char name[64];
        for (uint32_t d = 0; d < 4; d++)
            small[d] = shapes[s].axes >> d & 1 ? 1 : sizes[d];
        view(&c.op, 0, functions[f].type, 4, sizes);
        view(&c.op, 1, functions[f].to, 4, small);
        c.op.u.reduce = (struct kern_reduce){ .function = functions[f].function, .axes = shapes[s].axes };
        snprintf(name, sizeof(name), "reduce %s %s", functions[f].name, shapes[s].name);
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_softmax_norm(const char *filter, uint32_t cpu)
{
    const uint32_t attention[] = { 1, 12, 384, 384 }, image[] = { 1, 32, 160, 160 }, words[] = { 1, 1, 384, 768 };
    struct check_case c = { .op = { .kind = KERN_SOFTMAX, .input_count = 1, .output_count = 1 } };
    view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 4, attention);
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_FLOAT32, 4, attention);
    c.op.u.softmax = (struct kern_softmax){ KERN_SOFTMAX_PLAIN, 8 };
    check_bench_case("softmax 384", &c, filter, cpu);
    c.op.u.softmax.axes = 2;
    check_bench_case("softmax channels", &c, filter, cpu);
    struct check_case n = { .op = { .kind = KERN_NORM, .input_count = 3, .output_count = 1 } };
    for (uint32_t t = 0; t < 4; t++)
        view(&n.op, t, DML_TENSOR_DATA_TYPE_FLOAT32, 4, image);
    for (uint32_t d = 0; d < 4; d++)
        n.op.tensors[1].strides[d] = n.op.tensors[2].strides[d] = d == 1;
    n.op.u.norm = (struct kern_norm){ 12, 1e-5f, true, true, true, true };
    check_bench_case("norm instance", &n, filter, cpu);
    for (uint32_t t = 0; t < 4; t++)
        view(&n.op, t, DML_TENSOR_DATA_TYPE_FLOAT32, 4, words);
    for (uint32_t d = 0; d < 4; d++)
        n.op.tensors[1].strides[d] = n.op.tensors[2].strides[d] = d == 3;
    n.op.u.norm.axes = 8;
    check_bench_case("norm layer", &n, filter, cpu);
}

static void bench_lrn(const char *filter, uint32_t cpu)
{
    const uint32_t sizes[] = { 1, 64, 56, 56 };
    struct check_case c = { .op = { .kind = KERN_LRN, .input_count = 1, .output_count = 1 } };
    for (uint32_t t = 0; t < 2; t++)
        view(&c.op, t, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    c.op.u.lrn = (struct kern_lrn){ true, 5, 1e-4f, 0.75f, 1 };
    check_bench_case("lrn 5 channels", &c, filter, cpu);
}

static void bench_move(const char *filter, uint32_t cpu)
{
    static const struct {
        const char *name;
        uint32_t sizes[4];
        uint32_t order[4]; /* of the input's memory, outermost first */
    } moves[] = { { "copy", { 1, 64, 112, 112 }, { 0, 1, 2, 3 } },
                  { "nchw to nhwc 64", { 1, 112, 112, 64 }, { 0, 3, 1, 2 } },
                  { "nhwc to nchw 64", { 1, 64, 112, 112 }, { 0, 2, 3, 1 } },
                  { "nhwc to nchw 3", { 1, 3, 224, 224 }, { 0, 2, 3, 1 } },
                  { "nchw to nhwc 3", { 1, 224, 224, 3 }, { 0, 3, 1, 2 } },
                  { "heads", { 1, 12, 384, 64 }, { 0, 2, 1, 3 } } };
    for (uint32_t i = 0; i < ARRAY_SIZE(moves); i++)
        for (uint32_t half = 0; half < 2; half++) {
            struct check_case c = { .op = { .kind = KERN_MOVE, .input_count = 1, .output_count = 1 } };
            DML_TENSOR_DATA_TYPE type = half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
            int64_t stride = 1;
            char name[64];
            view(&c.op, 0, type, 4, moves[i].sizes);
            view(&c.op, 1, type, 4, moves[i].sizes);
            for (uint32_t d = 4; d-- > 0;) {
                c.op.tensors[0].strides[moves[i].order[d]] = stride;
                stride *= moves[i].sizes[moves[i].order[d]];
            }
            snprintf(name, sizeof(name), "move %s %s", moves[i].name, half ? "f16" : "f32");
            check_bench_case(name, &c, filter, cpu);
        }
}

/* The end of quantised products: clamp(round(x * scale[c]) + zero point), scale along dimension `along`. */
static void requantize(struct check_case *c, uint32_t rank, uint32_t along)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &c->epilogue;
    struct kern_view *scale = &op->tensors[op->input_count], *zero = scale + 1, *y = scale + 2;
    *y = *zero = *scale;
    y->type = zero->type = DML_TENSOR_DATA_TYPE_UINT8;
    scale->type = f32;
    for (uint32_t d = 0; d < rank; d++) {
        scale->strides[d] = d == along;
        zero->strides[d] = 0;
    }
    map->load_type[0] = map->load_type[1] = map->load_type[2] = f32;
    map->inst_count = 4;
    map->inst[0] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { 0, 1 } };
    map->inst[1] = (struct kern_map_inst){ KERN_MAP_RINT, f32, f32, { 3 } };
    map->inst[2] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 4, 2 } };
    map->inst[3] = (struct kern_map_inst){ KERN_MAP_CLAMP, f32, f32, { 5 }, { { .f32 = 0 }, { .f32 = 255 } } };
    map->store[0] = 6;
    op->epilogue = map;
    op->epilogue_input = op->input_count;
    op->input_count += 2;
}

#define BF16 ((DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
static void bench_gemm(const char *filter, uint32_t cpu)
{
    static const uint32_t shapes[][3] = { { 128, 768, 768 }, { 128, 768, 3072 }, { 1, 768, 3072 },
                                          { 4, 768, 3072 },  { 8, 768, 3072 },   { 384, 1024, 1024 } };
    static const struct {
        const char *name;
        DML_TENSOR_DATA_TYPE a, b, y;
    } types[] = {
        { "f32", DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "f16", DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16 },
        { "f64", DML_TENSOR_DATA_TYPE_FLOAT64, DML_TENSOR_DATA_TYPE_FLOAT64, DML_TENSOR_DATA_TYPE_FLOAT64 },
        { "u8s8", DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT32 },
        { "s8u8", DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_INT32 },
        { "u8s8 to u8", DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8 },
        { "f32 half", DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "bf16", BF16, BF16, BF16 },
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(types); i++) {
        const uint32_t *s = shapes[i / ARRAY_SIZE(types)], t = i % ARRAY_SIZE(types);
        struct check_case c = { .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
        char name[64];
        view(&c.op, 0, types[t].a, 2, (uint32_t[]){ s[0], s[1] });
        view(&c.op, 1, types[t].b, 2, (uint32_t[]){ s[1], s[2] });
        view(&c.op, 2, types[t].y, 2, (uint32_t[]){ s[0], s[2] });
        c.op.u.gemm.alpha = 1;
        c.op.u.gemm.integer = t >= 3 && t < 6;
        c.op.flags = t < 6 ? 0 : KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
        if (t == 5)
            requantize(&c, 2, 1);
        snprintf(name, sizeof(name), "gemm %u %u %u %s", s[0], s[1], s[2], types[t].name);
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_conv(const char *filter, uint32_t cpu)
{
    static const struct {
        uint32_t in, size, out, kernel, stride, pad, groups;
    } shapes[] = { { 3, 224, 64, 7, 2, 3, 1 },     { 64, 56, 64, 3, 1, 1, 1 },    { 64, 56, 256, 1, 1, 0, 1 },
                   { 128, 28, 128, 3, 1, 1, 1 },   { 256, 14, 256, 3, 1, 1, 1 },  { 512, 7, 512, 3, 1, 1, 1 },
                   { 256, 56, 128, 1, 2, 0, 1 },   { 64, 160, 32, 5, 1, 2, 1 },   { 32, 160, 32, 3, 1, 1, 1 },
                   { 16, 160, 3, 9, 1, 4, 1 },     { 32, 160, 3, 3, 1, 1, 1 },    { 32, 112, 32, 3, 1, 1, 32 },
                   { 256, 14, 256, 3, 1, 1, 256 }, { 128, 56, 128, 3, 1, 1, 32 }, { 3, 224, 32, 3, 2, 1, 1 } };
    static const struct {
        const char *name;
        DML_TENSOR_DATA_TYPE x, w, y;
    } types[] = {
        { "f32", DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "f16", DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16 },
        { "u8s8", DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT32 },
        { "u8s8 to u8", DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT32 },
        { "f32 half", DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { "bf16", BF16, DML_TENSOR_DATA_TYPE_FLOAT32, BF16 },
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(types); i++) {
        uint32_t s = i / ARRAY_SIZE(types), t = i % ARRAY_SIZE(types);
        uint32_t out = (shapes[s].size + 2 * shapes[s].pad - shapes[s].kernel) / shapes[s].stride + 1;
        struct check_case c = { .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 } };
        struct kern_conv *conv = &c.op.u.conv;
        char name[64];
        *conv = (struct kern_conv){ .spatial = 2, .groups = shapes[s].groups, .integer = t == 2 || t == 3 };
        c.op.flags = t < 4 ? 0 : KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
        for (uint32_t d = 0; d < 2; d++) {
            conv->strides[d] = shapes[s].stride;
            conv->dilations[d] = 1;
            conv->pad_start[d] = shapes[s].pad;
        }
        view(&c.op, 0, types[t].x, 4, (uint32_t[]){ 1, shapes[s].in, shapes[s].size, shapes[s].size });
        view(&c.op, 1, types[t].w, 4,
             (uint32_t[]){ shapes[s].out, shapes[s].in / shapes[s].groups, shapes[s].kernel, shapes[s].kernel });
        view(&c.op, 2, types[t].y, 4, (uint32_t[]){ 1, shapes[s].out, out, out });
        if (t == 3)
            requantize(&c, 4, 1);
        snprintf(name, sizeof(name), "conv %ux%u %u k%u s%u g%u %s", shapes[s].in, shapes[s].size, shapes[s].out,
                 shapes[s].kernel, shapes[s].stride, shapes[s].groups, types[t].name);
        check_bench_case(name, &c, filter, cpu);
        if (t == 1)
            continue;
        check_channels_last(&c.op.tensors[0]);
        check_channels_last(&c.op.tensors[c.op.input_count]);
        snprintf(name + strlen(name), sizeof(name) - strlen(name), " last");
        check_bench_case(name, &c, filter, cpu);
    }
}

/* Transposed convolutions whose windows lie side by side. */
static void bench_conv_up(const char *filter, uint32_t cpu)
{
    const uint32_t x[] = { 1, 64, 64, 64 }, w[] = { 64, 32, 2, 2 }, y[] = { 1, 32, 128, 128 };
    struct check_case c = { .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 } };
    c.op.u.conv = (struct kern_conv){ 2, 1, .transposed = true, .strides = { 2, 2 }, .dilations = { 1, 1 } };
    view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 4, x);
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_FLOAT32, 4, w);
    view(&c.op, 2, DML_TENSOR_DATA_TYPE_FLOAT32, 4, y);
    check_bench_case("conv transposed 64x64 32 k2 s2", &c, filter, cpu);
    check_channels_last(&c.op.tensors[0]);
    check_channels_last(&c.op.tensors[2]);
    check_bench_case("conv transposed 64x64 32 k2 s2 last", &c, filter, cpu);
}

static void bench_attention(const char *filter, uint32_t cpu)
{
    static const uint32_t shapes[][3] = { { 384, 384, 64 }, { 77, 77, 64 }, { 50, 50, 40 }, { 1, 512, 64 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const uint32_t m = shapes[i][0], n = shapes[i][1], d = shapes[i][2];
        struct check_case c = { .op = { .kind = KERN_ATTENTION, .input_count = 3, .output_count = 1 } };
        char name[64];
        for (uint32_t t = 0; t < 4; t++)
            view(&c.op, t, DML_TENSOR_DATA_TYPE_FLOAT32, 4, (uint32_t[]){ 1, 4, t % 3 ? n : m, d });
        c.op.u.attention.scale = 0.125f;
        snprintf(name, sizeof(name), "attention %u %u %u", m, n, d);
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_recurrent(const char *filter, uint32_t cpu)
{
    static const uint32_t batches[] = { 1, 2, 3, 7, 32 };
    const uint32_t hidden = 128, panels = hidden / KERN_RECURRENT_PANEL;
    for (uint32_t i = 0; i < ARRAY_SIZE(batches); i++) {
        const uint32_t x[] = { 16, batches[i], 1, 4, hidden }, r[] = { 1, 4, panels, hidden, KERN_RECURRENT_PANEL };
        struct check_case c = { .op = { .kind = KERN_RECURRENT, .input_count = 2, .output_count = 1 } };
        struct kern_recurrent *net = &c.op.u.recurrent;
        char name[64];
        *net = (struct kern_recurrent){ .cell = KERN_CELL_LSTM, .panels = true, .sequence = 2 };
        for (uint32_t a = 0; a < 3; a++) {
            const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
            net->activations[0][a].inst = (struct kern_map_inst){ a ? KERN_MAP_TANH : KERN_MAP_SIGMOID, f32, f32 };
        }
        view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 5, x);
        view(&c.op, 1, DML_TENSOR_DATA_TYPE_FLOAT32, 5, r);
        view(&c.op, 2, DML_TENSOR_DATA_TYPE_FLOAT32, 4, (uint32_t[]){ x[0], 1, x[1], hidden });
        c.data[1] = CHECK_DATA_SMALL;
        snprintf(name, sizeof(name), "lstm %u %u", batches[i], hidden);
        check_bench_case(name, &c, filter, cpu);
    }
}

/* As in detection networks: 7 x 7 outputs of 100 regions of about 32 x 32 pixels, nchw or nhwc. */
static void bench_roi(const char *filter, uint32_t cpu, bool nhwc, bool grad)
{
    const uint32_t corners[] = { 100, 4 }, x[] = { 1, 256, 50, 80 }, y[] = { 100, 256, 7, 7 };
    struct check_case c = { .op = { .kind = grad ? KERN_ROI_GRAD : KERN_ROI, .input_count = 3, .output_count = 1 } };
    const struct kern_roi roi = { .mode = KERN_ROI_AVERAGE,
                                  .linear = true,
                                  .scale_x = 12,
                                  .scale_y = 12,
                                  .in_offset = 0.5f,
                                  .out_offset = -0.5f,
                                  .least = 2,
                                  .most = 2 };
    struct kern_view *image = &c.op.tensors[grad ? 3 : 2];
    view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 2, corners);
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_UINT32, 1, corners);
    view(&c.op, grad ? 3 : 2, DML_TENSOR_DATA_TYPE_FLOAT32, 4, x);
    view(&c.op, grad ? 2 : 3, DML_TENSOR_DATA_TYPE_FLOAT32, 4, y);
    if (nhwc) {
        const int64_t strides[] = { 50 * 80 * 256, 1, 80 * 256, 256 };
        memcpy(image->strides, strides, sizeof(strides));
    }
    c.data[0] = CHECK_DATA_POSITIVE;
    c.data[1] = CHECK_DATA_INDEX;
    c.index_limit[1] = 1;
    if (grad)
        c.op.u.roi_grad = (struct kern_roi_grad){ .roi = roi, .has_image_gradient = true };
    else
        c.op.u.roi = roi;
    check_bench_case(grad ? "roi align gradient" : nhwc ? "roi align nhwc" : "roi align", &c, filter, cpu);
    c.op.u.roi.mode = KERN_ROI_MAX;
    if (!grad)
        check_bench_case(nhwc ? "roi align max nhwc" : "roi align max", &c, filter, cpu);
}

/* Rows of a table by random indices, and written back. */
static void bench_rows(const char *filter, uint32_t cpu)
{
    static const struct {
        const char *name;
        uint32_t rows, row, picks;
    } shapes[] = { { "words 768", 30000, 768, 384 },           { "rows 64", 100000, 64, 100000 },
                   { "rows 4", 1000000, 4, 500000 },           { "edges 64", 10000, 64, 100000 },
                   { "single elements", 1000000, 1, 1000000 }, { "single, in cache", 4000, 1, 100000 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
        const uint32_t table[] = { shapes[i].rows, shapes[i].row }, tuples[] = { shapes[i].picks, 1 },
                       picked[] = { shapes[i].picks, shapes[i].row };
        char name[64];
        struct check_case c = { .op = { .kind = KERN_GATHER, .input_count = 2, .output_count = 1 } };
        c.op.u.gather = (struct kern_gather){ 0, 1, KERN_INDEX_ND };
        view(&c.op, 0, f32, 2, table);
        view(&c.op, 1, DML_TENSOR_DATA_TYPE_INT64, 2, tuples);
        view(&c.op, 2, f32, 2, picked);
        c.data[1] = CHECK_DATA_INSIDE;
        c.index_limit[1] = shapes[i].rows;
        snprintf(name, sizeof(name), "gather %s", shapes[i].name);
        check_bench_case(name, &c, filter, cpu);
        c.op.kind = KERN_SCATTER;
        c.op.input_count = 3;
        c.op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ND };
        c.op.tensors[3] = c.op.tensors[0];
        snprintf(name, sizeof(name), "scatter %s", shapes[i].name);
        check_bench_case(name, &c, filter, cpu);
        c.op.u.scatter.reduction = KERN_SCATTER_ADD;
        snprintf(name, sizeof(name), "scatter add %s", shapes[i].name);
        check_bench_case(name, &c, filter, cpu);
        c.op.u.scatter.reduction = KERN_SCATTER_MAX;
        snprintf(name, sizeof(name), "scatter max %s", shapes[i].name);
        check_bench_case(name, &c, filter, cpu);
    }
}

/* One index per element, along either axis of a matrix. */
static void bench_elements(const char *filter, uint32_t cpu)
{
    const uint32_t sizes[] = { 1000, 1000 };
    for (uint32_t axis = 0; axis < 2; axis++) {
        char name[64];
        struct check_case c = { .op = { .kind = KERN_GATHER, .input_count = 2, .output_count = 1 } };
        c.op.u.gather = (struct kern_gather){ axis, 0, KERN_INDEX_ELEMENTS };
        for (uint32_t t = 0; t < 4; t++)
            view(&c.op, t, t == 1 ? DML_TENSOR_DATA_TYPE_INT64 : DML_TENSOR_DATA_TYPE_FLOAT32, 2, sizes);
        c.data[1] = CHECK_DATA_INSIDE;
        c.index_limit[1] = sizes[axis];
        snprintf(name, sizeof(name), "gather elements axis %u", axis);
        check_bench_case(name, &c, filter, cpu);
        c.op.kind = KERN_SCATTER;
        c.op.input_count = 3;
        c.op.u.scatter = (struct kern_scatter){ axis, KERN_INDEX_ELEMENTS };
        snprintf(name, sizeof(name), "scatter elements axis %u", axis);
        check_bench_case(name, &c, filter, cpu);
        c.op.u.scatter.reduction = KERN_SCATTER_ADD;
        snprintf(name, sizeof(name), "scatter add elements axis %u", axis);
        check_bench_case(name, &c, filter, cpu);
    }
}

/* Tuples of two indices, half of them from the end or out of range. */
static void bench_tuples(const char *filter, uint32_t cpu)
{
    const uint32_t x[] = { 100, 100 }, tuples[] = { 1, 300000, 2 }, picked[] = { 300000 };
    struct check_case c = { .op = { .kind = KERN_GATHER, .input_count = 2, .output_count = 1 } };
    c.op.u.gather = (struct kern_gather){ 0, 2, KERN_INDEX_ND };
    view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 2, x);
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_INT64, 3, tuples);
    view(&c.op, 2, DML_TENSOR_DATA_TYPE_FLOAT32, 2, tuples);
    c.data[1] = CHECK_DATA_INDEX;
    c.index_limit[1] = 100;
    check_bench_case("gather tuples", &c, filter, cpu);
    c.op.kind = KERN_SCATTER;
    c.op.input_count = 3;
    c.op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ND };
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_INT64, 2, tuples + 1);
    view(&c.op, 2, DML_TENSOR_DATA_TYPE_FLOAT32, 1, picked);
    view(&c.op, 3, DML_TENSOR_DATA_TYPE_FLOAT32, 2, x);
    check_bench_case("scatter tuples", &c, filter, cpu);
}

static const struct {
    const char *name;
    DML_TENSOR_DATA_TYPE type;
} bench_types[] = { { "u8", DML_TENSOR_DATA_TYPE_UINT8 },
                    { "f16", DML_TENSOR_DATA_TYPE_FLOAT16 },
                    { "f32", DML_TENSOR_DATA_TYPE_FLOAT32 },
                    { "s32", DML_TENSOR_DATA_TYPE_INT32 },
                    { "s64", DML_TENSOR_DATA_TYPE_INT64 } };

static void bench_pad(const char *filter, uint32_t cpu)
{
    static const char *const modes[] = { "constant", "edge", "reflection", "symmetric", "wrap" };
    const uint32_t x[] = { 64, 28, 28 }, wide[] = { 64, 28, 500 };
    for (uint32_t i = 0; i < ARRAY_SIZE(modes) * 2; i++) {
        const uint32_t *sizes = i % 2 ? wide : x, by = i % 2 ? 240 : 3, mode = i / 2;
        const uint32_t y[] = { 64, sizes[1] + 6, sizes[2] + 2 * by };
        struct check_case c = { .op = { .kind = KERN_PAD, .input_count = 1, .output_count = 1 } };
        char name[64];
        c.op.u.pad.mode = (DML_PADDING_MODE)mode;
        c.op.u.pad.start[1] = 3;
        c.op.u.pad.start[2] = by;
        view(&c.op, 0, DML_TENSOR_DATA_TYPE_UINT8, 3, sizes);
        view(&c.op, 1, DML_TENSOR_DATA_TYPE_UINT8, 3, y);
        snprintf(name, sizeof(name), "pad by %u, %s", by, modes[mode]);
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_sequence(const char *filter, uint32_t cpu)
{
    const uint32_t sizes[] = { 1000000 };
    for (uint32_t i = 0; i < ARRAY_SIZE(bench_types); i++) {
        struct check_case c = { .op = { .kind = KERN_SEQUENCE, .output_count = 1 } };
        char name[64];
        view(&c.op, 0, bench_types[i].type, 1, sizes);
        snprintf(name, sizeof(name), "sequence %s", bench_types[i].name);
        if (i == 1 || i == 2)
            c.op.u.sequence.start.f64 = c.op.u.sequence.delta.f64 = 0.015625;
        else
            c.op.u.sequence.start.u64 = c.op.u.sequence.delta.u64 = 3;
        check_bench_case(name, &c, filter, cpu);
    }
}

/* Keys of one step, and of a whole sequence. */
static void bench_append(const char *filter, uint32_t cpu)
{
    for (uint32_t rows = 1; rows <= 64; rows += 63) {
        const uint32_t x[] = { 4, 32, rows, 128 }, lengths[] = { 4 }, y[] = { 4, 32, 128, 128 };
        struct check_case c = { .op = { .kind = KERN_APPEND, .input_count = 2, .output_count = 1 } };
        char name[64];
        view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT16, 4, x);
        view(&c.op, 1, DML_TENSOR_DATA_TYPE_INT32, 1, lengths);
        view(&c.op, 2, DML_TENSOR_DATA_TYPE_FLOAT16, 4, y);
        c.data[1] = CHECK_DATA_INSIDE;
        c.index_limit[1] = 32;
        snprintf(name, sizeof(name), "append %u rows", rows);
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_pool_int(const char *filter, uint32_t cpu)
{
    for (uint32_t i = 0; i < 4 * ARRAY_SIZE(bench_types); i++) {
        const uint32_t type = i / 4, stride = 1 + i % 2, x[] = { 1, 64, 112, 112 };
        const uint32_t out = (112 - 3) / stride + 1, y[] = { 1, 64, out, out };
        const bool indices = i / 2 % 2;
        struct check_case c = { .op = { .kind = KERN_POOL, .input_count = 1, .output_count = 1 + indices } };
        char name[64];
        if (type == 1 || type == 2)
            continue; /* floating-point */
        c.op.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .has_indices = indices };
        for (uint32_t d = 0; d < 2; d++) {
            c.op.u.pool.window[d] = 3;
            c.op.u.pool.strides[d] = stride;
            c.op.u.pool.dilations[d] = 1;
        }
        view(&c.op, 0, bench_types[type].type, 4, x);
        view(&c.op, 1, bench_types[type].type, 4, y);
        view(&c.op, 2, DML_TENSOR_DATA_TYPE_UINT32, 4, y);
        snprintf(name, sizeof(name), "pool %s by %u%s", bench_types[type].name, stride, indices ? " with indices" : "");
        check_bench_case(name, &c, filter, cpu);
    }
}

static void bench_nonzero(const char *filter, uint32_t cpu)
{
    const uint32_t sizes[] = { 1000, 1000 }, blocks[] = { 1 }, list[] = { 1000000, 2 };
    struct check_case c = { .op = { .kind = KERN_NONZERO, .input_count = 1, .output_count = 1 } };
    view(&c.op, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 2, sizes);
    view(&c.op, 1, DML_TENSOR_DATA_TYPE_UINT32, 1, blocks);
    c.data[0] = CHECK_DATA_SPARSE;
    c.op.u.nonzero.block = 1000000;
    check_bench_case("nonzero count", &c, filter, cpu);
    c.op.u.nonzero.write = true;
    c.op.input_count = c.op.output_count = 2;
    view(&c.op, 2, DML_TENSOR_DATA_TYPE_UINT32, 1, blocks);
    view(&c.op, 3, DML_TENSOR_DATA_TYPE_UINT32, 2, list);
    check_bench_case("nonzero write", &c, filter, cpu);
}

void check_bench(const char *filter, uint32_t cpu)
{
    bench_map(filter, cpu);
    bench_scale_bias(filter, cpu, false);
    bench_scale_bias(filter, cpu, true);
    bench_reduce(filter, cpu);
    bench_softmax_norm(filter, cpu);
    bench_lrn(filter, cpu);
    bench_move(filter, cpu);
    bench_gemm(filter, cpu);
    check_bench_layers(filter, cpu);
    bench_conv(filter, cpu);
    bench_conv_up(filter, cpu);
    bench_attention(filter, cpu);
    bench_recurrent(filter, cpu);
    bench_roi(filter, cpu, false, false);
    bench_roi(filter, cpu, true, false);
    bench_roi(filter, cpu, false, true);
    bench_rows(filter, cpu);
    bench_elements(filter, cpu);
    bench_tuples(filter, cpu);
    bench_nonzero(filter, cpu);
    bench_pad(filter, cpu);
    bench_sequence(filter, cpu);
    bench_append(filter, cpu);
    bench_pool_int(filter, cpu);
}
