// calder.Model, and where models come from: files, texts, generators.
#include <math.h>
#include <string.h>

#include "calder_python.h"
#include <calder/calder_read.h>

PyTypeObject* model_type;

model_object* model_check(PyObject* object) {
    if (Py_TYPE(object) == model_type) return (model_object*)object;
    PyErr_Format(PyExc_TypeError, "a calder.Model is needed, not %R", (PyObject*)Py_TYPE(object));
    return NULL;
}

// --- Making one -----------------------------------------------------------------------------------------------------

// Takes the model over in any case, and new references to source and issues (which may be NULL).
static PyObject* wrap(cal_model* model, PyObject* source, PyObject* issues) {
    model_object* self = source ? PyObject_New(model_object, model_type) : NULL;
    if (!self) {
        cal_model_destroy(model);
        Py_XDECREF(source);
        Py_XDECREF(issues);
        return NULL;
    }
    self->model = model;
    self->dynamics = NULL;
    self->source = source;
    self->issues = issues;
    for (int i = 0; i < NAME_KINDS; i++) self->names[i] = NULL;
    self->q_count = cal_model_q_count(model);
    self->v_count = cal_model_v_count(model);
    self->actuator_count = cal_model_actuator_count(model);
    return (PyObject*)self;
}

// A function of this module, and arguments: how to make a model again.
static PyObject* source_of(PyObject* module, const char* function, PyObject* arguments) {
    PyObject* callable = arguments ? PyObject_GetAttrString(module, function) : NULL;
    PyObject* source = callable ? PyTuple_Pack(2, callable, arguments) : NULL;
    Py_XDECREF(callable);
    Py_XDECREF(arguments);
    return source;
}

static PyObject* generate(PyObject* module, PyObject* specification) {
    const char* text;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (!arguments_text(specification, "a model's specification", NULL, &text)) return NULL;
    PyThreadState* thread = PyEval_SaveThread();
    const cal_status status = cal_model_generate(text, &model, &error);
    PyEval_RestoreThread(thread);
    if (status) return error_raise(status, &error);
    return wrap(model, source_of(module, "generate", PyTuple_Pack(1, specification)), NULL);
}

