"""Strings by patterns (tf.strings.regex_replace, regex_full_match), and in characters.

Rule: patterns are RE2's, which TensorFlow has, done by Python's `re`: what both have means the same; strings are UTF-8,
and bytes that are not stay as they are.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import Any, AnyStr

import numpy as np

from fastgraph.core.base.dtype import bool_, int64, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, known_value, named, of_dtypes
from fastgraph.ops.families import Array, custom, invalid, public, shape_text

_REASON = "strings: their bytes lie in Python objects, which kernels do not see"

#: RE2's names of classes of characters within brackets.
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@functools.lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, as Python writes it. Raises InvalidArgumentError for what is no pattern."""
    out, at, inside = [], 0, False
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("\\"):
            kept = rest[:2]
            if kept == "\\z":
                kept = "\\Z"
            elif kept == "\\Q":
                quoted, _, _ = rest[2:].partition("\\E")
                out.append(re.escape(quoted))
                at += len(quoted) + (4 if "\\E" in rest else 2)
                continue
            elif kept in ("\\p", "\\P"):
                raise invalid(f"Invalid pattern: {pattern}, error: Unicode classes ({rest[:3]}) are not built")
            out.append(kept)
            at += 2
            continue
        named_class = re.match(r"\[:(\^?)(\w+):\]", rest) if inside else None
        if named_class and named_class[2] in _CLASSES and not named_class[1]:
            out.append(_CLASSES[named_class[2]])
            at += named_class.end()
            continue
        if not inside and rest[0] == "[":
            inside = True
            opening = re.match(r"\[\^?\]?", rest)
            assert opening is not None
            out.append(opening[0].replace("]", "\\]"))
            at += opening.end()
            continue
        if inside and rest[0] == "]":
            inside = False
        # Python gives warnings for what may once be an operation on classes, and ends `$` before a last newline.
        kept = rest[0]
        out.append("\\" + kept if inside and kept in "[&~|" else "\\Z" if kept == "$" and not inside else kept)
        at += 1
    try:
        return re.compile("".join(out), re.ASCII)
    except re.error as error:
        raise invalid(f"Invalid pattern: {pattern}, error: {error}") from None


@functools.lru_cache(256)
def _never_empty(pattern: re.Pattern[Any]) -> bool:
    """Return whether every match has a character: `re` then finds the matches that RE2 does, and writes them in C."""
    parser: Any = re._parser  # type: ignore[attr-defined]  # nothing public tells
    return bool(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE).getwidth()[0])


@functools.lru_cache(256)
def _translation(pattern: re.Pattern[str], rewrite: str) -> Callable[[bytes], bytes] | None:
    """Return a writer of ASCII strings anew, byte by byte, if the pattern is a class of characters or runs to go."""
    parser: Any = re._parser  # type: ignore[attr-defined]  # nothing public tells
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    kinds: Any = re._constants  # type: ignore[attr-defined]
    if len(parsed) == 1 and not rewrite and parsed[0][0] in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        least, _, repeated = parsed[0][1]
        parsed = repeated if least == 1 else ()
    classes = (kinds.IN, kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY)
    if len(parsed) != 1 or parsed[0][0] not in classes or len(rewrite) > 1 or not rewrite.isascii() or rewrite == "\\":
        return None
    matched = bytes(i for i in range(128) if pattern.fullmatch(chr(i)))
    if rewrite:
        return operator.methodcaller("translate", bytes.maketrans(matched, rewrite.encode() * len(matched)))
    return operator.methodcaller("translate", None, matched)


def _of_bytes(pattern: re.Pattern[str], words: list[bytes]) -> re.Pattern[bytes] | None:
    """The pattern for strings that need no decoding, if these are such: in ASCII bytes are characters."""
    return _encoded(pattern) if pattern.pattern.isascii() and b"".join(words).isascii() else None


@functools.lru_cache(256)
def _encoded(pattern: re.Pattern[str]) -> re.Pattern[bytes] | None:
    try:
        return re.compile(pattern.pattern.encode(), pattern.flags & ~re.UNICODE & ~re.ASCII)
    except (re.error, ValueError):  # it names characters beyond
        return None


