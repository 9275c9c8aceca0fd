/* SPDX-License-Identifier: Apache-2.0 */
// Convolutions, products and pooling.
#include "harness.h"

using dml::Expression;

/* Of two spatial dimensions; asymmetric in every parameter, so that swapped ones are found. */
struct Window {
    int size[2], stride[2], dilation[2], start[2], end[2];

    int count(int i, int room) const
    {
        return (room + start[i] + end[i] - (size[i] - 1) * dilation[i] - 1) / stride[i] + 1;
    }
};

static const Window window = { { 2, 3 }, { 2, 1 }, { 1, 2 }, { 1, 2 }, { 0, 1 } };

static Tensor empty(Sizes sizes)
{
    Tensor t = { F32, sizes, {} };
    size_t count = 1;
    for (uint32_t size : sizes)
        count *= size;
    t.values.assign(count, 0);
    return t;
}

/* f(output element, input element, filter element) for all that meet; groups as DirectML counts them. */
static void meet(const Tensor &x, const Tensor &f, const Tensor &y, const Window &w, int groups,
                 const std::function<void(size_t, size_t, size_t)> &visit)
{
    int channels = static_cast<int>(f.sizes[1]), outputs = static_cast<int>(f.sizes[0]) / groups;
    int h = static_cast<int>(x.sizes[2]), v = static_cast<int>(x.sizes[3]);
    int oh = static_cast<int>(y.sizes[2]), ov = static_cast<int>(y.sizes[3]);
    for (int n = 0; n < static_cast<int>(x.sizes[0]); n++)
        for (int o = 0; o < outputs * groups; o++)
            for (int c = 0; c < channels; c++)
                for (int i = 0; i < oh * ov * w.size[0] * w.size[1]; i++) {
                    int kx = i % w.size[1], ky = i / w.size[1] % w.size[0], oy = i / (w.size[0] * w.size[1]) / ov;
                    int ox = i / (w.size[0] * w.size[1]) % ov, ic = o / outputs * channels + c;
                    int iy = oy * w.stride[0] + ky * w.dilation[0] - w.start[0];
                    int ix = ox * w.stride[1] + kx * w.dilation[1] - w.start[1];
                    if (iy >= 0 && iy < h && ix >= 0 && ix < v)
                        visit(((n * outputs * groups + o) * oh + oy) * ov + ox,
                              ((n * channels * groups + ic) * h + iy) * v + ix,
                              ((o * channels + c) * w.size[0] + ky) * w.size[1] + kx);
                }
}

static void test_convolution()
{
    Tensor x = random_tensor({ 2, 4, 5, 6 }), f = random_tensor({ 6, 2, 2, 3 }), b = random_tensor({ 1, 6, 1, 1 });
    uint32_t h = static_cast<uint32_t>(window.count(0, 5)), v = static_cast<uint32_t>(window.count(1, 6));
    Tensor y = empty({ 2, 6, h, v }), plain;
    meet(x, f, y, window, 2, [&](size_t o, size_t i, size_t k) { y.values[o] += x.values[i] * f.values[k]; });
    plain = y;
    for (size_t i = 0; i < y.values.size(); i++)
        y.values[i] = std::fmax(0, y.values[i] + b.values[i / (h * v) % 6]);
    auto r = run("Convolution", { x, f, b }, [](dml::Graph &, const In &in) {
        Expression all = dml::Convolution(in[0], in[1], in[2], DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                          DML_CONVOLUTION_DIRECTION_FORWARD, { 2, 1 }, { 1, 2 }, { 1, 2 }, { 0, 1 }, {},
                                          2, dml::FusedActivation::Relu());
        Expression built = dml::ConvolutionBuilder(in[0], in[1])
                               .Mode(DML_CONVOLUTION_MODE_CROSS_CORRELATION)
                               .Direction(DML_CONVOLUTION_DIRECTION_FORWARD)
                               .Strides({ 2, 1 })
                               .Dilations({ 1, 2 })
                               .StartPadding({ 1, 2 })
                               .EndPadding({ 0, 1 })
                               .OutputPadding({ 0, 0 })
                               .GroupCount(2)
                               .FusedActivation(dml::FusedActivation::LeakyRelu(1.0f))
                               .OutputSizes({})
                               .Build();
        return Out{ all, built };
    });
    expect("Convolution", r[0], y.values, y.sizes, 1e-4);
    expect("ConvolutionBuilder", r[1], plain.values, plain.sizes, 1e-4);

    /* Backward: from y's sizes to x's. 5 rows need one row of output padding: 3 windows of stride 2 reach 5 - 1. */
    Tensor back = empty(x.sizes);
    meet(back, f, y, window, 2, [&](size_t o, size_t i, size_t k) { back.values[i] += y.values[o] * f.values[k]; });
    uint32_t rest = 5 - ((h - 1) * 2 + 2 - 1);
    auto g = run("Convolution backward", { y, f }, [&](dml::Graph &, const In &in) {
        return Out{ dml::Convolution(in[0], in[1], dml::NullOpt, DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                     DML_CONVOLUTION_DIRECTION_BACKWARD, { 2, 1 }, { 1, 2 }, { 1, 2 }, { 0, 1 },
                                     { rest, 0 }, 2) };
    });
    expect("Convolution backward", g[0], back.values, back.sizes, 1e-4);
}