static PyObject* list_issues(const cal_read_report* report) {
    PyObject* list = PyList_New(0);
    for (int i = 0; list && i < cal_read_report_count(report); i++) {
        cal_issue issue;
        cal_read_report_issue(report, i, &issue);
        PyObject* entry = Py_BuildValue("{s:s,s:s,s:i,s:i,s:s,s:s}", "kind", cal_issue_kind_name(issue.kind), "file",
                                        issue.file, "line", issue.line, "count", issue.count, "element", issue.element,
                                        "consequence", issue.consequence);
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

enum { MOST_PACKAGE_PATHS = 64 };

// Folders as texts; *kept is a tuple that they live in.
static bool read_paths(PyObject* object, const char** paths, int* count, PyObject** kept) {
    *count = 0;
    *kept = object ? PySequence_Tuple(object) : PyTuple_New(0);
    if (!*kept) return false;
    const Py_ssize_t size = PyTuple_Size(*kept);
    if (size > MOST_PACKAGE_PATHS) {
        PyErr_Format(PyExc_ValueError, "package_paths has %zd folders; at most %d are looked at", size,
                     MOST_PACKAGE_PATHS);
        return false;
    }
    for (; *count < size; ++*count)
        if (!arguments_text(PyTuple_GetItem(*kept, *count), "an entry of package_paths", NULL, &paths[*count]))
            return false;
    return true;
}

static bool read_flag(PyObject* object, bool* out) {
    const int value = object ? PyObject_IsTrue(object) : 0;
    *out = value > 0;
    return value >= 0;
}

#define READ_OPTIONS "strict", "repair", "free_base", "allow_outside", "package_paths"
enum { READ_OPTION_COUNT = 5 };

// Reads a file (text NULL) or a text.
static PyObject* read_model(const char* path, const char* text, size_t size, const char* folder,
                            PyObject* const* values, PyObject* source) {
    const char* paths[MOST_PACKAGE_PATHS];
    PyObject *kept = NULL, *issues = NULL;
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    cal_error error = {CAL_OK, ""};
    cal_read_options options = cal_default_read_options();
    options.package_paths = paths;
    options.folder = folder;
    cal_status status = CAL_OK;
    const bool known = source && read_flag(values[0], &options.strict) && read_flag(values[1], &options.repair) &&
                       read_flag(values[2], &options.free_base) && read_flag(values[3], &options.allow_outside) &&
                       read_paths(values[4], paths, &options.package_path_count, &kept);
    if (known) {
        PyThreadState* thread = PyEval_SaveThread();
        status = text ? cal_model_read_memory(text, size, path, &options, &model, &report, &error)
                      : cal_model_read(path, &options, &model, &report, &error);
        PyEval_RestoreThread(thread);
        if (status) error_raise(status, &error);
        if (!status) issues = list_issues(report);
    }
    cal_read_report_destroy(report);
    Py_XDECREF(kept);
    if (issues) return wrap(model, source, issues);
    cal_model_destroy(model);
    Py_XDECREF(source);
    return NULL;
}

// What a module's function answers to one argument.
static PyObject* ask(const char* module, const char* function, PyObject* argument) {
    PyObject* imported = PyImport_ImportModule(module);
    PyObject* answer = imported ? PyObject_CallMethod(imported, function, "O", argument) : NULL;
    Py_XDECREF(imported);
    return answer;
}

// The bytes of a file, which are kept for pickling; None where it is no plain file, or cannot be read: the engine says why. What has no
// end, or can be read once only, is the engine's to read. NULL: an exception, such as Ctrl-C.
static PyObject* text_of_file(PyObject* path) {
    PyObject* plain = ask("os.path", "isfile", path);
    const int is_plain = plain ? PyObject_IsTrue(plain) : -1;
    Py_XDECREF(plain);
    if (is_plain <= 0) return is_plain == 0 ? Py_NewRef(Py_None) : NULL;
    PyObject* builtins = PyImport_ImportModule("builtins");
    PyObject* file = builtins ? PyObject_CallMethod(builtins, "open", "Os", path, "rb") : NULL;
    PyObject* text = file ? PyObject_CallMethod(file, "read", NULL) : NULL;
    PyObject* closed = text ? PyObject_CallMethod(file, "close", NULL) : NULL;
    Py_XDECREF(builtins);
    Py_XDECREF(file);
    Py_XDECREF(closed);
    if (closed) return text;
    Py_XDECREF(text);
    if (!PyErr_ExceptionMatches(PyExc_OSError)) return NULL;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyObject* folder_of(PyObject* path) {
    PyObject* absolute = ask("os.path", "abspath", path);
    PyObject* folder = absolute ? ask("os.path", "dirname", absolute) : NULL;
    Py_XDECREF(absolute);
    return folder;
}

static PyObject* or_none(PyObject* object) { return object ? object : Py_None; }

// The arguments of loads that read the same again, wherever the process is then.
static PyObject* loads_arguments(PyObject* text, PyObject* folder, PyObject* name, PyObject* const* values) {
    if (!text || !folder || !name) return NULL;
    return PyTuple_Pack(3 + READ_OPTION_COUNT, text, folder, name, or_none(values[0]), or_none(values[1]),
                        or_none(values[2]), or_none(values[3]), or_none(values[4]));
}

static PyObject* load(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"path", READ_OPTIONS, NULL};
    PyObject* values[1 + READ_OPTION_COUNT];
    const char* path;
    if (!arguments_take("load", names, 1, 1, args, count, keywords, values)) return NULL;
    PyObject* where = PyOS_FSPath(values[0]);
    if (!where) return NULL;
    PyObject *made = NULL, *text = NULL, *folder = NULL, *beside = NULL;
    if (arguments_text(where, "path", NULL, &path)) text = text_of_file(where);
    if (text == Py_None) {
        // Made again, it is read again.
        made = read_model(path, NULL, 0, NULL, values + 1, source_of(module, "load", PyTuple_Pack(1, where)));
    } else if (text && (folder = folder_of(where)) && (beside = ask("os.path", "dirname", where))) {
        const char* near;
        char* bytes;
        Py_ssize_t size;
        if (arguments_text(beside, "path", NULL, &near) && PyBytes_AsStringAndSize(text, &bytes, &size) == 0)
            made = read_model(path, bytes, (size_t)size, near, values + 1,
                              source_of(module, "loads", loads_arguments(text, folder, where, values + 1)));
    }
    Py_XDECREF(beside);
    Py_XDECREF(text);
    Py_XDECREF(folder);
    Py_DECREF(where);
    return made;
}

static PyObject* loads(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"text", "folder", "name", READ_OPTIONS, NULL};
    PyObject* values[3 + READ_OPTION_COUNT];
    const char *folder, *name;
    char* text;
    Py_ssize_t size;
    if (!arguments_take("loads", names, 1, 3 + READ_OPTION_COUNT, args, count, keywords, values) ||
        !arguments_text(values[1], "folder", NULL, &folder) || !arguments_text(values[2], "name", "text", &name))
        return NULL;
    PyObject* bytes = PyUnicode_Check(values[0]) ? PyUnicode_AsUTF8String(values[0]) : PyBytes_FromObject(values[0]);
    if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &size) < 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    PyObject* arguments = loads_arguments(bytes, or_none(values[1]), or_none(values[2]), values + 3);
    PyObject* made = read_model(name, text, (size_t)size, folder, values + 3, source_of(module, "loads", arguments));
    Py_DECREF(bytes);
    return made;
}

