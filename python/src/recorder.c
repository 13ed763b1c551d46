// Recordings of a simulation, and the viewer.
//
// A recording belongs to its simulation, which may be closed, or gone, before anybody closes the recording; calder.Recorder
// knows it by its number only.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calder_python.h"
#include <calder/calder_record.h>
#include <calder/calder_view.h>

typedef struct recording {
    struct recording* next;
    int number;
    long process; // whose file it is: a child of os.fork does not write into it
    double fps;
    double shown; // time of the last frame
    cal_csv* csv;
    cal_glb* glb;
    cal_html* html;
} recording;

static PyTypeObject* recorder_type;

typedef struct recorder {
    PyObject_HEAD simulation* sim;
    PyObject* path;
    int number;
} recorder;

// --- Files ----------------------------------------------------------------------------------------------------------

static cal_status write_frame(recording* r, double now, cal_error* error) {
    r->shown = now;
    if (r->csv) return cal_csv_write(r->csv, error);
    return r->glb ? cal_glb_write(r->glb, error) : cal_html_write(r->html, error);
}

static bool close_file(recording* r) {
    cal_error error = {CAL_OK, ""};
    cal_status status;
    if (r->csv)
        status = cal_csv_close(r->csv, &error);
    else
        status = r->glb ? cal_glb_close(r->glb, &error) : cal_html_close(r->html, &error);
    PyMem_Free(r);
    if (status) error_raise(status, &error);
    return status == CAL_OK;
}

// With a last frame, where the simulation went on since.
static bool finish(const simulation* self, recording* r) {
    cal_error error = {CAL_OK, ""};
    const double now = cal_sim_time(self->sim);
    const cal_status status = now == r->shown ? CAL_OK : write_frame(r, now, &error);
    const bool closed = close_file(r);
    if (status && closed) error_raise(status, &error);
    return status == CAL_OK && closed;
}

// In a child of os.fork: the recordings are its parent's, which goes on with them.
static void leave_to_parent(simulation* self) {
    const long process = self->recordings ? (long)getpid() : 0;
    for (recording** place = &self->recordings; *place;) {
        if ((*place)->process == process)
            place = &(*place)->next;
        else
            *place = (*place)->next;
    }
}

double recorder_due(simulation* self, double now) {
    double due = INFINITY;
    leave_to_parent(self);
    for (const recording* r = self->recordings; r; r = r->next) {
        // Frame k is at k / fps, whenever the recording began.
        double frame = floor(now * r->fps);
        while (frame / r->fps <= now) frame++;
        due = fmin(due, frame / r->fps);
    }
    return due;
}

bool recorder_write(simulation* self, double now) {
    for (recording* r = self->recordings; r; r = r->next) {
        cal_error error = {CAL_OK, ""};
        if (round(now * r->fps) / r->fps != now || now == r->shown) continue;
        const cal_status status = write_frame(r, now, &error);
        if (status == CAL_OK) continue;
        error_raise(status, &error);
        return false;
    }
    return true;
}

bool recorder_close_all(simulation* self) {
    bool whole = true;
    leave_to_parent(self);
    while (self->recordings) {
        recording* r = self->recordings;
        self->recordings = r->next;
        // Of several complaints the first one stays.
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (finish(self, r)) {
            PyErr_Restore(type, value, trace);
            continue;
        }
        whole = false;
        if (type) PyErr_Restore(type, value, trace);
    }
    return whole;
}

