// Files to models: finds out what a file is, lets its reader fill a builder, and finishes the model.
#include "base/error.h"
#include "calder/calder_read.h"
#include <string.h>

enum { OPTIONS_COOKIE = 0x0ca15ead };

cal_read_options cal_default_read_options(void) { return (cal_read_options){.cookie = OPTIONS_COOKIE}; }

const char* cal_issue_kind_name(cal_issue_kind kind) {
    switch (kind) {
    case CAL_ISSUE_NOT_UNDERSTOOD: return "not understood";
    case CAL_ISSUE_NOT_SIMULATED: return "not simulated";
    case CAL_ISSUE_REPAIRED: return "repaired";
    case CAL_ISSUE_NOTE: return "note";
    }
    return "unknown";
}

#ifdef CALDER_HAVE_EXPAT
#include "base/memory.h"
#include "read/reader.h"
#include <stdio.h>

static cal_status check_options(const cal_read_options* options, cal_error* error) {
    if (options->cookie != (uint32_t)OPTIONS_COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the read options are uninitialised; start from cal_default_read_options");
    if (options->package_path_count < 0 || (options->package_path_count > 0 && options->package_paths == NULL))
        return cal_fail(error, CAL_BAD_ARGUMENT, "package_paths is NULL, but package_path_count is %d",
                        options->package_path_count);
    return CAL_OK;
}

// The reader for a root element; NULL when no format has it.
static cal_status (*reader_of(const cal_xml_node* root, cal_format format))(cal_reader*, cal_xml_document*,
                                                                            cal_error*) {
    if (cal_xml_is(root, "mujoco") && format != CAL_FORMAT_URDF) return cal_mjcf_read;
    if (cal_xml_is(root, "robot") && format != CAL_FORMAT_MJCF) return cal_urdf_read;
    return NULL;
}

static cal_status fill(cal_reader* reader, const char* text, size_t size, const char* file, cal_error* error) {
    cal_xml_document* document;
    cal_status status = cal_xml_parse(text, size, file, &document, error);
    if (status != CAL_OK) return status;
    cal_status (*read)(cal_reader*, cal_xml_document*, cal_error*) =
        reader_of(cal_xml_root(document), reader->options->format);
    cal_builder_set_name(reader->builder, reader->name);
    if (read != NULL)
        status = read(reader, document, error);
    else
        status = cal_xml_fail(cal_xml_root(document), error, CAL_BAD_MODEL,
                              "this is no model; the root of MJCF is <mujoco>, that of URDF <robot>");
    cal_xml_destroy(document);
    return status;
}

// A model that cannot be built is described by its bodies and joints; the file's name tells the user which one it is.
static cal_status finish(cal_reader* reader, const char* file, cal_model** out, cal_error* error) {
    cal_error inner = {CAL_OK, ""};
    cal_status status = cal_report_status(reader->report, reader->options->strict, error);
    if (status != CAL_OK) return status;
    status = cal_builder_finish(reader->builder, out, &inner);
    if (status == CAL_OK) return CAL_OK;
    const size_t length = strlen(file), shown = length > 90 ? 90 : length;
    return cal_fail(error, status, "%s: %s", file + (length - shown), inner.text);
}

static cal_status read_text(const char* text, size_t size, const char* file, const char* folder,
                            const cal_read_options* options, cal_model** out, cal_read_report** report,
                            cal_error* error) {
    char name[128];
    const char* base = strrchr(file, '/');
    snprintf(name, sizeof name, "%s", base != NULL ? base + 1 : file);
    char* ending = strrchr(name, '.');
    if (ending != NULL && ending != name) *ending = '\0';
    cal_reader reader = {.options = options,
                         .files = {.folder = folder, .allow_outside = options->allow_outside},
                         .report = cal_report_create(),
                         .size = size,
                         .name = name};
    cal_status status = reader.report != NULL ? cal_builder_create(&reader.builder) : CAL_NO_MEMORY;
    if (status == CAL_OK) status = fill(&reader, text, size, file, error);
    if (status == CAL_OK) status = finish(&reader, file, out, error);
    // Whichever part of the reader it was, without memory there is nothing more to say than this.
    if (status == CAL_NO_MEMORY) cal_explain(error, status, "%.128s: out of memory for this model", name);
    cal_builder_destroy(reader.builder);
    if (report != NULL)
        *report = reader.report;
    else
        cal_read_report_destroy(reader.report);
    return status;
}

cal_status cal_model_read(const char* path, const cal_read_options* options, cal_model** out, cal_read_report** report,
                          cal_error* error) {
    if (!path || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_read: path and out must not be NULL");
    const cal_read_options plain = cal_default_read_options();
    if (options == NULL) options = &plain;
    *out = NULL;
    if (report != NULL) *report = NULL;
    cal_status status = check_options(options, error);
    if (status != CAL_OK) return status;
    char folder[CAL_PATH];
    const char* slash = strrchr(path, '/');
    const size_t length = slash == path ? 1 : slash != NULL ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder) return cal_fail(error, CAL_BAD_ARGUMENT, "the path has more than %d bytes", CAL_PATH);
    memcpy(folder, path, length);
    folder[length] = '\0';
    char* text = NULL;
    size_t size = 0;
    status = cal_file_read(path, CAL_XML_LARGEST, NULL, &text, &size, error);
    if (status == CAL_OK) status = read_text(text, size, path, folder, options, out, report, error);
    cal_free(text);
    return status;
}

cal_status cal_model_read_memory(const char* text, size_t size, const char* name, const cal_read_options* options,
                                 cal_model** out, cal_read_report** report, cal_error* error) {
    if (!text || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_read_memory: text and out must not be NULL");
    const cal_read_options plain = cal_default_read_options();
    if (options == NULL) options = &plain;
    *out = NULL;
    if (report != NULL) *report = NULL;
    const cal_status status = check_options(options, error);
    if (status != CAL_OK) return status;
    return read_text(text, size, name != NULL ? name : "memory", options->folder, options, out, report, error);
}
#else
cal_status cal_model_read(const char* path, const cal_read_options* options, cal_model** out, cal_read_report** report,
                          cal_error* error) {
    (void)options;
    *out = NULL;
    if (report != NULL) *report = NULL;
    return cal_fail(error, CAL_NOT_AVAILABLE, "'%.120s': this build reads no model files; it was made without expat",
                    path);
}

cal_status cal_model_read_memory(const char* text, size_t size, const char* name, const cal_read_options* options,
                                 cal_model** out, cal_read_report** report, cal_error* error) {
    (void)text, (void)size;
    return cal_model_read(name != NULL ? name : "memory", options, out, report, error);
}
#endif
