// calder.Array: doubles with the buffer protocol, comfortable without NumPy.
#include <string.h>

#include "calder_python.h"

PyTypeObject* array_type;

static Py_ssize_t fill_strides(array* a) {
    Py_ssize_t stride = sizeof(double);
    for (int i = a->dimensions; i-- > 0;) {
        a->strides[i] = stride;
        stride *= a->shape[i];
    }
    return stride;
}

array* array_create(int dimensions, const Py_ssize_t* shape) {
    Py_ssize_t count = 1;
    for (int i = 0; i < dimensions; i++) {
        if (shape[i] > 0 && count > PY_SSIZE_T_MAX / 16 / shape[i]) return (array*)PyErr_NoMemory();
        count *= shape[i];
    }
    array* a = PyObject_NewVar(array, array_type, count);
    if (!a) return NULL;
    a->owner = NULL;
    a->hook = NULL;
    a->data = (double*)(a + 1);
    a->dimensions = dimensions;
    a->readonly = false;
    memcpy(a->shape, shape, (size_t)dimensions * sizeof *shape);
    memset(a->data, 0, (size_t)count * sizeof *a->data);
    fill_strides(a);
    return a;
}

array* array_create_vector(int count) { return array_create(1, (Py_ssize_t[]){count}); }
array* array_create_matrix(int rows, int columns) { return array_create(2, (Py_ssize_t[]){rows, columns}); }

PyObject* array_view(PyObject* owner, array_hook* hook, double* data, int count) {
    array* a = PyObject_NewVar(array, array_type, 0);
    if (!a) return NULL;
    a->owner = Py_NewRef(owner);
    a->hook = hook;
    a->data = data;
    a->dimensions = 1;
    a->readonly = false;
    a->shape[0] = count;
    fill_strides(a);
    return (PyObject*)a;
}

