"""Changes to classes that only C can make: names of those written in C, names looked up without a frame of ours."""

from cpython.ref cimport Py_INCREF, PyObject

cdef extern from *:
    """
    /* Give what `_found` gives; an error for this very name, or for none yet, shows the line that asked alone. */
    static PyObject *fg_frameless(PyObject *self, PyObject *name) {
        PyObject *found = PyObject_CallMethod(self, "_found", "O", name), *kind, *error, *frames, *missing;
        if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
        PyErr_Fetch(&kind, &error, &frames);
        PyErr_NormalizeException(&kind, &error, &frames);
        missing = PyObject_GetAttrString(error, "name");
        if (missing == NULL) PyErr_Clear();
        if (missing != NULL && (missing == Py_None || PyObject_RichCompareBool(missing, name, Py_EQ) == 1)) {
            Py_CLEAR(frames);
            PyException_SetTraceback(error, Py_None);
        }
        Py_XDECREF(missing);
        PyErr_Restore(kind, error, frames);
        return NULL;
    }
    static PyMethodDef fg_getattr = {"__getattr__", fg_frameless, METH_O, "Find a name that is not there yet."};
    """
    struct PyMethodDef:
        pass
    PyMethodDef fg_getattr
    object PyDescr_NewMethod(type cls, PyMethodDef* method)

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        const char* tp_name
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* type)


def rename(type cls, str full, /) -> None:
    """Let a class of C, `cls`, be known as `module.Name`, as a class of Python says it."""
    cdef bytes text = full.encode()
    Py_INCREF(text)  # for as long as the class is there
    (<PyTypeObject*>cls).tp_name = text
    PyType_Modified(<PyTypeObject*>cls)


def write_attribute(type cls, str name, object value, /) -> None:
    """Let `value` be what a class of C has under `name`. What Python does to its instances is as it was: the slots."""
    (<object>(<PyTypeObject*>cls).tp_dict)[name] = value
    PyType_Modified(<PyTypeObject*>cls)


def without_frames(type cls) -> None:
    """Let a class written in Python find names as its `__getattr__` did, which errors for them no longer show."""
    cls._found = cls.__getattr__
    cls.__getattr__ = PyDescr_NewMethod(cls, &fg_getattr)
