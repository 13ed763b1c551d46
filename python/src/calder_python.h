// What the files of the Python module share. The public headers of the library are all that it uses of it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <calder/calder.h>
#include <stdbool.h>

// CPython's slots keep functions as void*, which ISO C does not know.
#pragma GCC diagnostic ignored "-Wpedantic"

// --- Errors ---------------------------------------------------------------------------------------------------------

bool error_ready(PyObject* module);
/// Raises calder.Error with the engine's line, or with the status' own text where there is none. Returns NULL.
PyObject* error_raise(cal_status status, const cal_error* error);

// --- Arguments ------------------------------------------------------------------------------------------------------

/// Sorts the arguments of a METH_FASTCALL | METH_KEYWORDS function: names ends with NULL; the first `required` must be there, the
/// first `positional` may come without a name. values: borrowed, NULL where not given or None.
bool arguments_take(const char* function, const char* const* names, int required, int positional, PyObject* const* args,
                    Py_ssize_t count, PyObject* keywords, PyObject** values);
/// An integer from `least` on; `fallback` where the object is NULL.
bool arguments_int(PyObject* object, const char* name, int least, int fallback, int* out);
bool arguments_double(PyObject* object, const char* name, double fallback, double* out);
/// The text of a str, which lives as long as the object; `fallback` where it is NULL.
bool arguments_text(PyObject* object, const char* name, const char* fallback, const char** out);

/// Numbers that came in: any buffer of doubles as it lies, anything else copied.
typedef struct numbers {
    const double* data;
    Py_buffer view;
    bool viewed;
    PyObject* kept;
    double* owned;
    double few[16];
} numbers;
enum { MOST_DIMENSIONS = 3 };
/// Takes numbers of exactly this shape; `name` is what complaints call them. Raises TypeError or ValueError.
bool numbers_take(PyObject* object, const char* name, int dimensions, const Py_ssize_t* shape, numbers* out);
/// The same of one dimension, finite, or data NULL where the object is NULL.
bool numbers_take_vector(PyObject* object, const char* name, int count, numbers* out);
void numbers_release(numbers* n); ///< also of one that is all zeros

// --- Arrays ---------------------------------------------------------------------------------------------------------

/// Called before a write (after: false) and after it; false, with an exception, forbids or undoes it.
typedef bool array_hook(PyObject* owner, bool after);

/// Doubles with a shape and strides (bytes): its own, which lie behind the object, or somebody else's.
typedef struct array {
    PyObject_VAR_HEAD PyObject* owner; // whose data it is; NULL: its own
    array_hook* hook;
    double* data;
    int dimensions;
    bool readonly;
    Py_ssize_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
} array;
extern PyTypeObject* array_type;
bool array_ready(PyObject* module);
/// A new one with its own zeros.
array* array_create(int dimensions, const Py_ssize_t* shape);
array* array_create_vector(int count);
array* array_create_matrix(int rows, int columns);
/// What DLPack lends to others (dlpack.c): numbers with a shape and strides (bytes).
typedef struct lending {
    void* data;
    int device, number, dimensions; // kind of device and which one, as DLPack counts them
    bool readonly, copied;
    Py_ssize_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    PyObject* owner;                   // a new reference, kept until the borrower is done
    void (*returned)(PyObject* owner); // called then; NULL: nobody wants to know
} lending;
enum { DLPACK_CPU = 1, DLPACK_CUDA = 2 };
/// The arguments of __dlpack__.
typedef struct lending_request {
    PyObject* stream; // NULL: none
    int major;        // version that the borrower knows; 0: before 1.0
    int device, number;
    bool anywhere, copies; // no device was named; a copy is asked for
} lending_request;
bool lending_read(PyObject* const* args, Py_ssize_t count, PyObject* keywords, lending_request* out);
/// A capsule; takes the owner's reference. NULL and an exception.
PyObject* lending_capsule(const lending* l, const lending_request* request);
/// __dlpack__ and __dlpack_device__ of an array.
PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* array_dlpack_device(PyObject* self, PyObject* none);
/// A view of one dimension of memory that lives as long as the owner.
PyObject* array_view(PyObject* owner, array_hook* hook, double* data, int count);

// --- Models ---------------------------------------------------------------------------------------------------------

typedef enum name_kind {
    NAMES_BODY,
    NAMES_JOINT,
    NAMES_ACTUATOR,
    NAMES_CONSTRAINT,
    NAMES_SITE,
    NAMES_KEYFRAME,
    NAMES_SENSOR,
    NAME_KINDS
} name_kind;

typedef struct model_object {
    PyObject_HEAD cal_model* model;
    cal_dynamics* dynamics; // that nobody uses at the moment; NULL: make one
    PyObject* source;       // a function and its arguments, which make the model again
    PyObject* issues;
    PyObject* names[NAME_KINDS]; // to numbers, made when first asked for
    int q_count, v_count, actuator_count;
} model_object;
extern PyTypeObject* model_type;
bool model_ready(PyObject* module);
/// The object as a model, or NULL and TypeError.
model_object* model_check(PyObject* object);
/// The number of a body, joint, … that is given by number or name; -1 and an exception where there is none.
int model_find(model_object* self, name_kind kind, PyObject* which);
/// Somebody's dynamics for one call; NULL and an exception. Given back by model_return_dynamics.
cal_dynamics* model_borrow_dynamics(model_object* self);
void model_return_dynamics(model_object* self, cal_dynamics* dynamics);
extern PyMethodDef model_functions[], dynamics_functions[], plan_functions[], snapshot_functions[];

