// What comes in from Python: arguments, and arrays of numbers.
#include <math.h>
#include <string.h>

#include "calder_python.h"

bool arguments_take(const char* function, const char* const* names, int required, int positional, PyObject* const* args,
                    Py_ssize_t count, PyObject* keywords, PyObject** values) {
    int total = 0;
    for (; names[total]; total++) values[total] = NULL;
    if (count > positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, not %zd", function, positional,
                     count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) values[i] = args[i];
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject* key = PyTuple_GetItem(keywords, i);
        int at = 0;
        while (at < total && PyUnicode_CompareWithASCIIString(key, names[at]) != 0) at++;
        if (at == total || values[at]) {
            PyErr_Format(PyExc_TypeError, at == total ? "%s() has no argument '%U'" : "%s() got argument '%U' twice",
                         function, key);
            return false;
        }
        values[at] = args[count + i];
    }
    for (int i = 0; i < total; i++) {
        if (values[i] == Py_None) values[i] = NULL;
        if (i >= required || values[i]) continue;
        PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", function, names[i]);
        return false;
    }
    return true;
}

bool arguments_int(PyObject* object, const char* name, int least, int fallback, int* out) {
    *out = fallback;
    if (!object) return true;
    const long value = PyLong_AsLong(object);
    if (value == -1 && PyErr_Occurred()) return false;
    if (value >= least && value <= INT32_MAX) {
        *out = (int)value;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%s must be an integer from %d on, not %ld", name, least, value);
    return false;
}

bool arguments_double(PyObject* object, const char* name, double fallback, double* out) {
    *out = fallback;
    if (!object) return true;
    *out = PyFloat_AsDouble(object);
    if (*out == -1.0 && PyErr_Occurred()) return false;
    if (!isnan(*out)) return true;
    PyErr_Format(PyExc_ValueError, "%s is not a number", name);
    return false;
}

bool arguments_text(PyObject* object, const char* name, const char* fallback, const char** out) {
    Py_ssize_t size = 0;
    *out = fallback;
    if (!object) return true;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", name, (PyObject*)Py_TYPE(object));
        return false;
    }
    *out = PyUnicode_AsUTF8AndSize(object, &size);
    if (*out && strlen(*out) == (size_t)size) return true;
    if (*out) PyErr_Format(PyExc_ValueError, "%s must not contain a null character", name);
    return false;
}

// --- Numbers --------------------------------------------------------------------------------------------------------

