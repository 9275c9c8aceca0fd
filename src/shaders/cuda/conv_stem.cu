// SPDX-License-Identifier: Apache-2.0
/* Convolutions of few input channels with any strides, such as a network's first one: tiles of 16 x 16 pixels by 64
 * channels. What their windows cover comes into shared memory once, element by element, that of the next tile while this
 * one's is multiplied with mma.sync; the filters of 64 channels stay there. The depth is a window's elements in W's order,
 * DEPTH at most: a lane knows for each of its own how far it is from the window's beginning. */
#include "shaders/cuda/conv_meta.cuh"

#define SIDE    16
#define THREADS 256
#define STEPS   (DEPTH / 32)
#define LINE    (DEPTH + 8) /* of the filters: no bank conflicts */
#define LOADS   17 /* elements of X of a thread */
#define COVER   (LOADS * THREADS)

extern __shared__ uint4 shared_memory[];

DI void multiply(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

struct place {
    u32 image;
    int top, left;
};

DI place place_of(const conv_meta_params &p, u32 tile)
{
    const u32 image = divide(tile, p.by_pixels), within = tile - image * p.by_pixels.size, row = divide(within, p.by_column);
    return { image, (int)row * SIDE, (int)(within - row * p.by_column.size) * SIDE };
}

/* What a tile's windows cover: lines, columns, and elements of all channels. */
struct cover {
    int height, width, count;
};

/* The thread's elements of it: how far from the first one in X, and in which line and column; -1: there is none. */
struct own {
    int at[LOADS], place[LOADS];
};

DI void list_own(const conv_meta_params &p, const cover &c, own &out)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int e = threadIdx.x + i * THREADS, line = e / c.width, x = e - line * c.width;
        const int channel = line / c.height, y = line - channel * c.height;
        out.at[i] = channel * p.x_channel + y * p.x_row + x * p.x_column;
        out.place[i] = e < c.count ? y << 16 | x : -1;
    }
}

DI void load(const conv_meta_params &p, u32 tile, const own &o, unsigned short (&v)[LOADS])
{
    const place at = place_of(p, tile);
    const int top = at.top * p.step_y - p.pad_y, left = at.left * p.step_x - p.pad_x;
    const unsigned short *x = (const unsigned short *)p.x + ((i64)at.image * p.x_image + (i64)top * p.x_row + (i64)left * p.x_column);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int row = top + (o.place[i] >> 16), column = left + (o.place[i] & 0xffff);
        const bool there = o.place[i] >= 0 && (u32)row < (u32)p.in_height && (u32)column < (u32)p.in_width;
        v[i] = there ? __ldg(x + o.at[i]) : (unsigned short)0;
    }
}

/* Filters of 64 channels, [64][LINE], zeros behind their ends. */
DI void stage_filters(const conv_meta_params &p, u32 first, unsigned short *filters)
{
    for (u32 i = threadIdx.x; i < 64 * DEPTH; i += THREADS) {
        const u32 channel = i / DEPTH, k = i % DEPTH, line = k / p.by_line.size, plane = p.k / p.by_channels.size;
        const u32 c = k / plane, dy = line - c * (plane / p.by_line.size), dx = k - line * p.by_line.size;
        const int at = (int)(first + channel) * p.w_out + (int)c * p.w_channel + (int)dy * p.w_row + (int)dx * p.w_column;
        filters[channel * LINE + k] = first + channel < p.n && k < p.k ? __ldg((const unsigned short *)p.w + at) : (unsigned short)0;
    }
}

/* The lane's elements of the depth: how far from a window's beginning. */
DI void list_taps(const conv_meta_params &p, const cover &c, int lane, int (&taps)[STEPS][8])
{
    const int width = p.by_line.size, plane = p.k / p.by_channels.size;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const int k = s * 32 + lane % 4 * 8 + e, channel = k / plane, within = k - channel * plane, y = within / width;
            taps[s][e] = k < (int)p.k ? (channel * c.height + y * p.dilation_y) * c.width + (within - y * width) * p.dilation_x : 0;
        }
}

