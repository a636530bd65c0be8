"""The C side below tensors.

Memory blocks, the thread pool, and C loops over plain memory: products, convolutions, poolings, random bits.
The headers with the vector code, and the scripts that write the elementwise loops before the build.

Rule: knows addresses, extents and threads, never a tensor or an op.
"""
