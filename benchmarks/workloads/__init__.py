"""The workloads: one file each, which defines the work once for every peer.

A file has `ROWS`, which rows of the goals its cases are; `CASES`, the parameters of `data` by case; `SMALL`, those of a
quick check; `GOALS`, the ratio to reach: to the best peer, or (ratio, library); `data(...)`, the NumPy arrays; and for
each namespace a function `(library, stage, **data)` that makes ready and returns what is timed, or None where the peer
has no such thing. Some have `MODES` (only these modes are measured), `PER` (divide a case's time by this) or
`TOLERANCE` (of a result, relative to its largest element; 1e-4 if not said).
"""