static bool add_part(const char* name, uint32_t* bits) {
    for (int i = 0; cal_part_name(i, NULL); i++) {
        uint32_t part;
        if (strcmp(cal_part_name(i, &part), name) != 0) continue;
        *bits |= part;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "'%s' is no part of the physics; docs/models.md lists them", name);
    return false;
}

// A text with commas, or a sequence of names.
static bool read_parts(PyObject* object, uint32_t* bits) {
    *bits = 0;
    if (!object) return true;
    PyObject* parts = PyUnicode_Check(object) ? PyObject_CallMethod(object, "split", "s", ",") : Py_NewRef(object);
    const Py_ssize_t count = parts ? PySequence_Size(parts) : -1;
    bool known = count >= 0;
    for (Py_ssize_t i = 0; known && i < count; i++) {
        const char* name;
        PyObject* part = PySequence_GetItem(parts, i);
        known = part && arguments_text(part, "an entry of disable", "", &name) && add_part(name, bits);
        Py_XDECREF(part);
    }
    Py_XDECREF(parts);
    return known;
}

static PyObject* variant(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"disable", "key", NULL};
    model_object* self = (model_object*)object;
    PyObject* values[2];
    uint32_t bits;
    int key = CAL_NONE;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (!arguments_take("variant", names, 0, 2, args, count, keywords, values) || !read_parts(values[0], &bits))
        return NULL;
    if (values[1]) key = model_find(self, NAMES_KEYFRAME, values[1]);
    if (values[1] && key < 0) return NULL;
    const cal_status status = cal_model_variant(self->model, bits, key, &model, &error);
    if (status) return error_raise(status, &error);
    PyObject* arguments = PyTuple_Pack(2, or_none(values[0]), or_none(values[1]));
    PyObject* source = source_of(object, "variant", arguments);
    return wrap(model, source, Py_XNewRef(self->issues));
}

