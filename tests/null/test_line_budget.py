"""The budget of lines: the package stays as small as it is, and grows only with a reason beside the number."""

from __future__ import annotations

from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fastgraph"

#: Lists of names that tools write: no code.
LISTS = {"public_names.py", "op_index.py"}

#: (lines, why so many), the newest last; the first one stands for all that came before. What needs more lines adds a
#: row that says what they are for; what leaves lines over lowers the last row's number, and a row above the next goes.
BUDGET: tuple[tuple[int, str], ...] = (
    (168_960, "the core, graphs, the compiler, Keras 2, tf.data, tf.distribute, TensorFlow's files, the door"),
    (169_070, "slices and searchsorted of many elements at once; Keras's configs in both formats; names of operators"),
    (169_134, "errors for names that are not there without frames of ours; tables of datasets loaded when asked for"),
    (169_343, "kernels' own front end: their sources become LLVM's IR without Numba's passes"),
    (169_890, "Programs as plain data in the store, and the names of graphs under which they lie"),
    (
        170_180,
        "functions of GraphDefs written in C; pooling by fractions of unknown sizes, and by bounds that are given",
    ),
    (
        170_980,
        "incomplete beta, tridiagonal systems, rows of up to 128 and joined strings as kernels and in C; half transforms",
    ),
    (171_120, "products that loops add up as one behind the loop; choices of ops check both of their operands"),
    (171_260, "descriptors of messages, which protobuf's text and JSON formats ask; types of traces as text"),
    (171_410, "JPEGs by simplejpeg; snapshots, caches in files and gradients of slices at open places in SavedModels"),
    (171_700, "GPUs listed, and Functions put on them; loaded functions on each replica's copies; hints at imports"),
    (171_790, "what Keras 2 draws of the same seeds in training; snapshots told apart by their functions' graphs"),
    (171_860, "what TensorFlow's checkpoints have of loaded tables and optimizers; py_function in SavedModels"),
    (
        172_690,
        "Fourier transforms in C without Python (stages for seven factors, real ones both ways); small QR; long top_k",
    ),
    (
        173_161,
        "saved datasets and checkpoints after faults: specs of runs, what is removed, zlib; passes over validation",
    ),
    (
        173_870,
        "extents of ragged rows known ahead of a run; loops compiled before their graphs; weights of layers in lists; "
        "processes that end before MPI begins",
    ),
    (
        174_343,
        "greys of PNGs in linear light, clear colours and interlaced ones; Keras 3's places of weights in files; rows "
        "of batches by their specs when they are shared out",
    ),
    (
        175_030,
        "whole models in Keras 2's .h5 and Keras 3's .keras, both ways; files of Keras in processes beside the first; "
        "products by a vector, gradients to filters of one tap; checks and dense gradients of TensorFlow's kernels",
    ),
    (
        176_026,
        "sums between processes in C; layers of the small Keras for categories and recurrent masks of Keras 2; gathers "
        "inside the loops that add them up; operations and signatures of SavedModels; checks of TensorFlow's kernels",
    ),
    (
        178_200,
        "sums that nobody asks for, after errors that one process has caught; a GPU's memory in sums; Slurm's steps; "
        "writers of one checkpoint in turn; Keras 2's and 3's learnt words and ranges; loops cut at diagonals; "
        "matrices turned before their loops; arguments of files of rows and of databases; datasets interleaved in threads; "
        "functions of Variables in SavedModels; ConvLSTM, spectral norms, clones by a function and picture files of the "
        "small Keras",
    ),
)

#: Lines that may be left over before the budget has to be lowered.
SLACK = 500


def lines() -> int:
    """Return the lines of .py, .pyx, .pxi, .pxd and .h under fastgraph/; stubs (.pyi) and what is generated are none."""
    found = [path for suffix in ("py", "pyx", "pxi", "pxd", "h") for path in PACKAGE.rglob(f"*.{suffix}")]
    counted = [path for path in found if "_generated" not in path.parts and path.name not in LISTS]
    return sum(path.read_bytes().count(b"\n") for path in counted)


@pytest.mark.skipif(not (PACKAGE / "_tape.pyx").exists(), reason="no sources around the tests")
def test_the_package_keeps_to_its_budget_of_lines() -> None:
    budget = BUDGET[-1][0]
    assert lines() <= budget, (
        f"fastgraph/ has {lines()} lines, its budget is {budget}: delete first; what stays needs a row of BUDGET "
        f"({Path(__file__).name}) that says what the lines are for"
    )
    assert lines() >= budget - SLACK, f"fastgraph/ has {lines()} lines: lower its budget from {budget} to that"


def test_the_budget_rises_with_reasons_only() -> None:
    numbers = [number for number, _ in BUDGET]
    assert numbers == sorted(numbers), "a row above its next one goes"
    for number, reason in BUDGET:
        assert len(reason.split()) >= 4, f"{number} lines: say what for"