def _rewriter(rewrite: str, pattern: re.Pattern[str]) -> Any:
    """Return what `re` writes matches anew with, or the parts of that, with the numbers of groups among them.

    None for groups that there are not. Raises InvalidArgumentError.
    """
    parts: list[Any] = []
    for piece in re.split(r"(\\.)", rewrite, flags=re.DOTALL):
        if piece.startswith("\\") and len(piece) == 2:
            if piece[1].isdigit():
                parts.append(int(piece[1]))
            elif piece[1] == "\\":
                parts.append("\\")
            else:
                raise invalid(f"Rewrite schema error: '\\' must be followed by a digit or '\\'. In {rewrite}")
        elif piece:
            parts.append(piece)
    most = max((part for part in parts if isinstance(part, int)), default=0)
    if most > pattern.groups:
        return None
    if _never_empty(pattern) and all(isinstance(part, str) for part in parts):
        return "".join([part.replace("\\", r"\\") for part in parts])
    return parts


@custom(
    op="RegexReplace",
    infer=lambda input, pattern, rewrite, **_: Aval(string, input.shape),
    groups=("string", "string", "string"),
    samples=lambda: [
        ((np.array([b"ab ab", b""], object), np.array(p, object), np.array(r, object)), {"replace_global": g})
        for p, r in ((b"(a)(b)", rb"\2\1"), (b"[[:space:]]", b""))
        for g in (True, False)
    ],
    error_samples=lambda: [
        (
            (np.array([b"a"], object), np.array(b"(", object), np.array(b"", object)),
            {"replace_global": True},
            InvalidArgumentError,
            "Invalid pattern",
        )
    ],
    reason=_REASON,
)
def regex_replace_p(input: Array, pattern: Array, rewrite: Array, *, replace_global: bool) -> Any:
    """Each string with what matches a pattern written anew. string[*s], string[], string[] -> string[*s]."""
    for what, given in (("Pattern", pattern), ("Rewrite", rewrite)):
        if np.ndim(given):
            raise invalid(f"{what} must be scalar, but received {shape_text(given.shape)}")
    found = _compiled(_text(np.asarray(pattern).item()))
    write = _rewriter(_text(np.asarray(rewrite).item()), found)
    words = input.reshape(-1).tolist()
    if isinstance(write, str):
        once, rewritten = int(not replace_global), found.sub
        if replace_global and (of_ascii := _translation(found, write)) is not None:
            words = [of_ascii(w) if w.isascii() else _bytes(rewritten(write, _text(w))) for w in words]
        elif write.isascii() and (of_bytes := _of_bytes(found, words)) is not None:
            once_written = functools.partial(of_bytes.sub, write.encode(), count=once)
            words = [once_written(word) for word in words]
        else:
            words = [_bytes(rewritten(write, _text(word), once)) for word in words]
    elif write is not None and (of_bytes := _of_bytes(found, words)) is not None:
        in_bytes = _writer([part if isinstance(part, int) else _bytes(part) for part in write], b"")
        words = [_rewritten(word, of_bytes, in_bytes, replace_global) for word in words]
    elif write is not None:
        in_text = _writer(write, "")
        words = [_bytes(_rewritten(_text(word), found, in_text, replace_global)) for word in words]
    return np.array(words, object).reshape(input.shape)


def _rewritten(
    text: AnyStr, pattern: re.Pattern[AnyStr], write: Callable[[re.Match[AnyStr]], AnyStr], everywhere: bool
) -> AnyStr:
    """The text with its first match, or all of them, written anew; nothing matches where a match has just ended."""
    found = pattern.search(text)
    if found is None:
        return text
    if not everywhere or found.end() == len(text):
        return text[: found.start()] + write(found) + text[found.end() :]
    if _never_empty(pattern):
        return pattern.sub(write, text)
    parts: list[AnyStr] = []
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if end > at or start > at or not parts:
            parts += text[at:start], write(match)
            at = end
    return text[:0].join(parts) + text[at:]


def _writer(parts: list[AnyStr | int], empty: AnyStr) -> Callable[[re.Match[AnyStr]], AnyStr]:
    """Return what writes a match anew: `re` takes several times as long for its own templates with groups."""
    if len(parts) == 1 and isinstance(group := parts[0], int):
        return lambda match: match[group] or empty
    return lambda match: empty.join([(match[part] or empty) if isinstance(part, int) else part for part in parts])