static void dealloc(PyObject* object) {
    model_object* self = (model_object*)object;
    PyTypeObject* type = Py_TYPE(object);
    cal_dynamics_destroy(self->dynamics);
    cal_model_destroy(self->model);
    Py_XDECREF(self->source);
    Py_XDECREF(self->issues);
    for (int i = 0; i < NAME_KINDS; i++) Py_XDECREF(self->names[i]);
    PyObject_Free(self);
    Py_DECREF(type);
}

cal_dynamics* model_borrow_dynamics(model_object* self) {
    cal_dynamics* dynamics = self->dynamics;
    cal_error error = {CAL_OK, ""};
    self->dynamics = NULL;
    if (dynamics) return dynamics;
    const cal_status status = cal_dynamics_create(self->model, &dynamics, &error);
    if (status) error_raise(status, &error);
    return status ? NULL : dynamics;
}

void model_return_dynamics(model_object* self, cal_dynamics* dynamics) {
    // Two threads may have had one each.
    if (self->dynamics)
        cal_dynamics_destroy(dynamics);
    else
        self->dynamics = dynamics;
}

// --- Names ----------------------------------------------------------------------------------------------------------

static const char* site_name(const cal_model* model, int index, char* text, size_t capacity) {
    (void)text, (void)capacity;
    cal_site_def def;
    cal_model_site(model, index, &def);
    return def.name;
}
static const char* keyframe_name(const cal_model* model, int index, char* text, size_t capacity) {
    (void)text, (void)capacity;
    cal_keyframe_def def;
    cal_model_keyframe(model, index, &def);
    return def.name;
}

static const struct {
    const char* word;
    int (*count)(const cal_model* model);
    const char* (*name)(const cal_model* model, int index, char* text, size_t capacity); // NULL: it has none
} kinds[NAME_KINDS] = {
    [NAMES_BODY] = {"body", cal_model_body_count, cal_model_body_name},
    [NAMES_JOINT] = {"joint", cal_model_joint_count, cal_model_joint_name},
    [NAMES_ACTUATOR] = {"actuator", cal_model_actuator_count, cal_model_actuator_name},
    [NAMES_CONSTRAINT] = {"constraint", cal_model_constraint_count, cal_model_constraint_name},
    [NAMES_SITE] = {"site", cal_model_site_count, site_name},
    [NAMES_KEYFRAME] = {"keyframe", cal_model_keyframe_count, keyframe_name},
    [NAMES_SENSOR] = {"sensor", cal_model_sensor_count, cal_model_sensor_name},
};

static PyObject* make_names(const cal_model* model, name_kind kind) {
    PyObject* dict = PyDict_New();
    for (int i = 0; dict && i < kinds[kind].count(model); i++) {
        char text[256];
        const char* name = kinds[kind].name(model, i, text, sizeof text);
        if (!name) continue;
        PyObject* key = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
        PyObject* number = PyLong_FromLong(i);
        // Of equal names the first one counts, as where the engine looks for one.
        const bool added = key && number && (PyDict_Contains(dict, key) == 1 || PyDict_SetItem(dict, key, number) == 0);
        Py_XDECREF(key);
        Py_XDECREF(number);
        if (!added) Py_CLEAR(dict);
    }
    PyObject* proxy = dict ? PyDictProxy_New(dict) : NULL;
    Py_XDECREF(dict);
    return proxy;
}

static PyObject* get_names(PyObject* object, void* closure) {
    model_object* self = (model_object*)object;
    const name_kind kind = (name_kind)(intptr_t)closure;
    if (!self->names[kind]) self->names[kind] = make_names(self->model, kind);
    return Py_XNewRef(self->names[kind]);
}

