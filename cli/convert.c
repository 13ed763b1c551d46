// calder convert: reads a model and writes it as MJCF.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common_options.h"
#include "model_file.h"

static bool is_mjcf_name(const char* path) {
    size_t length = strlen(path);
    return (length > 4 && strcasecmp(path + length - 4, ".xml") == 0) ||
           (length > 5 && strcasecmp(path + length - 5, ".mjcf") == 0);
}

// Whether two names lead to one file.
static void print_json(const cal_model* model, const char* from, const char* to, const cal_read_report* report) {
    cal_json json = {stdout, 0, true};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", from);
    cal_json_text(&json, "out", to);
    cal_json_integer(&json, "bodies", cal_model_body_count(model));
    cal_json_integer(&json, "joints", cal_model_joint_count(model));
    cal_json_integer(&json, "dof", cal_model_v_count(model));
    cal_json_integer(&json, "shapes", cal_model_shape_count(model));
    cal_json_integer(&json, "meshes", cal_model_mesh_count(model));
    cal_json_issues(&json, report);
    cal_json_close(&json, '}');
}

static void print_summary(const cal_model* model, const char* to, const cal_read_report* report) {
    printf("%s: %d bodies, %d joints, %d shapes, %d meshes\n", to, cal_model_body_count(model),
           cal_model_joint_count(model), cal_model_shape_count(model), cal_model_mesh_count(model));
    cal_print_issues(report);
}

int cal_command_convert(int argc, char** argv) {
    bool as_json = false;
    cal_model_options options = {0};
    const cal_option table[] = {
        CAL_MODEL_FILE_OPTIONS(options),
        CAL_MODEL_PHYSICS_OPTIONS(options),
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {
        "convert",
        "MODEL OUT",
        "Writes a model as MJCF, which reads back to the same model; meshes become STL files in a folder\n"
        "beside it. What the reader did not understand is listed, and is not in the new file.",
        NULL,
        "calder convert robot.urdf robot.xml",
        2,
        2};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    const char *from = argv[1], *to = argv[2];
    if (!is_mjcf_name(to))
        return cal_complain(CAL_EXIT_MISTAKE, "'%s' must end with .xml: MJCF is the format that is written", to);
    if (cal_is_same_file(from, to)) return cal_complain(CAL_EXIT_MISTAKE, "'%s' would be written over itself", from);
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    status = cal_model_open(from, &options, &model, &report);
    if (status != CAL_EXIT_DONE) return status;
    cal_error error = {CAL_OK, ""};
    error.status = cal_model_write(model, to, &error);
    if (error.status != CAL_OK)
        status = cal_complain_error(&error);
    else if (as_json)
        print_json(model, from, to, report);
    else
        print_summary(model, to, report);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}
