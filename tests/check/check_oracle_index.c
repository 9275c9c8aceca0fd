/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, scatter, non-zero coordinates, sequences and spreading against results worked out by hand or by plain loops.
 */
#include "base/cpu.h"
#include "check.h"

#include <math.h>
#include <stdio.h>

/* All rows of the kind must give `want`, `size` bytes, as their last tensor. */
static int run_all(const char *what, const struct kern_op *op, void **data, const void *want, size_t size)
{
    uint32_t count, ran = 0, last = op->input_count + op->output_count - 1;
    const struct kern_row *rows = kern_rows(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct kern_call call = { .op = op, .data = data };
        struct kern_work work = { 0 };
        if (rows[i].kind != op->kind || (rows[i].cpu & ~base_cpu_flags()) || !rows[i].accepts(op))
            continue;
        ran++;
        memset(data[last], 0x5a, size);
        rows[i].plan(op, 1, &work);
        rows[i].run(&call, 0, work.units);
        if (memcmp(data[last], want, size) == 0)
            continue;
        printf("FAIL %s: %s\n", what, rows[i].name);
        return 1;
    }
    if (!ran)
        printf("FAIL %s: no row takes it\n", what);
    return !ran;
}

static void view(struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    kern_view_set_packed(out, type, rank, sizes);
}

#define SIZES(...)                                                                                                     \
    (const uint32_t[])                                                                                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define I32 DML_TENSOR_DATA_TYPE_INT32
#define I64 DML_TENSOR_DATA_TYPE_INT64
#define U32 DML_TENSOR_DATA_TYPE_UINT32
#define U64 DML_TENSOR_DATA_TYPE_UINT64

static int check_gather(void)
{
    struct kern_op op = { .kind = KERN_GATHER, .input_count = 2, .output_count = 1 };
    int32_t x[12], y[12];
    for (int32_t i = 0; i < 12; i++)
        x[i] = i;
    /* X [2, 3]; per element along axis 1: -1 is the last, 9 is clamped */
    op.u.gather = (struct kern_gather){ 1, 0, KERN_INDEX_ELEMENTS };
    view(&op.tensors[0], I32, 2, SIZES(2, 3));
    view(&op.tensors[1], I32, 2, SIZES(2, 2));
    view(&op.tensors[2], I32, 2, SIZES(2, 2));
    int32_t elements[] = { 2, -1, 9, 0 }, from_elements[] = { 2, 2, 5, 3 };
    int failures = run_all("gather elements", &op, (void *[]){ x, elements, y }, from_elements, 16);
    /* X [3, 2, 2], one batch dimension, tuples of 2 */
    op.u.gather = (struct kern_gather){ 1, 1, KERN_INDEX_ND };
    view(&op.tensors[0], I32, 3, SIZES(3, 2, 2));
    view(&op.tensors[1], U64, 3, SIZES(3, 2, 2));
    view(&op.tensors[2], I32, 2, SIZES(3, 2));
    uint64_t tuples[] = { 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, UINT64_MAX };
    int32_t from_tuples[] = { 0, 3, 7, 4, 9, 11 };
    failures += run_all("gather by tuple", &op, (void *[]){ x, tuples, y }, from_tuples, 24);
    /* tuples of 1 leave rows of X [6, 2] */
    op.u.gather = (struct kern_gather){ 0, 1, KERN_INDEX_ND };
    view(&op.tensors[0], I32, 2, SIZES(6, 2));
    view(&op.tensors[1], I64, 2, SIZES(3, 1));
    view(&op.tensors[2], I32, 2, SIZES(3, 2));
    int64_t rows[] = { -6, 5, INT64_MIN };
    int32_t from_rows[] = { 0, 1, 10, 11, 0, 1 };
    return failures + run_all("gather rows", &op, (void *[]){ x, rows, y }, from_rows, 24);
}

