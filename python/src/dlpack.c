// DLPack: an array's memory for NumPy, PyTorch, JAX and others, without a copy.
//
// The structures are those of the DLPack specification, versions 0.8 (unversioned) and 1.0. A capsule holds one until a consumer
// renames the capsule and calls the deleter in its place.
#include <string.h>

#include "calder_python.h"

enum { DEVICE_CPU = 1, CODE_FLOAT = 2, FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };
static const char plain_name[] = "dltensor", versioned_name[] = "dltensor_versioned";

typedef struct tensor {
    void* data;
    struct {
        int32_t type, number;
    } device;
    int32_t dimensions;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *shape, *strides; // strides in entries
    uint64_t byte_offset;
} tensor;

typedef struct plain_tensor {
    tensor tensor;
    void* context;
    void (*deleter)(struct plain_tensor* self);
} plain_tensor;

typedef struct versioned_tensor {
    struct {
        uint32_t major, minor;
    } version;
    void* context;
    void (*deleter)(struct versioned_tensor* self);
    uint64_t flags;
    tensor tensor;
} versioned_tensor;

// What is freed together.
typedef struct export {
    union {
        plain_tensor plain;
        versioned_tensor versioned;
    };
    PyObject* array;
    int64_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
}
export;

// A consumer may call it from any thread, without the GIL; after Python has ended there is nothing to give back to.
static void release(export* e) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(e->array);
    PyMem_Free(e);
    PyGILState_Release(state);
}
static void delete_plain(plain_tensor* self) { release(self->context); }
static void delete_versioned(versioned_tensor* self) { release(self->context); }

// A capsule that nobody took.
static void drop_capsule(PyObject* capsule) {
    const char* name = PyCapsule_GetName(capsule);
    if (!name || (strcmp(name, plain_name) != 0 && strcmp(name, versioned_name) != 0)) return;
    if (strcmp(name, plain_name) == 0) {
        plain_tensor* t = PyCapsule_GetPointer(capsule, name);
        t->deleter(t);
    } else {
        versioned_tensor* t = PyCapsule_GetPointer(capsule, name);
        t->deleter(t);
    }
}

static void describe(export* e, tensor* t) {
    const array* a = (const array*)e->array;
    t->data = a->data;
    t->device.type = DEVICE_CPU;
    t->dimensions = a->dimensions;
    t->type.code = CODE_FLOAT;
    t->type.bits = 64;
    t->type.lanes = 1;
    for (int i = 0; i < a->dimensions; i++) {
        e->shape[i] = a->shape[i];
        e->strides[i] = a->strides[i] / (Py_ssize_t)sizeof(double);
    }
    t->shape = e->shape;
    t->strides = e->strides;
}

// Takes a reference of the array.
static PyObject* export_array(PyObject* object, bool versioned, bool copied) {
    export* e = PyMem_Calloc(1, sizeof *e);
    if (!e) {
        Py_DECREF(object);
        return PyErr_NoMemory();
    }
    e->array = object;
    if (versioned) {
        e->versioned.version.major = 1;
        e->versioned.context = e;
        e->versioned.deleter = delete_versioned;
        e->versioned.flags = (((array*)object)->readonly ? FLAG_READ_ONLY : 0) | (copied ? FLAG_COPIED : 0);
        describe(e, &e->versioned.tensor);
    } else {
        e->plain.context = e;
        e->plain.deleter = delete_plain;
        describe(e, &e->plain.tensor);
    }
    PyObject* capsule = PyCapsule_New(e, versioned ? versioned_name : plain_name, drop_capsule);
    if (!capsule) release(e);
    return capsule;
}

PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject* values[4];
    int major = 0, minor = 0, type = DEVICE_CPU, number = 0;
    if (!arguments_take("__dlpack__", names, 0, 0, args, count, keywords, values)) return NULL;
    const int copies = values[3] ? PyObject_IsTrue(values[3]) : 0;
    if (copies < 0) return NULL;
    for (int i = 1; i <= 2; i++) {
        if (!values[i]) continue;
        if (!PyTuple_Check(values[i])) return PyErr_Format(PyExc_TypeError, "%s must be a tuple of two", names[i]);
        if (!PyArg_ParseTuple(values[i], "ii", i == 1 ? &major : &type, i == 1 ? &minor : &number)) return NULL;
    }
    if (values[0]) return PyErr_Format(PyExc_BufferError, "memory of the processor has no stream");
    if (type != DEVICE_CPU || number != 0)
        return PyErr_Format(PyExc_BufferError, "the array is on the processor (1, 0), not on (%d, %d)", type, number);
    PyObject* shown = copies ? PyObject_CallMethod(self, "copy", NULL) : Py_NewRef(self);
    if (!shown) return NULL;
    if (((array*)shown)->readonly && major < 1) {
        Py_DECREF(shown);
        return PyErr_Format(PyExc_BufferError, "this array cannot be written to, which DLPack before 1.0 cannot say; "
                                               "take a.copy()");
    }
    return export_array(shown, major >= 1, copies > 0);
}

PyObject* array_dlpack_device(PyObject* self, PyObject* none) {
    (void)self, (void)none;
    return Py_BuildValue("(ii)", DEVICE_CPU, 0);
}
