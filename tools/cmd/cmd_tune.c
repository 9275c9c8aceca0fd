/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/session.h"
#include "tools/text.h"
#include "tools/cmd/tune_device.h"

#include <anydml.h>

#include <stdio.h>
#include <unistd.h>

#define BUSY_WATCH_US 300000
#define BUSY_MAX      0.25 /* CPUs */

const char tools_help_tune[] =
    "usage: anydml tune [--threads N] [--device cpu] [--json] [--force]\n"
    "       anydml tune [--device N|vulkan] MODEL.onnx ... [--json] [--force]\n\n"
    "Where two kernels do the same work, a cost model that was fitted on one machine selects between them. This\n"
    "command measures both on a few shapes, in about two seconds, and stores corrections of the model for this\n"
    "machine: in ANYDML_CACHE_DIR, XDG_CACHE_HOME/anydml or ~/.cache/anydml, one file for each CPU model, version and\n"
    "number of threads. Programs that start later use them; ANYDML_TUNING=off ignores them, and deleting the file\n"
    "removes them. Nothing is measured on a busy machine, where other processes use more than a quarter of a CPU.\n\n"
    "On a device other than a cpu device, the steps of the given models are measured with each kernel that supports\n"
    "them, by the device's timestamps, until the times no longer decrease. Ops of the same class (the same kind,\n"
    "types and layouts, and similar sizes) then use the fastest kernel, if it takes at most 0.95 of the time of the\n"
    "default. The file applies to this device, driver and version, and replaces an earlier one. If two measurements\n"
    "of the same steps differ, the device is busy, and nothing is stored.\n\n"
    "  --threads N            for programs with this number of worker threads; default: one per CPU\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default: cpu, or with models\n"
    "                         the default device, 0\n"
    "  --json                 print one JSON object\n"
    "  --force                measure on a busy machine, too\n";

enum { TUNE_OPTION_FORCE = TOOLS_OPTION_OWN };

struct tuning {
    bool json, force;
    unsigned count;
    char problem[512];
};

static void STDMETHODCALLTYPE take_point(void *context, const struct anydml_tuning_point *p)
{
    struct tuning *tuning = context;
    bool choice = strcmp(p->Kernels[0], p->Kernels[1]) != 0;
    double ratio = p->Seconds[0] / p->Seconds[1];
    if (tuning->json)
        printf(
            "%s\n  {\"name\": \"%s\", \"kernels\": [\"%s\", \"%s\"], \"seconds\": [%.9f, %.9f], \"predicted\": %.3f, "
            "\"correction\": %.3f}",
            tuning->count ? "," : "", p->Name, p->Kernels[0], p->Kernels[1], p->Seconds[0], p->Seconds[1], p->Predicted,
            p->Correction);
    else if (choice)
        printf("%-24s %-20s %9.1f us  %-20s %9.1f us  %5.2f %9.2f\n", p->Name, p->Kernels[0], p->Seconds[0] * 1e6,
               p->Kernels[1], p->Seconds[1] * 1e6, ratio, p->Predicted);
    else
        printf("%-24s %-20s %9.1f us  the only one available\n", p->Name, p->Kernels[0], p->Seconds[0] * 1e6);
    tuning->count++;
}

static void STDMETHODCALLTYPE take_path(void *context, const char *path, const char *problem)
{
    struct tuning *tuning = context;
    if (problem)
        snprintf(tuning->problem, sizeof(tuning->problem), "%.300s%s%.200s", path, *path ? ": " : "", problem);
    else if (tuning->json) {
        printf("\n], \"file\": ");
        tools_json_string(stdout, path);
        printf("}\n");
    } else
        printf("kept in %s\n", path);
}

/* Ticks of all CPUs, busy and total; false if the system does not report them. */
static bool read_ticks(double *out_busy, double *out_all)
{
    FILE *file = fopen("/proc/stat", "r");
    unsigned long long t[8] = { 0 }; /* user, nice, system, idle, waiting for disks, interrupts, soft ones, stolen */
    bool ok = file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4],
                             &t[5], &t[6], &t[7]) == 8;
    if (file)
        fclose(file);
    *out_busy = (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]);
    *out_all = *out_busy + (double)(t[3] + t[4]);
    return ok;
}

static bool is_idle(struct tools_error *error)
{
    double busy[2], all[2];
    if (!read_ticks(&busy[0], &all[0]) || usleep(BUSY_WATCH_US) || !read_ticks(&busy[1], &all[1]) || all[1] <= all[0])
        return true;
    double used = (busy[1] - busy[0]) / (all[1] - all[0]) * (double)sysconf(_SC_NPROCESSORS_ONLN);
    return used <= BUSY_MAX || tools_fail(error, TOOLS_RUNTIME,
                                          "the machine is busy: other programs use %.1f of its %ld CPUs; try again "
                                          "when it is idle, or use --force",
                                          used, sysconf(_SC_NPROCESSORS_ONLN));
}

static bool tune_models(const struct tuning *tuning, const struct tools_options *options, struct tools_error *error)
{
    struct tools_tune_device tune = { .models = options->all, .model_count = options->given };
    tune.json = tuning->json;
    tune.force = tuning->force;
    if (!tools_session_create(options->device, &tune.session, error))
        return false;
    const bool ok = !tune.session->device->host_memory
                        ? tools_tune_device(&tune, error)
                        : tools_fail(error, TOOLS_USAGE, "--device %u is a cpu device, which is tuned without models",
                                     options->device);
    tools_session_destroy(tune.session);
    return ok;
}

static bool tune(struct tuning *tuning, uint32_t device, struct tools_error *error)
{
    struct anydml_tuning listener = { tuning, take_point, take_path };
    struct tools_session *session;
    if ((!tuning->force && !is_idle(error)) || !tools_session_create(device, &session, error))
        return false;
    if (tuning->json)
        printf("{\"points\": [");
    else
        printf("%-24s %-20s %12s  %-20s %12s  %5s %9s\n", "", "first", "time", "second", "time", "ratio", "predicted");
    HRESULT hr = AnydmlTune((IDMLDevice *)session->device->dml, &listener);
    tools_session_destroy(session);
    if (hr == E_ACCESSDENIED)
        return tools_fail(error, TOOLS_USAGE, "%s", tuning->problem);
    if (hr == DXGI_ERROR_UNSUPPORTED)
        return tools_fail(error, TOOLS_USAGE, "--device %u is not a cpu device: it needs models to measure", device);
    return tools_check(error, hr, "measuring");
}

static bool take_option(void *context, int option, const char *value, struct tools_error *error)
{
    struct tuning *tuning = context;
    (void)value;
    (void)error;
    tuning->force = option == TUNE_OPTION_FORCE;
    return true;
}

int tools_cmd_tune(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "force", no_argument, NULL, TUNE_OPTION_FORCE },
        { 0 },
    };
    struct tuning tuning = { 0 };
    struct tools_options options = { .table = table, .help = tools_help_tune, .take = take_option, .context = &tuning };
    options.many = true;
    options.operand_name = "MODEL.onnx";
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml tune", &error);
    tuning.json = options.json;
    if (!options.given && !options.device_given)
        tools_device_parse("cpu", &options.device, &error);
    if (options.helped ||
        (options.given ? tune_models(&tuning, &options, &error) : tune(&tuning, options.device, &error)))
        return 0;
    return tools_report("anydml tune", &error);
}
