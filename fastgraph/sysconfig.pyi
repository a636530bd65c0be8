# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.configuration import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from fastgraph.api.configuration import CXX_VERSION as CXX_VERSION
from fastgraph.api.configuration import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from fastgraph.api.configuration import get_build_info as get_build_info
from fastgraph.api.configuration import get_include as get_include
from fastgraph.api.configuration import get_lib as get_lib

