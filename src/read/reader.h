// What the readers of all formats share: where to find files, whom to tell, and where the model is put together.
#pragma once
#include "calder/calder_read.h"
#include "read/files.h"
#include "read/read_report.h"
#include "read/xml.h"

typedef struct cal_reader {
    const cal_read_options* options;
    cal_files files;
    cal_read_report* report;
    cal_builder* builder; // bodies, joints and the rest go here; cal_model_read finishes it
    size_t size;          // of the main file, bytes
    const char* name;     // of the file without its folder and ending, for models that do not name themselves
} cal_reader;

// Each takes a document whose root is its own (<mujoco>, <robot>), and fills the builder. Errors name file and line.
cal_status cal_mjcf_read(cal_reader* reader, cal_xml_document* document, cal_error* error);
cal_status cal_urdf_read(cal_reader* reader, cal_xml_document* document, cal_error* error);