static int check_scatter(void)
{
    struct kern_op op = { .kind = KERN_SCATTER, .input_count = 3, .output_count = 1 };
    int32_t x[12], y[12], updates[] = { 100, 101, 102, 103, 104, 105 };
    for (int32_t i = 0; i < 12; i++)
        x[i] = i;
    /* X [3, 2], rows chosen per column; the second update of [0, 0] wins, 3 is no row */
    op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ELEMENTS };
    view(&op.tensors[0], I32, 2, SIZES(3, 2));
    view(&op.tensors[1], I32, 2, SIZES(3, 2));
    view(&op.tensors[2], I32, 2, SIZES(3, 2));
    view(&op.tensors[3], I32, 2, SIZES(3, 2));
    int32_t rows[] = { 0, 1, 0, -1, 3, -4 }, by_rows[] = { 102, 1, 2, 101, 4, 103 };
    int failures = run_all("scatter elements", &op, (void *[]){ x, rows, updates, y }, by_rows, 24);
    /* X [2, 3, 2], tuples of 2 write pairs; a tuple with one bad index writes nothing */
    op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ND };
    view(&op.tensors[0], I32, 3, SIZES(2, 3, 2));
    view(&op.tensors[1], I64, 2, SIZES(3, 2));
    view(&op.tensors[2], I32, 2, SIZES(3, 2));
    view(&op.tensors[3], I32, 3, SIZES(2, 3, 2));
    int64_t tuples[] = { 1, -1, 2, 0, 0, 1 };
    int32_t by_tuples[] = { 0, 1, 104, 105, 4, 5, 6, 7, 8, 9, 100, 101 };
    failures += run_all("scatter by tuple", &op, (void *[]){ x, tuples, updates, y }, by_tuples, 48);
    /* One tuple of all indices, no dimension left */
    view(&op.tensors[0], I32, 1, SIZES(4));
    view(&op.tensors[1], U32, 1, SIZES(1));
    view(&op.tensors[2], I32, 1, SIZES(1));
    view(&op.tensors[3], I32, 1, SIZES(4));
    uint32_t single[] = { 2 };
    int32_t by_single[] = { 0, 1, 100, 3 };
    return failures + run_all("scatter one", &op, (void *[]){ x, single, updates, y }, by_single, 16);
}

/* Y [2, 2] and eight updates, five of them to one element; each function, elements and rows. */
static int check_scatter_reduce(void)
{
    static const char *const names[] = { "", "scatter add", "scatter multiply", "scatter min", "scatter max" };
    struct kern_op op = { .kind = KERN_SCATTER, .input_count = 3, .output_count = 1 };
    /* 2^24 swallows a 1 that comes after it, not one before: the order of sums */
    float x[] = { 1, 2, NAN, 4 }, updates[] = { 3, 16777215, 5, 1, 1, 7, -2, 9 }, y[4];
    int32_t rows[] = { 0, 0, 1, 0, 0, -1, 5, 0 };
    float want[][4] = {
        { 0 }, { 5, 16777216, NAN, 11 }, { 3, 2.0f * 16777215 * 9, NAN, 28 }, { 1, 1, 5, 4 }, { 3, 16777215, 5, 7 }
    };
    int failures = 0;
    view(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 2, SIZES(2, 2));
    view(&op.tensors[1], I32, 2, SIZES(4, 2));
    view(&op.tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, 2, SIZES(4, 2));
    op.tensors[3] = op.tensors[0];
    for (uint32_t function = KERN_SCATTER_ADD; function <= KERN_SCATTER_MAX; function++) {
        op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ELEMENTS, (enum kern_scatter_reduction)function };
        want[KERN_SCATTER_ADD][1] = ((2.0f + 16777215) + 1) + 9;
        failures += run_all(names[function], &op, (void *[]){ x, rows, updates, y }, want[function], sizeof(y));
    }
    /* bytes wrap, and are compared with their sign */
    int8_t bytes[] = { 100, -100 }, more[] = { 100, -100, 3, 3 }, sum[2];
    const int8_t sums[] = { -53, 59 }, least[] = { 3, -100 };
    int64_t tuples[] = { 0, 1, 0, 1 };
    view(&op.tensors[0], DML_TENSOR_DATA_TYPE_INT8, 1, SIZES(2));
    view(&op.tensors[1], I64, 2, SIZES(4, 1));
    view(&op.tensors[2], DML_TENSOR_DATA_TYPE_INT8, 1, SIZES(4));
    op.tensors[3] = op.tensors[0];
    op.u.scatter = (struct kern_scatter){ 0, KERN_INDEX_ND, KERN_SCATTER_ADD };
    failures += run_all("scatter add, bytes", &op, (void *[]){ bytes, tuples, more, sum }, sums, 2);
    op.u.scatter.reduction = KERN_SCATTER_MIN;
    return failures + run_all("scatter min, bytes", &op, (void *[]){ bytes, tuples, more, sum }, least, 2);
}