static void test_quantized_convolution()
{
    Tensor x = random_tensor({ 1, 4, 5, 6 }, 0, 256, U8), f = random_tensor({ 6, 2, 2, 3 }, -128, 128, I8);
    Sizes one(4, 1);
    Tensor xz = { U8, one, { 120 } }, fz = { I8, one, { 3 } }, xs = { F32, one, { 0.5 } }, fs = { F32, one, { 0.25 } };
    Tensor ys = { F32, one, { 256 } }, yz = { U8, one, { 128 } };
    Tensor y = empty({ 1, 6, static_cast<uint32_t>(window.count(0, 5)), static_cast<uint32_t>(window.count(1, 6)) });
    meet(x, f, y, window, 2,
         [&](size_t o, size_t i, size_t k) { y.values[o] += (x.values[i] - 120) * (f.values[k] - 3); });
    auto r = run("ConvolutionInteger", { x, xz, f, fz, xs, fs, ys, yz }, [](dml::Graph &, const In &in) {
        return Out{ dml::ConvolutionInteger(in[0], in[1], in[2], in[3], { 2, 1 }, { 1, 2 }, { 1, 2 }, { 0, 1 }, 2),
                    dml::QuantizedLinearConvolution(in[0], in[4], in[1], in[2], in[5], in[3], dml::NullOpt, in[6],
                                                    in[7], U8, { 2, 1 }, { 1, 2 }, { 1, 2 }, { 0, 1 }, 2) };
    });
    expect("ConvolutionInteger", r[0], y.values, y.sizes, 0);
    Values q = map(y, [](double v) { return std::fmin(255, std::fmax(0, std::nearbyint(v * 0.125 / 256) + 128)); });
    expect("QuantizedLinearConvolution", r[1], q, y.sizes, 0.01);
}

static void test_gemm()
{
    Tensor a = random_tensor({ 1, 2, 3, 4 }), b = random_tensor({ 1, 2, 5, 3 }), c = random_tensor({ 1, 2, 4, 5 });
    Values y;
    for (int i = 0; i < 40; i++) {
        int n = i / 20, row = i / 5 % 4, column = i % 5;
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += a.at(0, n, k, row) * b.at(0, n, column, k);
        y.push_back(std::tanh(0.5 * sum + 2 * c.values[i]));
    }
    const auto turned = DML_MATRIX_TRANSFORM_TRANSPOSE;
    auto r = run("Gemm", { a, b, c }, [&](dml::Graph &, const In &in) {
        auto tanh = dml::FusedActivation::Tanh();
        return Out{ dml::Gemm(in[0], in[1], in[2], turned, turned, 0.5f, 2, tanh), dml::GemmBuilder(in[0], in[1], in[2])
                                                                                       .TransA(turned)
                                                                                       .TransB(turned)
                                                                                       .Alpha(0.5f)
                                                                                       .Beta(2)
                                                                                       .FusedActivation(tanh)
                                                                                       .Build() };
    });
    expect("Gemm", r[0], y, { 1, 2, 4, 5 });
    expect("GemmBuilder", r[1], y, { 1, 2, 4, 5 });
}

static void test_pooling()
{
    /* A filter of ones that meets one channel at a time: each channel is an image of its own. */
    Tensor x = random_tensor({ 2, 3, 5, 6 }), images = x, ones = empty({ 1, 1, 2, 3 });
    images.sizes = { 6, 1, 5, 6 };
    uint32_t h = static_cast<uint32_t>(window.count(0, 5)), v = static_cast<uint32_t>(window.count(1, 6));
    Tensor sum = empty({ 6, 1, h, v }), count = sum, most = sum, where = sum;
    most.values.assign(most.values.size(), -9);
    meet(images, ones, sum, window, 1, [&](size_t o, size_t i, size_t) {
        sum.values[o] += x.values[i];
        count.values[o]++;
        if (x.values[i] > most.values[o]) {
            most.values[o] = x.values[i];
            where.values[o] = static_cast<double>(i);
        }
    });
    auto r = run("pooling", { x }, [](dml::Graph &, const In &in) {
        auto max = dml::MaxPooling(in[0], { 2, 3 }, { 2, 1 }, { 1, 2 }, { 0, 1 }, { 1, 2 }, true);
        auto built = dml::MaxPoolingBuilder(in[0], { 2, 3 })
                         .Strides({ 2, 1 })
                         .StartPadding({ 1, 2 })
                         .EndPadding({ 0, 1 })
                         .Dilations({ 1, 2 })
                         .OutputIndices(false)
                         .OutputSizes({})
                         .Build();
        expect_true("MaxPooling without indices", built.indices.Impl() == nullptr);
        return Out{ dml::AveragePooling(in[0], { 2, 1 }, { 2, 3 }, { 1, 2 }, { 0, 1 }, { 1, 2 }, false),
                    dml::AveragePooling(in[0], { 2, 1 }, { 2, 3 }, { 1, 2 }, { 0, 1 }, { 1, 2 }, true), max.values,
                    max.indices, built.values };
    });
    Sizes sizes = { 2, 3, h, v };
    expect("AveragePooling", r[0], zip(sum, count, [](double s, double c) { return s / c; }), sizes);
    expect("AveragePooling with padding", r[1], map(sum, [](double s) { return s / 6; }), sizes);
    expect("MaxPooling", r[2], most.values, sizes);
    expect("MaxPooling indices", r[3], where.values, sizes);
    expect("MaxPoolingBuilder", r[4], most.values, sizes);
}

void test_dense()
{
    test_convolution();
    test_quantized_convolution();
    test_gemm();
    test_pooling();
}
