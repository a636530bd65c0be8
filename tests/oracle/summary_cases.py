"""Programs that write summaries: each takes a library and a folder, and returns what it saw on the way.

Rule: a case needs no writer but its own, and what it returns is JSON. `log` is a writer's context in the folder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

CASES: dict[str, Callable[[Any, str], Any]] = {}


def case(run: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Take a function up as a case."""
    CASES[run.__name__] = run
    return run


def tried(call: Callable[[], Any]) -> Any:
    """The result of a call as JSON, or the name of its error and the beginning of its text."""
    try:
        return plain(call())
    except Exception as error:
        said = str(getattr(error, "message", None) or error).strip().splitlines() or [
            ""
        ]  # the last line: no files' names
        return f"{type(error).__name__}: {said[-1].strip().removeprefix(f'{type(error).__name__}: ')}"[:400]


def plain(value: Any) -> Any:
    """A value of tensors as JSON."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, bytes):
        return value.decode()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def in_log(body: Callable[[Any], Any]) -> None:
    """Take a body up as a case that runs where a writer is the default."""

    def run(tf: Any, folder: str) -> Any:
        with tf.summary.create_file_writer(folder).as_default():
            return plain(body(tf))

    run.__name__ = body.__name__
    case(run)


def each(name: str, method: str, rows: list[Any], **others: Any) -> None:
    """Take up a case that calls one function of tf.summary with each row of arguments, eagerly and in a Function."""

    def run(tf: Any, folder: str) -> Any:
        found = []
        write = getattr(tf.summary, method)
        with tf.summary.create_file_writer(folder).as_default():
            for step, row in enumerate(rows):
                data, more = row if isinstance(row, tuple) else (row, {})
                data = data(tf) if callable(data) else data
                named = {"step": step, **others, **more}
                tag = named.pop("name", f"{name}{step}")
                found.append(tried(lambda: write(tag, data, **named)))  # noqa: B023  called at once
                found.append(tried(lambda: tf.function(lambda: write(tag + "_", data, **named))()))  # noqa: B023
        return found

    run.__name__ = name
    case(run)


NORMAL = np.random.default_rng(1).standard_normal([3, 5, 4]).astype(np.float32)
PICTURES = np.random.default_rng(2).random([4, 5, 6, 4]).astype(np.float32)
SOUND = np.sin(np.arange(40, dtype=np.float32).reshape(2, 10, 2))

each(
    "scalars",
    "scalar",
    [
        1.5, 3, True, np.float64(1e300), np.float64(1e-320), np.int64(2**53 + 1), np.uint8(200), np.float16(0.1), -0.0,
        float("nan"), float("inf"), 2.5 + 1j, [1.0], [[1.0]], [], "text", None, np.int32([]), (1.0, {"step": -3}),
        lambda tf: tf.constant(0.1, tf.bfloat16), lambda tf: tf.constant(7, tf.uint64), lambda tf: tf.Variable(4.0),
        (1.0, {"step": 2**40}), (1.0, {"step": np.int32(5)}), (1.0, {"step": np.float32(5)}), (1.0, {"step": 2.0}),
        (1.0, {"step": "a"}), (1.0, {"step": [1]}), (1.0, {"description": "of *it*"}), (1.0, {"name": "a b/c:d(e)%"}),
        (1.0, {"name": ""}), (1.0, {"name": "/x"}), (1.0, {"name": "ä/ö"}), (1.0, {"name": "a//b"}),
        (1.0, {"name": "_a"}), (1.0, {"name": "..."}), (1.0, {"step": True}), (1.0, {"description": ""}),
        (lambda tf: tf.constant(3.0, tf.float64)),
    ],
)  # fmt: skip
each(
    "histograms",
    "histogram",
    [
        NORMAL, (NORMAL, {"buckets": 3}), (NORMAL, {"buckets": 1}), (NORMAL, {"buckets": 0}), (NORMAL, {"buckets": -1}),
        [], 3.0, [2.0, 2.0], [5, 7, 9], [True, False, True], np.uint8([0, 255]), np.int64([2**60, 0]), ["a"],
        [1.0, float("nan"), 2.0], [1.0, float("inf")], np.float16([1, 2, 3.5]), np.zeros([2, 0, 3], np.float32),
        ([1.0, 2.0], {"description": "d"}), np.float64([1e300, -1e300]), [1 + 2j], ([2.0, 2.0], {"buckets": 1}),
        ([2.0, 2.0], {"buckets": 0}), ([], {"buckets": 0}), ([1.0, 4.0], {"buckets": 2.5}),
        ([1.0, 2.0, 3.0], {"buckets": 2}), np.arange(31.0), (lambda tf: tf.Variable([1.0, 2.0])),
        (lambda tf: tf.constant([1, 2], tf.bfloat16)), ([float("nan")] * 2), [1e-300, 2e-300],
    ],
)  # fmt: skip
each(
    "images",
    "image",
    [
        PICTURES, PICTURES[..., :3], PICTURES[..., :2], PICTURES[..., :1], (PICTURES, {"max_outputs": 1}),
        (PICTURES, {"max_outputs": 0}), (PICTURES, {"max_outputs": -1}), (PICTURES, {"max_outputs": 9}),
        (PICTURES * 255).astype(np.uint8), (PICTURES * 65535).astype(np.uint16), (PICTURES * 255).astype(np.int32),
        PICTURES.astype(np.float64), PICTURES.astype(np.float16), PICTURES * 3 - 1, PICTURES[:0],
        PICTURES[0], PICTURES[None], np.zeros([1, 2, 2, 5], np.float32),
        np.full([1, 1, 1, 1], np.nan, np.float32), np.array([[[[np.inf], [-np.inf]]]], np.float32),
        (PICTURES[:1], {"description": "d"}), [[[["a"]]]], np.array([[[[True], [False]]]]),
        (lambda tf: tf.constant(PICTURES, tf.bfloat16)), (PICTURES * 100).astype(np.int8), 1.0,
        np.array([[[[0.0], [0.1], [0.5], [0.999], [1.0], [0.00390625]]]], np.float32),
        (PICTURES * 2**40).astype(np.int64), (PICTURES, {"max_outputs": 1.5}), PICTURES.astype(np.complex64),
    ],
)  # fmt: skip
each(
    "sounds",
    "audio",
    [
        SOUND, SOUND[..., :1], (SOUND, {"sample_rate": 8000}), (SOUND, {"max_outputs": 1}), (SOUND, {"max_outputs": 0}),
        (SOUND, {"max_outputs": -1}), (SOUND, {"encoding": "wav"}), (SOUND, {"encoding": "mp3"}), SOUND * 3, SOUND[0],
        SOUND[None], SOUND[:0], SOUND[:, :0], SOUND[..., :0], (SOUND * 100).astype(np.int16), SOUND.astype(np.float64),
        SOUND.astype(np.float16), (SOUND, {"description": "d"}), (SOUND, {"sample_rate": 0}), (SOUND, {"sample_rate": -1}), (SOUND, {"sample_rate": 44100.7}), (SOUND, {"encoding": 3}),
        np.full([1, 2, 1], np.nan, np.float32), (lambda tf: tf.Variable(SOUND)), (SOUND, {"sample_rate": None}),
        np.array([[[1.0], [-1.0], [0.5], [-0.5], [0.0], [1e-5], [np.inf], [-np.inf]]], np.float32), np.zeros([1, 3, 300]),
    ],
    sample_rate=44100,
)  # fmt: skip
each(
    "texts",
    "text",
    [
        "plain", ["a", "b"], [["a", "b"], ["c", "d"]], [[["a"]]], [], "", "ü \n|", b"\xff", 3, 1.5, [True], None,
        ("d", {"description": "d"}), np.array(["x", "y"]), np.zeros([0, 2], "S1"), (lambda tf: tf.constant("t")),
        (lambda tf: tf.Variable("v")), (lambda tf: tf.ragged.constant([["a"], []])),
    ],
)  # fmt: skip
each(
    "tensors",
    "write",
    [
        *(np.array([[1, 0], [2, 3]], kind) for kind in "?bhilBHILefdFD"), "text", [["a", b"b"]], [], 3, 2.5,
        np.zeros([0, 3], np.float32), NORMAL, 5.0 * np.ones([40, 3], np.float32), lambda tf: lambda: tf.constant(4.0),
        (lambda tf: tf.constant([1, 2], tf.bfloat16)), (1.0, {"metadata": b"\x0a\x05\x0a\x03abc"}), None,
        (1.0, {"metadata": b"not one"}), (1.0, {"metadata": "text"}), (1.0, {"name": ""}), (1.0, {"name": "a b//"}),
        (lambda tf: tf.Variable([1.0, 2.0])), (lambda tf: tf.ragged.constant([[1], []])), (1.0, {"metadata": 3}),
        (lambda tf: tf.sparse.from_dense([1.0])),
    ],
)  # fmt: skip


@case
def nothing_without_writer(tf: Any, folder: str) -> Any:
    s = tf.summary
    s.experimental.set_step(None)
    calls = [
        lambda: s.scalar("a", 1.0), lambda: s.scalar("a", [1.0]), lambda: s.histogram("a", 1.0), lambda: s.text("a", "b"),
        lambda: s.image("a", PICTURES), lambda: s.image("a", 1.0), lambda: s.audio("a", SOUND, 8000), lambda: s.audio("a", 1, 1),
        lambda: s.write("a", 1.0), lambda: s.write("a", "b", metadata=b""), lambda: s.experimental.write_raw_pb(b""),
        s.should_record_summaries, lambda: s.flush() and None, lambda: s.graph(tf.Graph()), lambda: s.text("a", 3),
        lambda: s.histogram("a", "b"), lambda: s.write("a", lambda: 1 // 0), lambda: s.scalar("a", "b"),
        lambda: s.audio("a", SOUND, 8000, encoding="mp3"), lambda: s.graph(3), lambda: s.scalar(3, 1.0, step=1),
        lambda: s.create_noop_writer(), lambda: s.SummaryWriter(),
    ]  # fmt: skip
    return [tried(call) for call in calls[:-2]] + [tried(tf.function(call)) for call in calls[:-2]]


@case
def steps(tf: Any, folder: str) -> Any:
    s, e = tf.summary, tf.summary.experimental
    found = [tried(e.get_step)]
    with s.create_file_writer(folder).as_default() as writer:
        found += [
            tried(lambda: s.scalar("a", 1.0)),
            tried(lambda: s.write("a", 1.0)),
            tried(lambda: s.histogram("a", 1.0)),
        ]
        found += [
            tried(lambda: s.image("a", PICTURES)),
            tried(lambda: s.audio("a", SOUND, 8)),
            tried(lambda: s.text("a", "b")),
        ]
        found += [tried(lambda: e.write_raw_pb(b"")), tried(tf.function(lambda: s.scalar("a", 1.0)))]
        e.set_step(4)
        found += [tried(lambda: s.scalar("b", 1.0)), tried(e.get_step)]
        with writer.as_default(step=7):
            found += [tried(e.get_step), tried(lambda: s.scalar("c", 1.0))]
            e.set_step(8)
        found += [tried(e.get_step)]
        with writer.as_default():
            e.set_step(9)
        found += [tried(e.get_step)]
        variable = tf.Variable(5, dtype=tf.int64)
        e.set_step(variable)
        write = tf.function(lambda x: s.scalar("d", x))
        for _ in range(3):
            found.append(tried(lambda: write(tf.constant(1.0))))
            variable.assign_add(2)
        for wrong in ("x", 1.5, [1], np.int32(3), tf.constant(3), tf.constant(2, tf.int64), tf.constant(1.0), True):
            found += [tried(lambda: e.set_step(wrong)), tried(lambda: s.scalar("e", 1.0))]  # noqa: B023
            found += [tried(lambda: tf.function(lambda: s.scalar("f", 1.0))())]
        e.set_step(None)
        found += [tried(e.get_step)]
    writer.set_as_default(11)
    found += [tried(e.get_step), tried(lambda: s.scalar("g", 1.0))]
    writer.flush()
    writer.set_as_default()
    found += [tried(e.get_step)]
    e.set_step(None)
    return found


@case
def writers(tf: Any, folder: str) -> Any:
    s = tf.summary
    found = [tried(lambda: s.create_file_writer(None)), tried(lambda: s.create_file_writer(3))]
    found += [tried(lambda: type(s.create_file_writer(folder, filename_suffix=".x", name="n")).__mro__[-2].__name__)]
    a, b = s.create_file_writer(folder + "/a"), s.create_file_writer(folder + "/b", max_queue=1, flush_millis=1)
    found += [isinstance(a, s.SummaryWriter), isinstance(s.create_noop_writer(), s.SummaryWriter)]
    with a.as_default():
        s.scalar("x", 1.0, step=1)
        with b.as_default():
            s.scalar("y", 1.0, step=2)
            with s.create_noop_writer().as_default():
                found += [tried(lambda: s.scalar("no", 1.0, step=3)), tried(s.should_record_summaries)]
                found += [tried(s.flush), tried(lambda: s.scalar("no", 1.0)), tried(lambda: s.graph(tf.Graph()))]
                found += [tried(lambda: s.write("no", 1.0)), tried(tf.function(lambda: s.scalar("no", 1.0, step=3)))]
        s.scalar("z", 1.0, step=4)
        b.set_as_default()
        s.scalar("w", 1.0, step=5)
    found += [
        tried(lambda: s.scalar("no", 1.0, step=3)),
        tried(lambda: s.flush(a)),
        tried(lambda: s.flush(writer=b, name="n")),
    ]
    found += [
        tried(lambda: s.flush(3)),
        tried(lambda: str(a.init() is None)[:0]),
        tried(lambda: str(a.flush() is None)[:0]),
    ]
    s.flush()
    a.close()
    found += [tried(a.close), tried(a.flush), tried(a.set_as_default), tried(lambda: s.flush(a)), tried(a.init)]
    found += [tried(lambda: a.as_default().__enter__())]
    with b.as_default():
        b.close()
        found += [tried(lambda: s.scalar("after", 1.0, step=1)), tried(lambda: s.text("after", "b", step=1))]
        found += [tried(s.should_record_summaries), tried(lambda: s.graph(tf.Graph()))]
    n = s.create_noop_writer()
    found += [tried(n.init), tried(n.flush), tried(n.close), tried(n.close), tried(lambda: n.set_as_default(3))]
    found += [tried(tf.summary.experimental.get_step)]
    tf.summary.experimental.set_step(None)
    return found


@case
def writers_in_functions(tf: Any, folder: str) -> Any:
    s = tf.summary
    a, b = s.create_file_writer(folder + "/a"), s.create_file_writer(folder + "/b")

    @tf.function
    def inside(x: Any) -> Any:
        with a.as_default():
            done = s.scalar("in", x, step=1)
            s.flush()
        return done

    @tf.function
    def outside(x: Any) -> Any:
        return s.scalar("out", x, step=2)

    found = [tried(lambda: inside(tf.constant(1.0))), tried(lambda: inside(tf.constant(2.0)))]
    with a.as_default():
        found += [tried(lambda: outside(tf.constant(1.0)))]
    found += [tried(lambda: outside(tf.constant(2.0)))]  # goes to a: it was the default while tracing
    with b.as_default():
        found += [tried(lambda: outside(tf.constant(3.0)))]

    kept = {}

    @tf.function
    def made() -> Any:
        if "w" not in kept:
            kept["w"] = s.create_file_writer(folder + "/c")
        with kept["w"].as_default(step=3):
            return s.scalar("made", 1.0)

    found += [tried(made), tried(made)]

    def end() -> None:
        a.flush()
        a.close()

    found += [tried(tf.function(lambda: str(a.flush() is None)[:0])), tried(tf.function(end))]
    found += [tried(tf.function(lambda: str(s.flush(b) is None)[:0]))]
    return found


@in_log
def recorded_if(tf: Any) -> Any:
    s, found = tf.summary, []
    on = tf.Variable(True)
    conditions = [
        True, False, lambda: True, lambda: False, tf.constant(True), tf.constant(False), on, lambda: on, None, 1, 0,
        lambda: tf.equal(1, 2), np.bool_(True), "x", [True], tf.constant(1), lambda: None,
    ]  # fmt: skip
    for step, condition in enumerate(conditions):
        with s.record_if(condition):
            found += [tried(lambda: s.scalar("a", 1.0, step=step)), tried(s.should_record_summaries)]  # noqa: B023
            found += [tried(tf.function(lambda: s.scalar("b", 1.0, step=step)))]  # noqa: B023
            found += [tried(tf.function(lambda: tf.logical_not(s.should_record_summaries())))]
    with s.record_if(False):
        with s.record_if(True):
            found += [tried(lambda: s.scalar("c", 1.0, step=1))]
        found += [tried(lambda: s.scalar("c", 1.0)), tried(lambda: s.write("d", lambda: 1 // 0))]
        found += [
            tried(lambda: s.histogram("c", [1.0])),
            tried(lambda: s.image("c", [1.0])),
            tried(lambda: s.text("c", 1)),
        ]
        found += [tried(lambda: s.scalar("c", [1.0])), tried(lambda: s.graph(tf.Graph())[:0])]
        found += [tried(lambda: s.experimental.write_raw_pb(b"", step=1)), tried(lambda: s.audio("c", SOUND, 3))]

    @tf.function
    def by_steps(n: Any) -> Any:
        with s.record_if(lambda: tf.equal(n % 2, 0)):
            return s.scalar("e", n, step=n)

    found += [tried(lambda i=i: by_steps(tf.constant(i, tf.int64))) for i in range(4)]

    @tf.function
    def by_variable(n: Any) -> Any:
        with s.record_if(on):
            return s.scalar("f", n, step=n)

    for i in range(4):
        on.assign(i % 2 == 1)
        found += [tried(lambda: by_variable(tf.constant(i, tf.int64)))]  # noqa: B023
    return found


@in_log
def loops_and_branches(tf: Any) -> Any:
    s = tf.summary

    @tf.function
    def loop(n: Any) -> Any:
        total = tf.constant(0.0)
        for i in tf.range(n):
            total += tf.cast(i, tf.float32)
            s.scalar("total", total, step=tf.cast(i, tf.int64))
            if i % 2 == 0:
                s.histogram("even", tf.fill([i + 1], total), step=tf.cast(i, tf.int64))
            else:
                s.text("odd", tf.strings.as_string(i), step=tf.cast(i, tf.int64))
        return total

    @tf.function
    def stepped(n: Any) -> Any:
        step = variable
        s.experimental.set_step(step)
        for _ in tf.range(n):
            s.scalar("stepped", 1.0)
            step.assign_add(10)
        return tf.constant(0)

    variable = tf.Variable(0, dtype=tf.int64)
    found = [loop(tf.constant(5)), stepped(tf.constant(3)), variable]
    s.experimental.set_step(None)

    @tf.function
    def branch(x: Any) -> Any:
        return tf.cond(x > 0, lambda: s.scalar("more", x, step=1), lambda: s.scalar("less", x, step=2))

    found += [branch(tf.constant(1.0)), branch(tf.constant(-1.0))]

    @tf.function
    def nested(x: Any) -> Any:
        inner(x)
        return inner(x + 1)

    @tf.function
    def inner(x: Any) -> Any:
        s.scalar("inner", x, step=0)
        return x

    found.append(nested(tf.constant(1.0)))

    @tf.function
    def with_gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            s.scalar("y", y, step=0)
        return tape.gradient(y, x)

    found.append(with_gradient(tf.constant(3.0)))

    def row(x: Any) -> Any:
        s.scalar("row", x, step=0)
        return x

    found.append(tf.map_fn(row, tf.constant([1.0, 2.0])))
    found.append(
        tf.while_loop(lambda i: i < 2, lambda i: [i + tf.cast(s.scalar("w", i, step=0), tf.int32)], [tf.constant(0)])
    )

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None, None, None, 1])])
    def unknown(x: Any, pictures: Any) -> Any:
        s.scalar("unknown", tf.reduce_sum(x), step=0)
        s.histogram("unknown", x, step=0)
        s.image("unknown", pictures, step=0)
        return s.write("unknown", x, step=0)

    found.append(unknown(tf.constant([1.0, 2.0]), tf.constant(PICTURES[..., :1])))
    return found


@in_log
def scopes(tf: Any) -> Any:
    s, found = tf.summary, []
    with tf.name_scope("outer"):
        s.scalar("a", 1.0, step=0)
        with tf.name_scope("inner"):
            s.histogram("b", 1.0, step=0)
            s.write("c", 1.0, step=0)
            s.text("d", "t", step=0)
        s.image("e", PICTURES[:1, :1, :1], step=0)
        s.audio("f", SOUND[:1, :2], 8, step=0)
    for name in ("x", "a b", "/x", "", "ä", "a/b", "a:b", "_x", ".x", "x/", "()", "a  b"):
        with tf.name_scope("s"):
            found.append(tried(lambda: list(s.experimental.summary_scope(name).__enter__())))  # noqa: B023
    found.append(tried(lambda: list(s.experimental.summary_scope("x", "default", [1.0]).__enter__())))
    found.append(tried(lambda: list(s.experimental.summary_scope(None).__enter__())))
    found.append(tried(lambda: list(s.experimental.summary_scope(None, default_name="d").__enter__())))
    found.append(tried(lambda: list(s.experimental.summary_scope("%", default_name="d").__enter__())))

    @tf.function
    def inside(x: Any) -> Any:
        with tf.name_scope("f"):
            s.scalar("x", x, step=0)
            s.scalar("x", x, step=0)
            with s.experimental.summary_scope("y") as (tag, _):
                s.write(tag, x, step=0)
                s.scalar("z", x, step=0)
        return x

    found.append(inside(tf.constant(1.0)))
    with s.experimental.summary_scope("g") as (tag, scope):
        found += [tag, scope]
        s.scalar("h", 1.0, step=0)
    return found


@in_log
def raw_messages(tf: Any) -> Any:
    raw, found = tf.summary.experimental.write_raw_pb, []
    one = b"\x0a\x08\x0a\x01a\x15\x00\x00\x80\x3f"
    two = b"\x0a\x08\x0a\x01b\x15\x00\x00\x00\x40"
    for step, content in enumerate([one, two + one, b"", [one, two], [], [[one]], b"bad", [one, b"bad"], 3, "text"]):
        found.append(tried(lambda: raw(content, step=step)))  # noqa: B023
        found.append(tried(tf.function(lambda: raw(tf.constant(content), step=step))))  # noqa: B023
    found += [
        tried(lambda: raw(one)),
        tried(lambda: raw(one, step=2, name="n")),
        tried(lambda: raw(tf.constant(one), 3)),
    ]
    return found


@in_log
def graphs(tf: Any) -> Any:
    graph = tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([2])).graph
    calls = [
        lambda: tf.summary.graph(graph),
        lambda: tf.summary.graph(graph.as_graph_def()),
        lambda: tf.summary.graph(None),
    ]
    found = [tried(call) for call in calls] + [tried(tf.function(call)) for call in calls]
    with tf.name_scope("n"), tf.summary.record_if(False):
        return [*found, tried(calls[0])]


@in_log
def traces(tf: Any) -> Any:
    s = tf.summary
    f = tf.function(lambda x: x * 2.0)
    found = [tried(lambda: s.trace_export("no", step=0)), tried(s.trace_off)]
    s.trace_on(graph=True)
    f(tf.constant(1.0))
    found += [tried(lambda: s.trace_export("f", step=1)), tried(lambda: s.trace_export("f", step=1))]
    s.trace_on()
    f(tf.constant(1.0))
    found += [tried(lambda: s.trace_export("g"))]
    found += [tried(lambda: s.trace_export("g", step=2)), tried(s.trace_off)]
    s.trace_on(graph=False, profiler=False)
    found += [tried(lambda: s.trace_export("h", step=2)), tried(s.trace_on), tried(s.trace_on), tried(s.trace_off)]
    with tf.name_scope("n"):
        s.trace_on()
        f(tf.constant(1.0))
        found += [tried(lambda: s.trace_export("i", step=3))]
    found += [
        tried(tf.function(lambda: s.trace_on() or 1.0)),
        tried(tf.function(lambda: s.trace_export("j", step=1) or 1.0)),
    ]
    found += [tried(tf.function(lambda: s.trace_off() or 1.0))]
    tried(s.trace_off)
    return found


@case
def threads(tf: Any, folder: str) -> Any:
    s, found = tf.summary, []
    with s.create_file_writer(folder).as_default(step=3) as writer, s.record_if(True):
        write = tf.function(lambda: s.scalar("traced", 1.0))
        found.append(tried(write))

        def alone() -> None:
            found.extend([tried(s.should_record_summaries), tried(s.experimental.get_step)])
            found.extend([tried(lambda: s.scalar("no", 1.0)), tried(write)])
            with writer.as_default(step=5):
                found.extend([tried(lambda: s.scalar("thread", 1.0)), tried(s.experimental.get_step)])

        thread = threading.Thread(target=alone)
        thread.start()
        thread.join()
        found.append(tried(s.experimental.get_step))
    return found


@case
def files_refused(tf: Any, folder: str) -> Any:
    import os

    os.makedirs(folder)
    with open(folder + "/file", "w") as file:
        file.write("x")
    found = [tried(lambda: tf.summary.create_file_writer(folder + "/file")).partition(":")[0]]
    found += [tried(lambda: tf.summary.create_file_writer(folder + "/file/below")).partition(":")[0]]
    writer = tf.summary.create_file_writer(folder + "/deep/er/still")
    found.append(tried(lambda: writer.close()))
    os.remove(folder + "/file")
    return found
