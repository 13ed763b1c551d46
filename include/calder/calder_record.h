/// \file calder_record.h
/// Recording runs in files.
#pragma once
#include "calder/calder_run.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// A table of a run: one row per call, numbers as text that reads back to the same bits.
///
/// The first line is the header: "time", then what was chosen, in this order: joint by joint its positions, its velocities
/// and what it carries; body by body, but for fixed ones, its pose; the energies; the channels. A revolute or prismatic joint
/// called hip has hip.q and hip.v; a ball has .qw .qx .qy .qz and .wx .wy .wz; a free joint has .x .y .z .qw .qx .qy .qz and
/// .vx .vy .vz .wx .wy .wz. A name with a comma, a quote or a line break is quoted as RFC 4180 says.
typedef struct cal_csv cal_csv;

/// A file that appears whole or not at all: it is written beside its place (PATH.PID.partial) and takes it when it is closed, so that
/// a full disk or a killed process leaves what was there. Devices and pipes are written as they are.
typedef struct cal_whole_file cal_whole_file;
/// #CAL_BAD_ARGUMENT when it cannot be opened.
cal_status cal_whole_file_create(const char* path, cal_whole_file** out, cal_error* error);
FILE* cal_whole_file_stream(cal_whole_file* file); ///< to write to; not to be closed
/// Puts it into its place, or, where it is not to be kept, away; frees it, also when that fails. #CAL_NOT_WRITTEN when something that
/// was written did not arrive. NULL is allowed.
cal_status cal_whole_file_close(cal_whole_file* file, bool keep, cal_error* error);

/// What a table has; several are added.
enum {
    CAL_COLUMN_Q = 1,
    CAL_COLUMN_V = 2,
    CAL_COLUMN_FORCE = 4, ///< .fx .fy .fz .mx .my .mz of each joint: cal_run_joint_forces
    CAL_COLUMN_POSE = 8,  ///< .x .y .z .qw .qx .qy .qz of each body
    CAL_COLUMN_ENERGY =
        16, ///< energy_kinetic, energy_potential; where there is a balance energy_work, energy_loss, energy_balance
    CAL_COLUMN_CHANNELS = 32,
    CAL_COLUMN_SENSORS =
        64 ///< NAME, or NAME.1, NAME.2, … of each sensor: cal_run_sensor; nan where it is not available
};
/// Reads a list such as "q,v,energy": q, v, force, pose, energy, channels, sensors.
cal_status cal_csv_columns(const char* names, unsigned* out, cal_error* error);
/// What a table has where nothing was chosen: q, v and energy of a run with a model (of an ensemble q and v), poses of others.
unsigned cal_csv_default_columns(const cal_run* run);
/// Creates or empties the file ("-": standard output) and writes the header; columns 0: the default. The run must outlive the recorder.
/// #CAL_BAD_ARGUMENT when the file cannot be written, or the run does not have what was chosen; nothing is left to close then.
cal_status cal_csv_create(const char* path, cal_run* run, unsigned columns, cal_csv** out, cal_error* error);
/// Continues a table of an equal run after its row of a time: keeps the rows up to that one, cuts off what follows, and
/// writes on from there. #CAL_BAD_ARGUMENT, with the file untouched, when it is not there, has another header or no such row.
cal_status cal_csv_resume(const char* path, cal_run* run, unsigned columns, double time, cal_csv** out,
                          cal_error* error);
/// A table of the run's events: time, body, other, impulse, kind. From now on the run keeps its events; cal_csv_write writes
/// those that happened since the last call. #CAL_NOT_AVAILABLE for a run that has none.
cal_status cal_csv_create_events(const char* path, cal_run* run, cal_csv** out, cal_error* error);
/// Writes the run at cal_run_time as one row.
/// #CAL_BAD_ARGUMENT when the file no longer takes data, for instance because the disk is full.
cal_status cal_csv_write(cal_csv* csv, cal_error* error);
/// Brings the rows so far to the disk, so that a crash cannot take them.
cal_status cal_csv_flush(cal_csv* csv, cal_error* error);
/// Writes what is still held back, closes the file and frees the recorder, also when that fails; NULL is allowed.
/// The table is complete on the disk's side only when this returns #CAL_OK.
cal_status cal_csv_close(cal_csv* csv, cal_error* error);

/// A run as a binary glTF 2.0 file with an animation, for Blender and any other viewer. Up is y there, as glTF wants it.
typedef struct cal_glb cal_glb;

/// Creates or empties the file. The run must outlive the recorder, which keeps all frames, 28 bytes per body and frame.
/// title: what the file calls it. #CAL_BAD_ARGUMENT when the file cannot be written.
cal_status cal_glb_create(const char* path, cal_run* run, const char* title, cal_glb** out, cal_error* error);
/// Adds the poses at cal_run_time as one frame.
cal_status cal_glb_write(cal_glb* glb, cal_error* error);
/// Writes the file and frees the recorder, also when that fails; NULL is allowed.
cal_status cal_glb_close(cal_glb* glb, cal_error* error);

/// Bytes that a number's text needs at most, its end included.
#define CAL_NUMBER_CAPACITY 32
/// Writes the shortest of 15, 16 or 17 significant digits that reads back to the same number, with a point in every
/// locale; "nan", "inf" and "-inf" for the rest. Returns text.
const char* cal_number_text(double value, char text[CAL_NUMBER_CAPACITY]);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