int model_find(model_object* self, name_kind kind, PyObject* which) {
    const int count = kinds[kind].count(self->model);
    if (PyUnicode_Check(which)) {
        PyObject* names = get_names((PyObject*)self, (void*)(intptr_t)kind);
        PyObject* number = names ? PyObject_GetItem(names, which) : NULL;
        if (names && !number && PyErr_ExceptionMatches(PyExc_KeyError))
            PyErr_Format(PyExc_KeyError, "the model has no %s %R", kinds[kind].word, which);
        const int found = number ? (int)PyLong_AsLong(number) : -1;
        Py_XDECREF(names);
        Py_XDECREF(number);
        return found;
    }
    PyObject* index = PyNumber_Index(which);
    if (!index) return -1;
    const Py_ssize_t value = PyNumber_AsSsize_t(index, NULL);
    Py_DECREF(index);
    if (value >= 0 && value < count) return (int)value;
    PyErr_Format(PyExc_IndexError, "%s %zd is out of range: the model has %d", kinds[kind].word, value, count);
    return -1;
}

// --- What there is to know ------------------------------------------------------------------------------------------

#define GET_NUMBER(function, call, make)                                                                               \
    static PyObject* function(PyObject* object, void* closure) {                                                       \
        (void)closure;                                                                                                 \
        return make(call(((model_object*)object)->model));                                                             \
    }
GET_NUMBER(get_nq, cal_model_q_count, PyLong_FromLong)
GET_NUMBER(get_nv, cal_model_v_count, PyLong_FromLong)
GET_NUMBER(get_nu, cal_model_actuator_count, PyLong_FromLong)
GET_NUMBER(get_depth, cal_model_depth, PyLong_FromLong)
GET_NUMBER(get_mass, cal_model_mass, PyFloat_FromDouble)
GET_NUMBER(get_total_mass, cal_model_total_mass, PyFloat_FromDouble)
GET_NUMBER(get_timestep, cal_model_timestep, PyFloat_FromDouble)
GET_NUMBER(get_can_touch, cal_model_can_touch, PyBool_FromLong)

static PyObject* get_name(PyObject* object, void* closure) {
    (void)closure;
    const char* name = cal_model_name(((model_object*)object)->model);
    return name ? PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace") : PyUnicode_FromString("");
}

static PyObject* get_gravity(PyObject* object, void* closure) {
    (void)closure;
    double g[3];
    cal_model_gravity(((model_object*)object)->model, g);
    return Py_BuildValue("(ddd)", g[0], g[1], g[2]);
}

static PyObject* get_issues(PyObject* object, void* closure) {
    (void)closure;
    const model_object* self = (model_object*)object;
    return self->issues ? PyList_GetSlice(self->issues, 0, PyList_Size(self->issues)) : PyList_New(0);
}

static PyObject* get_start(PyObject* object, void* closure) {
    (void)closure;
    const model_object* self = (model_object*)object;
    array *q = array_create_vector(self->q_count), *v = array_create_vector(self->v_count);
    array* control = array_create_vector(self->actuator_count);
    PyObject* tuple = NULL;
    if (q && v && control) {
        cal_model_initial(self->model, q->data, v->data, control->data);
        tuple = PyTuple_Pack(3, q, v, control);
    }
    Py_XDECREF((PyObject*)q);
    Py_XDECREF((PyObject*)v);
    Py_XDECREF((PyObject*)control);
    return tuple;
}

static PyObject* get_info(PyObject* object, void* closure) {
    const cal_model* model = ((model_object*)object)->model;
    int rows = 0;
    for (int i = 0; i < cal_model_constraint_count(model); i++) {
        cal_constraint_def def;
        cal_model_constraint(model, i, &def);
        rows += cal_constraint_rows(&def, NULL);
    }
    return Py_BuildValue(
        "{s:N,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:d,s:d,s:N,s:d,s:N,s:N}", "name", get_name(object, closure),
        "bodies", cal_model_body_count(model), "joints", cal_model_joint_count(model), "actuators",
        cal_model_actuator_count(model), "constraints", cal_model_constraint_count(model), "constraint_rows", rows,
        "shapes", cal_model_shape_count(model), "nq", cal_model_q_count(model), "nv", cal_model_v_count(model), "depth",
        cal_model_depth(model), "mass", cal_model_mass(model), "total_mass", cal_model_total_mass(model), "gravity",
        get_gravity(object, closure), "timestep", cal_model_timestep(model), "can_touch",
        PyBool_FromLong(cal_model_can_touch(model)), "issues", get_issues(object, closure));
}