// --- Simulations ----------------------------------------------------------------------------------------------------

/// A machine that simulations share: a fork has that of its parent.
typedef struct shared_machine {
    cal_machine* machine;
    long process; // that made it: threads and ranks do not survive os.fork
    bool ranks;   // all of MPI's: every rank makes the same calls
    bool device;  // a GPU
    int rank;     // this one; only the first writes files
    int references;
} shared_machine;
shared_machine* machine_open(const char* text, int lanes);
void machine_close(shared_machine* machine); ///< NULL is allowed
/// Whether its threads are there: os.fork leaves them behind.
bool machine_is_ours(const shared_machine* machine);
/// False, and an exception, where its threads belong to another process.
bool machine_check(const shared_machine* machine);

/// Seconds of the clock that only goes forward.
double clock_now(void);
/// An advance goes in pieces of simulated time: the first, s, and the one after a piece that took so long. They come to take about a
/// twentieth of a second of the clock, so that Ctrl-C is heard.
#define PIECE_FIRST (1.0 / 64)
double piece_next(double piece, double taken);

/// Keyword arguments that simulations and ensembles have in common.
#define SIM_KEYWORDS                                                                                                   \
    "solver", "tol", "absolute", "step", "largest_step", "algorithm", "schedule", "contact", "stabilize", "gain",      \
        "constraint_form", "machine", "lanes"
enum { SIM_KEYWORD_COUNT = 13 };
/// Reads their values into a definition, all but the machine; texts gets a new tuple that keeps the definition's alive.
bool sim_def_read(const cal_model* model, const char* solver, PyObject* const* values, cal_sim_def* def,
                  shared_machine** machine, PyObject** texts);

typedef struct cal_run cal_run;
struct recording;
typedef struct simulation {
    PyObject_HEAD model_object* model;
    cal_sim* sim; // NULL: closed
    cal_run* run; // made when first asked for
    shared_machine* machine;
    PyObject* texts;
    // q, v, tau and control as Python sees them, and as they were when the engine was last asked or told. What differs was written
    // by the user and goes to the engine before anything else happens.
    double *shown, *known;
    struct recording* recordings;
    int recording_count; // ever made
    bool busy;           // an advance is under way, maybe without the GIL
} simulation;
extern PyTypeObject* simulation_type;
bool simulation_ready(PyObject* module);
/// The simulation with everything that the user wrote; NULL and an exception when it is closed, busy, or does not take it.
cal_sim* simulation_enter(simulation* self);
/// Tells the engine what the user wrote; with a time, all numbers at that time. False, and an exception, when it does not take it.
bool simulation_tell(simulation* self, const double* time);
/// Shows the engine's state; false and an exception when there is none.
bool simulation_look(simulation* self);
cal_run* simulation_run(simulation* self);
bool snapshot_ready(PyObject* module);
PyObject* simulation_advance(PyObject* object, PyObject* argument);
PyObject* simulation_project(PyObject* object, PyObject* none);
PyObject* simulation_fork(PyObject* object, PyObject* none);
PyObject* simulation_close(PyObject* object, PyObject* none);
PyObject* simulation_record(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* simulation_view(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* simulation_enter_with(PyObject* object, PyObject* none);
PyObject* simulation_leave_with(PyObject* object, PyObject* const* args, Py_ssize_t count);
extern PyMethodDef simulation_methods[];
extern PyGetSetDef simulation_properties[];

bool recorder_ready(PyObject* module);
PyObject* recorder_open(simulation* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
/// The first time after `now` at which a recording wants a frame; infinite where there are none.
double recorder_due(simulation* self, double now);
bool recorder_write(simulation* self, double now); ///< those that are due; false and an exception
bool recorder_close_all(simulation* self);         ///< with a last frame each; false and an exception
PyObject* viewer_run(simulation* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

typedef struct ensemble {
    PyObject_HEAD model_object* model;
    cal_ensemble* ensemble; // NULL: closed
    cal_ensemble* lent;     // closed, but others have its memory still
    int lendings;           // how many of them there are
    shared_machine* machine;
    PyObject* texts;
    double *tau, *control; // what acts on each instance, as it was last told
    int count;
    bool busy;
} ensemble;
bool ensemble_ready(PyObject* module);
/// The engine's ensemble; NULL and an exception when it is closed or busy.
cal_ensemble* ensemble_enter(ensemble* self);
void ensemble_destroy(ensemble* self); ///< as soon as nobody has its memory

bool device_ready(PyObject* module);
PyObject* device_view(PyObject* object, PyObject* name);
PyObject* device_changed(PyObject* object, PyObject* none);
PyObject* device_forward(PyObject* object, PyObject* none);
/// The module that knows of GPUs, or NULL and an exception.
PyObject* device_module(void);

/// Adds a type to a module under the last part of its name.
PyTypeObject* type_add(PyObject* module, PyType_Spec* spec);
