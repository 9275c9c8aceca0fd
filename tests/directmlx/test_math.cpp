/* SPDX-License-Identifier: Apache-2.0 */
// Element-wise operators, those of C++, and activations.
#include "harness.h"

#include <limits>

using dml::Expression;

static const Sizes shape = { 1, 2, 3, 5 };

struct Unary {
    const char *name;
    std::function<Expression(Expression)> build;
    std::function<double(double)> f;
    double low, high;
};

static void check_unary(const Unary &c)
{
    Tensor x = random_tensor(shape, c.low, c.high);
    auto y = run(c.name, { x }, [&](dml::Graph &, const In &in) { return Out{ c.build(in[0]) }; });
    expect(c.name, y[0], map(x, c.f), shape, 1e-4);
}

/* Those with a scale and a bias are tested with and without. */
static void test_scaled()
{
    using Optional = const dml::Optional<DML_SCALE_BIAS> &;
    struct {
        const char *name;
        Expression (*build)(Expression, Optional);
        double (*f)(double);
        double low, high;
    } cases[] = {
        { "Identity", dml::Identity, [](double x) { return x; }, -2, 2 },
        { "Abs", dml::Abs, [](double x) { return std::fabs(x); }, -2, 2 },
        { "ACos", dml::ACos, [](double x) { return std::acos(x); }, -0.9, 0.9 },
        { "ASin", dml::ASin, [](double x) { return std::asin(x); }, -0.9, 0.9 },
        { "ATan", dml::ATan, [](double x) { return std::atan(x); }, -2, 2 },
        { "Ceil", dml::Ceil, [](double x) { return std::ceil(x); }, -2, 2 },
        { "Cos", dml::Cos, [](double x) { return std::cos(x); }, -2, 2 },
        { "Exp", dml::Exp, [](double x) { return std::exp(x); }, -2, 2 },
        { "Floor", dml::Floor, [](double x) { return std::floor(x); }, -2, 2 },
        { "Log", dml::Log, [](double x) { return std::log(x); }, 0.5, 3 },
        { "Recip", dml::Recip, [](double x) { return 1 / x; }, 0.5, 3 },
        { "Sin", dml::Sin, [](double x) { return std::sin(x); }, -2, 2 },
        { "Sqrt", dml::Sqrt, [](double x) { return std::sqrt(x); }, 0.1, 3 },
        { "Tan", dml::Tan, [](double x) { return std::tan(x); }, -1, 1 },
        { "Erf", dml::Erf, [](double x) { return std::erf(x); }, -2, 2 },
        { "Sinh", dml::Sinh, [](double x) { return std::sinh(x); }, -2, 2 },
        { "Cosh", dml::Cosh, [](double x) { return std::cosh(x); }, -2, 2 },
        { "Tanh", dml::Tanh, [](double x) { return std::tanh(x); }, -2, 2 },
        { "ASinh", dml::ASinh, [](double x) { return std::asinh(x); }, -2, 2 },
        { "ACosh", dml::ACosh, [](double x) { return std::acosh(x); }, 1.1, 3 },
        { "ATanh", dml::ATanh, [](double x) { return std::atanh(x); }, -0.9, 0.9 },
    };
    for (const auto &c : cases) {
        check_unary({ c.name, [&](Expression x) { return c.build(x, dml::NullOpt); }, c.f, c.low, c.high });
        DML_SCALE_BIAS half = { 0.5f, 0.25f };
        check_unary({ c.name, [&](Expression x) { return c.build(x, half); },
                      [&](double x) { return c.f(0.5 * x + 0.25); }, 2 * c.low - 0.5, 2 * c.high - 0.5 });
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + std::exp(-x));
}

static double selu(double x)
{
    return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x));
}

