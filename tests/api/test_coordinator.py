"""tf.train.Coordinator: threads that end together."""

from __future__ import annotations

import threading

import pytest

import fastgraph as fg


def test_threads_stop_together_and_the_first_error_is_raised() -> None:
    coord = fg.train.Coordinator()
    begun = threading.Barrier(3)

    def wait() -> None:
        with coord.stop_on_exception():
            begun.wait()
            coord.wait_for_stop()

    def fail() -> None:
        with coord.stop_on_exception():
            begun.wait()
            raise KeyError("first")

    threads = [threading.Thread(target=each) for each in (wait, wait, fail)]
    coord.register_thread(threads[0])
    for thread in threads:
        thread.start()
    with pytest.raises(KeyError, match="first"):
        coord.join(threads[1:])
    assert coord.should_stop() and coord.joined and not any(thread.is_alive() for thread in threads)
    with pytest.raises(RuntimeError, match="late"):
        coord.request_stop(RuntimeError("late"))
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined
    coord.request_stop(fg.errors.OutOfRangeError(None, None, "the end"))
    coord.join([])
    coord.raise_requested_exception()


def test_threads_that_do_not_stop() -> None:
    coord, done = fg.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=done.wait, name="slow")
    thread.start()
    coord.request_stop()
    try:
        coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
        with pytest.raises(RuntimeError, match="threads still running: slow"):
            coord.join([thread], stop_grace_period_secs=0.01)
    finally:
        done.set()
        thread.join()
    assert not fg.train.Coordinator().wait_for_stop(0.01)
