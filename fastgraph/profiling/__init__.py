"""Timelines.

Recordings of which steps ran when, on which thread, and what the machine can do at most.

Rule: it only looks; what runs, and where, is the same with and without a recording.

    with fastgraph.profiler.record() as recording:
        step(x, y)
    print(recording.table())
    recording.save("trace.json")  # open it at ui.perfetto.dev or chrome://tracing
"""