static PyObject* make_slice(int first, int count) {
    PyObject *from = PyLong_FromLong(first), *to = PyLong_FromLong(first + count);
    PyObject* slice = from && to ? PySlice_New(from, to, NULL) : NULL;
    Py_XDECREF(from);
    Py_XDECREF(to);
    return slice;
}

static PyObject* describe_joint(PyObject* object, PyObject* which) {
    model_object* self = (model_object*)object;
    const int joint = model_find(self, NAMES_JOINT, which);
    cal_joint_def def;
    char name[256];
    int body, first_q, first_v;
    if (joint < 0) return NULL;
    cal_model_joint(self->model, joint, &def, &body, &first_q, &first_v);
    PyObject* range = def.limited ? Py_BuildValue("(dd)", def.range[0], def.range[1]) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:i,s:s,s:s,s:i,s:N,s:N,s:(ddd),s:(ddd),s:d,s:d,s:d,s:N}", "index", joint, "name",
                         cal_model_joint_name(self->model, joint, name, sizeof name), "kind",
                         cal_joint_kind_name(def.kind), "body", body, "q",
                         make_slice(first_q, cal_joint_q_count(def.kind)), "v",
                         make_slice(first_v, cal_joint_v_count(def.kind)), "axis", def.axis[0], def.axis[1],
                         def.axis[2], "anchor", def.anchor[0], def.anchor[1], def.anchor[2], "damping", def.damping,
                         "stiffness", def.stiffness, "armature", def.armature, "range", range);
}

static PyObject* describe_body(PyObject* object, PyObject* which) {
    model_object* self = (model_object*)object;
    const int body = model_find(self, NAMES_BODY, which);
    cal_body_def def;
    char name[256];
    if (body < 0) return NULL;
    cal_model_body(self->model, body, &def);
    const double *p = def.position, *r = def.quaternion, *c = def.center, *i = def.inertia;
    return Py_BuildValue("{s:i,s:s,s:i,s:(ddd),s:(dddd),s:d,s:(ddd),s:(dddddd)}", "index", body, "name",
                         cal_model_body_name(self->model, body, name, sizeof name), "parent", def.parent, "position",
                         p[0], p[1], p[2], "quaternion", r[0], r[1], r[2], r[3], "mass", def.mass, "center", c[0], c[1],
                         c[2], "inertia", i[0], i[1], i[2], i[3], i[4], i[5]);
}

static PyObject* write_model(PyObject* object, PyObject* path) {
    const char* text;
    cal_error error = {CAL_OK, ""};
    PyObject* where = PyOS_FSPath(path);
    cal_status status = CAL_OK;
    const bool known = where && arguments_text(where, "path", NULL, &text);
    if (known) status = cal_model_write(((model_object*)object)->model, text, &error);
    Py_XDECREF(where);
    if (!known) return NULL;
    return status ? error_raise(status, &error) : Py_NewRef(Py_None);
}

static PyObject* reduce(PyObject* object, PyObject* none) {
    (void)none;
    return Py_NewRef(((model_object*)object)->source);
}

static PyObject* represent(PyObject* object) {
    const model_object* self = (model_object*)object;
    PyObject* name = get_name(object, NULL);
    PyObject* text = name ? PyUnicode_FromFormat("<calder.Model %R: %d bodies, nq %d, nv %d>", name,
                                                 cal_model_body_count(self->model), self->q_count, self->v_count)
                          : NULL;
    Py_XDECREF(name);
    return text;
}

