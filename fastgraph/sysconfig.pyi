# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.configuration import get_build_info as get_build_info
from fastgraph.api.configuration import get_include as get_include
from fastgraph.api.configuration import get_lib as get_lib

