"""What is said where a list whose length a tensor decides is returned with structures in it, or used after its trace."""

from __future__ import annotations

from typing import Any

import pytest

import fastgraph as tf


def test_a_returned_list_of_structures_names_the_list_and_what_to_return() -> None:
    @tf.function
    def pairs(n: Any) -> Any:
        found = []
        for i in tf.range(n):
            found.append((i, tf.ones([2])))
        return found

    with pytest.raises(TypeError) as raised:
        pairs(tf.constant(3))
    text = str(raised.value)
    assert "the list 'found'" in text and f"{__file__}:16" in text, text
    assert "its elements are tuples" in text and "tf.stack([element[0] for element in found])" in text


class Holder:
    def __init__(self) -> None:
        self.items: Any = []


@pytest.fixture
def leaked() -> Holder:
    @tf.function
    def fill(n: Any, holder: Any) -> Any:
        items = []
        for i in tf.range(n):
            items.append(i)
        holder.items = items
        return n

    holder = Holder()
    fill(tf.constant(3), holder)
    return holder


@pytest.mark.parametrize(
    "use",
    [
        lambda items: items[0],
        len,
        list,
        bool,
        lambda items: tf.stack(items),
        lambda items: items.append(1),
        lambda items: items + [1],
        lambda items: items == [],
        lambda items: items.pop(),
        lambda items: items[:1],
    ],
)
def test_a_list_that_outlives_its_trace_is_named(leaked: Holder, use: Any) -> None:
    with pytest.raises(TypeError) as raised:
        use(leaked.items)
    text = str(raised.value)
    assert "the list 'items' is out of scope" in text and "while fill was traced" in text, text


def test_a_list_of_another_function_is_named(leaked: Holder) -> None:
    @tf.function
    def use(holder: Any) -> Any:
        return tf.reduce_sum(tf.stack(holder.items))

    with pytest.raises(TypeError, match="the list 'items' is out of scope"):
        use(leaked)


def test_branches_and_loops_use_the_list_of_the_function_around() -> None:
    @tf.function
    def outer(n: Any) -> Any:
        items = []
        for i in tf.range(n):
            items.append(i)
        return tf.while_loop(lambda k: k < 1, lambda k: [k + items[1] + len(items)], [0])[0]

    assert int(outer(tf.constant(4))) == 5
