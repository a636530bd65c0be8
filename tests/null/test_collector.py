"""The cycle collector rests while graphs grow, and is as it was afterwards: nested, in threads, after errors and forks."""

import gc
import os
import threading
import weakref

import pytest

import fastgraph as fg
from fastgraph.core.base import gc_pause
from fastgraph.core.base.gc_pause import resting


@pytest.fixture(autouse=True)
def _as_before():
    assert gc.isenabled()
    yield
    assert gc.isenabled()
    assert not gc_pause._resting


def test_it_rests_while_a_function_is_traced():
    seen = []

    @fg.function
    def inner(x):
        seen.append(gc.isenabled())
        return x + 1.0

    @fg.function
    def outer(x):
        y = inner(x)
        seen.append(gc.isenabled())
        return y * 2.0

    assert float(outer(fg.constant(1.0))) == 4.0
    assert seen == [False, False]
    assert gc.isenabled()


def test_it_is_back_on_after_an_error():
    @fg.function
    def fails(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(fg.constant(1.0))
    assert gc.isenabled()


def test_it_is_back_on_though_what_a_handler_raised_came_before_the_end_of_a_rest():
    @fg.function
    def late(x):
        resting.__enter__()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        late(fg.constant(1.0))
    assert gc.isenabled()


def test_what_the_user_switched_off_stays_off():
    gc.disable()
    try:
        assert float(fg.function(lambda x: x + 1.0)(fg.constant(1.0))) == 2.0
        assert not gc.isenabled()
    finally:
        gc.enable()


def at_rest_in_another_thread():
    """A thread inside `resting`, and the event that lets it leave."""
    inside, leave = threading.Event(), threading.Event()

    def other():
        with resting:
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    return thread, leave


def test_it_is_back_on_when_the_last_thread_is_done():
    thread, leave = at_rest_in_another_thread()
    with resting, resting:
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_garbage_goes_though_threads_rest_without_an_end():
    class Ring:
        def __init__(self):
            self.ring = self

    thread, leave = at_rest_in_another_thread()
    with resting:
        rings = [Ring() for _ in range(gc_pause._MOST + 1)]
        dropped = weakref.ref(rings[0])
        del rings
        assert dropped() is not None
    assert dropped() is None and not gc.isenabled()
    leave.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_it_back_though_another_thread_was_tracing():
    thread, leave = at_rest_in_another_thread()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
