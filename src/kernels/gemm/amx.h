/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of AMX, for matrices and convolutions. A tile register holds 16 rows of 64 bytes: rows of A, or
 * packs of B (packs along k of 16 columns, four bytes each), or 16 x 16 sums. Four of the eight are sums of 32 rows by
 * 32 columns, so each load of A and B is used twice. */
#ifndef KERNELS_AMX_H
#define KERNELS_AMX_H

#include "kernels/core/dense.h"

#include <immintrin.h>

#ifdef _WIN32 /* where GCC's stride is a long, which is not a register's width */
#undef _tile_loadd_internal
#undef _tile_stored_internal
#define _tile_loadd_internal(to, base, stride)                                                                         \
    __asm__ volatile("tileloadd\t(%0,%1,1), %%tmm" #to ::"r"((const void *)(base)), "r"((int64_t)(stride)) : "memory")
#define _tile_stored_internal(from, base, stride)                                                                      \
    __asm__ volatile("tilestored\t%%tmm" #from ", (%0,%1,1)" ::"r"((void *)(base)), "r"((int64_t)(stride)) : "memory")
#endif

#define AMX_ROWS    16 /* of a tile; columns of sums */
#define AMX_BYTES   64 /* of its rows */
#define AMX_PACKS   16 /* of B, in a tile */
#define AMX_COLUMNS 64 /* at once, at most */
#define AMX_AHEAD   4  /* tiles of B that are fetched before they are read */

/* Tiles are configured for each range of work, and released after it, so that context switches need not save them.
 */
DENSE_INLINE void amx_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = { .palette = 1 };
    for (uint32_t i = 0; i < 8; i++) {
        config.bytes[i] = AMX_BYTES;
        config.rows[i] = AMX_ROWS;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

DENSE_INLINE void amx_end(void)
{
    _tile_release();
}

enum amx_kind { AMX_U8S8, AMX_S8S8, AMX_BF16 };

/* sums[r][c] = start[c] + sum over taps and their bytes of A[r] * B[c] */
struct amx_block {
    const char *a;
    int64_t a_step;      /* bytes from row to row: those after `rows` are read as well, up to whole tiles */
    const int64_t *taps; /* bytes from a row's start to contiguous runs of A */
    int64_t tap_count;
    int64_t run;       /* bytes of a run: a multiple of AMX_BYTES */
    const char *b;     /* all runs' packs in sequence */
    int64_t b_step;    /* bytes from pack to pack */
    const void *start; /* for each column; NULL: zeros */
    bool add;          /* to the sums that are there, instead */
    char *sums;
    int64_t sums_step; /* bytes from row to row, whole tiles of which are written */
};

#define AMX_DOT(kind, to, a, b)                                                                                        \
    do {                                                                                                               \
        if ((kind) == AMX_U8S8)                                                                                        \
            _tile_dpbusd(to, a, b);                                                                                    \
        else if ((kind) == AMX_S8S8)                                                                                   \
            _tile_dpbssd(to, a, b);                                                                                    \
        else                                                                                                           \
            _tile_dpbf16ps(to, a, b);                                                                                  \
    } while (0)

/* One row of `start`, sixteen times. */
#define AMX_START(to, row, column)                                                                                     \
    do {                                                                                                               \
        if (t->add)                                                                                                    \
            _tile_loadd(to, t->sums + (row)*t->sums_step + (column)*4, t->sums_step);                                  \
        else if (t->start)                                                                                             \
            _tile_loadd(to, (const char *)t->start + (column)*4, 0);                                                   \
        else                                                                                                           \
            _tile_zero(to);                                                                                            \
    } while (0)

/* Columns from `column` on: one or two tiles by one or two tiles. */
DENSE_INLINE void amx_tiles(enum amx_kind kind, uint32_t row_tiles, uint32_t column_tiles, const struct amx_block *t,
                            uint32_t column)
{
    const char *b = t->b + column * 4;
    const int64_t a_step = t->a_step, b_step = t->b_step, lower = AMX_ROWS * a_step, sums_step = t->sums_step;
    AMX_START(0, 0, column);
    if (column_tiles > 1)
        AMX_START(1, 0, column + AMX_ROWS);
    if (row_tiles > 1)
        AMX_START(2, AMX_ROWS, column);
    if (row_tiles > 1 && column_tiles > 1)
        AMX_START(3, AMX_ROWS, column + AMX_ROWS);
    for (int64_t tap = 0; tap < t->tap_count; tap++) {
        const char *a = t->a + t->taps[tap];
        for (int64_t i = 0; i < t->run; i += AMX_BYTES, a += AMX_BYTES, b += AMX_PACKS * b_step) {
            for (int64_t k = 0; k < AMX_PACKS; k++) {
                __builtin_prefetch(b + (AMX_AHEAD * AMX_PACKS + k) * b_step);
                if (column_tiles > 1)
                    __builtin_prefetch(b + (AMX_AHEAD * AMX_PACKS + k) * b_step + AMX_BYTES);
            }
            _tile_loadd(6, b, b_step);
            _tile_loadd(4, a, a_step);
            AMX_DOT(kind, 0, 4, 6);
            if (column_tiles > 1) {
                _tile_loadd(7, b + AMX_BYTES, b_step);
                AMX_DOT(kind, 1, 4, 7);
            }
            if (row_tiles > 1) {
                _tile_loadd(5, a + lower, a_step);
                AMX_DOT(kind, 2, 5, 6);
            }
            if (row_tiles > 1 && column_tiles > 1)
                AMX_DOT(kind, 3, 5, 7);
        }
    }
    char *sums = t->sums + column * 4;
    _tile_stored(0, sums, sums_step);
    if (column_tiles > 1)
        _tile_stored(1, sums + AMX_BYTES, sums_step);
    if (row_tiles > 1)
        _tile_stored(2, sums + AMX_ROWS * sums_step, sums_step);
    if (row_tiles > 1 && column_tiles > 1)
        _tile_stored(3, sums + AMX_ROWS * sums_step + AMX_BYTES, sums_step);
}

/* Up to 32 rows and AMX_COLUMNS columns, rounded up to whole tiles. */
DENSE_INLINE void amx_multiply(enum amx_kind kind, const struct amx_block *t, uint32_t rows, uint32_t columns)
{
    /* The intrinsics do not tell the compiler that they read and write memory. */
    __asm__ volatile("" : : : "memory");
    for (uint32_t column = 0; column < columns; column += 2 * AMX_ROWS) {
        const bool wide = columns - column > AMX_ROWS;
        if (rows > AMX_ROWS && wide)
            amx_tiles(kind, 2, 2, t, column);
        else if (rows > AMX_ROWS)
            amx_tiles(kind, 2, 1, t, column);
        else if (wide)
            amx_tiles(kind, 1, 2, t, column);
        else
            amx_tiles(kind, 1, 1, t, column);
    }
    __asm__ volatile("" : : : "memory");
}

#endif
