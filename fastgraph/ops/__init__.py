"""The ops: what can be computed.

Rule: a module of ops registers its primitives and public names when it is imported, and is imported when one of them is
asked for (`primitive.get`, `primitive.public_function`).
"""