/* Counting and writing in turn, in ranges of random length; X [A, B, C], all rows of the kind. */
static int check_nonzero(struct check_rng *rng)
{
    enum { A = 5, B = 40, C = 7, ALL = A * B * C, BLOCK = 64, BLOCKS = (ALL + BLOCK - 1) / BLOCK };
    static float x[ALL];
    static uint32_t counts[BLOCKS], list[ALL * 2], want[ALL * 2], total;
    struct kern_op count = { .kind = KERN_NONZERO, .input_count = 1, .output_count = 1 }, write = count;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < ALL; i++) {
        x[i] = check_chance(rng, 2) ? (check_chance(rng, 2) ? -0.0f : 0) : check_chance(rng, 9) ? (float)NAN : 1e-40f;
        if (x[i] != 0) {
            want[hits * 2] = i / C % B;
            want[hits++ * 2 + 1] = i % C;
        }
    }
    count.u.nonzero.block = write.u.nonzero.block = BLOCK;
    write.u.nonzero.write = true;
    write.input_count = write.output_count = 2;
    view(&count.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 3, SIZES(A, B, C));
    view(&count.tensors[1], U32, 1, SIZES(BLOCKS));
    write.tensors[0] = count.tensors[0];
    write.tensors[1] = count.tensors[1];
    view(&write.tensors[2], U32, 1, SIZES(1));
    view(&write.tensors[3], U32, 2, SIZES(ALL, 2));
    uint32_t row_count;
    const struct kern_row *rows = kern_rows(&row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        struct kern_work work = { 0 };
        if (rows[i].kind != KERN_NONZERO || (rows[i].cpu & ~base_cpu_flags()))
            continue;
        rows[i].plan(&count, 1, &work);
        rows[i].run(&(struct kern_call){ .op = &count, .data = (void *[]){ x, counts } }, 0, work.units);
        rows[i].plan(&write, 1, &work);
        for (uint64_t begin = 0, n; begin < work.units; begin += n) {
            n = 1 + check_next(rng) % (work.units - begin);
            rows[i].run(&(struct kern_call){ .op = &write, .data = (void *[]){ x, counts, &total, list } }, begin,
                        begin + n);
        }
        if (total != hits || memcmp(list, want, hits * 2 * sizeof(*want)) != 0) {
            printf("FAIL nonzero: %s\n", rows[i].name);
            return 1;
        }
        memset(list, 0, sizeof(list));
    }
    return 0;
}

static int check_sequence(void)
{
    struct kern_op op = { .kind = KERN_SEQUENCE, .output_count = 1 };
    uint8_t bytes[5], down[] = { 4, 2, 0, 254, 252 };
    float halves[3], up[] = { -1, -0.5f, 0 };
    op.u.sequence.start.u64 = 4;
    op.u.sequence.delta.i64 = -2;
    view(&op.tensors[0], DML_TENSOR_DATA_TYPE_UINT8, 1, SIZES(5));
    int failures = run_all("sequence of integers", &op, (void *[]){ bytes }, down, sizeof(down));
    op.u.sequence.start.f64 = -1;
    op.u.sequence.delta.f64 = 0.5;
    view(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 1, SIZES(3));
    return failures + run_all("sequence of floats", &op, (void *[]){ halves }, up, sizeof(up));
}

static int check_spread(void)
{
    /* "ab" "cd" with one row above and one between, two columns left, two between and one right */
    static const char want[] = "......."
                               "..a..b."
                               "......."
                               "..c..d.";
    struct kern_op op = { .kind = KERN_PAD, .input_count = 1, .output_count = 1 };
    char x[] = { 'a', 'b', 'c', 'd' }, y[28];
    op.u.pad.mode = DML_PADDING_MODE_CONSTANT;
    op.u.pad.value.UInt8 = '.';
    op.u.pad.start[0] = 1;
    op.u.pad.start[1] = 2;
    op.u.pad.gap[0] = 1;
    op.u.pad.gap[1] = 2;
    view(&op.tensors[0], DML_TENSOR_DATA_TYPE_UINT8, 2, SIZES(2, 2));
    view(&op.tensors[1], DML_TENSOR_DATA_TYPE_UINT8, 2, SIZES(4, 7));
    return run_all("pad with gaps", &op, (void *[]){ x, y }, want, sizeof(y));
}

int check_oracle_index(struct check_rng *rng)
{
    return check_gather() + check_scatter() + check_scatter_reduce() + check_nonzero(rng) + check_sequence() +
           check_spread();
}
