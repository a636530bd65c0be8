"""The parts of docs/oracle.md that other runs write, and the report of all ops keeps."""

from __future__ import annotations

HEADING = "## Integer arguments"
CHECKPOINTS = "## Checkpoints"
AUTOGRAPH = "## TensorFlow's tests of AutoGraph"  # written by hand: the tests are TensorFlow's
DOCSTRINGS = "## Examples of docstrings"
SAVED_MODELS = "## SavedModels"  # written by hand, from what tests.oracle.saved_models says
PIPELINES = "## Pipelines of tf.data"  # written by hand, from what tests.oracle.pipelines says
#: In the order in which they stand at the end.
KEPT = (HEADING, CHECKPOINTS, SAVED_MODELS, PIPELINES, DOCSTRINGS, AUTOGRAPH)


def section(text: str, heading: str = HEADING) -> str:
    """What stands under a heading in a report, or ""."""
    _, found, rest = text.partition(f"\n{heading}\n\n")
    return rest.partition("\n## ")[0].rstrip("\n") + "\n" if found else ""


def with_section(text: str, content: str, heading: str = HEADING) -> str:
    """The report with `content` under the heading; such headings come last."""
    kept = {each: section(text, each) for each in KEPT} | {heading: content}
    for each in KEPT:
        before, found, rest = text.partition(f"\n{each}\n")
        if found:
            _, more, after = rest.partition("\n## ")
            text = before.rstrip("\n") + (f"\n\n## {after}" if more else "\n")
    return text.rstrip("\n") + "\n" + "".join([f"\n{each}\n\n{kept[each]}" for each in KEPT if kept[each]])