static void test_unary()
{
    Unary cases[] = {
        { "Clip", [](Expression x) { return dml::Clip(x, -0.5f, 1); },
          [](double x) { return std::fmin(std::fmax(x, -0.5), 1); }, -2, 2 },
        { "Threshold", [](Expression x) { return dml::Threshold(x, 0.5f); }, [](double x) { return std::fmax(x, 0.5); },
          -2, 2 },
        { "Pow constant", [](Expression x) { return dml::Pow(x, 3); }, [](double x) { return x * x * x; }, -2, 2 },
        { "Sign", [](Expression x) { return dml::Sign(x); }, [](double x) { return x < 0 ? -1 : x > 0; }, -2, 2 },
        { "Negate", [](Expression x) { return dml::Negate(x); }, [](double x) { return -x; }, -2, 2 },
        { "Round", [](Expression x) { return dml::Round(x); }, [](double x) { return std::nearbyint(x); }, -9, 9 },
        { "Round to 0", [](Expression x) { return dml::Round(x, DML_ROUNDING_MODE_TOWARD_ZERO); },
          [](double x) { return std::trunc(x); }, -9, 9 },
        { "-x", [](Expression x) { return -x; }, [](double x) { return -x; }, -2, 2 },
        { "x + 3", [](Expression x) { return x + 3; }, [](double x) { return x + 3; }, -2, 2 },
        { "3 - x", [](Expression x) { return 3.0f - x; }, [](double x) { return 3 - x; }, -2, 2 },
        { "x - 3", [](Expression x) { return x - 3.0f; }, [](double x) { return x - 3; }, -2, 2 },
        { "x * 3", [](Expression x) { return x * 3.0f; }, [](double x) { return x * 3; }, -2, 2 },
        { "x / 3", [](Expression x) { return x / 3.0f; }, [](double x) { return x / 3; }, -2, 2 },
        { "3 / x", [](Expression x) { return 3.0f / x; }, [](double x) { return 3 / x; }, 0.5, 2 },
        { "x % 2", [](Expression x) { return x % 2.0f; }, [](double x) { return std::fmod(x, 2); }, -5, 5 },
        { "x += 1, *= 2, -= 3, /= 4",
          [](Expression x) {
              x += 1.0f;
              x *= 2.0f;
              x -= 3.0f;
              return x /= 4.0f;
          },
          [](double x) { return ((x + 1) * 2 - 3) / 4; }, -2, 2 },
    };
    for (const Unary &c : cases)
        check_unary(c);
}

