/// \file calder_record.h
/// Recording simulations and worlds in files.
#pragma once
#include "calder/calder_world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A table of a run: one row a call, numbers as text that reads back to the same bits, columns named after the joints.
///
/// The first line is the header: "time", then joint by joint its positions and its velocities, then "energy_kinetic" and
/// "energy_potential". A revolute or prismatic joint called hip has hip.q and hip.v; a ball has .qw .qx .qy .qz and
/// .wx .wy .wz; a free joint has .x .y .z .qw .qx .qy .qz and .vx .vy .vz .wx .wy .wz. A name with a comma, a quote or a
/// line break is quoted as RFC 4180 says.
typedef struct cal_csv cal_csv;

/// Creates or empties the file and writes the header. The model must outlive the recorder.
/// #CAL_BAD_ARGUMENT when the file cannot be written; nothing is left to close then.
cal_status cal_csv_create(const char* path, const cal_model* model, cal_csv** out, cal_error* error);
/// Continues a table of the same model after its row of a time: keeps the rows up to that one, cuts off what follows, and
/// writes on from there. #CAL_BAD_ARGUMENT, with the file untouched, when it is not there, has another header or no such row.
cal_status cal_csv_resume(const char* path, const cal_model* model, double time, cal_csv** out, cal_error* error);
/// What a table has beside its joints' numbers and energies.
enum {
    CAL_CSV_FORCES = 1 ///< after each joint's velocities .fx .fy .fz .mx .my .mz: cal_sim_joint_forces
};
/// The same with further columns, a sum of CAL_CSV_…
cal_status cal_csv_create_with(const char* path, const cal_model* model, unsigned columns, cal_csv** out,
                               cal_error* error);
cal_status cal_csv_resume_with(const char* path, const cal_model* model, unsigned columns, double time, cal_csv** out,
                               cal_error* error);
/// Writes the state of a simulation of the same model at cal_sim_time as one row, and its energies.
/// #CAL_BAD_ARGUMENT when the file no longer takes data, for instance because the disk is full.
cal_status cal_csv_write(cal_csv* csv, cal_sim* sim, cal_error* error);
/// Brings the rows so far to the disk, so that a crash cannot take them.
cal_status cal_csv_flush(cal_csv* csv, cal_error* error);
/// Writes what is still held back, closes the file and frees the recorder, also when that fails; NULL is allowed.
/// The table is complete on the disk's side only when this returns #CAL_OK.
cal_status cal_csv_close(cal_csv* csv, cal_error* error);

/// A run as a binary glTF 2.0 file with an animation, for Blender and any other viewer. Up is y there, as glTF wants it.
typedef struct cal_glb cal_glb;

/// Creates or empties the file. The model must outlive the recorder, which keeps all frames, 28 bytes a body and frame.
/// #CAL_BAD_ARGUMENT when the file cannot be written.
cal_status cal_glb_create(const char* path, const cal_model* model, cal_glb** out, cal_error* error);
/// Adds the poses of a simulation of the same model at cal_sim_time as one frame.
cal_status cal_glb_write(cal_glb* glb, cal_sim* sim, cal_error* error);
/// The same for a world that was advanced to its start, and its frames at cal_world_time. title: what the file calls it.
cal_status cal_glb_create_world(const char* path, const cal_world* world, const char* title, cal_glb** out,
                                cal_error* error);
cal_status cal_glb_write_world(cal_glb* glb, const cal_world* world, cal_error* error);
/// Writes the file and frees the recorder, also when that fails; NULL is allowed.
cal_status cal_glb_close(cal_glb* glb, cal_error* error);

/// Bytes that a number's text needs at most, its end included.
#define CAL_NUMBER_CAPACITY 32
/// Writes the shortest of 15, 16 or 17 significant digits that reads back to the same number, with a point in every
/// locale; "nan", "inf" and "-inf" for the rest. Returns text.
const char* cal_number_text(double value, char text[CAL_NUMBER_CAPACITY]);

#ifdef __cplusplus
}
#endif
