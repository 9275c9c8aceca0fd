/* SPDX-License-Identifier: Apache-2.0 */
// Reductions, running sums, normalisation and GRU.
#include "harness.h"

#include <algorithm>

using dml::Expression;

static void test_reduce()
{
    Tensor x = random_tensor({ 1, 2, 3, 4 });
    auto r = run("Reduce", { x }, [](dml::Graph &, const In &in) {
        return Out{ dml::Reduce(in[0], DML_REDUCE_FUNCTION_SUM, { 1, 3 }), dml::Reduce(in[0], DML_REDUCE_FUNCTION_MAX),
                    dml::Reduce(in[0], DML_REDUCE_FUNCTION_ARGMAX, { 3 }),
                    dml::CumulativeSummation(in[0], 2, DML_AXIS_DIRECTION_INCREASING, false),
                    dml::CumulativeProduct(in[0], 3, DML_AXIS_DIRECTION_DECREASING, true) };
    });
    Values sum(3), arg(6), running(24), product(24, 1);
    for (int i = 0; i < 24; i++) {
        sum[i / 4 % 3] += x.values[i];
        running[i] = x.values[i] + (i / 4 % 3 ? running[i - 4] : 0);
        int best = static_cast<int>(arg[i / 4]);
        if (x.values[i] > x.values[i / 4 * 4 + best])
            arg[i / 4] = i % 4;
    }
    for (int i = 23; i >= 0; i--)
        product[i] = i % 4 == 3 ? 1 : product[i + 1] * x.values[i + 1];
    expect("Reduce", r[0], sum, { 1, 1, 3, 1 });
    expect("Reduce all", r[1], { *std::max_element(x.values.begin(), x.values.end()) }, { 1, 1, 1, 1 });
    expect("Reduce ARGMAX", r[2], arg, { 1, 2, 3, 1 });
    expect_true("type of ARGMAX", r[2].type == U32);
    expect("CumulativeSummation", r[3], running);
    expect("CumulativeProduct", r[4], product);
}

struct Moments {
    Values mean, variance;
};

/* Of each channel of {N, 3, H, W}. */
static Moments moments(const Tensor &x, size_t plane)
{
    Moments m = { Values(3), Values(3) };
    double count = static_cast<double>(x.values.size()) / 3;
    for (size_t i = 0; i < x.values.size(); i++)
        m.mean[i / plane % 3] += x.values[i] / count;
    for (size_t i = 0; i < x.values.size(); i++)
        m.variance[i / plane % 3] += std::pow(x.values[i] - m.mean[i / plane % 3], 2) / count;
    return m;
}

static void test_batch()
{
    const size_t plane = 20;
    const float eps = 0.125f;
    Sizes shape = { 2, 3, 4, 5 }, one = { 1, 3, 1, 1 };
    Tensor x = random_tensor(shape), dy = random_tensor(shape), scale = random_tensor(one), bias = random_tensor(one);
    Tensor mean = random_tensor(one), variance = random_tensor(one, 0.5, 2);
    auto r = run("BatchNormalization", { x, dy, mean, variance, scale, bias }, [&](dml::Graph &, const In &in) {
        auto relu = dml::FusedActivation::Relu();
        auto grad = dml::BatchNormalizationGrad(in[0], in[1], in[2], in[3], in[4], eps);
        auto training = dml::BatchNormalizationTraining(in[0], in[4], in[5], in[1], eps);
        auto back = dml::BatchNormalizationTrainingGrad(in[0], in[1], training.mean, training.variance, in[4], eps);
        return Out{ dml::BatchNormalization(in[0], in[2], in[3], in[4], in[5], true, eps, relu),
                    grad.gradient,
                    grad.scaleGradient,
                    grad.biasGradient,
                    training.output,
                    training.mean,
                    training.variance,
                    back.gradient,
                    back.scaleGradient,
                    back.biasGradient };
    });
    Moments m = moments(x, plane);
    Values y, dx, trained, dtrained, dscale(3), dbias(3), dtrained_scale(3);
    for (size_t i = 0; i < x.values.size(); i++) {
        size_t c = i / plane % 3;
        double inverse = 1 / std::sqrt(variance.values[c] + eps), own = 1 / std::sqrt(m.variance[c] + eps);
        double normal = (x.values[i] - mean.values[c]) * inverse, hat = (x.values[i] - m.mean[c]) * own;
        y.push_back(std::fmax(0, scale.values[c] * normal + bias.values[c]));
        dx.push_back(dy.values[i] * scale.values[c] * inverse);
        dscale[c] += dy.values[i] * normal;
        dbias[c] += dy.values[i];
        dtrained_scale[c] += dy.values[i] * hat;
        trained.push_back(scale.values[c] * hat + bias.values[c] + dy.values[i]);
    }
    for (size_t i = 0; i < x.values.size(); i++) {
        size_t c = i / plane % 3;
        double own = 1 / std::sqrt(m.variance[c] + eps), hat = (x.values[i] - m.mean[c]) * own;
        dtrained.push_back(scale.values[c] * own * (dy.values[i] - dbias[c] / 40 - hat * dtrained_scale[c] / 40));
    }
    const Values *expected[] = { &y,      &dx,         &dscale,   &dbias,          &trained,
                                 &m.mean, &m.variance, &dtrained, &dtrained_scale, &dbias };
    for (size_t i = 0; i < 10; i++)
        expect("batch normalisation, output " + std::to_string(i), r[i], *expected[i],
               expected[i]->size() == 3 ? one : shape, 1e-4);
}

