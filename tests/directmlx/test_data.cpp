/* SPDX-License-Identifier: Apache-2.0 */
// What moves, picks, resizes and makes elements.
#include "harness.h"

#include <algorithm>

using dml::Expression;

/* The elements of `x` at these offsets. */
static Values pick(const Tensor &x, std::initializer_list<int> offsets)
{
    Values y;
    for (int offset : offsets)
        y.push_back(x.values[static_cast<size_t>(offset)]);
    return y;
}

static void test_blocks()
{
    Tensor x = random_tensor({ 1, 1, 3, 4 }, -9, 9);
    auto r = run("blocks", { x }, [](dml::Graph &, const In &in) {
        auto parts = dml::Split(in[0], 3, { 1, 3 });
        return Out{ dml::Slice(in[0], { 0, 0, 0, 1 }, { 1, 1, 3, 3 }, { 1, 1, 2, -2 }),
                    parts[0],
                    parts[1],
                    dml::Join({ parts[1], parts[0] }, 3),
                    dml::Padding(in[0], DML_PADDING_MODE_CONSTANT, 7, { 0, 0, 1, 0 }, { 0, 0, 0, 2 }),
                    dml::Tile(in[0], { 1, 2, 1, 2 }),
                    dml::Cast(in[0], I32),
                    dml::SliceGrad(in[0], { 1, 1, 3, 9 }, { 0, 0, 0, 1 }, { 1, 1, 3, 7 }, { 1, 1, 1, 2 }) };
    });
    expect("Slice", r[0], pick(x, { 3, 1, 11, 9 }), { 1, 1, 2, 2 });
    expect("Split 0", r[1], pick(x, { 0, 4, 8 }), { 1, 1, 3, 1 });
    expect("Split 1", r[2], pick(x, { 1, 2, 3, 5, 6, 7, 9, 10, 11 }), { 1, 1, 3, 3 });
    expect("Join", r[3], pick(x, { 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8 }), { 1, 1, 3, 4 });
    Values padded(24, 7), tiled, spread(27);
    for (int i = 0; i < 12; i++) {
        padded[static_cast<size_t>(6 + i / 4 * 6 + i % 4)] = x.values[static_cast<size_t>(i)];
        spread[static_cast<size_t>(i / 4 * 9 + 1 + i % 4 * 2)] = x.values[static_cast<size_t>(i)];
    }
    for (int i = 0; i < 48; i++)
        tiled.push_back(x.values[static_cast<size_t>(i / 8 % 3 * 4 + i % 4)]);
    expect("Padding", r[4], padded, { 1, 1, 4, 6 });
    expect("Tile", r[5], tiled, { 1, 2, 3, 8 });
    expect("Cast", r[6], map(x, [](double v) { return std::trunc(v); }));
    expect("SliceGrad", r[7], spread, { 1, 1, 3, 9 });
}

static void test_depth()
{
    Tensor x = random_tensor({ 1, 8, 2, 3 });
    const auto crd = DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH;
    auto r = run("depth", { x }, [&](dml::Graph &, const In &in) {
        Expression space = dml::DepthToSpace(in[0], 2), other = dml::DepthToSpace(in[0], 2, crd);
        return Out{ space, other, dml::SpaceToDepth(space, 2), dml::SpaceToDepth(other, 2, crd) };
    });
    Values dcr, columns;
    for (int i = 0; i < 48; i++) {
        int c = i / 24, y = i / 6 % 4, v = i % 6, block = y % 2 * 2 + v % 2;
        dcr.push_back(x.at(0, block * 2 + c, y / 2, v / 2));
        columns.push_back(x.at(0, c * 4 + block, y / 2, v / 2));
    }
    expect("DepthToSpace", r[0], dcr, { 1, 2, 4, 6 });
    expect("DepthToSpace of columns", r[1], columns, { 1, 2, 4, 6 });
    expect("SpaceToDepth", r[2], x.values, x.sizes);
    expect("SpaceToDepth of columns", r[3], x.values, x.sizes);
}