static void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_XDECREF(((array*)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

// --- Parts of it ----------------------------------------------------------------------------------------------------

// A part of an array: without dimensions it is a number.
typedef struct region {
    double* data;
    int dimensions;
    Py_ssize_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
} region;

static region region_of(const array* a) {
    region r = {.data = a->data, .dimensions = a->dimensions};
    memcpy(r.shape, a->shape, sizeof r.shape);
    memcpy(r.strides, a->strides, sizeof r.strides);
    return r;
}

static double* step(double* data, Py_ssize_t bytes) { return (double*)(void*)((char*)data + bytes); }

// Takes an index or a slice at a dimension; an index takes the dimension away.
static bool narrow(region* r, int at, PyObject* key, bool* removed) {
    *removed = false;
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, stride;
        if (PySlice_Unpack(key, &start, &stop, &stride) < 0) return false;
        const Py_ssize_t count = PySlice_AdjustIndices(r->shape[at], &start, &stop, stride);
        if (count > 0) r->data = step(r->data, start * r->strides[at]);
        r->shape[at] = count;
        // A step that is larger than the array is never taken, and may be too large to be multiplied.
        if (count > 1) r->strides[at] *= stride;
        return true;
    }
    if (!PyIndex_Check(key)) {
        PyErr_Format(PyExc_TypeError, "an array's indices are integers, slices and tuples of them, not %R",
                     (PyObject*)Py_TYPE(key));
        return false;
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return false;
    const Py_ssize_t count = r->shape[at];
    if (index < -count || index >= count) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of range: dimension %d has %zd", index, at, count);
        return false;
    }
    if (index < 0) index += count;
    r->data = step(r->data, index * r->strides[at]);
    r->dimensions--;
    memmove(r->shape + at, r->shape + at + 1, (size_t)(MOST_DIMENSIONS - at - 1) * sizeof *r->shape);
    memmove(r->strides + at, r->strides + at + 1, (size_t)(MOST_DIMENSIONS - at - 1) * sizeof *r->strides);
    *removed = true;
    return true;
}

static bool select_part(const array* a, PyObject* key, region* out) {
    bool removed;
    *out = region_of(a);
    if (!PyTuple_Check(key)) return narrow(out, 0, key, &removed);
    const Py_ssize_t count = PyTuple_Size(key);
    if (count > a->dimensions) {
        PyErr_Format(PyExc_IndexError, "%zd indices for an array of %d dimensions", count, a->dimensions);
        return false;
    }
    for (Py_ssize_t i = 0, at = 0; i < count; i++) {
        if (!narrow(out, (int)at, PyTuple_GetItem(key, i), &removed)) return false;
        if (!removed) at++;
    }
    return true;
}

static PyObject* show(array* a, const region* r) {
    if (r->dimensions == 0) return PyFloat_FromDouble(*r->data);
    array* part = PyObject_NewVar(array, array_type, 0);
    if (!part) return NULL;
    part->owner = Py_NewRef(a->owner ? a->owner : (PyObject*)a);
    part->hook = a->hook;
    part->readonly = a->readonly;
    part->data = r->data;
    part->dimensions = r->dimensions;
    memcpy(part->shape, r->shape, sizeof r->shape);
    memcpy(part->strides, r->strides, sizeof r->strides);
    return (PyObject*)part;
}

static PyObject* subscript(PyObject* self, PyObject* key) {
    region r;
    return select_part((array*)self, key, &r) ? show((array*)self, &r) : NULL;
}

static PyObject* item(PyObject* self, Py_ssize_t index) {
    region r = region_of((array*)self);
    if (index < 0 || index >= r.shape[0]) {
        PyErr_SetString(PyExc_IndexError, "index is out of range");
        return NULL;
    }
    r.data = step(r.data, index * r.strides[0]);
    r.dimensions--;
    memmove(r.shape, r.shape + 1, sizeof r.shape - sizeof *r.shape);
    memmove(r.strides, r.strides + 1, sizeof r.strides - sizeof *r.strides);
    return show((array*)self, &r);
}

static Py_ssize_t length(PyObject* self) { return ((array*)self)->shape[0]; }

static Py_ssize_t count_of(const region* r) {
    Py_ssize_t count = 1;
    for (int i = 0; i < r->dimensions; i++) count *= r->shape[i];
    return count;
}

// Moves the numbers of a region to, or from, a plain list; `stride` 0 writes one number everywhere.
static void move(const region* r, double* list, int stride, bool writes) {
    Py_ssize_t count[MOST_DIMENSIONS] = {1, 1, 1}, bytes[MOST_DIMENSIONS] = {0, 0, 0};
    for (int i = 0; i < r->dimensions && i < MOST_DIMENSIONS; i++) count[i] = r->shape[i], bytes[i] = r->strides[i];
    for (Py_ssize_t i = 0; i < count[0]; i++)
        for (Py_ssize_t j = 0; j < count[1]; j++)
            for (Py_ssize_t k = 0; k < count[2]; k++, list += stride) {
                double* place = step(r->data, i * bytes[0] + j * bytes[1] + k * bytes[2]);
                if (writes)
                    *place = *list;
                else
                    *list = *place;
            }
}

static int write_part(array* a, const region* r, PyObject* value) {
    numbers given;
    double single = 0;
    const bool scalar = PyFloat_Check(value) || PyLong_Check(value) || r->dimensions == 0;
    if (scalar) {
        single = PyFloat_AsDouble(value);
        if (single == -1.0 && PyErr_Occurred()) return -1;
    } else if (!numbers_take(value, "what is assigned", r->dimensions, r->shape, &given)) {
        return -1;
    }
    // The numbers may be a part of the same array.
    const Py_ssize_t count = count_of(r);
    double* copy = scalar ? NULL : PyMem_Malloc((size_t)count * sizeof *copy + 1);
    if (copy) memcpy(copy, given.data, (size_t)count * sizeof *copy);
    if (!scalar) numbers_release(&given);
    if (!scalar && !copy) {
        PyErr_NoMemory();
        return -1;
    }
    // What was taken could run Python code: only now nobody comes between.
    const bool allowed = !a->hook || a->hook(a->owner, false);
    if (allowed) move(r, scalar ? &single : copy, scalar ? 0 : 1, true);
    PyMem_Free(copy);
    return allowed && (!a->hook || a->hook(a->owner, true)) ? 0 : -1;
}

static int assign(PyObject* self, PyObject* key, PyObject* value) {
    array* a = (array*)self;
    region r;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "entries of an array cannot be deleted");
        return -1;
    }
    if (a->readonly) {
        PyErr_SetString(PyExc_TypeError,
                        "this array is a copy that only shows values; assign to the attribute instead");
        return -1;
    }
    return select_part(a, key, &r) ? write_part(a, &r, value) : -1;
}

// --- Buffers --------------------------------------------------------------------------------------------------------

static bool is_contiguous(const array* a) {
    Py_ssize_t stride = sizeof(double);
    for (int i = a->dimensions; i-- > 0; stride *= a->shape[i])
        if (a->shape[i] != 1 && a->strides[i] != stride) return false;
    return true;
}

