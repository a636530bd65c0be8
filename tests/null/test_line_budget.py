"""The budget of lines: the package stays as small as it is, and grows only with a reason beside the number."""

from __future__ import annotations

from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fastgraph"

#: Lists of names that tools write: no code.
LISTS = {"public_names.py", "op_index.py"}

#: (lines, why so many), the newest last. What needs more lines adds a row that says what they are for; what leaves
#: lines over lowers the last row's number, and a row that is above the next goes.
BUDGET: tuple[tuple[int, str], ...] = (
    (99_850, "what there is when signatures are packed, ops named after their functions, errors raised by code"),
    (101_560, "Args, Raises and doctested Examples of the hundred most used names and of the methods used most"),
    (101_580, "eager convolutions of two vectors of results share a number among the taps of its line; sizes are kept"),
    (101_880, "ranks and axes that only a call knows: ops wait for them; results that are no normal numbers as fast"),
    (106_010, "the small Keras: fit, functional models, recurrent layers and masks, preprocessing, files, data sets"),
    (
        108_700,
        "what Keras 3 asks of ops: images, string hashes and patterns, tables, sets, CTC decoders, files, sounds",
    ),
    (111_500, "the door to programs that import tensorflow: its finder and tables, TensorFlow 1's names, strategies"),
    (111_950, "types of parameters that were Any: longer signatures, and the imports of what they name"),
    (115_300, "checkpoints in TensorFlow's format, both ways: bundles, graphs of objects, what comes later, managers"),
    (
        119_950,
        "SavedModels both ways: the loader, the saver, structures, Keras models, what more of TensorFlow's operations mean",
    ),
    (121_100, "images turned, cut, adjusted and compared, by choice and by chance; boxes in them"),
    (121_500, "tf.summary whole: writers of files that outlive the process, sounds, texts, raw messages, traces"),
    (125_100, "records and Examples: written, read, parsed in C; numbers and tensors as strings; pictures written"),
    (128_300, "tf.data whole: windows, groups, interleaving, sampling, elements in files, CSV, threads, rows gathered"),
    (129_000, "in C: groups of equal elements and rows, many small systems; stable orders by vectorised sorts"),
    (
        130_950,
        "twenty linear operators with their algebra, hints, blocks and slices, in Functions; conjugate gradients",
    ),
    (
        132_650,
        "extension types, dispatch of public functions, row partitions and shapes of rows, ragged text and segments",
    ),
    (135_600, "tf.test, TensorFlow 1's names, raw operations, queues, samplers, other encodings, glimpses and boxes"),
    (
        136_300,
        "loops that vectorise: short ones written out, columns in registers, ranges without branches; reads hoisted",
    ),
    (
        138_250,
        "tf.experimental.numpy whole: its functions, NumPy's and weak dtypes, the behaviour that programs switch on",
    ),
    (140_150, "the built-in Keras: its losses, metrics, optimizers and layers by name, folders as data, whole models"),
    (142_900, "tf.distribute: devices of one CPU, replicas on threads, mirrored Variables, processes of MPI"),
    (143_200, "what looks public names up is counted now: only their tables are a list"),
    (143_400, "the type of what becomes a tensor is named TensorLike; results that were Any have types"),
    (144_450, "processes of MPI: who died or hangs, sums in packs beside the backward graph, files shared out"),
    (
        144_950,
        "policies of checkpoints' data files, ParseExample of older graphs, what TensorFlow's tests of tf.data found",
    ),
    (
        146_650,
        "the array API standard's namespace, a room of tables; F scores, rates at rates, attention; features crossed",
    ),
    (146_800, "recurrent layers that keep their states, cells one on top of the other"),
    (147_200, "threads on crowded cores, products of many matrices by vectors, rows scattered without Python"),
    (
        147_800,
        "kernels of programs that end at once; axes and sizes that only a run knows; hints for TensorFlow 1's names",
    ),
    (
        149_100,
        "Keras's missing metrics and optimizers, running means; options of datasets; LAPACK in single precision; convolutions by groups; axes of sparse tensors that only a run knows; words by their characters",
    ),
    (149_700, "rare names: running means, resolvers, scripts of characters, operations by their kernels' names"),
    (149_900, "checks of known numbers against what only a run knows; boxes of any batch and any number of classes"),
    (
        150_300,
        "saved elements packed by Snappy, passes that save and are kept in checkpoints, elements by index in graphs; SavedModels' gradients of calls and branches, tables saved again, sequences of examples",
    ),
    (
        150_350,
        "arrays before tensors are of their dtype, one shape told of composites in loops, classes of raw attributes",
    ),
    (150_400, "exchanges of processes in another order, and policies that fit does not follow, are errors"),
    (
        150_640,
        "functions of Keras's backend that losses of users' own are written in, windows of time series, pairs of words",
    ),
    (
        151_400,
        "inverse and hyperbolic functions of kernels, half floats in eager mode, boxes and words without Python, which TensorFlow was 3 to 80 times as fast at; what saved models hold, listed; shapes of composites out of branches",
    ),
    (151_500, "ops on symbolic tensors of functional models, as layers, and losses of such tensors"),
    (151_600, "numbers of convolutions as sizes of run time: a network's are few kernels"),
    (152_100, "texts read as numbers, counted and joined in C; segments summed in registers; sets by sorted numbers"),
    (
        152_200,
        "dense tables lie in checkpoints as TensorFlow reads them, rates of schedules, sizes of rebatched elements",
    ),
    (
        152_400,
        "small sums over MPI prepared once; what an assignment on a replica gives; models made outside a scope refused",
    ),
    (
        153_000,
        "quantised dtypes, quantize, dequantize and quantized_concat; 39 operations more for graphs that are read and raw_ops; custom_gradient on methods; sparse tensors in assert_shapes",
    ),
    (
        154_800,
        "Keras 2 behind the door: inner names' functions (nest as deep as another structure, dispatchers, operators as functions, decorators, exports), tracked containers, Dimensions, classes that are revived",
    ),
    (
        155_200,
        "ctc_loss's alignments, base64, raw bytes, n-grams and encodings in C; substitution for one column; an LLVM fault",
    ),
    (155_800, "datasets and iterators of saved graphs, lists of datasets, entries of indices without messages"),
    (
        156_150,
        "TensorFlow Probability behind the door: inner functions that compute, specs of Variables and of dense values",
    ),
    (156_300, "strings numbered by a hash table in C, their places, and Python's arenas kept between steps"),
    (156_650, "Handlers of signals run outside of the trace that they interrupt; rows of repairs beside TensorFlow"),
    (
        156_700,
        "JPEGs with TensorFlow's very pixels; the CPU for missing devices; what TensorFlow's own tests and docstrings ask",
    ),
    (157_150, "replicas meet in Functions that run calls; sparse and ragged elements shared out among replicas"),
    (157_250, "whole layers as raw operations, functions by device, normal numbers between ends in TensorFlow's order"),
    (157_500, "rows of comma-separated values and of caches in files are read in C, many elements at a time"),
    (157_850, "means of the windows at every place as sums along one axis after the other; short rows read whole"),
    (
        158_150,
        "bfloat16 multiplied in pairs by vectors; linear systems of moderate size eliminated and substituted by vectors",
    ),
    (158_300, "memory kept above 512 MB, filters in panels, gradients of filters shared by entries"),
    (
        158_550,
        "CentralStorageStrategy and its Variables; replicas that make other Variables are refused, as in TensorFlow",
    ),
    (
        159_200,
        "bfloat16 and small integers multiplied in pairs; kernels of depthwise convolutions of few channels or large windows; what loops compute of values that stay; SciPy's transforms alone",
    ),
    (
        159_600,
        "pictures, boxes, sets and characters in SavedModels, datasets given to loaded functions, files on request",
    ),
    (160_900, "StructuredTensor, Coordinator, what tests and layers in terms of TensorFlow's modules import"),
    (
        162_400,
        "Keras 2's folders of saved models, both ways; all updates of optimizers; lists of any size in saved models",
    ),
    (162_700, "depthwise convolutions in place: eager and bfloat16, and as blocks of registers in kernels"),
    (162_950, "datasets that Functions make, go over, capture, take and give are written into SavedModels"),
    (163_150, "convolutions that fetch ahead bit by bit; few results by half vectors; depthwise bfloat16 by pairs"),
    (
        163_800,
        "datasets are written from copies of graphs, of files, ragged elements and random maps too; 40 kernels written",
    ),
    (163_850, "every handler of a signal is put back, whatever others raise; NumPy's words for too many bytes"),
    (164_200, "series of K0, K1 and Ei for kernels; the greatest of rows, and short rows reduced, in C"),
    (
        164_700,
        "GraphDefs written as bytes in C; windows of ragged elements, factors of complex matrices, singular systems",
    ),
    (
        165_400,
        "operations of TensorFlow's gradients and updates in graphs that are read: images, lists, slices, branches",
    ),
    (165_950, "sparse matrices by their rows, and small tools of inner modules that libraries import"),
    (166_000, "beside busy programs a helper comes to the core of the caller"),
    (166_110, "writes that wait for no element of an iterator come before the element is taken"),
    (
        166_760,
        "ops on StructuredTensors, raw operations on matrices by rows, TensorFlow 1's rates that fall and rare functions",
    ),
    (
        166_950,
        "replicas with datasets of their own, iterators that begin anew, functions of replicas' Variables saved for one",
    ),
    (
        167_160,
        "checkpoints read in parts in C, checksums of parts joined; attributes and small constants of graphs made once",
    ),
    (167_250, "staged loops and branches refuse, and begin, as TensorFlow's own tests of AutoGraph want it"),
    (167_320, "it is let go where work proves long; gradients alone check slices; handlers find whole libraries"),
    (167_400, "two processes exchange what they sum; left rows a page apart are laid apart"),
    (167_670, "nodes with constants written by forms in C; matrix exponentials as operations; JPEG colours in vectors"),
    (167_765, "large Blocks take over free ones' pages; slow huge pages give way; long calls wait for kernels at hand"),
    (
        167_925,
        "programs made in pauses of first calls; tf.data's nest, a tape's inner names, tracebacks behind the door",
    ),
    (168_135, "short rows sorted, totals and searches side by side; reductions of transposes done where they lie"),
    (
        168_270,
        "Keras's losses and metrics of ragged rows; raw Einsum's diagonals; specs of ragged shapes made by users",
    ),
    (
        168_470,
        "composite specs that fit each other, nests of composites, devices' names as TensorFlow's own tests want them",
    ),
    (168_650, "parts of strings are looked up without becoming strings"),
    (168_660, "two processes add up in one order, and raise nothing"),
    (168_940, "tables of the methods of TensorFlow's that classes lack, and of what to use in their place"),
    (168_960, "a tape's recorder, and readers of checkpoints, as libraries ask for them"),
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
    (171_890, "elements in files checked against their specs, full disks, heads of WAV files, alphas of BMPs"),
    (172_040, "files of processes that the first alone writes; forks, resolvers and numbers of processes are checked"),
    (172_150, "what TensorFlow's checkpoints have of loaded tables and optimizers; py_function in SavedModels"),
    (172_250, "backups keep streams of random numbers and replicas' own copies; data goes on in its order"),
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
