"""Variables and what holds them.

Values that programs change: Variables, their reads, assigns and slices as effectful ops, the handles that stand for
them, random generators, and Modules, which hold all of these.

Rule: the value is in a Cell and nowhere else, and only ops touch it.
"""