static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    array* a = (array*)self;
    const bool contiguous = is_contiguous(a), strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool c_wanted = !strided || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                          (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    const bool f_wanted = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    const char* problem = NULL;
    if ((flags & PyBUF_WRITABLE) && a->readonly) problem = "this array cannot be written to";
    if ((c_wanted && !contiguous) || (f_wanted && !(contiguous && a->dimensions == 1)))
        problem = "this array does not lie in one piece";
    if (problem) {
        PyErr_SetString(PyExc_BufferError, problem);
        view->obj = NULL;
        return -1;
    }
    const region r = region_of(a);
    *view = (Py_buffer){.buf = a->data,
                        .obj = Py_NewRef(self),
                        .len = count_of(&r) * (Py_ssize_t)sizeof(double),
                        .itemsize = sizeof(double),
                        .readonly = a->readonly,
                        .ndim = flags & PyBUF_ND ? a->dimensions : 1,
                        .format = flags & PyBUF_FORMAT ? "d" : NULL,
                        .shape = flags & PyBUF_ND ? a->shape : NULL,
                        .strides = strided ? a->strides : NULL};
    return 0;
}

// --- As Python ------------------------------------------------------------------------------------------------------

static PyObject* list_of(const region* r, int at, double* place) {
    if (at == r->dimensions || at == MOST_DIMENSIONS) return PyFloat_FromDouble(*place);
    PyObject* list = PyList_New(r->shape[at]);
    for (Py_ssize_t i = 0; list && i < r->shape[at]; i++) {
        PyObject* entry = list_of(r, at + 1, step(place, i * r->strides[at]));
        if (!entry || PyList_SetItem(list, i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject* to_list(PyObject* self, PyObject* none) {
    (void)none;
    const region r = region_of((array*)self);
    return list_of(&r, 0, r.data);
}

static PyObject* copy_of(PyObject* self, PyObject* none) {
    (void)none;
    const region r = region_of((array*)self);
    array* copy = array_create(r.dimensions, r.shape);
    if (!copy) return NULL;
    move(&r, copy->data, 1, false);
    return (PyObject*)copy;
}

static PyObject* get_shape(PyObject* self, void* closure) {
    (void)closure;
    const array* a = (array*)self;
    PyObject* tuple = PyTuple_New(a->dimensions);
    for (int i = 0; tuple && i < a->dimensions; i++) {
        PyObject* number = PyLong_FromSsize_t(a->shape[i]);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject* represent(PyObject* self) {
    enum { SHOWN = 1000 };
    const region r = region_of((array*)self);
    PyObject* inner = count_of(&r) <= SHOWN ? to_list(self, NULL) : get_shape(self, NULL);
    if (!inner) return NULL;
    PyObject* text = PyUnicode_FromFormat(PyList_Check(inner) ? "Array(%R)" : "Array(shape=%R)", inner);
    Py_DECREF(inner);
    return text;
}

static PyObject* compare(PyObject* self, PyObject* other, int operation) {
    if (operation != Py_EQ && operation != Py_NE) return Py_NewRef(Py_NotImplemented);
    const region r = region_of((array*)self);
    numbers theirs;
    if (!numbers_take(other, "the other", r.dimensions, r.shape, &theirs)) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    array* own = (array*)copy_of(self, NULL);
    bool equal = true;
    for (Py_ssize_t i = 0; own && equal && i < count_of(&r); i++) equal = own->data[i] == theirs.data[i];
    numbers_release(&theirs);
    if (!own) return NULL;
    Py_DECREF((PyObject*)own);
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

static PyMethodDef methods[] = {
    {"tolist", to_list, METH_NOARGS, "The numbers as a list, or as lists of lists."},
    {"copy", copy_of, METH_NOARGS, "An array of its own with the same numbers."},
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe same memory for "
     "libraries that take DLPack: numpy.from_dlpack(a)."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nWhere the memory is: (1, 0), the processor's."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "How many numbers there are in each dimension.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Double precision numbers with a shape.\n\n"
                "It has the buffer protocol: numpy.asarray(a) and memoryview(a) see the same memory, without a copy.\n"
                "Indices are integers, slices and tuples of them; slices are views."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, represent},
    {Py_tp_richcompare, compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_sq_length, length},
    {Py_sq_item, item},
    {Py_mp_length, length},
    {Py_mp_subscript, subscript},
    {Py_mp_ass_subscript, assign},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};
static PyType_Spec spec = {"calder.Array", sizeof(array), sizeof(double),
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool array_ready(PyObject* module) { return (array_type = type_add(module, &spec)) != NULL; }
