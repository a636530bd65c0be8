# Written by tools/stubs.py from the ops' definitions; do not edit.

