"""tf.queue: the order of elements, what waits, what is refused; eagerly, in Functions, between threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def test_first_in_first_out() -> None:
    queue = fg.queue.FIFOQueue(10, [fg.int32, fg.string], shapes=[(), ()])
    queue.enqueue((1, "a"))
    queue.enqueue_many(([2, 3], ["b", "c"]))
    assert int(queue.size()) == 3 and queue.dtypes == [fg.int32, fg.string]
    number, text = queue.dequeue()
    assert int(number) == 1 and text.numpy() == b"a"
    numbers, texts = queue.dequeue_many(2)
    assert numbers.numpy().tolist() == [2, 3] and texts.numpy().tolist() == [b"b", b"c"]


def test_names() -> None:
    queue = fg.queue.FIFOQueue(2, [fg.float32, fg.int64], names=["x", "y"])
    queue.enqueue({"x": [1.0, 2.0], "y": 3})
    found = queue.dequeue()
    assert found["x"].numpy().tolist() == [1.0, 2.0] and int(found["y"]) == 3
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        queue.enqueue((1.0, 2))
    with pytest.raises(ValueError, match="do not match names of Queue"):
        queue.enqueue({"x": 1.0})


def test_closed_queues() -> None:
    queue = fg.queue.FIFOQueue(10, fg.int32, shapes=())
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    assert bool(queue.is_closed())
    with pytest.raises(fg.errors.CancelledError, match="is closed"):
        queue.enqueue(4)
    assert queue.dequeue_many(2).numpy().tolist() == [1, 2]
    with pytest.raises(fg.errors.OutOfRangeError, match=r"closed and has insufficient elements \(requested 2, current"):
        queue.dequeue_many(2)
    assert queue.dequeue_up_to(5).numpy().tolist() == [3]
    with pytest.raises(fg.errors.OutOfRangeError):
        queue.dequeue()


def test_elements_are_padded() -> None:
    queue = fg.queue.PaddingFIFOQueue(5, fg.int32, shapes=[[None]])
    for row in ([1], [2, 3], [4, 5, 6]):
        queue.enqueue([row])
    assert queue.dequeue_many(3).numpy().tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    with pytest.raises(ValueError, match="fully defined"):
        fg.queue.FIFOQueue(5, fg.int32, shapes=[[None]])


def test_priorities() -> None:
    queue = fg.queue.PriorityQueue(9, [fg.string], shapes=[()])
    for key, word in ((3, "c"), (1, "a"), (2, "b"), (1, "A")):
        queue.enqueue((key, word))
    assert [queue.dequeue()[1].numpy() for _ in range(4)] == [b"a", b"A", b"b", b"c"]


def test_shuffled() -> None:
    def drawn() -> list[int]:
        queue = fg.queue.RandomShuffleQueue(100, 0, fg.int32, shapes=(), seed=7)
        queue.enqueue_many([list(range(50))])
        return queue.dequeue_many(50).numpy().tolist()  # type: ignore[no-any-return]

    first = drawn()
    assert sorted(first) == list(range(50)) and first != list(range(50)) and drawn() == first


def test_threads_wait_for_each_other() -> None:
    queue = fg.queue.FIFOQueue(1, fg.int32, shapes=())
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(int(queue.dequeue()) for _ in range(3)))
    thread.start()
    for i in range(3):
        queue.enqueue(i)
    thread.join(20)
    assert found == [0, 1, 2]


def test_functions() -> None:
    queue = fg.queue.FIFOQueue(9, fg.int32, shapes=())

    @fg.function
    def step(x: Any) -> Any:
        queue.enqueue(x)
        queue.enqueue(x + 1)
        first = queue.dequeue()
        return first, queue.size()

    assert [int(each) for each in step(fg.constant(4))] == [4, 1]
    assert [int(each) for each in step(fg.constant(7))] == [5, 2]
    queue.close()
    with pytest.raises(fg.errors.CancelledError):
        step(fg.constant(1))


def test_refused() -> None:
    queue = fg.queue.FIFOQueue(9, fg.int32, shapes=[[2]])
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=r"Shape mismatch in tuple component 0. Expected \[2\], got"
    ):
        queue.enqueue([np.zeros(3, np.int32)])
    with pytest.raises(ValueError, match="same length as dtypes"):
        fg.queue.FIFOQueue(9, [fg.int32, fg.int32], shapes=[()])
    with pytest.raises(TypeError, match="matching component dtypes"):
        fg.queue.QueueBase.from_list(0, [queue, fg.queue.FIFOQueue(9, fg.float32)])
    with pytest.raises(fg.errors.UnimplementedError, match="specified shapes"):
        fg.queue.FIFOQueue(9, fg.int32).dequeue_many(2)
