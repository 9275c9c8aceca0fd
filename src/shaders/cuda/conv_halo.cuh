// SPDX-License-Identifier: Apache-2.0
/* Tiles of 8 x ROWS pixels with a border of one, 8 x CHUNKS channels, in shared memory: chunks of 8 channels, in each the
 * lines of 16 bytes a pixel. */
#pragma once
#include "shaders/cuda/conv_meta.cuh"

#define ROWS     16
#define PIXELS   (8 * ROWS)
#define THREADS  (128 * GROUPS)
#define WIDTH    10
#define BORDERED (WIDTH * (ROWS + 2))
#define CHUNK    (BORDERED * 16 + (CHUNKS == 8 ? 80 : 96)) /* bytes; neighbouring chunks use other banks */

struct place {
    u32 image, top, left;
};

DI place place_of(const conv_meta_params &p, u32 tile)
{
    place at;
    at.image = divide(tile, p.by_pixels);
    const u32 within = tile - at.image * p.by_pixels.size, row = divide(within, p.by_column);
    at.top = row * ROWS;
    at.left = (within - row * p.by_column.size) * 8;
    return at;
}

DI void fetch(const conv_meta_params &p, const place &at, u32 to, int thread)
{
    const __half *x = (const __half *)p.x + (size_t)at.image * p.x_image + thread % CHUNKS * 8;
    const bool inside = thread % CHUNKS * 8 < (int)p.by_channels.size;
    const int top = (int)at.top - p.pad_y, left = (int)at.left - p.pad_x;
    to += thread % CHUNKS * CHUNK;
#pragma unroll 4
    for (int i = thread / CHUNKS; i < BORDERED; i += 128 / CHUNKS) {
        const int y = i / WIDTH, row = top + y, column = left + i - y * WIDTH;
        const bool there = inside && (u32)row < (u32)p.in_height && (u32)column < (u32)p.in_width;
        const __half *from = there ? x + (row * p.x_row + column * p.x_column) : (const __half *)p.x;
        copy16(to + i * 16, from, there);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}