static void test_gather()
{
    Tensor x = random_tensor({ 1, 1, 3, 4 }), i = { U32, { 1, 1, 1, 2 }, { 2, 0 } };
    Tensor places = { U32, { 1, 1, 2, 4 }, { 0, 1, 2, 0, 2, 2, 1, 1 } },
           tuples = { U32, { 1, 1, 2, 2 }, { 2, 1, 0, 3 } };
    Tensor updates = random_tensor({ 1, 1, 2, 4 }), two = random_tensor({ 1, 1, 1, 2 });
    auto r = run("gather", { x, i, places, tuples, updates, two }, [](dml::Graph &, const In &in) {
        return Out{ dml::Gather(in[0], in[1], 2, 1), dml::GatherElements(in[0], in[2], 2),
                    dml::GatherND(in[0], in[3], 2, 2, 0), dml::ScatterElements(in[0], in[2], in[4], 2),
                    dml::ScatterND(in[0], in[3], in[5], 2, 2),
                    /* {3, 4} by {2, 2} along the first: {2, 2, 4} */
                    dml::Gather(in[0], in[3], 2, 2) };
    });
    expect("Gather", r[0], pick(x, { 8, 9, 10, 11, 0, 1, 2, 3 }), { 1, 1, 2, 4 });
    expect("GatherElements", r[1], pick(x, { 0, 5, 10, 3, 8, 9, 6, 7 }), { 1, 1, 2, 4 });
    expect("GatherND", r[2], pick(x, { 9, 3 }), { 1, 1, 1, 2 });
    Values scattered = x.values, points = x.values;
    for (size_t k = 0; k < 8; k++)
        scattered[static_cast<size_t>(places.values[k]) * 4 + k % 4] = updates.values[k];
    points[9] = two.values[0];
    points[3] = two.values[1];
    expect("ScatterElements", r[3], scattered);
    expect("ScatterND", r[4], points);
    expect("Gather by a matrix", r[5], pick(x, { 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11 }), { 1, 2, 2, 4 });
}

static void test_order()
{
    Tensor x = { F32, { 1, 1, 3, 4 }, { 5, 0, 7, 2, 1, 9, 0, 4, 3, 8, 6, 0 } };
    Tensor lengths = { U32, { 1, 1, 3, 1 }, { 2, 4, 1 } }, classes = { U32, { 1, 1, 3, 1 }, { 2, 0, 1 } };
    Tensor values = { F32, { 1, 1, 1, 2 }, { -1, 5 } };
    auto r = run("order", { x, lengths, classes, values }, [](dml::Graph &, const In &in) {
        auto rows = dml::TopK(in[0], 2, 2, DML_AXIS_DIRECTION_DECREASING);
        auto columns = dml::TopK(in[0], 3, 1, DML_AXIS_DIRECTION_INCREASING);
        auto nonzero = dml::NonZeroCoordinates(in[0]);
        return Out{ rows.value,
                    rows.index,
                    columns.value,
                    dml::ReverseSubsequences(in[0], in[1], 3),
                    dml::OneHot(in[2], in[3], 4, 3),
                    nonzero.count,
                    nonzero.coordinates };
    });
    expect("TopK along rows", r[0], { 5, 9, 7, 4, 3, 8, 6, 2 }, { 1, 1, 2, 4 });
    expect("TopK index", r[1], { 0, 1, 0, 1, 2, 2, 2, 0 }, { 1, 1, 2, 4 });
    expect("TopK along columns", r[2], { 0, 0, 0 }, { 1, 1, 3, 1 });
    expect("ReverseSubsequences", r[3], pick(x, { 1, 0, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11 }));
    expect("OneHot", r[4], { -1, -1, 5, -1, 5, -1, -1, -1, -1, 5, -1, -1 }, { 1, 1, 3, 4 });
    expect("NonZeroCoordinates count", r[5], { 9 }, { 1 });
    Tensor first = r[6];
    first.values.resize(36);
    Values where;
    for (size_t k = 0; k < 12; k++)
        if (x.values[k] != 0)
            where.insert(where.end(), { 0, 0, static_cast<double>(k / 4), static_cast<double>(k % 4) });
    expect("NonZeroCoordinates", first, where, { 12, 4 });
}