void test_activation()
{
    Unary cases[] = {
        { "Elu", [](Expression x) { return dml::ActivationElu(x, 0.5f); },
          [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, -2, 2 },
        { "HardSigmoid", [](Expression x) { return dml::ActivationHardSigmoid(x); },
          [](double x) { return std::fmax(0, std::fmin(0.2 * x + 0.5, 1)); }, -4, 4 },
        { "Activation identity", dml::ActivationIdentity, [](double x) { return x; }, -2, 2 },
        { "LeakyRelu", [](Expression x) { return dml::ActivationLeakyRelu(x, 0.1f); },
          [](double x) { return x < 0 ? 0.1 * x : x; }, -2, 2 },
        { "Linear", [](Expression x) { return dml::ActivationLinear(x, 2, 3); }, [](double x) { return 2 * x + 3; }, -2,
          2 },
        { "ParametricSoftplus", [](Expression x) { return dml::ActivationParametricSoftplus(x, 2, 3); },
          [](double x) { return 2 * std::log1p(std::exp(3 * x)); }, -2, 2 },
        { "Relu", dml::ActivationRelu, [](double x) { return std::fmax(0, x); }, -2, 2 },
        { "ScaledElu", [](Expression x) { return dml::ActivationScaledElu(x); }, selu, -2, 2 },
        { "ScaledTanh", [](Expression x) { return dml::ActivationScaledTanh(x, 2, 0.5f); },
          [](double x) { return 2 * std::tanh(0.5 * x); }, -2, 2 },
        { "Sigmoid", dml::ActivationSigmoid, sigmoid, -2, 2 },
        { "Gelu", dml::ActivationGelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, -2, 2 },
        { "Softplus", [](Expression x) { return dml::ActivationSoftplus(x, 2); },
          [](double x) { return std::log1p(std::exp(2 * x)) / 2; }, -2, 2 },
        { "Softsign", dml::ActivationSoftsign, [](double x) { return x / (1 + std::fabs(x)); }, -2, 2 },
        { "Activation tanh", dml::ActivationTanh, [](double x) { return std::tanh(x); }, -2, 2 },
        { "ThresholdedRelu", [](Expression x) { return dml::ActivationThresholdedRelu(x); },
          [](double x) { return x > 1 ? x : 0; }, -2, 2 },
        { "Shrink", [](Expression x) { return dml::ActivationShrink(x, 0.25f, 0.75f); },
          [](double x) { return x > 0.75    ? x - 0.25
                                : x < -0.75 ? x + 0.25
                                            : 0; }, -2, 2 },
        { "Celu", [](Expression x) { return dml::ActivationCelu(x, 2); },
          [](double x) { return std::fmax(0, x) + std::fmin(0, 2 * std::expm1(x / 2)); }, -2, 2 },
    };
    for (const Unary &c : cases)
        check_unary(c);

    Tensor x = random_tensor({ 1, 1, 2, 4 }), slope = random_tensor({ 1, 1, 2, 4 });
    auto y = run("softmax", { x, slope }, [](dml::Graph &, const In &in) {
        Sizes two(2, 1), rows = { 1, 1, 2, 4 };
        Expression matrix = dml::Reinterpret(in[0], { 2, 4 }, dml::NullOpt);
        return Out{ dml::ActivationSoftmax(matrix), dml::ActivationLogSoftmax(matrix), dml::ActivationHardmax(matrix),
                    dml::ActivationSoftmax(in[0], { 2 }), dml::ActivationParameterizedRelu(in[0], in[1]) };
    });
    Values soft(8), log_soft(8), hard(8), over_rows(8);
    for (int r = 0; r < 2; r++) {
        double sum = 0, most = -9;
        for (int c = 0; c < 4; c++) {
            sum += std::exp(x.values[r * 4 + c]);
            most = std::fmax(most, x.values[r * 4 + c]);
        }
        for (int c = 0; c < 4; c++) {
            int i = r * 4 + c;
            soft[i] = std::exp(x.values[i]) / sum;
            log_soft[i] = x.values[i] - std::log(sum);
            hard[i] = x.values[i] == most;
            over_rows[i] = std::exp(x.values[i]) / (std::exp(x.values[c]) + std::exp(x.values[4 + c]));
        }
    }
    expect("Softmax", y[0], soft, { 2, 4 });
    expect("LogSoftmax", y[1], log_soft, { 2, 4 });
    expect("Hardmax", y[2], hard, { 2, 4 });
    expect("Softmax over axes", y[3], over_rows, { 1, 1, 2, 4 });
    expect("ParameterizedRelu", y[4], zip(x, slope, [](double a, double s) { return a < 0 ? s * a : a; }));
}

struct Binary {
    const char *name;
    std::function<Expression(Expression, Expression)> build;
    std::function<double(double, double)> f;
};

static void check_binary(const Binary &c, const Tensor &a, const Tensor &b)
{
    auto y = run(c.name, { a, b }, [&](dml::Graph &, const In &in) { return Out{ c.build(in[0], in[1]) }; });
    expect(c.name, y[0], zip(a, b, c.f), a.sizes, 1e-4);
}

static double relu(double x)
{
    return std::fmax(0, x);
}

static void test_floats()
{
    Binary cases[] = {
        { "Add", [](Expression a, Expression b) { return dml::Add(a, b); }, [](double a, double b) { return a + b; } },
        { "Add and Relu", [](Expression a, Expression b) { return dml::Add(a, b, dml::FusedActivation::Relu()); },
          [](double a, double b) { return relu(a + b); } },
        { "ATanYX", dml::ATanYX, [](double a, double b) { return std::atan2(a, b); } },
        { "Divide", dml::Divide, [](double a, double b) { return a / b; } },
        { "Max", dml::Max, [](double a, double b) { return std::fmax(a, b); } },
        { "Mean", dml::Mean, [](double a, double b) { return (a + b) / 2; } },
        { "Min", dml::Min, [](double a, double b) { return std::fmin(a, b); } },
        { "Multiply", dml::Multiply, [](double a, double b) { return a * b; } },
        { "DifferenceSquare", dml::DifferenceSquare, [](double a, double b) { return (a - b) * (a - b); } },
        { "Subtract", dml::Subtract, [](double a, double b) { return a - b; } },
        { "Pow", [](Expression a, Expression b) { return dml::Pow(dml::Abs(a), b); },
          [](double a, double b) { return std::pow(std::fabs(a), b); } },
        { "ModulusTruncate", dml::ModulusTruncate, [](double a, double b) { return std::fmod(a, b); } },
        { "ModulusFloor", dml::ModulusFloor, [](double a, double b) { return a - b * std::floor(a / b); } },
        { "ClipGrad", [](Expression a, Expression b) { return dml::ClipGrad(a, b, -1, 0.5f); },
          [](double a, double b) { return a > -1 && a < 0.5 ? b : 0; } },
        { "Equals", [](Expression a, Expression b) { return dml::Equals(a, b); },
          [](double a, double b) { return a == b; } },
        { "GreaterThan", [](Expression a, Expression b) { return dml::GreaterThan(a, b, U32); },
          [](double a, double b) { return a > b; } },
        { ">=", [](Expression a, Expression b) { return a >= b; }, [](double a, double b) { return a >= b; } },
        { ">", [](Expression a, Expression b) { return a > b; }, [](double a, double b) { return a > b; } },
        { "<=", [](Expression a, Expression b) { return a <= b; }, [](double a, double b) { return a <= b; } },
        { "<", [](Expression a, Expression b) { return a < b; }, [](double a, double b) { return a < b; } },
        { "==", [](Expression a, Expression b) { return a == b; }, [](double a, double b) { return a == b; } },
        { "!=", [](Expression a, Expression b) { return a != b; }, [](double a, double b) { return a != b; } },
        { "If", [](Expression a, Expression b) { return dml::If(a > b, a * b, a - b); },
          [](double a, double b) { return a > b ? a * b : a - b; } },
        { "(a + b) / (a - b) * a % b", [](Expression a, Expression b) { return (a + b) / (a - b) * a % b; },
          [](double a, double b) { return std::fmod((a + b) / (a - b) * a, b); } },
    };
    Tensor a = random_tensor(shape), b = random_tensor(shape, 0.5, 2.5);
    b.values[3] = a.values[3] = 0.75;
    for (const Binary &c : cases) {
        bool near = std::string(c.name).find('(') == 0;
        if (near) /* a - b is not 0 */
            check_binary(c, random_tensor(shape, 4, 5), random_tensor(shape, 1, 2));
        else
            check_binary(c, a, b);
    }
}

static uint32_t bits(double x)
{
    return static_cast<uint32_t>(x);
}

static void test_integers()
{
    Binary cases[] = {
        { "BitShiftLeft", dml::BitShiftLeft, [](double a, double b) { return bits(a) << bits(b); } },
        { "BitShiftRight", dml::BitShiftRight, [](double a, double b) { return bits(a) >> bits(b); } },
        { "&", [](Expression a, Expression b) { return a & b; }, [](double a, double b) { return bits(a) & bits(b); } },
        { "|", [](Expression a, Expression b) { return a | b; }, [](double a, double b) { return bits(a) | bits(b); } },
        { "<<", [](Expression a, Expression b) { return a << b; },
          [](double a, double b) { return bits(a) << bits(b); } },
        { ">>", [](Expression a, Expression b) { return a >> b; },
          [](double a, double b) { return bits(a) >> bits(b); } },
        { "<<=", [](Expression a, Expression b) { return a <<= b; },
          [](double a, double b) { return bits(a) << bits(b); } },
        { ">>=", [](Expression a, Expression b) { return a >>= b; },
          [](double a, double b) { return bits(a) >> bits(b); } },
        { "^", [](Expression a, Expression b) { return a ^ b; }, [](double a, double b) { return bits(a) ^ bits(b); } },
        { "~", [](Expression a, Expression) { return ~a; }, [](double a, double) { return ~bits(a); } },
        { "BitCount", [](Expression a, Expression) { return dml::BitCount(a); },
          [](double a, double) { return __builtin_popcount(bits(a)); } },
        { "a * 3", [](Expression a, Expression) { return a * 3.0f; }, [](double a, double) { return a * 3; } },
    };
    Tensor a = random_tensor(shape, 0, 10000, U32), b = random_tensor(shape, 0, 12, U32);
    for (const Binary &c : cases)
        check_binary(c, a, b);
    Binary logic[] = {
        { "&&", [](Expression p, Expression q) { return p && q; }, [](double p, double q) { return p && q; } },
        { "||", [](Expression p, Expression q) { return p || q; }, [](double p, double q) { return p || q; } },
        { "LogicalXor", dml::LogicalXor, [](double p, double q) { return p != q; } },
        { "!", [](Expression p, Expression) { return !p; }, [](double p, double) { return !p; } },
    };
    for (const Binary &c : logic)
        check_binary(c, random_tensor(shape, 0, 2, U8), random_tensor(shape, 0, 2, U8));
}

static void test_special()
{
    double inf = std::numeric_limits<double>::infinity();
    Tensor x = { F32, { 4 }, { 1, inf, -inf, std::nan("") } };
    auto y = run("special", { x }, [](dml::Graph &, const In &in) {
        return Out{ dml::IsNaN(in[0]), dml::IsInfinity(in[0]), dml::IsInfinity(in[0], DML_IS_INFINITY_MODE_NEGATIVE) };
    });
    expect("IsNaN", y[0], { 0, 0, 0, 1 }, { 4 });
    expect("IsInfinity", y[1], { 0, 1, 1, 0 }, { 4 });
    expect("IsInfinity negative", y[2], { 0, 0, 1, 0 }, { 4 });
    expect_true("IsInfinity's type", y[1].type == U8);

    Tensor values = random_tensor({ 1, 1, 2, 3 }, -4, 4), scale = { F32, { 1, 1, 2, 3 }, Values(6, 0.125) };
    Tensor zero = { U8, { 1, 1, 2, 3 }, Values(6, 100) };
    auto q = run("quantize", { values, scale, zero }, [](dml::Graph &, const In &in) {
        Expression quantized = dml::QuantizeLinear(in[0], in[1], in[2]);
        return Out{ quantized, dml::DequantizeLinear(quantized, in[1], in[2]) };
    });
    Values expected = map(values, [](double v) { return std::nearbyint(v / 0.125) + 100; });
    expect("QuantizeLinear", q[0], expected);
    for (double &v : expected)
        v = (v - 100) * 0.125;
    expect("DequantizeLinear", q[1], expected);
}

void test_math()
{
    test_scaled();
    test_unary();
    test_floats();
    test_integers();
    test_special();
}
