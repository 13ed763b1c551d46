// The module, its error, and its list of what there is.
#include <ctype.h>
#include <string.h>

#include "calder_python.h"
#include <calder/calder_view.h>

// --- Errors ---------------------------------------------------------------------------------------------------------

static PyObject* error_type;

bool error_ready(PyObject* module) {
    PyObject* members = Py_BuildValue("{s:O}", "status", Py_None);
    if (!members) return false;
    error_type = PyErr_NewExceptionWithDoc("calder.Error",
                                           "What the engine says is wrong, in one line.\n\n"
                                           "status: its kind, such as 'bad_model', 'not_finite', 'not_converged'.",
                                           PyExc_RuntimeError, members);
    Py_DECREF(members);
    return error_type && PyModule_AddObjectRef(module, "Error", error_type) == 0;
}

// "bad_argument" of CAL_BAD_ARGUMENT.
static PyObject* status_name(cal_status status) {
#define STATUS_NAME(name, text) #name,
    static const char* const names[] = {CAL_STATUS_LIST(STATUS_NAME)};
    char lower[40] = "";
    const char* name = (size_t)status < sizeof names / sizeof names[0] ? names[status] : "CAL_UNKNOWN";
    for (size_t i = 0; name[i + 4] && i + 1 < sizeof lower; i++) lower[i] = (char)tolower((unsigned char)name[i + 4]);
    return PyUnicode_FromString(lower);
}

PyObject* error_raise(cal_status status, const cal_error* error) {
    const char* line = error && error->text[0] ? error->text : cal_status_text(status);
    // A line that was cut may end within a letter.
    PyObject* text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
    PyObject* name = status_name(status);
    PyObject* raised = text && name ? PyObject_CallFunctionObjArgs(error_type, text, NULL) : NULL;
    if (raised && PyObject_SetAttrString(raised, "status", name) == 0) PyErr_SetObject(error_type, raised);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(raised);
    return NULL;
}

PyTypeObject* type_add(PyObject* module, PyType_Spec* spec) {
    PyObject* type = PyType_FromSpec(spec);
    if (!type) return NULL;
    if (PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type) == 0) return (PyTypeObject*)type;
    Py_DECREF(type);
    return NULL;
}

// --- Lists ----------------------------------------------------------------------------------------------------------

static bool add_text(PyObject* list, const char* text) {
    PyObject* entry = PyUnicode_FromString(text);
    const bool added = entry && PyList_Append(list, entry) == 0;
    Py_XDECREF(entry);
    return added;
}

static PyObject* names(const char* (*name)(int)) {
    PyObject* list = PyList_New(0);
    for (int i = 0; list && name(i); i++)
        if (!add_text(list, name(i))) Py_CLEAR(list);
    return list;
}

static PyObject* solvers(PyObject* module, PyObject* none) {
    (void)module, (void)none;
    return names(cal_solver_name);
}

static PyObject* algorithms(PyObject* module, PyObject* none) {
    (void)module, (void)none;
    return names(cal_algorithm_name);
}

static PyObject* generators(PyObject* module, PyObject* none) {
    (void)module, (void)none;
    PyObject* dict = PyDict_New();
    for (int i = 0; dict && cal_generator_name(i); i++) {
        PyObject* help = PyUnicode_FromString(cal_generator_help(i));
        if (!help || PyDict_SetItemString(dict, cal_generator_name(i), help) < 0) Py_CLEAR(dict);
        Py_XDECREF(help);
    }
    return dict;
}

static PyMethodDef list_functions[] = {
    {"solvers", solvers, METH_NOARGS, "solvers()\n--\n\nThe names of the solvers in this build."},
    {"algorithms", algorithms, METH_NOARGS, "algorithms()\n--\n\nThe names of the algorithms."},
    {"generators", generators, METH_NOARGS,
     "generators()\n--\n\nThe generators of models: name to parameters, with defaults and meanings."},
    {NULL, NULL, 0, NULL},
};

// --- The module -----------------------------------------------------------------------------------------------------

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "calder._calder",
                                 "Calder in C; what is public is in the package calder.",
                                 -1,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__calder(void);

PyMODINIT_FUNC PyInit__calder(void) {
    PyObject* module = PyModule_Create(&definition);
    if (!module) return NULL;
    PyMethodDef* const functions[] = {list_functions, model_functions, dynamics_functions, plan_functions,
                                      snapshot_functions};
    bool ready = error_ready(module) && array_ready(module) && model_ready(module) && simulation_ready(module) &&
                 recorder_ready(module) && ensemble_ready(module) && device_ready(module);
    for (size_t i = 0; ready && i < sizeof functions / sizeof functions[0]; i++)
        ready = PyModule_AddFunctions(module, functions[i]) == 0;
    ready = ready && PyModule_AddStringConstant(module, "__version__", cal_version()) == 0;
    // What this build can do, for those who ask before they try.
    PyObject* page = PyBool_FromLong(cal_viewer_has_page());
    ready = ready && page && PyModule_AddObjectRef(module, "has_page", page) == 0;
    Py_XDECREF(page);
    if (!ready) Py_CLEAR(module);
    return module;
}
