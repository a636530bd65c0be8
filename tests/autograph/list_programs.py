"""Random programs that change lists under several names in staged statements: plain Python's meaning, or an error.

Rule: a program is one text, run plain with Python's numbers and staged with tensors; both read what every name holds.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import fastgraph as fg

#: What a list may be reached by.
LISTS = ("a", "b", "c", "d['k']", "o.v", "m[0]", "m[1]")
NAMES = ("a", "b", "c")
HEAD = """
class Holder:
    pass


def program(n, x, range, told):
    a, b, c = [x[0]], [], [x[1], x[2]]
    each = r = n * 0
    o = Holder()
"""
#: What is known by more than one name before the first statement.
ALIASES = ("b = a", "c = a", "d['k'] = a", "o.v = a", "t = (a, 1)", "m[0] = a", "d['k'] = b", "m[1] = b", "o.v = c")
IN_PLACE = (
    "{p}.append({e})", "{p}.append({e})", "{p}.extend([{e}, {e}])", "{p}.insert(0, {e})", "{p}.reverse()",
    "{p}.clear()", "{p} += [{e}]", "t[0].append({e})", "add({e})", "push({p}, {e})",
    "({p} if {t} else {q}).append({e})", "pick({p}, {q}).append({e})", "s = {p} if {t} else {q}\ns.append({e})",
    "s = pick({p}, {q})\nif len(s) > 0:\n    r += s.pop()", "s.append({e})",
    "if len({p}) > 0:\n    {p}[0] = {e}", "if len({p}) > 1:\n    del {p}[0]", "if len({p}) > 0:\n    r += {p}.pop()",
)  # fmt: skip
#: What changes a list and keeps its length.
KEPT_LENGTH = (
    "{p}.reverse()", "s.reverse()", "if len(s) > 0:\n    s[0] = {e}", "if len(s) > 0:\n    s[-1] += {e}",
    "if len(s) > 1:\n    s[0], s[1] = s[1], s[0]", "if len({p}) > 0:\n    {p}[-1] = {e}",
    "({p} if {t} else {q}).reverse()", "turn(pick({p}, {q}))", "s = {p} if {t} else {q}\ns.reverse()",
    "s = {p} if {t} else {q}\nif len(s) > 0:\n    s[0] += {e}", "w = s\nw.reverse()",
    "s = {p}\nif {t}:\n    s = {q}\ns[0] = s[1] + {e}", "{p}[:] = {p}[1:] + {p}[:1]",
    "if {t}:\n    r += 1\nelse:\n    {p}.reverse()",
)  # fmt: skip
ASSIGNED = (
    "{q} = {q} + [{e}]", "{q} = [{e}, *{q}]", "{q} = {q}[:]", "{q} = list({q})", "{q} = {p}", "{q}, {p} = {p}, {q}",
    "{q} = [{e}]", "{q} = {p} + {q}", "t = ({q}, 2)", "{q} = {p} if {t} else {q}", "{q} = {q}[-2:]",
    "s = {p} if {t} else {q}", "s = pick({p}, {q})", "s = {p}", "if {t}:\n    s = {p}\nelse:\n    s = {q}",
)  # fmt: skip
READ = ("r = r * 3 + len({p})", "for each in {p}:\n    r = r * 2 + each", "r += len(t[0])", "r = r * 3 + len(s)")
TESTS = ("n > 1", "r % 2 == 0", "len({p}) > 1", "n % 2 == 1")


#: What decides which of several a name holds.
CHOSEN = (
    "s = {p} if {t} else {q}", "s = pick({p}, {q})", "s = {p}\nif {t}:\n    s = {q}",
    "s = w\nif {t}:\n    s = {p}\nelse:\n    s = {q}",
)  # fmt: skip


class Draw:
    """Draws the text of one program: of every other one the changes keep the lists' lengths."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.n = 0
        self.numbers = ["x[0]", "x[1]", "n", "5"]
        self.keeps = seed % 2 == 1

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def filled(self, text: str) -> str:
        p = self.random.choice(LISTS)
        q = self.random.choice(LISTS if self.chance(0.3) else NAMES)
        test = self.random.choice(TESTS).format(p=p)
        return text.format(p=p, q=q, e=self.random.choice(self.numbers), t=test)

    def statement(self, depth: int) -> list[str]:
        kind = self.random.random()
        if depth and kind < 0.2:
            lines = [f"if {self.random.choice(TESTS).format(p=self.random.choice(LISTS))}:", *self.body(depth - 1)]
            return [*lines, "else:", *self.body(depth - 1)] if self.chance(0.5) else lines
        if depth and kind < 0.4:
            self.n += 1
            name = f"i{self.n}"
            head = [f"for {name} in range({self.random.choice(('n', 'n + 1', '2'))}):"]
            if self.chance(0.25):
                head = [f"{name} = n * 0", f"while {name} < n:", f"    {name} += 1"]
            self.numbers.append(name)
            body = self.body(depth - 1)
            self.numbers.remove(name)
            return [*head, *body]
        if self.keeps:
            kinds = KEPT_LENGTH if kind < 0.7 else CHOSEN if kind < 0.85 else READ
        else:
            kinds = IN_PLACE if kind < 0.65 else ASSIGNED if kind < 0.88 else READ
        return self.filled(self.random.choice(kinds)).split("\n")

    def block(self, depth: int, least: int = 1) -> list[str]:
        return [line for _ in range(self.random.randint(least, least + 2)) for line in self.statement(depth)]

    def body(self, depth: int) -> list[str]:
        return ["    " + line for line in self.block(depth)]

    def program(self) -> str:
        lines = ["d, m = {'k': [x[1]]}, [[], [x[2]]]", "o.v, t = [x[0]], ([x[1]], 0)"]
        if self.keeps:
            lines[0] = "d, m, b = {'k': [x[1], n, x[2]]}, [[x[2], 7], [x[2], x[1]]], [n, x[1], 9]"
            lines += ["a.append(8)", "o.v.append(n)"]
        lines += self.random.sample(ALIASES, self.random.choice((0, 1, 1, 2)))
        lines += ["s = w = b", "", "def add(e):", "    a.append(e)", "", "def push(p, e):", "    p.append(e)", ""]
        lines += ["def turn(p):", "    p.reverse()", ""]
        lines += ["def pick(p, q):", "    if n > 1:", "        return p", "    return q", ""]
        lines += self.block(1, 3) if self.keeps else self.block(2, 2)
        lines.append("result = [r]")
        for each in (*LISTS, "t[0]", "s"):
            lines += [f"each = {each}", "result.append(told(each))"]
        lines.append("return result")
        return HEAD + "\n".join("    " + line if line else line for line in lines) + "\n"


