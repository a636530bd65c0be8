"""The workloads: one file each, which defines the work once for every peer.

A file has `ROWS`, the number of each case among what was to be measured; `CASES`, the parameters of `data` by case;
`SMALL`, those of a quick check; `GOALS`, the ratio to reach: to the best peer, (ratio, library), or {"us": limit}
(with "over": what it costs more than another case); `data(...)`, the NumPy arrays; and for each namespace a function
`(library, stage, **data)` that makes ready and returns what is timed, or a sentence where the peer has no such thing;
`ABSENT` has that sentence where there is no function. Some have `MODES` (only these modes are measured, maybe by
case; fastgraph's goal is of the first; staged, jit and eager if not said), `PER` (divide a case's time by this) or
`TOLERANCE` (of a result, relative to its largest element; 1e-4 if not said), or `HOST_STEPS` (True: NumPy does some of
the work in fastgraph's Functions too). With MODES = ("keras",) the peers are Keras's backends and fastgraph behind the
door, and `keras` is the one namespace.

What is computed depends on arguments or Variables, never on constants alone, and a call returns when its result is
there.
"""
