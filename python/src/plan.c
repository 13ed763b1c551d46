// calder.plan: who computes what on many processors, and how long an evaluation takes there, without running it.
#include <string.h>

#include "calder_python.h"
#include <calder/calder_run.h>

static bool measure(const cal_model* model, cal_costs* costs) {
    cal_error error = {CAL_OK, ""};
    // Two threads are enough to exchange something.
    shared_machine* machine = machine_open("threads:2", 0);
    if (!machine) return false;
    PyThreadState* thread = PyEval_SaveThread();
    const cal_status status = cal_machine_measure(machine->machine, model, costs, &error);
    PyEval_RestoreThread(thread);
    machine_close(machine);
    if (status) error_raise(status, &error);
    return status == CAL_OK;
}

static bool read_costs(const cal_model* model, PyObject* const* values, cal_costs* costs) {
    *costs = (cal_costs){0};
    if (!values[0] != !values[1] || (!values[0] && values[2])) {
        PyErr_SetString(PyExc_ValueError, "a machine is described by compute and message together; without them this "
                                          "one is measured");
        return false;
    }
    if (!values[0]) return measure(model, costs);
    return arguments_double(values[0], "compute", 0, &costs->compute) &&
           arguments_double(values[1], "message", 0, &costs->message) &&
           arguments_double(values[2], "send", 0, &costs->send);
}

static PyObject* make_row(int processors, int used, double seconds, double one) {
    return Py_BuildValue("{s:i,s:i,s:d,s:d}", "processors", processors, "used", used, "seconds", seconds, "speedup",
                         seconds > 0 ? one / seconds : 1.0);
}

// One number of processors; owners: the processor of each joint, of a distribution.
static PyObject* price(const cal_model* model, const char* algorithm, cal_distribution distribution, int processors,
                       const cal_costs* costs, int32_t* owners) {
    const double one = cal_model_joint_count(model) * costs->compute;
    cal_error error = {CAL_OK, ""};
    cal_schedule_report report = {0};
    cal_status status;
    int used = 0;
    double seconds = 0;
    char schedule[16];
    if (strcmp(algorithm, "assembly") == 0) {
        PyOS_snprintf(schedule, sizeof schedule, "%d", processors);
        status = cal_schedule_predict(model, schedule, processors, costs, &report, &error);
        used = report.processors;
        seconds = report.seconds;
    } else {
        status = cal_distribute(model, distribution, processors, costs, owners, &used, &seconds, &error);
    }
    return status ? error_raise(status, &error) : make_row(processors, used, seconds, one);
}

static PyObject* list_of(const int32_t* entries, int count) {
    PyObject* list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject* number = PyLong_FromLong(entries[i]);
        if (!number || PyList_SetItem(list, i, number) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject* rows_of(const cal_model* model, PyObject* processors, const char* algorithm,
                         cal_distribution distribution, const cal_costs* costs, int32_t* owners) {
    PyObject* rows = PyList_New(0);
    const Py_ssize_t count = PySequence_Size(processors);
    if (count < 0) Py_CLEAR(rows);
    for (Py_ssize_t i = 0; rows && i < count; i++) {
        int wanted;
        PyObject* item = PySequence_GetItem(processors, i);
        const bool read = item && arguments_int(item, "processors", 1, 1, &wanted);
        PyObject* row = read ? price(model, algorithm, distribution, wanted, costs, owners) : NULL;
        if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
        Py_XDECREF(item);
        Py_XDECREF(row);
    }
    return rows;
}

static PyObject* plan(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"model", "processors", "compute",      "message",
                                        "send",  "algorithm",  "distribution", NULL};
    (void)module;
    PyObject* values[7];
    const char *algorithm, *distribution;
    cal_costs costs;
    if (!arguments_take("plan", names, 2, 2, args, count, keywords, values) ||
        !arguments_text(values[5], "algorithm", "aba", &algorithm) ||
        !arguments_text(values[6], "distribution", "balanced", &distribution))
        return NULL;
    model_object* model = model_check(values[0]);
    if (!model) return NULL;
    const bool assembly = strcmp(algorithm, "assembly") == 0, jung = strcmp(distribution, "jung") == 0;
    if (!assembly && strcmp(algorithm, "aba") != 0)
        return PyErr_Format(PyExc_ValueError, "algorithm must be 'aba' or 'assembly', not '%s'", algorithm);
    if (!jung && strcmp(distribution, "balanced") != 0)
        return PyErr_Format(PyExc_ValueError, "distribution must be 'balanced' or 'jung', not '%s'", distribution);
    const int joints = cal_model_joint_count(model->model);
    PyObject* wanted = PySequence_Check(values[1]) ? PySequence_List(values[1]) : PyTuple_Pack(1, values[1]);
    int32_t* owners = PyMem_Calloc((size_t)joints + 1, sizeof *owners);
    PyObject *rows = NULL, *out = NULL;
    if (!owners) PyErr_NoMemory();
    if (wanted && owners && read_costs(model->model, values + 2, &costs))
        rows = rows_of(model->model, wanted, algorithm, jung ? CAL_JUNG : CAL_BALANCED, &costs, owners);
    if (rows)
        out = Py_BuildValue("{s:d,s:d,s:d,s:d,s:O,s:N}", "compute", costs.compute, "message", costs.message, "send",
                            costs.send, "read", costs.read, "rows", rows, "processor_of_joint",
                            assembly ? Py_NewRef(Py_None) : list_of(owners, joints));
    Py_XDECREF(rows);
    Py_XDECREF(wanted);
    PyMem_Free(owners);
    return out;
}

PyMethodDef plan_functions[] = {
    {"plan", (PyCFunction)(void (*)(void))plan, METH_FASTCALL | METH_KEYWORDS,
     "plan(model, processors, *, compute=None, message=None, send=None, algorithm='aba', "
     "distribution='balanced')\n--\n\n"
     "How long an evaluation takes on so many processors (a number, or several): a dict with rows of\n"
     "processors, used, seconds and speedup, and the last one's processor_of_joint. compute is what a joint costs, s;\n"
     "message what an exchange between two processors costs, s; send the sender's part of it. Without them this\n"
     "machine is measured, and read, what a joint costs those that read it where every processor computes the trunk\n"
     "(processor -1). distribution: 'balanced' or 'jung'."},
    {NULL, NULL, 0, NULL},
};
