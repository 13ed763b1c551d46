// calder._mpi: the machine of all ranks, loaded when machine='mpi' is asked for.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <calder/calder_mpi.h>
#include <string.h>

// Where mpi4py, or the program around Python, started MPI, it ends it; otherwise Python's end does.
static void finish(void) {
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) MPI_Finalize();
}

static bool start(void) {
    int started = 0, ended = 0, provided = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (ended) {
        PyErr_SetString(PyExc_RuntimeError, "MPI was finalized: there are no ranks any more");
        return false;
    }
    if (started) return true;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || Py_AtExit(finish) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "MPI does not start");
        return false;
    }
    return true;
}

// A machine as a capsule; whoever takes it destroys it. What the engine says is raised by that one: (status, line).
static PyObject* open_machine(PyObject* module, PyObject* argument) {
    (void)module;
    cal_error error = {CAL_OK, ""};
    cal_machine* machine = NULL;
    const long lanes = PyLong_AsLong(argument);
    if ((lanes == -1 && PyErr_Occurred()) || !start()) return NULL;
    const cal_status status = cal_machine_mpi(MPI_COMM_WORLD, (int)lanes, &machine, &error);
    if (status) {
        // A line that was cut may end within a letter.
        PyObject* line = PyUnicode_DecodeUTF8(error.text, (Py_ssize_t)strlen(error.text), "replace");
        return line ? Py_BuildValue("(iN)", (int)status, line) : NULL;
    }
    return PyCapsule_New(machine, "calder.machine", NULL);
}

static PyObject* rank(PyObject* module, PyObject* none) {
    (void)module, (void)none;
    int number = 0;
    if (!start()) return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return PyLong_FromLong(number);
}

static PyMethodDef functions[] = {
    {"open", open_machine, METH_O, "open(lanes)\n--\n\nThe machine of all ranks, for Simulation and Ensemble."},
    {"rank", rank, METH_NOARGS, "rank()\n--\n\nThe number of this rank, from 0 on."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "calder._mpi", "Calder on the ranks of MPI.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__mpi(void);

PyMODINIT_FUNC PyInit__mpi(void) { return PyModule_Create(&definition); }