static void test_other_norms()
{
    Tensor x = random_tensor({ 1, 3, 4, 5 });
    auto r = run("normalisation", { x }, [](dml::Graph &, const In &in) {
        return Out{ dml::MeanVarianceNormalization(in[0], dml::NullOpt, dml::NullOpt, { 2, 3 }, false, true, 0.5f),
                    dml::MeanVarianceNormalization(in[0], dml::NullOpt, dml::NullOpt, { 2, 3 }, true, true, 0.5f),
                    dml::LocalResponseNormalization(in[0], true, 3, 0.5f, 0.75f, 2) };
    });
    Moments m = moments(x, 20);
    Values centred, normal, local;
    for (int i = 0; i < 60; i++) {
        int c = i / 20;
        double sum = 0;
        for (int j = std::max(0, c - 1); j <= std::min(2, c + 1); j++)
            sum += std::pow(x.values[i % 20 + j * 20], 2);
        centred.push_back(x.values[i] - m.mean[c]);
        normal.push_back(centred.back() / std::sqrt(m.variance[c] + 0.5));
        local.push_back(x.values[i] / std::pow(2 + 0.5 / 3 * sum, 0.75));
    }
    expect("MeanVarianceNormalization of the mean", r[0], centred);
    expect("MeanVarianceNormalization", r[1], normal);
    expect("LocalResponseNormalization", r[2], local);
}

static double sigmoid(double x)
{
    return 1 / (1 + std::exp(-x));
}

static void test_gru()
{
    const int steps = 3, batch = 2, features = 4, hidden = 2;
    Tensor x = random_tensor({ 1, 3, 2, 4 }), w = random_tensor({ 1, 1, 6, 4 }), u = random_tensor({ 1, 1, 6, 2 });
    Values sequence, h(batch * hidden), next(batch * hidden);
    for (int t = 0; t < steps; t++) {
        for (int b = 0; b < batch; b++) {
            auto gate = [&](int row, const Values &state) {
                double sum = 0;
                for (int k = 0; k < features; k++)
                    sum += x.at(0, t, b, k) * w.at(0, 0, row, k);
                for (int k = 0; k < hidden; k++)
                    sum += state[b * hidden + k] * u.at(0, 0, row, k);
                return sum;
            };
            Values reset = h;
            for (int j = 0; j < hidden; j++)
                reset[b * hidden + j] *= sigmoid(gate(hidden + j, h));
            for (int j = 0; j < hidden; j++) {
                double z = sigmoid(gate(j, h));
                next[b * hidden + j] = (1 - z) * std::tanh(gate(2 * hidden + j, reset)) + z * h[b * hidden + j];
            }
        }
        h = next;
        sequence.insert(sequence.end(), h.begin(), h.end());
    }
    auto r = run("GRU", { x, w, u }, [](dml::Graph &, const In &in) {
        dml::FusedActivation f[] = { dml::FusedActivation::Sigmoid(), dml::FusedActivation::Tanh() };
        auto make = [&](dml::GRUOutputOptions options) {
            return dml::GRU(in[0], in[1], in[2], dml::NullOpt, dml::NullOpt, dml::NullOpt, f,
                            DML_RECURRENT_NETWORK_DIRECTION_FORWARD, false, options);
        };
        auto both = make(dml::GRUOutputOptions::Both), single = make(dml::GRUOutputOptions::Single);
        expect_true("GRU's outputs", single.sequence.Impl() == nullptr &&
                                         make(dml::GRUOutputOptions::Sequence).single.Impl() == nullptr);
        return Out{ both.sequence, both.single, single.single };
    });
    expect("GRU sequence", r[0], sequence, { 3, 1, 2, 2 });
    expect("GRU single", r[1], h, { 1, 1, 2, 2 });
    expect("GRU single alone", r[2], h, { 1, 1, 2, 2 });
}

void test_norm()
{
    test_reduce();
    test_batch();
    test_other_norms();
    test_gru();
}
