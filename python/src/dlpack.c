// DLPack: memory of arrays, and of ensembles on a GPU, for NumPy, PyTorch, JAX and others, without a copy.
//
// The structures are those of the DLPack specification, versions 0.8 (unversioned) and 1.0. A capsule holds one until a consumer
// renames the capsule and calls the deleter in its place.
#include <string.h>

#include "calder_python.h"

enum { CODE_FLOAT = 2, FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };
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
    PyObject* owner;
    void (*returned)(PyObject * owner);
    int64_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
}
export;

// A consumer may call it from any thread, without the GIL; after Python has ended there is nothing to give back to.
static void release(export* e) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (e->returned) e->returned(e->owner);
    Py_DECREF(e->owner);
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

static void describe(const lending* l, export* e, tensor* t) {
    t->data = l->data;
    t->device.type = l->device;
    t->device.number = l->number;
    t->dimensions = l->dimensions;
    t->type.code = CODE_FLOAT;
    t->type.bits = 64;
    t->type.lanes = 1;
    for (int i = 0; i < l->dimensions; i++) {
        e->shape[i] = l->shape[i];
        e->strides[i] = l->strides[i] / (Py_ssize_t)sizeof(double);
    }
    t->shape = e->shape;
    t->strides = e->strides;
}

static PyObject* refuse(const lending* l) {
    if (l->returned) l->returned(l->owner);
    Py_DECREF(l->owner);
    return NULL;
}

PyObject* lending_capsule(const lending* l, const lending_request* request) {
    if (l->readonly && request->major < 1) {
        PyErr_SetString(PyExc_BufferError,
                        "this array cannot be written to, which DLPack before 1.0 cannot say; take a.copy()");
        return refuse(l);
    }
    if (!request->anywhere && (request->device != l->device || request->number != l->number)) {
        PyErr_Format(PyExc_BufferError, "the array is on device (%d, %d), not on (%d, %d)", l->device, l->number,
                     request->device, request->number);
        return refuse(l);
    }
    export* e = PyMem_Calloc(1, sizeof *e);
    if (!e) {
        PyErr_NoMemory();
        return refuse(l);
    }
    const bool versioned = request->major >= 1;
    e->owner = l->owner;
    e->returned = l->returned;
    if (versioned) {
        e->versioned.version.major = 1;
        e->versioned.context = e;
        e->versioned.deleter = delete_versioned;
        e->versioned.flags = (l->readonly ? FLAG_READ_ONLY : 0) | (l->copied ? FLAG_COPIED : 0);
        describe(l, e, &e->versioned.tensor);
    } else {
        e->plain.context = e;
        e->plain.deleter = delete_plain;
        describe(l, e, &e->plain.tensor);
    }
    PyObject* capsule = PyCapsule_New(e, versioned ? versioned_name : plain_name, drop_capsule);
    if (!capsule) release(e);
    return capsule;
}

bool lending_read(PyObject* const* args, Py_ssize_t count, PyObject* keywords, lending_request* out) {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject* values[4];
    int minor;
    *out = (lending_request){.anywhere = true};
    if (!arguments_take("__dlpack__", names, 0, 0, args, count, keywords, values)) return false;
    const int copies = values[3] ? PyObject_IsTrue(values[3]) : 0;
    if (copies < 0) return false;
    for (int i = 1; i <= 2; i++) {
        if (!values[i]) continue;
        if (!PyTuple_Check(values[i])) {
            PyErr_Format(PyExc_TypeError, "%s must be a tuple of two", names[i]);
            return false;
        }
        if (!PyArg_ParseTuple(values[i], "ii", i == 1 ? &out->major : &out->device, i == 1 ? &minor : &out->number))
            return false;
    }
    out->stream = values[0];
    out->anywhere = !values[2];
    out->copies = copies > 0;
    return true;
}

PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    lending_request request;
    if (!lending_read(args, count, keywords, &request)) return NULL;
    if (request.stream) return PyErr_Format(PyExc_BufferError, "memory of the processor has no stream");
    PyObject* shown = request.copies ? PyObject_CallMethod(self, "copy", NULL) : Py_NewRef(self);
    if (!shown) return NULL;
    const array* a = (const array*)shown;
    lending l = {.data = a->data,
                 .device = DLPACK_CPU,
                 .dimensions = a->dimensions,
                 .readonly = a->readonly,
                 .copied = request.copies,
                 .owner = shown};
    memcpy(l.shape, a->shape, sizeof l.shape);
    memcpy(l.strides, a->strides, sizeof l.strides);
    return lending_capsule(&l, &request);
}

PyObject* array_dlpack_device(PyObject* self, PyObject* none) {
    (void)self, (void)none;
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}
