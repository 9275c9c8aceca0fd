/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device multiplies matrices and adds vectors, by its own clock. */
#include "tools/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>

#define SPEED_SHARE   300.0 /* milliseconds that a measurement takes */
#define GEMM_FIRST    256u  /* the size that says which others do not take too long */
#define GEMM_LARGEST  2048u
#define ADD_MIB       64u /* of each tensor, where the first shows that it does not take too long */
#define ADD_FIRST_MIB 4u
#define FIRST_REPEAT  3u

/* Milliseconds of one execution, 0 when it fails: `failure` says how. */
static double measure(const struct tools_doctor *d, uint32_t device, const char *input, uint32_t repeats,
                      char failure[400])
{
    char number[16], iterations[16];
    const char *const words[] = {
        "dispatch", "-", "--device", number, "--iterations", iterations, "--output", "OutputTensor=/dev/null", NULL
    };
    const char *const environment[] = { "ANYDML_HALF_PRECISION=off", "ANYDML_TELEMETRY=0", "ANYDML_TRACE",
                                        "ANYDML_LOG=none",           d->adapters,          NULL };
    struct tools_doctor_child child = { .words = words, .environment = environment, .input = input };
    child.seconds = d->seconds;
    snprintf(number, sizeof(number), "%u", device);
    snprintf(iterations, sizeof(iterations), "%u", repeats + 1);
    tools_doctor_run(&child);
    const char *median = strstr(child.output, " median "), *own = strstr(child.output, " on the device ");
    double ms = own ? strtod(own + strlen(" on the device "), NULL) : 0;
    if (median && !(ms > 0))
        ms = strtod(median + strlen(" median "), NULL);
    snprintf(failure, 400, "%s", child.failure[0] ? child.failure : "failed: no time was printed");
    tools_doctor_finish(&child);
    return ms > 0 ? ms : 0;
}

static uint32_t repeats_for(double ms)
{
    const double count = SPEED_SHARE / ms;
    return count < FIRST_REPEAT ? FIRST_REPEAT : count > 200 ? 200 : (uint32_t)count;
}

/* The largest size of which an execution takes a tenth of the measurement, going by the time of the first. */
static uint32_t size_for(double first_ms)
{
    uint32_t size = GEMM_FIRST;
    for (double ms = first_ms * 8; size < GEMM_LARGEST && ms < SPEED_SHARE / 10; ms *= 8)
        size *= 2;
    return size;
}

static double measure_gemm(const struct tools_doctor *d, uint32_t device, const char *type, uint32_t size,
                           uint32_t repeats, char failure[400])
{
    char input[700];
    snprintf(input, sizeof(input),
             "{\"type\": \"DML_OPERATOR_GEMM\", \"desc\": {"
             "\"ATensor\": {\"DataType\": \"%s\", \"Sizes\": [1, 1, %u, %u]},"
             "\"BTensor\": {\"DataType\": \"%s\", \"Sizes\": [1, 1, %u, %u]}, \"CTensor\": null,"
             "\"OutputTensor\": {\"DataType\": \"%s\", \"Sizes\": [1, 1, %u, %u]},"
             "\"TransA\": \"NONE\", \"TransB\": \"NONE\", \"Alpha\": 1, \"Beta\": 0, \"FusedActivation\": null},"
             "\"inputs\": {\"ATensor\": 0.5, \"BTensor\": 0.25}}",
             type, size, size, type, size, size, type, size, size);
    return measure(d, device, input, repeats, failure);
}

static void say(struct tools_doctor *d, json_t *speed, const char *what, double rate, const char *unit,
                const char *failure)
{
    json_t *entry = json_object();
    json_object_set_new(entry, "name", json_string(what));
    if (rate > 0) {
        tools_doctor_say(d, "  %-24s %.4g %s\n", what, rate, unit);
        json_object_set_new(entry, "rate", json_real(rate));
        json_object_set_new(entry, "unit", json_string(unit));
    } else {
        const bool unsupported = strstr(failure, "DXGI_ERROR_UNSUPPORTED") != NULL;
        tools_doctor_say(d, "  %-24s %s\n", what, unsupported ? "unsupported" : failure);
        json_object_set_new(entry, "problem", tools_doctor_text(unsupported ? "unsupported" : failure));
    }
    json_array_append_new(speed, entry);
}

/* A failure is a problem only if it is the driver's: a small machine may lack the memory. */
static void judge(struct tools_doctor *d, uint32_t device, const char *what, const char *failure)
{
    if (strncmp(failure, "failed", 6) != 0)
        tools_doctor_problem(d, "device %u: speed of %s: %s", device, what, failure);
}

static void speed_gemm(struct tools_doctor *d, uint32_t device, const char *type, json_t *speed)
{
    char what[64], failure[400];
    uint32_t size = GEMM_FIRST;
    double ms = measure_gemm(d, device, type, size, FIRST_REPEAT, failure);
    if (ms > 0) {
        const double first = ms, first_size = size;
        size = size_for(first);
        const double larger = size / first_size;
        ms = measure_gemm(d, device, type, size, repeats_for(first * larger * larger * larger), failure);
    }
    snprintf(what, sizeof(what), "gemm %u %s", size, type);
    say(d, speed, what, ms > 0 ? 2.0 * size * size * size / ms * 1e-6 : 0, "GFLOP/s", failure);
    if (!(ms > 0))
        judge(d, device, what, failure);
}

static double measure_add(const struct tools_doctor *d, uint32_t device, uint32_t mib, uint32_t repeats,
                          char failure[400])
{
    char input[500];
    const unsigned count = mib << 18;
    snprintf(input, sizeof(input),
             "{\"type\": \"DML_OPERATOR_ELEMENT_WISE_ADD\", \"desc\": {"
             "\"ATensor\": {\"DataType\": \"FLOAT32\", \"Sizes\": [1, 1, 1, %u]},"
             "\"BTensor\": {\"DataType\": \"FLOAT32\", \"Sizes\": [1, 1, 1, %u]},"
             "\"OutputTensor\": {\"DataType\": \"FLOAT32\", \"Sizes\": [1, 1, 1, %u]}},"
             "\"inputs\": {\"ATensor\": 0.5, \"BTensor\": 0.25}}",
             count, count, count);
    return measure(d, device, input, repeats, failure);
}

/* Two vectors are read, one is written. */
static void speed_add(struct tools_doctor *d, uint32_t device, json_t *speed)
{
    char what[64], failure[400];
    uint32_t mib = ADD_FIRST_MIB;
    double ms = measure_add(d, device, mib, FIRST_REPEAT, failure);
    const double expected = ms / ADD_FIRST_MIB * ADD_MIB;
    if (ms > 0 && expected < SPEED_SHARE) {
        mib = ADD_MIB;
        ms = measure_add(d, device, mib, repeats_for(expected), failure);
    }
    snprintf(what, sizeof(what), "add %u MiB FLOAT32", mib);
    say(d, speed, what, ms > 0 ? 3.0 * mib * (1 << 20) / ms * 1e-6 : 0, "GB/s", failure);
    if (!(ms > 0))
        judge(d, device, what, failure);
}

void tools_doctor_speed(struct tools_doctor *d, uint32_t device, json_t *about)
{
    json_t *speed = json_array();
    speed_gemm(d, device, "FLOAT32", speed);
    speed_gemm(d, device, "FLOAT16", speed);
    speed_add(d, device, speed);
    json_object_set_new(about, "speed", speed);
}
