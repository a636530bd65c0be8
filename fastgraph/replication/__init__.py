"""tf.distribute: a program on several devices of one machine, as replicas on threads, and in processes of MPI.

Strategies, the contexts in which their programs run, Variables' copies made, values brought together, input shared out.

Rule: a replica's step is an ordinary program; what stands here makes it several, and nothing below knows a strategy.
"""