def made(text: str, name: str) -> Callable[..., Any]:
    """Return the function of a program's text, whose source can be found."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), scope)
    function: Callable[..., Any] = scope["program"]
    return function


@fg.autograph.experimental.do_not_convert
def told(values: Any) -> Any:
    """Return a number that says how many elements a list has, and which, in which order."""
    if isinstance(values, list) and not any(map(fg.is_tensor, values)):
        return len(values) * 1000 + sum((k + 1) * each for k, each in enumerate(values))
    rows = fg.convert_to_tensor(values)
    n = fg.shape(rows)[0]
    return n * 1000 + fg.reduce_sum(rows * (fg.range(n) + 1))


#: What the library says of programs that it does not stage.
REFUSALS = (NotImplementedError, TypeError, ValueError)


def compared(text: str, name: str) -> tuple[str, str]:
    """Return "equal", "refused" or "different", and what tells more of it."""
    function = made(text, name)
    x = [3, 11, 20]
    staged = fg.function(function)
    for n in (0, 1, 3):
        try:
            wanted: Any = [int(each) for each in function(n, x, range, told)]
        except IndexError:
            wanted = "error"
        try:
            with np.errstate(all="ignore"):
                got: Any = [int(each) for each in staged(fg.constant(n), fg.constant(x), fg.range, told)]
        except fg.errors.InvalidArgumentError:
            got = "error"
        except REFUSALS as error:
            return "refused", f"{type(error).__name__}: {error}"
        wrapped = wanted if isinstance(wanted, str) else [(v + 2**31) % 2**32 - 2**31 for v in wanted]
        if got != wrapped:
            return "different", f"n={n}: plain {wrapped}, staged {got}"
    return "equal", ""
