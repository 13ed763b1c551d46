// calder._cuda: the machine of a GPU, and where ensembles are in its memory; loaded when machine='cuda' is asked for.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <calder/calder_cuda.h>
#include <stdio.h>
#include <string.h>

// A machine as a capsule; whoever takes it destroys it. What the engine says is raised by that one: (status, line).
static PyObject* open_machine(PyObject* module, PyObject* args) {
    (void)module;
    cal_cuda_def def = cal_default_cuda_def();
    cal_error error = {CAL_OK, ""};
    cal_machine* machine = NULL;
    int lanes;
    if (!PyArg_ParseTuple(args, "ii:open", &def.device, &lanes)) return NULL;
    cal_status status = lanes == 0 || lanes == 32 ? CAL_OK : CAL_BAD_ARGUMENT;
    if (status) {
        snprintf(error.text, sizeof error.text, "lanes=%d: machine 'cuda' has 32", lanes);
    } else {
        PyThreadState* thread = PyEval_SaveThread();
        status = cal_machine_cuda(&def, &machine, &error);
        PyEval_RestoreThread(thread);
    }
    if (status == CAL_OK) return PyCapsule_New(machine, "calder.machine", NULL);
    // A line that was cut may end within a letter.
    PyObject* line = PyUnicode_DecodeUTF8(error.text, (Py_ssize_t)strlen(error.text), "replace");
    return line ? Py_BuildValue("(iN)", (int)status, line) : NULL;
}

static cal_ensemble* take(PyObject* args, int* argument) {
    PyObject* capsule;
    if (!PyArg_ParseTuple(args, "Oi", &capsule, argument)) return NULL;
    return PyCapsule_GetPointer(capsule, "calder.ensemble");
}

// (address, groups, rows, the row of each number, device), or a status.
static PyObject* view(PyObject* module, PyObject* args) {
    (void)module;
    cal_cuda_view at;
    int field;
    cal_ensemble* ensemble = take(args, &field);
    if (!ensemble) return NULL;
    const cal_status status = cal_cuda_ensemble_view(ensemble, (cal_field)field, &at);
    if (status) return PyLong_FromLong((long)status);
    PyObject* rows = PyTuple_New(at.count);
    for (int i = 0; rows && i < at.count; i++) {
        PyObject* row = PyLong_FromLong(at.row[i]);
        if (!row || PyTuple_SetItem(rows, i, row) < 0) Py_CLEAR(rows);
    }
    if (!rows) return NULL;
    return Py_BuildValue("(KnnNi)", (unsigned long long)(uintptr_t)at.data, (Py_ssize_t)at.groups, (Py_ssize_t)at.rows,
                         rows, at.device);
}

static PyObject* call(PyObject* args, cal_status (*function)(cal_ensemble* ensemble)) {
    int unused;
    cal_ensemble* ensemble = take(args, &unused);
    if (!ensemble) return NULL;
    PyThreadState* thread = PyEval_SaveThread();
    const cal_status status = function(ensemble);
    PyEval_RestoreThread(thread);
    return PyLong_FromLong((long)status);
}

static PyObject* changed(PyObject* module, PyObject* args) {
    (void)module;
    return call(args, cal_cuda_ensemble_changed);
}

static PyObject* forward(PyObject* module, PyObject* args) {
    (void)module;
    return call(args, cal_cuda_ensemble_forward);
}

static PyMethodDef functions[] = {
    {"open", open_machine, METH_VARARGS,
     "open(number, lanes)\n--\n\nThe machine of a GPU, for Simulation and Ensemble."},
    {"view", view, METH_VARARGS,
     "view(ensemble, field)\n--\n\nWhere numbers of an ensemble are, for Ensemble.device()."},
    {"changed", changed, METH_VARARGS, "changed(ensemble, 0)\n--\n\nFor Ensemble.device_changed()."},
    {"forward", forward, METH_VARARGS, "forward(ensemble, 0)\n--\n\nFor Ensemble.device_forward()."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "calder._cuda", "Calder on a GPU.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cuda(void);

PyMODINIT_FUNC PyInit__cuda(void) { return PyModule_Create(&definition); }