static bool ends_with(const char* text, const char* end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static cal_status open_file(recording* r, cal_run* run, bool first, const char* path, const char* columns,
                            const char* title, cal_error* error) {
    unsigned chosen = 0;
    // Of ranks, which all do the same, the first one writes.
    const char* file = first ? path : "/dev/null";
    if (ends_with(path, ".html")) return cal_html_create(file, run, title, &r->html, error);
    if (ends_with(path, ".glb")) return cal_glb_create(file, run, title, &r->glb, error);
    const cal_status status = columns ? cal_csv_columns(columns, &chosen, error) : CAL_OK;
    return status ? status : cal_csv_create(file, run, chosen, &r->csv, error);
}

static PyObject* wrap(simulation* self, PyObject* path, int number) {
    recorder* out = PyObject_New(recorder, recorder_type);
    if (!out) return NULL;
    out->sim = (simulation*)Py_NewRef((PyObject*)self);
    out->path = Py_NewRef(path);
    out->number = number;
    return (PyObject*)out;
}

static PyObject* open_recording(simulation* self, PyObject* path, double fps, const char* columns, const char* title) {
    const char* text;
    cal_error error = {CAL_OK, ""};
    if (!arguments_text(path, "path", NULL, &text)) return NULL;
    if (!ends_with(text, ".csv") && !ends_with(text, ".glb") && !ends_with(text, ".html"))
        return PyErr_Format(PyExc_ValueError, "a recording ends in .csv, .glb or .html; %R does not", path);
    if (columns && !ends_with(text, ".csv"))
        return PyErr_Format(PyExc_ValueError, "columns are for .csv files, not for %R", path);
    cal_run* run = simulation_run(self);
    recording* r = run ? PyMem_Calloc(1, sizeof *r) : NULL;
    if (!r) return run ? PyErr_NoMemory() : NULL;
    const char* name = cal_model_name(self->model->model);
    r->fps = fps;
    r->process = (long)getpid();
    r->number = ++self->recording_count;
    cal_status status = open_file(r, run, self->machine->rank == 0, text, columns,
                                  title           ? title
                                  : name && *name ? name
                                                  : "calder",
                                  &error);
    if (status) {
        PyMem_Free(r);
        return error_raise(status, &error);
    }
    status = write_frame(r, cal_sim_time(self->sim), &error);
    PyObject* out = status ? error_raise(status, &error) : wrap(self, path, r->number);
    if (!out) {
        // The first exception is the one that counts.
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (!close_file(r)) PyErr_Clear();
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    r->next = self->recordings;
    self->recordings = r;
    return out;
}

PyObject* recorder_open(simulation* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"path", "fps", "columns", "title", NULL};
    PyObject* values[4];
    const char *columns, *title;
    double fps;
    if (!arguments_take("record", names, 1, 2, args, count, keywords, values) ||
        !arguments_double(values[1], "fps", 60, &fps) || !arguments_text(values[2], "columns", NULL, &columns) ||
        !arguments_text(values[3], "title", NULL, &title))
        return NULL;
    // The command's limits of --fps.
    if (!(fps >= 1e-3 && fps <= 1e6)) return PyErr_Format(PyExc_ValueError, "fps must be from 0.001 to 1e6");
    PyObject* path = PyOS_FSPath(values[0]);
    if (!path) return NULL;
    PyObject* out = simulation_enter(self) ? open_recording(self, path, fps, columns, title) : NULL;
    Py_DECREF(path);
    return out;
}

// --- calder.Recorder ------------------------------------------------------------------------------------------------

static recording** find(const recorder* self) {
    recording** place = &self->sim->recordings;
    while (*place && (*place)->number != self->number) place = &(*place)->next;
    return place;
}

static PyObject* close_recorder(PyObject* object, PyObject* none) {
    (void)none;
    recorder* self = (recorder*)object;
    if (!self->sim->sim && !self->sim->busy) return Py_NewRef(Py_None);
    if (!simulation_enter(self->sim)) return NULL;
    leave_to_parent(self->sim);
    recording** place = find(self);
    recording* r = *place;
    if (!r) return Py_NewRef(Py_None);
    *place = r->next;
    return finish(self->sim, r) ? Py_NewRef(Py_None) : NULL;
}

static PyObject* enter_with(PyObject* object, PyObject* none) {
    (void)none;
    return Py_NewRef(object);
}

static PyObject* leave_with(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    (void)args, (void)count;
    return close_recorder(object, NULL);
}

static PyObject* get_path(PyObject* object, void* closure) {
    (void)closure;
    return Py_NewRef(((recorder*)object)->path);
}

static PyObject* get_closed(PyObject* object, void* closure) {
    (void)closure;
    return PyBool_FromLong(!*find((recorder*)object));
}

static void dealloc(PyObject* object) {
    recorder* self = (recorder*)object;
    PyTypeObject* type = Py_TYPE(object);
    Py_DECREF((PyObject*)self->sim);
    Py_DECREF(self->path);
    PyObject_Free(self);
    Py_DECREF(type);
}

#define METHOD(function) (PyCFunction)(void (*)(void)) function
static PyMethodDef methods[] = {
    {"close", close_recorder, METH_NOARGS,
     "close($self)\n--\n\nWrites the present state as the last frame and completes the file."},
    {"__enter__", enter_with, METH_NOARGS, NULL},
    {"__exit__", METHOD(leave_with), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"path", get_path, NULL, "The file.", NULL},
    {"closed", get_closed, NULL, "Whether the file is complete.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "A recording under way; from Simulation.record(). It ends with close(), a with block, or the simulation."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};
static PyType_Spec spec = {"calder.Recorder", sizeof(recorder), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool recorder_ready(PyObject* module) { return (recorder_type = type_add(module, &spec)) != NULL; }

// --- The viewer -----------------------------------------------------------------------------------------------------

// The viewer serves in a thread of its own, so that this one can look for Ctrl-C.
typedef struct server {
    cal_viewer* viewer;
    cal_status status;
    cal_error error;
    pthread_mutex_t lock;
    bool ended;
} server;

static void* serve(void* user) {
    server* s = user;
    s->status = cal_viewer_run(s->viewer, &s->error);
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool has_ended(server* s) {
    pthread_mutex_lock(&s->lock);
    const bool ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    return ended;
}

// Until Ctrl-C, or the time is over; -1 and an exception.
static int wait_for(server* s, double seconds) {
    const struct timespec moment = {.tv_nsec = 20000000};
    double waited = 0;
    int result = 0;
    while (result == 0 && waited < seconds && !has_ended(s)) {
        PyThreadState* thread = PyEval_SaveThread();
        nanosleep(&moment, NULL);
        PyEval_RestoreThread(thread);
        waited += 0.02;
        result = PyErr_CheckSignals();
    }
    return result;
}

// In a notebook the page is shown in a frame; elsewhere its address is printed, and a browser opened.
static bool announce(const char* address, bool opens, bool framed) {
    if (framed) {
        PyObject* notebook = PyImport_ImportModule("calder._notebook");
        PyObject* shown = notebook ? PyObject_CallMethod(notebook, "show", "s", address) : NULL;
        Py_XDECREF(notebook);
        Py_XDECREF(shown);
        return shown != NULL;
    }
    PySys_WriteStdout("%s  (Ctrl-C ends it)\n", address);
    if (!opens) return true;
    PyObject* browser = PyImport_ImportModule("webbrowser");
    PyObject* opened = browser ? PyObject_CallMethod(browser, "open", "s", address) : NULL;
    const bool done = opened != NULL;
    Py_XDECREF(browser);
    Py_XDECREF(opened);
    return done;
}

// 1: this runs in a notebook; 0: it does not; -1: an exception.
static int is_notebook(void) {
    PyObject* notebook = PyImport_ImportModule("calder._notebook");
    PyObject* answer = notebook ? PyObject_CallMethod(notebook, "is_running", NULL) : NULL;
    const int running = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(notebook);
    Py_XDECREF(answer);
    return running;
}

static bool run_viewer(simulation* self, cal_viewer* viewer, bool opens, bool framed, double seconds) {
    server s = {.viewer = viewer, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    if (!announce(cal_viewer_address(viewer), opens, framed)) return false;
    if (pthread_create(&thread, NULL, serve, &s) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no thread for the viewer");
        return false;
    }
    const int waited = wait_for(&s, seconds);
    cal_viewer_stop(viewer);
    PyThreadState* state = PyEval_SaveThread();
    pthread_join(thread, NULL);
    PyEval_RestoreThread(state);
    // Ctrl-C is how one ends it, and no mistake.
    if (waited < 0 && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear();
    if (PyErr_Occurred()) return false;
    if (s.status) error_raise(s.status, &s.error);
    return !s.status && simulation_look(self);
}

PyObject* viewer_run(simulation* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"port", "open", "seconds", "title", NULL};
    PyObject* values[4];
    cal_viewer_def def = cal_default_viewer_def();
    cal_viewer* viewer = NULL;
    cal_error error = {CAL_OK, ""};
    char note[256];
    double seconds;
    if (!arguments_take("view", names, 0, 0, args, count, keywords, values) ||
        !arguments_int(values[0], "port", 0, 0, &def.port) ||
        !arguments_double(values[2], "seconds", INFINITY, &seconds) ||
        !arguments_text(values[3], "title", NULL, &def.title))
        return NULL;
    const int opens = values[1] ? PyObject_IsTrue(values[1]) : 1;
    const int framed = opens > 0 ? is_notebook() : 0;
    if (opens < 0 || framed < 0 || !simulation_enter(self)) return NULL;
    if (self->machine->ranks)
        return PyErr_Format(PyExc_ValueError,
                            "view() shows simulations of one process; 'calder view' shows those of ranks");
    def.framed = framed > 0;
    cal_run* run = simulation_run(self);
    if (!run) return NULL;
    cal_status status = cal_run_begin(run, false, note, &error);
    if (!status) status = cal_viewer_create(run, &def, &viewer, &error);
    if (status) return error_raise(status, &error);
    self->busy = true;
    const bool shown = run_viewer(self, viewer, opens > 0, framed > 0, seconds);
    cal_viewer_destroy(viewer);
    self->busy = false;
    return shown ? Py_NewRef(Py_None) : NULL;
}