static PyObject* shape_tuple(int dimensions, const Py_ssize_t* shape) {
    PyObject* tuple = PyTuple_New(dimensions);
    for (int i = 0; tuple && i < dimensions; i++) {
        PyObject* item = PyLong_FromSsize_t(shape[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static bool complain_shape(const char* name, int dimensions, const Py_ssize_t* shape, int has, const Py_ssize_t* its) {
    PyObject *wanted = shape_tuple(dimensions, shape), *found = shape_tuple(has, its);
    if (wanted && found) PyErr_Format(PyExc_ValueError, "%s must have the shape %R, not %R", name, wanted, found);
    Py_XDECREF(wanted);
    Py_XDECREF(found);
    return false;
}

static Py_ssize_t product(int dimensions, const Py_ssize_t* shape) {
    Py_ssize_t count = 1;
    for (int i = 0; i < dimensions; i++) count *= shape[i];
    return count;
}

static double* own(numbers* out, Py_ssize_t count) {
    if (count <= (Py_ssize_t)(sizeof out->few / sizeof out->few[0])) {
        out->data = out->few;
        return out->few;
    }
    out->owned = PyMem_Malloc((size_t)count * sizeof *out->owned);
    if (!out->owned) PyErr_NoMemory();
    out->data = out->owned;
    return out->owned;
}

static bool is_double_format(const Py_buffer* view) {
    const char* format = view->format ? view->format : "B";
    const unsigned short one = 1;
    const bool little = *(const unsigned char*)&one == 1;
    if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) format++;
    return strcmp(format, "d") == 0 && view->itemsize == (Py_ssize_t)sizeof(double);
}

// 1: taken; 0: not a buffer of doubles; -1: an exception.
static int take_buffer(PyObject* object, const char* name, int dimensions, const Py_ssize_t* shape, numbers* out) {
    if (PyObject_GetBuffer(object, &out->view, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
        PyErr_Clear(); // it may be a sequence as well
        return 0;
    }
    out->viewed = true;
    Py_buffer* view = &out->view;
    if (!is_double_format(view)) {
        PyBuffer_Release(view);
        out->viewed = false;
        return 0;
    }
    bool same = view->ndim == dimensions;
    for (int i = 0; same && i < dimensions; i++) same = view->shape[i] == shape[i];
    if (!same) return complain_shape(name, dimensions, shape, view->ndim, view->shape) ? 1 : -1;
    if (PyBuffer_IsContiguous(view, 'C') && (uintptr_t)view->buf % sizeof(double) == 0) {
        out->data = view->buf;
        return 1;
    }
    double* copy = own(out, product(dimensions, shape));
    return copy && PyBuffer_ToContiguous(copy, view, view->len, 'C') == 0 ? 1 : -1;
}

static bool take_sequence(PyObject* object, const char* name, int dimensions, const Py_ssize_t* shape, double** to) {
    if (dimensions == 0) {
        const double value = PyFloat_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred()) return false;
        *(*to)++ = value;
        return true;
    }
    if (!PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be a buffer of doubles or a sequence of floats, not %R", name,
                     (PyObject*)Py_TYPE(object));
        return false;
    }
    const Py_ssize_t size = PySequence_Size(object);
    if (size < 0) return false;
    if (size != shape[0]) {
        PyErr_Format(PyExc_ValueError, "%s must have %zd entries, not %zd", name, shape[0], size);
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject* item = PySequence_GetItem(object, i);
        const bool taken = item && take_sequence(item, name, dimensions - 1, shape + 1, to);
        Py_XDECREF(item);
        if (!taken) return false;
    }
    return true;
}

static bool is_plain(const array* a, int dimensions, const Py_ssize_t* shape) {
    Py_ssize_t stride = sizeof(double);
    if (a->dimensions != dimensions) return false;
    for (int i = dimensions; i-- > 0; stride *= shape[i])
        if (a->shape[i] != shape[i] || a->strides[i] != stride) return false;
    return true;
}

bool numbers_take(PyObject* object, const char* name, int dimensions, const Py_ssize_t* shape, numbers* out) {
    out->data = NULL;
    out->viewed = false;
    out->kept = NULL;
    out->owned = NULL;
    if (Py_TYPE(object) == array_type && is_plain((array*)object, dimensions, shape)) {
        out->kept = Py_NewRef(object);
        out->data = ((array*)object)->data;
        return true;
    }
    const int taken = PyObject_CheckBuffer(object) ? take_buffer(object, name, dimensions, shape, out) : 0;
    bool done = taken == 1;
    if (taken == 0) {
        double* to = own(out, product(dimensions, shape));
        done = to && take_sequence(object, name, dimensions, shape, &to);
    }
    if (!done) numbers_release(out);
    return done;
}

// An exponent of ones, that of what is not finite, carries into the sign's place. Without branches, for lanes.
static bool all_finite(const double* x, int count) {
    const uint64_t ones = UINT64_C(0x7ff) << 52, last = UINT64_C(1) << 52;
    uint64_t carries = 0;
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        carries |= (bits & ones) + last;
    }
    return carries >> 63 == 0;
}

bool numbers_take_vector(PyObject* object, const char* name, int count, numbers* out) {
    const Py_ssize_t shape[] = {count};
    out->data = NULL;
    out->viewed = false;
    out->kept = NULL;
    out->owned = NULL;
    if (!object) return true;
    if (!numbers_take(object, name, 1, shape, out)) return false;
    if (all_finite(out->data, count)) return true;
    for (int i = 0; i < count; i++) {
        if (isfinite(out->data[i])) continue;
        PyErr_Format(PyExc_ValueError, "%s[%d] is not a finite number", name, i);
        break;
    }
    numbers_release(out);
    return false;
}

void numbers_release(numbers* n) {
    if (n->viewed) PyBuffer_Release(&n->view);
    n->viewed = false;
    Py_CLEAR(n->kept);
    PyMem_Free(n->owned);
    n->owned = NULL;
}