@public("strings.regex_replace")
def regex_replace(
    input: TensorLike, pattern: TensorLike, rewrite: TensorLike, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""Each string with what matches `pattern` replaced by `rewrite`, in which \0 is the match, \1 its first group.

    string[*s] -> string[*s]. replace_global: every match, else the first one. Raises: InvalidArgumentError for what is
    no pattern. Source: tf.strings.regex_replace.
    """
    return named(
        name, regex_replace_p, as_tensor(input, string), as_tensor(pattern, string), as_tensor(rewrite, string),
        replace_global=bool(replace_global),
    )  # fmt: skip


@custom(
    op="RegexFullMatch",
    infer=lambda input, pattern: Aval(bool_, input.shape),
    groups=("string", "string"),
    samples=lambda: [((np.array([b"ab ab", b"b"], object), np.array(b"[ab ]*b", object)), {})],
    reason=_REASON,
)
def regex_full_match_p(input: Array, pattern: Array) -> Any:
    """True where a pattern matches the whole of a string. string[*s], string[] -> bool[*s]."""
    found = _compiled(_text(np.asarray(pattern).item()))
    words = input.reshape(-1).tolist()
    if (of_bytes := _of_bytes(found, words)) is not None:
        matches: Any = map(of_bytes.fullmatch, words)
    else:
        matches = (found.fullmatch(_text(word)) for word in words)
    return np.array([match is not None for match in matches], bool).reshape(input.shape)


@public("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Any:
    """True where `pattern` matches the whole of a string. string[*s] -> bool[*s].

    Raises: InvalidArgumentError for what is no pattern. Source: tf.strings.regex_full_match.
    """
    x, rule = as_tensor(input, string), of_dtypes(as_tensor(pattern, string), "string")
    if rule.shape.rank not in (0, None):
        raise invalid(f"Pattern must be scalar, but received {shape_text(rule.shape.as_list())}", "RegexFullMatch")
    known = known_value(rule)
    if known is not None:
        _compiled(_text(known.item()))
    return named(name, regex_full_match_p, x, rule)


# ---- parts ----------------------------------------------------------------------------------------------------------


_ASCII = [bytes([n]) for n in range(128)]


@custom(
    op="UnicodeDecode",
    infer=lambda input: (Aval(string, (None,)), Aval(int64, input.shape)),
    groups=("string",),
    n_outputs=2,
    step="dynamic",
    samples=lambda: [((np.array(["h\u00e9".encode(), b""], object),), {})],
    reason=_REASON,
)
def characters_p(input: Array) -> Any:
    """The characters of strings end to end, and how many each has. string[n] -> string[m], i64[n].

    What is no UTF-8 becomes the character U+FFFD.
    """
    flat: list[bytes] = []
    ends = []
    for word in input.reshape(-1).tolist():
        if word.isascii():
            flat += map(_ASCII.__getitem__, word)
        else:
            flat += [char.encode() for char in word.decode("utf-8", "replace")]
        ends.append(len(flat))
    return array_kernels.objects(flat), np.diff(np.array(ends, np.int64), prepend=0).reshape(input.shape)


@custom(
    op="StringNGrams",
    infer=lambda data, splits, **_: (Aval(string, (None,)), Aval(splits.dtype, splits.shape)),
    groups=("string", "Tsplits"),
    dtypes={"Tsplits": "index"},
    n_outputs=2,
    step="dynamic",
    samples=lambda: [
        (
            (np.array([b"a", b"b", b"c"], object), np.array([0, 2, 2, 3])),
            {"widths": (2, 1), "separator": "-", "ends": (b"<", b">"), "pads": p, "short": True},
        )
        for p in (0, 1)
    ],
    reason=_REASON,
)
def ngrams_p(
    data: Array, splits: Array, *, widths: tuple[int, ...], separator: str, ends: tuple[bytes, bytes], pads: int,
    short: bool,
) -> Any:  # fmt: skip
    """Neighbours of each row joined, windows of the first width first. string[n], i[r + 1] -> string[m], i[r + 1]."""
    if splits[:1].any():
        raise invalid(f"First split value must be 0, got {splits[0]}")
    if not data.size:  # of no string at all there are none, whatever rows are padded with
        return data, np.zeros_like(splits)
    at = np.ascontiguousarray(splits, np.int64)
    for i in np.flatnonzero((at[1:] < at[:-1]) | (at[1:] > data.size))[:1]:
        raise invalid(f"Invalid split value {at[i + 1]}, must be in [{at[i]}, {data.size}]")
    if at.size and at[-1] != data.size:
        raise invalid(f"Last split value must be data size. Expected {data.size}, got {at[-1]}")
    pad = min(max(widths, default=1) - 1, pads) if pads >= 0 else 0
    if data.size + 2 * pad >= 2**31:
        raise invalid(f"Pad width could lead to integer overflow, got pad_width = {pad}")
    parts, ends_at = array_kernels.windows(data, at, widths, separator.encode(), *ends, pads, short)
    values = np.empty(len(parts), object)
    values[:] = parts
    return values, ends_at.astype(splits.dtype, copy=False)
