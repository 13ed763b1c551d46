/// \file calder_read.h
/// Models from files: MJCF (MuJoCo) and URDF (ROS).
///
/// Nothing in a file is dropped silently. Whatever was not understood, or was understood and is not simulated, is an issue
/// in the reader's report, with file, line, element and consequence.
#pragma once
#include "calder/calder.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// What a file is. CAL_FORMAT_AUTO looks at the root element.
typedef enum cal_format { CAL_FORMAT_AUTO, CAL_FORMAT_MJCF, CAL_FORMAT_URDF } cal_format;

/// How to read; from cal_default_read_options.
typedef struct cal_read_options {
    cal_format format;
    bool strict;        ///< an issue that is more than a note is an error
    bool allow_outside; ///< files outside the model's folder may be named
    bool repair;        ///< inertias that no body can have are made possible, and the report says which
    bool free_base;     ///< the root link of a URDF floats, instead of being fixed to the ground
    const char* folder; ///< where a model from memory finds the files that it names; NULL: it may name none
    const char* const* package_paths; ///< folders that hold packages, for package:// and model://
    int package_path_count;           ///< the command adds those of ROS_PACKAGE_PATH; the library reads no environment
    uint32_t cookie;
} cal_read_options;
cal_read_options cal_default_read_options(void);

/// What kind of thing a reader noticed.
typedef enum cal_issue_kind {
    CAL_ISSUE_NOT_UNDERSTOOD, ///< an element or attribute that the reader does not know
    CAL_ISSUE_NOT_SIMULATED,  ///< known, and without effect on the motion here though it has one elsewhere
    CAL_ISSUE_REPAIRED,       ///< something impossible that was made possible
    CAL_ISSUE_NOTE            ///< worth knowing; nothing is missing
} cal_issue_kind;

/// One thing that a reader noticed. The texts belong to the report.
typedef struct cal_issue {
    cal_issue_kind kind;
    const char* file;
    int line;                ///< of the first place
    int count;               ///< how often
    const char* element;     ///< "<tendon>", "joint frictionloss"
    const char* consequence; ///< what follows from it
} cal_issue;

/// Everything that a reader noticed.
typedef struct cal_read_report cal_read_report;

/// Reads a model from a file. report may be NULL; otherwise it is made in any case, also on errors (then with what was noticed
/// until then), and belongs to the caller. The error names file, line, element and cause. CAL_NOT_AVAILABLE: this build
/// has no reader.
cal_status cal_model_read(const char* path, const cal_read_options* options, cal_model** out, cal_read_report** report,
                          cal_error* error);
/// The same from memory; name is what complaints call it.
cal_status cal_model_read_memory(const char* text, size_t size, const char* name, const cal_read_options* options,
                                 cal_model** out, cal_read_report** report, cal_error* error);

/// Writes a model as MJCF, and its meshes as STL files into a folder beside it (MODEL_meshes for MODEL.xml). What is written reads
/// back to the same model, to the bit, when its bodies are numbered depth first, as MJCF numbers them; otherwise to one with
/// other numbers. CAL_BAD_MODEL when the model has something that MJCF cannot say; the file is whole or not there.
cal_status cal_model_write(const cal_model* model, const char* path, cal_error* error);

void cal_read_report_destroy(cal_read_report* report); ///< NULL is allowed
int cal_read_report_count(const cal_read_report* report);
void cal_read_report_issue(const cal_read_report* report, int index, cal_issue* out);
const char* cal_issue_kind_name(cal_issue_kind kind); ///< "not understood", "not simulated", "repaired", "note"

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