/* The element of one channel at a point between its elements, which repeat beyond the edges. */
static double between(const Tensor &x, int c, double y, double v)
{
    int h = static_cast<int>(x.sizes[2]), w = static_cast<int>(x.sizes[3]);
    y = std::fmin(std::fmax(y, 0), h - 1);
    v = std::fmin(std::fmax(v, 0), w - 1);
    int y0 = static_cast<int>(y), v0 = static_cast<int>(v), y1 = std::min(y0 + 1, h - 1), v1 = std::min(v0 + 1, w - 1);
    double fy = y - y0, fv = v - v0;
    return (1 - fy) * ((1 - fv) * x.at(0, c, y0, v0) + fv * x.at(0, c, y0, v1)) +
           fy * ((1 - fv) * x.at(0, c, y1, v0) + fv * x.at(0, c, y1, v1));
}

static void test_resample()
{
    Tensor x = random_tensor({ 1, 2, 3, 4 });
    auto r = run("images", { x }, [](dml::Graph &, const In &in) {
        const auto nearest = DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR, linear = DML_INTERPOLATION_MODE_LINEAR;
        Expression wide = dml::Upsample2D(in[0], { 3, 2 }, nearest);
        return Out{ dml::ValueScale2D(dml::Slice(in[0], { 0, 0, 0, 0 }, { 1, 1, 3, 4 }, { 1, 1, 1, 1 }), 2, { 3 }),
                    wide, dml::Resample(in[0], { 1, 2, 6, 6 }, linear),
                    dml::Resample(in[0], {}, nearest, DML_AXIS_DIRECTION_DECREASING, { 1, 1, 2, 3 }, { 0, 0, 0, 0 },
                                  { 0, 0, 0, 0 }),
                    dml::ResampleGrad(wide, { 1, 2, 3, 4 }, nearest) };
    });
    Values scaled, wide, linear, back;
    for (int i = 0; i < 24; i++) {
        back.push_back(6 * x.values[static_cast<size_t>(i)]);
    }
    for (int i = 0; i < 144; i++)
        wide.push_back(x.at(0, i / 72, i / 12 % 6 / 2, i % 12 / 3));
    for (int i = 0; i < 72; i++)
        linear.push_back(between(x, i / 36, (i / 6 % 6 + 0.5) / 2 - 0.5, (i % 6 + 0.5) / 1.5 - 0.5));
    for (size_t i = 0; i < 12; i++)
        scaled.push_back(2 * x.values[i] + 3);
    expect("ValueScale2D", r[0], scaled);
    expect("Upsample2D", r[1], wide, { 1, 2, 6, 12 });
    expect("Resample", r[2], linear, { 1, 2, 6, 6 });
    expect("Resample by scales", r[3], wide, { 1, 2, 6, 12 });
    expect("ResampleGrad", r[4], back, { 1, 2, 3, 4 });
}

