# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The executor: runs Plans, which are C arrays of steps over a table of memory slots, on the thread pool.

Rule: between the first step of a call and the last there is no Python, except in steps that are Python themselves:
those run on the calling thread, in program order, and take the GIL just for themselves. It knows no op by name, and
decides nothing: order, memory, shards and what is worth a thread are in the PlanSpec; that a short plan gains by
threads as its costs say, it measures.

A *frame* is one run of one plan: where its slots are now and which steps are done. Frames are kept by their plan for
the next call, so that several threads may run one plan at once and a call allocates next to nothing.
"""

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastgraph.core.native.matmul cimport (
    BRAIN_PAIRS, DOUBLE, INTEGER, SHORT_PAIRS, SINGLE, Gemm, choose_way, gemm_units
)
from fastgraph.core.native.buffer cimport (
    BLOCK_MEMORY, BLOCK_OBJECT, MAX_RANK, Block, Cell, block_drain, block_new, block_of_object, block_release,
    block_retain, fg_atomic_load, fg_spin_lock, fg_spin_try, fg_spin_unlock,
)
from fastgraph.core.native.thread_pool cimport (
    TURN_NS, Region, fg_add32, fg_event_destroy, fg_event_init, fg_event_raise, fg_event_wait, fg_load32, fg_lock,
    fg_now_ns, fg_pause, fg_store32, fg_unlock, pool_crowded, pool_threads, region_close, region_init, region_invite,
    region_open, region_orphaned,
)
from fastgraph.core.tensor cimport EagerTensor, cell_read, from_array, item_size, tensor_array, wrap_slice

import os

import numpy as np

from fastgraph import errors
from fastgraph.runtime import plan as plan_module
from fastgraph.core.base.dtype import as_dtype

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:  # Place
    INPUT, CONSTANT, ARENA, BLOCK, GIVEN, CELL

cdef enum:  # kinds of step
    KERNEL, GEMM, HOST, READ, ASSIGN, BRANCH, LOOP, TRANSFER, REST, DRAW, LIST

cdef enum:  # codes of a Fault
    FAULT_NONE, FAULT_STATUS, FAULT_NATIVE, FAULT_MEMORY, FAULT_PYTHON, FAULT_SHAPE, FAULT_EMPTY, FAULT_CANCELLED
    FAULT_ROWS, FAULT_COUNT

cdef enum:  # what a host step in C gives: results, that Python is to do it, that it is to be called again
    NATIVE_DONE, NATIVE_ASK, NATIVE_AGAIN

cdef enum:
    MAX_IDLE = 8              # frames a plan keeps
    SMALL_ARENA = 1 << 16     # arenas up to this size stay with their frame
    STACK_BUFFERS = 48
    ALIGNMENT = 16            # of the structs of a plan
    CHUNK = 2048              # bytes of them that are taken at once
    SPIN_NS = 20000
    TRIED = 3                 # runs that tell whether threads lose
    TRIED_NS = 5000000        # that they take at least
    AGAIN_NS = 50000000       # until they are tried again, at least
    SIGNAL_NS = 50000000      # Ctrl-C is looked at this often

cdef double CLOCK_NS = 2e6    # estimated work between two looks at the clock
cdef double QUICK_NS = 2000.0
cdef double PACED_NS = 5e7     # estimated cost of a plan up to which both one thread and several are tried
cdef double WORTH_NS = 8000.0  # ready work for which a sleeping thread is woken

cdef CPlan* _all_plans = NULL
cdef int STRING = as_dtype("string").code
cdef int64_t _no_exchange = 0
cdef int64_t* _exchanges = &_no_exchange  # how many this process has begun with others


def count_exchanges(place: int) -> None:
    """Say at which address there stands how many exchanges this process has begun with others: int64."""
    global _exchanges
    _exchanges = <int64_t*><size_t>place


include "executor_frames.pxi"
include "executor_faults.pxi"
include "executor_cells.pxi"
include "executor_recorder.pxi"
include "executor_steps.pxi"
include "executor_python.pxi"
include "executor_runs.pxi"
include "executor_plans.pxi"


def _after_fork_in_child() -> None:
    # Another thread may have held a plan's lock when the process forked.
    cdef CPlan* p = _all_plans
    while p != NULL:
        p.lock = p.pace.lock = 0
        p = p.next
    recorder.on = recorder.writing = 0


os.register_at_fork(after_in_child=_after_fork_in_child)
