"""Tensors and bind.

Tensors, bind (the one place where an op is applied), the registry of primitives, conversion, devices.
The parts of tensor.pyx are tensor_*.pxi beside it; cells.pyx reads and updates what Variables keep.

Rule: knows no op by name; what higher rooms supply comes through slots and the registry.
"""