/* Two lines of 16 pixels by 64 channels. */
DI void multiply_tile(const conv_meta_params &p, const unsigned short *patch, const unsigned short *filters, const cover &c,
                      const int (&taps)[STEPS][8], int warp, int lane, float (&sums)[2][8][4])
{
    const unsigned short *x[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = patch + ((warp * 2 + i / 2) * p.step_y * c.width + (lane / 4 + i % 2 * 8) * p.step_x);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        uint4 a[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 v[8];
#pragma unroll
            for (int e = 0; e < 8; e++)
                v[e] = x[i][taps[s][e]];
            a[i] = make_uint4(v[0] | v[1] << 16, v[2] | v[3] << 16, v[4] | v[5] << 16, v[6] | v[7] << 16);
        }
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const uint4 b = *(const uint4 *)(filters + (j * 8 + lane / 4) * LINE + s * 32 + lane % 4 * 8);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                multiply(sums[i][j], a[2 * i].x, a[2 * i + 1].x, a[2 * i].y, a[2 * i + 1].y, b.x, b.y);
                multiply(sums[i][j], a[2 * i].z, a[2 * i + 1].z, a[2 * i].w, a[2 * i + 1].w, b.z, b.w);
            }
        }
    }
}

DI void store(const conv_meta_params &p, const place &at, u32 first, int warp, int lane, float (&sums)[2][8][4])
{
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll 1
            for (u32 step = 0; step < p.epilogue.count; step++)
                run_step(p, step, sums[i][j], 0, 0, 0);
#pragma unroll
    for (int i = 0; i < 8; i++) { /* which line, which eight pixels, which 32 channels */
        const float (&s)[8][4] = sums[i / 4];
        const int h = i / 2 % 2 * 2, j = i % 2 * 4, row = at.top + warp * 2 + i / 4, column = at.left + i / 2 % 2 * 8 + lane / 4;
        const uint4 v = exchange(pack(s[j][h], s[j][h + 1]), pack(s[j + 1][h], s[j + 1][h + 1]),
                                 pack(s[j + 2][h], s[j + 2][h + 1]), pack(s[j + 3][h], s[j + 3][h + 1]), lane);
        const u32 channel = first + (j + lane % 4) * 8;
        if (row < (int)p.out_height && column < (int)p.out_width && channel < p.n)
            *(uint4 *)((__half *)p.y + ((i64)at.image * p.y_image + row * p.y_row + column * p.y_column + (int)channel)) = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const u32 blocks = (p.n + 63) / 64, first = blockIdx.x % blocks * 64, stride = gridDim.x / blocks;
    unsigned short *filters = (unsigned short *)shared_memory, *patch = filters + 64 * LINE, v[LOADS];
    const int window = p.k / (p.by_channels.size * p.by_line.size);
    cover c = { (SIDE - 1) * p.step_y + (window - 1) * p.dilation_y + 1, (SIDE - 1) * p.step_x + ((int)p.by_line.size - 1) * p.dilation_x + 1, 0 };
    c.count = (int)p.by_channels.size * c.height * c.width;
    u32 tile = blockIdx.x / blocks;
    if (tile >= min(stride, p.tiles)) /* the last few of the grid, and blocks without a tile */
        return;
    own o;
    int taps[STEPS][8];
    float bias[8][2];
    list_own(p, c, o);
    load(p, tile, o, v);
    stage_filters(p, first, filters);
    list_taps(p, c, lane, taps);
#pragma unroll
    for (int j = 0; j < 16; j++) {
        const u32 channel = first + j / 2 * 8 + lane % 4 * 2 + j % 2;
        bias[j / 2][j % 2] = p.bias && channel < p.n ? __half2float(((const __half *)p.bias)[(int)channel * p.bias_step]) : 0.0f;
    }
    for (;;) {
        float sums[2][8][4];
#pragma unroll
        for (int i = 0; i < 64; i++)
            sums[i / 32][i / 4 % 8][i % 4] = bias[i / 4 % 8][i % 2];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            patch[threadIdx.x + i * THREADS] = v[i];
        __syncthreads();
        const place at = place_of(p, tile);
        tile += stride;
        if (tile < p.tiles)
            load(p, tile, o, v);
        multiply_tile(p, patch, filters, c, taps, warp, lane, sums);
        store(p, at, first, warp, lane, sums);
        if (tile >= p.tiles)
            break;
    }
}