#define METHOD(function) (PyCFunction)(void (*)(void)) function
#define NAMES_OF(name, kind)                                                                                           \
    {                                                                                                                  \
#name, get_names, NULL, "Names of the " #name ", to their numbers: a read-only mapping.",                      \
            (void*)(intptr_t)(kind)                                                                                    \
    }
static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "The model's name.", NULL},
    {"nq", get_nq, NULL, "How many numbers give the position.", NULL},
    {"nv", get_nv, NULL, "Degrees of freedom.", NULL},
    {"nu", get_nu, NULL, "Actuators.", NULL},
    {"depth", get_depth, NULL, "Joints on the longest path from the ground.", NULL},
    {"mass", get_mass, NULL, "Mass of everything that can move, kg.", NULL},
    {"total_mass", get_total_mass, NULL, "Mass of all bodies, kg.", NULL},
    {"timestep", get_timestep, NULL, "Step for fixed-step solvers that the file asks for, s; 0: none.", NULL},
    {"gravity", get_gravity, NULL, "Acceleration, m/s².", NULL},
    {"can_touch", get_can_touch, NULL, "Whether any two shapes may touch.", NULL},
    {"issues", get_issues, NULL, "What the reader of the file noticed: kind, file, line, count, element, consequence.",
     NULL},
    {"info", get_info, NULL, "The numbers of the model in one dict.", NULL},
    {"start", get_start, NULL, "Start values: q, v and control, as new arrays.", NULL},
    NAMES_OF(bodies, NAMES_BODY),
    NAMES_OF(joints, NAMES_JOINT),
    NAMES_OF(actuators, NAMES_ACTUATOR),
    NAMES_OF(constraints, NAMES_CONSTRAINT),
    NAMES_OF(sites, NAMES_SITE),
    NAMES_OF(keyframes, NAMES_KEYFRAME),
    NAMES_OF(sensors, NAMES_SENSOR),
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"joint", describe_joint, METH_O,
     "joint($self, which, /)\n--\n\nA joint by name or number, as a dict; 'q' and 'v' are the slices of its numbers."},
    {"body", describe_body, METH_O, "body($self, which, /)\n--\n\nA body by name or number, as a dict; SI units."},
    {"variant", METHOD(variant), METH_FASTCALL | METH_KEYWORDS,
     "variant($self, disable=None, key=None)\n--\n\nThe model without some parts of its physics ('contact,gravity'), "
     "started at a keyframe."},
    {"write", write_model, METH_O, "write($self, path, /)\n--\n\nWrites the model as an MJCF file."},
    {"__reduce__", reduce, METH_NOARGS, "Pickles the model as the text or specification that it was made from."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Bodies, joints, actuators, constraints and shapes. It never changes, and threads may share it.\n\n"
                "From calder.load, calder.loads and calder.generate. Positions q and velocities v follow MuJoCo's\n"
                "order: a ball has a quaternion (w, x, y, z), a free joint a position and a quaternion."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, represent},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"calder.Model", sizeof(model_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyMethodDef model_functions[] = {
    {"load", METHOD(load), METH_FASTCALL | METH_KEYWORDS,
     "load(path, *, strict=False, repair=False, free_base=False, allow_outside=False, package_paths=())\n--\n\n"
     "Reads a model from an MJCF or URDF file. model.issues has everything that was not understood or is not "
     "simulated;\nwith strict that is an error."},
    {"loads", METHOD(loads), METH_FASTCALL | METH_KEYWORDS,
     "loads(text, folder=None, name='text', strict=False, repair=False, free_base=False, allow_outside=False, "
     "package_paths=())\n--\n\nReads a model from a text; folder is where it finds the files that it names."},
    {"generate", generate, METH_O,
     "generate(specification, /)\n--\n\nMakes a model of a generator: 'name' or 'name:key=value,…'; "
     "calder.generators() "
     "lists them."},
    {NULL, NULL, 0, NULL},
};

bool model_ready(PyObject* module) { return (model_type = type_add(module, &spec)) != NULL; }
