// SPDX-License-Identifier: Apache-2.0
/* conv_pack_params.h: a workgroup takes a tile of pixels and channels through shared memory. */
#include "shaders/cuda/conv_pack_params.h"

#include "shaders/cuda/conv_meta.cuh"

#define THREADS 256
#define PIXELS   CONV_PACK_PIXELS
#define CHANNELS CONV_PACK_CHANNELS
#define LINE     (CHANNELS + 2) /* no bank conflicts */

DI i64 pixel_at(const conv_pack_tensor &t, u32 pixel)
{
    const u32 image = divide(pixel, t.by_pixels), within = pixel - image * t.by_pixels.size, row = divide(within, t.by_column);
    return (i64)(int)image * t.image + (i64)(int)row * t.row + (i64)(int)(within - row * t.by_column.size) * t.column;
}

/* -1: zeros are there. */
DI int channel_of(const conv_pack_tensor &t, u32 packed)
{
    const u32 group = divide(packed, t.by_group), within = packed - group * t.by_group.size;
    return packed < t.packed_channels && within < t.channels ? (int)(group * t.channels + within) : -1;
}

extern "C" __global__ void __launch_bounds__(THREADS) meta_kernel(const __grid_constant__ conv_pack_params p)
{
    __shared__ unsigned short tile[PIXELS * LINE];
    const u32 second = blockIdx.x >= p.tensors[0].tiles ? 1 : 0, block = blockIdx.x - (second ? p.tensors[0].tiles : 0);
    const conv_pack_tensor &t = p.tensors[second];
    const u32 first = block / t.tiles_n * PIXELS, channel0 = block % t.tiles_n * CHANNELS;
    const unsigned short *from = (const unsigned short *)p.from[second];
    unsigned short v[PIXELS * CHANNELS / THREADS];
    const u32 lane = threadIdx.x % 64, line = threadIdx.x / 64;
    const i64 own = t.along_pixels ? pixel_at(t, first + lane) : 0;
#pragma unroll
    for (u32 i = 0; i < PIXELS * CHANNELS / THREADS; i++) {
        const u32 number = line + i * (THREADS / 64), pixel = first + (t.along_pixels ? lane : number);
        const int channel = channel_of(t, channel0 + (t.along_pixels ? number : lane));
        const bool there = pixel < t.pixels && channel >= 0;
        const i64 at = (t.along_pixels ? own : pixel_at(t, pixel)) + (i64)channel * t.channel;
        v[i] = there ? __ldg(from + at) : (unsigned short)0;
    }
#pragma unroll
    for (u32 i = 0; i < PIXELS * CHANNELS / THREADS; i++) {
        const u32 number = line + i * (THREADS / 64);
        tile[t.along_pixels ? lane * LINE + number : number * LINE + lane] = v[i];
    }
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < PIXELS * CHANNELS / 8 / THREADS; i++) {
        const u32 unit = threadIdx.x + i * THREADS, pixel = unit / (CHANNELS / 8), channel = unit % (CHANNELS / 8) * 8;
        const u32 *words = (const u32 *)(tile + pixel * LINE + channel);
        if (first + pixel < t.pixels && channel0 + channel < t.packed_channels)
            *(uint4 *)((unsigned short *)p.to[second] + ((u64)(first + pixel) * t.packed_channels + channel0 + channel)) =
                make_uint4(words[0], words[1], words[2], words[3]);
    }
}
