// calder.DeviceArray: numbers of an ensemble in the memory of a GPU, lent to others by DLPack. What knows of GPUs is a module of its
// own, calder._cuda, loaded when it is asked for; addresses and numbers come from there.
#include <string.h>

#include "calder_python.h"

static PyTypeObject* device_type;

typedef struct device_array {
    PyObject_HEAD ensemble* owner;
    cal_field field;
    int number; // of the GPU; -1: the host plays it
    Py_ssize_t shape[3];
    PyObject* rows;
} device_array;

static const struct {
    const char* name;
    cal_field field;
} fields[] = {{"q", CAL_Q}, {"v", CAL_V}, {"tau", CAL_TAU}, {"qdd", CAL_QDD}};

PyObject* device_module(void) {
    PyObject* module = PyImport_ImportModule("calder._cuda");
    if (module || !PyErr_ExceptionMatches(PyExc_ImportError)) return module;
    PyErr_Clear();
    cal_error error = {CAL_NOT_AVAILABLE,
                       "machine 'cuda' is not in this installation of the module: no nvcc was found when it was built"};
    return error_raise(error.status, &error);
}

// What calder._cuda answers about an ensemble: a new reference, or NULL and an exception.
static PyObject* ask(ensemble* self, const char* function, int argument) {
    cal_ensemble* e = ensemble_enter(self);
    if (!e) return NULL;
    cal_error error = {CAL_NOT_AVAILABLE, "the ensemble is not on a GPU: only one with machine='cuda' is"};
    if (!self->machine->device) return error_raise(error.status, &error);
    PyObject* module = device_module();
    PyObject* capsule = module ? PyCapsule_New(e, "calder.ensemble", NULL) : NULL;
    PyObject* answer = NULL;
    if (capsule) {
        self->busy = true;
        answer = PyObject_CallMethod(module, function, "Oi", capsule, argument);
        self->busy = false;
    }
    Py_XDECREF(module);
    Py_XDECREF(capsule);
    if (!answer || !PyLong_Check(answer)) return answer;
    const cal_status status = (cal_status)PyLong_AsLong(answer);
    Py_DECREF(answer);
    if (status == CAL_NOT_AVAILABLE) { // it is on a GPU
        const cal_error absent = {
            status,
            "device_forward is for models without constraints: calder.forward with constraints=True, or advance"};
        return error_raise(status, &absent);
    }
    return status ? error_raise(status, NULL) : Py_NewRef(Py_None);
}

// Where the numbers are now.
static bool find(device_array* self, void** data) {
    PyObject *answer = ask(self->owner, "view", (int)self->field), *rows;
    unsigned long long address;
    if (!answer) return false;
    const bool read =
        PyArg_ParseTuple(answer, "KnnOi", &address, &self->shape[0], &self->shape[1], &rows, &self->number);
    if (read) {
        self->shape[2] = self->shape[1] > 0 ? 32 : 0;
        if (!self->rows) self->rows = Py_NewRef(rows);
        *data = (void*)(uintptr_t)address;
    }
    Py_DECREF(answer);
    return read;
}

PyObject* device_view(PyObject* object, PyObject* name) {
    const char* text;
    void* data;
    size_t i = 0;
    if (!arguments_text(name, "name", NULL, &text)) return NULL;
    const size_t count = sizeof fields / sizeof fields[0];
    while (i < count && strcmp(fields[i].name, text) != 0) i++;
    if (i == count) return PyErr_Format(PyExc_ValueError, "%R is none of 'q', 'v', 'tau' and 'qdd'", name);
    device_array* out = PyObject_New(device_array, device_type);
    if (!out) return NULL;
    out->owner = (ensemble*)Py_NewRef(object);
    out->field = fields[i].field;
    out->rows = NULL;
    if (find(out, &data)) return (PyObject*)out;
    Py_DECREF((PyObject*)out);
    return NULL;
}

PyObject* device_changed(PyObject* object, PyObject* none) {
    (void)none;
    return ask((ensemble*)object, "changed", 0);
}

PyObject* device_forward(PyObject* object, PyObject* none) {
    (void)none;
    return ask((ensemble*)object, "forward", 0);
}

static void returned(PyObject* owner) {
    ensemble* self = (ensemble*)owner;
    self->lendings--;
    if (!self->ensemble) ensemble_destroy(self);
}

static PyObject* dlpack(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    device_array* self = (device_array*)object;
    lending_request request;
    lending l = {.dimensions = 3, .returned = returned};
    if (!lending_read(args, count, keywords, &request)) return NULL;
    if (request.copies) return PyErr_Format(PyExc_BufferError, "copy=True is left to those who take it");
    // Whatever computes there has finished when this returns, so that a stream has nothing to wait for.
    if (!find(self, &l.data)) return NULL;
    if (self->number < 0 && request.stream)
        return PyErr_Format(PyExc_BufferError, "memory of the processor has no stream");
    l.device = self->number < 0 ? DLPACK_CPU : DLPACK_CUDA;
    l.number = self->number < 0 ? 0 : self->number;
    memcpy(l.shape, self->shape, sizeof l.shape);
    l.strides[2] = sizeof(double);
    l.strides[1] = l.shape[2] * l.strides[2];
    l.strides[0] = l.shape[1] * l.strides[1];
    l.owner = Py_NewRef((PyObject*)self->owner);
    self->owner->lendings++;
    return lending_capsule(&l, &request);
}

static PyObject* dlpack_device(PyObject* object, PyObject* none) {
    (void)none;
    const device_array* self = (device_array*)object;
    return Py_BuildValue("(ii)", self->number < 0 ? DLPACK_CPU : DLPACK_CUDA, self->number < 0 ? 0 : self->number);
}

static PyObject* get_shape(PyObject* object, void* closure) {
    (void)closure;
    const device_array* self = (device_array*)object;
    return Py_BuildValue("(nnn)", self->shape[0], self->shape[1], self->shape[2]);
}

static PyObject* get_rows(PyObject* object, void* closure) {
    (void)closure;
    return Py_NewRef(((device_array*)object)->rows);
}

static PyObject* get_ensemble(PyObject* object, void* closure) {
    (void)closure;
    return Py_NewRef((PyObject*)((device_array*)object)->owner);
}

static void dealloc(PyObject* object) {
    device_array* self = (device_array*)object;
    PyTypeObject* type = Py_TYPE(object);
    Py_DECREF((PyObject*)self->owner);
    Py_XDECREF(self->rows);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe same memory for "
     "libraries that take DLPack: torch.from_dlpack(a), cupy.from_dlpack(a)."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nWhere the memory is: (2, n), CUDA's device n; (1, 0) where the host plays it."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "Groups of 32 instances, rows, and the 32 instances of a group.", NULL},
    {"rows", get_rows, NULL, "The row of each number of an instance, in the model's order.", NULL},
    {"ensemble", get_ensemble, NULL, "Whose numbers they are.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Numbers of an ensemble in the memory of a GPU; from Ensemble.device().\n\n"
                "Number i of instance n is at [n // 32, rows[i], n % 32]. After others wrote there,\n"
                "Ensemble.device_changed() takes it over."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};
static PyType_Spec spec = {"calder.DeviceArray", sizeof(device_array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool device_ready(PyObject* module) { return (device_type = type_add(module, &spec)) != NULL; }
