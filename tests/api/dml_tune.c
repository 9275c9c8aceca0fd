/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlTune: its measurements are reported, stored in one file, and read by later compilations. */
#include "dml_test.h"

#include <anydml.h>

#include <dirent.h>
#include <limits.h>

static char folder[] = "/tmp/anydml-tune-XXXXXX";

/* Arguments of the listener's calls. */
struct told {
    UINT points, bad, saved;
    char path[PATH_MAX], problem[256];
};

static void STDMETHODCALLTYPE take_point(void *context, const struct anydml_tuning_point *p)
{
    struct told *told = context;
    bool choice = strcmp(p->Kernels[0], p->Kernels[1]) != 0;
    told->points++;
    told->bad += !*p->Name || !*p->Kernels[0] || !(p->Seconds[0] > 0) || !(p->Seconds[1] > 0) || told->saved ||
                 !(p->Predicted > 0) || !(p->Correction > 0) || (!choice && p->Correction != 1);
}

static void STDMETHODCALLTYPE take_saved(void *context, const char *path, const char *problem)
{
    struct told *told = context;
    told->saved++;
    snprintf(told->path, sizeof(told->path), "%s", path);
    snprintf(told->problem, sizeof(told->problem), "%s", problem ? problem : "");
}

static UINT files_in(const char *path)
{
    UINT count = 0;
    DIR *dir = opendir(path);
    need(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Another library's device, as far as these functions check it. */
static void test_arguments(IDMLDevice *dml)
{
    IDMLDeviceVtbl other = *dml->lpVtbl;
    IDMLDevice foreign = { &other };
    struct told told = { 0 };
    struct anydml_tuning listener = { &told, take_point, take_saved };
    ok_hr(AnydmlTune(NULL, &listener), E_INVALIDARG);
    ok_hr(AnydmlTune(NULL, NULL), E_INVALIDARG);
    ok_hr(AnydmlTune(&foreign, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(NULL, NULL, 0, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(&foreign, NULL, 0, NULL), E_INVALIDARG);
    ok(!told.points && !told.saved && !files_in(folder), "a refused call measured or wrote");
}

/* Everything is measured before it is found that the file cannot be written. */
static void test_rows(IDMLDevice *dml)
{
    static const struct anydml_row good[] = { { 7, "conv_tile" }, { 5, "gemm_coop:2" } }, unknown = { 5, "nothing" },
                                   nameless = { 5, NULL }, classless = { 0, "conv_tile" },
                                   twice[] = { { 5, "conv_tile" }, { 5, "gemm_tile" } };
    struct told told = { 0 };
    struct anydml_tuning listener = { &told, NULL, take_saved };
    ok_hr(AnydmlKeepRows(dml, NULL, 1, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(dml, &unknown, 1, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(dml, &nameless, 1, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(dml, &classless, 1, &listener), E_INVALIDARG);
    ok_hr(AnydmlKeepRows(dml, twice, 2, &listener), E_INVALIDARG);
    ok(!told.saved && !files_in(folder), "a refused call wrote");
    ok_hr(AnydmlKeepRows(dml, good, 2, &listener), S_OK);
    ok(told.saved == 1 && !*told.problem && files_in(folder) == 1, "%u calls: %s", told.saved, told.problem);
    ok_hr(AnydmlKeepRows(dml, NULL, 0, NULL), S_OK);
    ok(files_in(folder) == 1 && !unlink(told.path), "%s is not the only file", told.path);
}

/* All is measured before it shows that the file cannot be written. */
static void test_no_folder(IDMLDevice *dml)
{
    struct told told = { 0 };
    struct anydml_tuning listener = { &told, NULL, take_saved };
    setenv("ANYDML_CACHE_DIR", "/dev/null/nowhere", 1);
    ok_hr(AnydmlTune(dml, &listener), E_ACCESSDENIED);
    ok(told.saved == 1 && *told.problem && !strncmp(told.path, "/dev/null/nowhere", 17), "%u calls: %s: %s", told.saved,
       told.path, told.problem);
    setenv("ANYDML_CACHE_DIR", folder, 1);
}

/* Whether compiling on a device of this test writes the line to the log. */
static bool logs(IDMLDevice1 *dml, const char *line)
{
    char text[4096] = "";
    FILE *log = tmpfile();
    need(log);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    need(before >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
    api_release(compile(dml, identity_operator(dml, 8), DML_EXECUTION_FLAG_NONE));
    need(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(log);
    bool found = false;
    while (!found && fgets(text, sizeof(text), log))
        found = strstr(text, line) != NULL;
    fclose(log);
    return found;
}

static bool reads(IDMLDevice1 *dml, const char *path)
{
    char line[PATH_MAX + 64];
    snprintf(line, sizeof(line), "tuning: %s is used", path);
    return logs(dml, line);
}

/* ANYDML_KERNELS selects a kernel, and so does its old name if it is not set. */
static void test_variables(IDMLDevice1 *dml)
{
    setenv("ANYDML_ROWS", "old", 1);
    ok(logs(dml, "ANYDML_ROWS: unknown kernel \"old\""), "ANYDML_ROWS is not read");
    setenv("ANYDML_KERNELS", "new", 1);
    ok(logs(dml, "ANYDML_KERNELS: unknown kernel \"new\""), "ANYDML_KERNELS is not read");
    ok(!logs(dml, "ANYDML_ROWS"), "ANYDML_ROWS is read although ANYDML_KERNELS is set");
    setenv("ANYDML_KERNELS", "move_flat", 1);
    ok(!logs(dml, "unknown kernel"), "a kernel's name is unknown");
    unsetenv("ANYDML_KERNELS");
    unsetenv("ANYDML_ROWS");
    ok(!logs(dml, "unknown kernel"), "a variable that is not set is read");
}

static void test_file(ID3D12Device *d3d, IDMLDevice *dml)
{
    struct told told = { 0 };
    struct anydml_tuning listener = { &told, take_point, take_saved };
    ok_hr(AnydmlTune(dml, &listener), S_OK);
    ok(told.points > 10 && !told.bad, "%u points, %u of them bad", told.points, told.bad);
    ok(told.saved == 1 && !*told.problem && !strncmp(told.path, folder, strlen(folder)) && !access(told.path, R_OK),
       "%u calls, %s", told.saved, told.path);
    ok(files_in(folder) == 1, "%u files", files_in(folder));
    /* Nothing was compiled before with this number of threads; another device of it reads the file, once. */
    IDMLDevice1 *second = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_NONE);
    ok(reads(second, told.path), "the file is not used");
    ok(!reads(second, told.path), "the file is read a second time");
    api_release(second);
    unlink(told.path);
}

int main(void)
{
    need(mkdtemp(folder));
    setenv("ANYDML_CACHE_DIR", folder, 1);
    setenv("ANYDML_THREADS", "1", 1);
    setenv("ANYDML_LOG", "debug", 1);
    unsetenv("ANYDML_TUNING");
    setenv("ANYDML_PIPELINE_CACHE", "off", 1); /* no files but those of this test */
    api_begin();
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_NONE);
    test_arguments((IDMLDevice *)dml);
    if (api_is("cpu")) {
        test_no_folder((IDMLDevice *)dml);
        test_file(d3d, (IDMLDevice *)dml);
        ok_hr(AnydmlKeepRows((IDMLDevice *)dml, NULL, 0, NULL), DXGI_ERROR_UNSUPPORTED);
    } else {
        ok_hr(AnydmlTune((IDMLDevice *)dml, NULL), DXGI_ERROR_UNSUPPORTED);
        ok(!files_in(folder), "another adapter's device wrote");
        if (api_is("vulkan")) {
            test_rows((IDMLDevice *)dml);
            test_variables(dml);
        } else
            ok_hr(AnydmlKeepRows((IDMLDevice *)dml, NULL, 0, NULL), DXGI_ERROR_UNSUPPORTED);
    }
    api_release(dml);
    api_release(d3d);
    ok(!rmdir(folder), "something is left in %s", folder);
    return api_end();
}
