"""tf.linalg.LinearOperator and its kin: matrices that are known by their structure.

Rule: an operator keeps what it was made of and is written in public ops; where its structure says how, no dense matrix
is made. What two operators make of one another stands in one table, `algebra.py`.
"""
