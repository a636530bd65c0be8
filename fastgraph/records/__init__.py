"""The contents of files: records, Examples and their features, texts and numbers as bytes.

Rule: what a file says is checked before anything is allocated by it, and never names another file.
"""
