"""The names of classes that are written in C: Python keeps them where only C can change them."""

from cpython.ref cimport Py_INCREF, PyObject

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        const char* tp_name
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* type)


def rename(type cls, str full) -> None:
    """Let a class of C, `cls`, be known as `module.Name`, as a class of Python says it."""
    cdef bytes text = full.encode()
    Py_INCREF(text)  # for as long as the class is there
    (<PyTypeObject*>cls).tp_name = text
    PyType_Modified(<PyTypeObject*>cls)


def write_attribute(type cls, str name, object value) -> None:
    """Let `value` be what a class of C has under `name`. What Python does to its instances is as it was: the slots."""
    (<object>(<PyTypeObject*>cls).tp_dict)[name] = value
    PyType_Modified(<PyTypeObject*>cls)