/* Two regions of one image, with one sample for each output. */
static void test_regions()
{
    Tensor x = random_tensor({ 1, 2, 6, 6 }), roi = { F32, { 2, 4 }, { 0.7, 1.1, 4.3, 5.2, 2.3, 0.6, 5.1, 3.9 } };
    Tensor batch = { U32, { 2 }, { 0, 0 } }, dy = random_tensor({ 2, 2, 2, 3 });
    auto align = [](Expression image, Expression regions, Expression index) {
        return dml::RoiAlign(image, regions, index, DML_REDUCE_FUNCTION_AVERAGE, DML_INTERPOLATION_MODE_LINEAR, 0.5f, 1,
                             0.5f, -0.5f, 0, 1, 1, false, 2, 3);
    };
    auto r = run("regions", { x, roi, batch, dy }, [&](dml::Graph &, const In &in) {
        auto grad =
            dml::RoiAlignGrad(in[0], in[3], in[1], in[2], DML_REDUCE_FUNCTION_AVERAGE, DML_INTERPOLATION_MODE_LINEAR,
                              0.5f, 1, 0.5f, -0.5f, 1, 1, false, 1, 6, 6, true, true);
        auto alone =
            dml::RoiAlignGrad(dml::NullOpt, in[3], in[1], in[2], DML_REDUCE_FUNCTION_AVERAGE,
                              DML_INTERPOLATION_MODE_LINEAR, 0.5f, 1, 0.5f, -0.5f, 1, 1, false, 1, 6, 6, true, false);
        expect_true("RoiAlignGrad's outputs", alone.outputROIGradient.Impl() == nullptr);
        return Out{ align(in[0], in[1], in[2]), grad.outputGradient, grad.outputROIGradient, alone.outputGradient };
    });
    Values aligned;
    for (int i = 0; i < 24; i++) {
        int n = i / 12, c = i / 6 % 2, oy = i / 3 % 2, ov = i % 3;
        double left = 0.5 * roi.at(n, 0), right = 0.5 * roi.at(n, 2), top = roi.at(n, 1), bottom = roi.at(n, 3);
        aligned.push_back(
            between(x, c, top + (oy + 0.5) * (bottom - top) / 2 - 0.5, left + (ov + 0.5) * (right - left) / 3 - 0.5));
    }
    expect("RoiAlign", r[0], aligned, { 2, 2, 2, 3 });
    /* The gradient is the transpose: dy * RoiAlign(x) = RoiAlignGrad(dy) * x. */
    double forward = 0, backward = 0;
    for (size_t i = 0; i < 24; i++)
        forward += dy.values[i] * aligned[i];
    for (size_t i = 0; i < 72; i++)
        backward += r[1].values[i] * x.values[i];
    expect_true("RoiAlignGrad", r[1].sizes == x.sizes && std::fabs(forward - backward) < 1e-4);
    expect("RoiAlignGrad alone", r[3], r[1].values, x.sizes);
    expect_true("RoiAlignGrad of regions", r[2].sizes == roi.sizes);
}

static void test_fill()
{
    auto r = run("fill", { { U32, { 1, 1, 1, 6 }, Values(6) } }, [](dml::Graph &graph, const In &in) {
        DML_SCALAR_UNION seven = {}, step = {};
        seven.Int32 = 7;
        step.Int32 = -2;
        auto random = dml::RandomGenerator(in[0], { 1, 1, 1, 4 });
        expect_true("RandomGenerator without state",
                    dml::RandomGenerator(in[0], { 1, 1, 1, 4 }, false).state.Impl() == nullptr);
        return Out{ dml::FillValueConstant(graph, { 2, 3 }, I32, seven),
                    dml::FillValueSequence(graph, { 2, 3 }, I32, seven, step), random.values, random.state };
    });
    expect("FillValueConstant", r[0], Values(6, 7), { 2, 3 });
    expect("FillValueSequence", r[1], { 7, 5, 3, 1, -1, -3 }, { 2, 3 });
    /* The known answer of Philox 4x32-10 for counter 0 and key 0. */
    expect("RandomGenerator", r[2], { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, { 1, 1, 1, 4 }, 0);
    expect("RandomGenerator state", r[3], { 1, 0, 0, 0, 0, 0 }, { 1, 1, 1, 6 });

    Tensor x = random_tensor({ 1, 1, 2, 4 }, 0, 256, U8), scale = random_tensor({ 1, 1, 2, 2 }, 0.5, 2);
    Tensor zero = random_tensor({ 1, 1, 2, 2 }, 0, 256, U8);
    auto q = run("Dequantize", { x, scale, zero }, [](dml::Graph &, const In &in) {
        return Out{ dml::Dequantize(in[0], { in[1], in[2] }, DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT),
                    dml::Dequantize(in[0], { in[1] }, DML_QUANTIZATION_TYPE_SCALE) };
    });
    Values both, scaled;
    for (size_t i = 0; i < 8; i++) {
        both.push_back((x.values[i] - zero.values[i / 2]) * scale.values[i / 2]);
        scaled.push_back((x.values[i] - 128) * scale.values[i / 2]); /* the middle of UINT8 */
    }
    expect("Dequantize", q[0], both, x.sizes);
    expect("Dequantize by scale", q[1], scaled, x.sizes);
}

void test_data()
{
    test_blocks();
    test_depth();
    test_gather();
    test_order();
    test_resample();
    test_regions();
    test_fill();
}
