// SPDX-License-Identifier: Apache-2.0
/* conv_pack_params.h: a workgroup takes a tile of pixels and channels through shared memory. */
#include "shaders/cuda/conv_pack_params.h"

#include "shaders/cuda/conv_meta.cuh"

#define THREADS 256
#define PIXELS   CONV_PACK_PIXELS
#define CHANNELS CONV_PACK_CHANNELS
#define LINE     (CHANNELS + 2) /* no bank conflicts */

/* Where a pixel is in the first plane, and the first plane of its window. */
struct source {
    i64 at;
    int plane;
};

DI source source_of(const conv_pack_tensor &t, u32 pixel)
{
    const u32 plane = divide(pixel, t.by_pixels), within = pixel - plane * t.by_pixels.size, row = divide(within, t.by_column);
    const u32 image = divide(plane, t.by_depth), z = plane - image * t.by_depth.size;
    const i64 line = (i64)(int)image * t.image + (i64)(int)row * t.row;
    return { line + (i64)(int)(within - row * t.by_column.size) * t.column, (int)z * t.step - t.pad };
}

/* A packed channel's in the tensor, -1: zeros are there; and in which plane of the window. */
struct slot {
    int channel, plane;
};

DI slot slot_of(const conv_pack_tensor &t, u32 packed)
{
    const u32 number = divide(packed, t.by_block), within = packed - number * t.by_block.size, group = divide(number, t.by_taps);
    return { packed < t.packed_channels && within < t.channels ? (int)(group * t.channels + within) : -1,
             (int)(number - group * t.by_taps.size) * t.dilation };
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
    source from_pixel = source_of(t, first + lane);
    slot of_channel = slot_of(t, channel0 + lane);
#pragma unroll
    for (u32 i = 0; i < PIXELS * CHANNELS / THREADS; i++) {
        const u32 number = line + i * (THREADS / 64), pixel = first + (t.along_pixels ? lane : number);
        if (t.along_pixels)
            of_channel = slot_of(t, channel0 + number);
        else
            from_pixel = source_of(t, pixel);
        const int plane = from_pixel.plane + of_channel.plane;
        const bool there = pixel < t.pixels && of_channel.channel >= 0 && (u32)plane < (u32)t.in_depth;
        const i64 at = from_pixel.at + (i64)plane * t.plane + (i64)of_channel.channel * t.channel;
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
