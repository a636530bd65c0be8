"""The keys that decide which trace serves a call.

Arguments of traced functions: how they are matched with parameters, what of them is in a cache key, when keys are
made general, why there is one more trace, and calls of what is being traced.

Rule: what the key says is all that decides which graph serves a call.
"""
