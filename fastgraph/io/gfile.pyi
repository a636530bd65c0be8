# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.file_io import GFile as GFile
from fastgraph.data.file_io import copy as copy
from fastgraph.data.file_io import exists as exists
from fastgraph.data.file_io import get_registered_schemes as get_registered_schemes
from fastgraph.data.file_io import glob as glob
from fastgraph.data.file_io import isdir as isdir
from fastgraph.data.file_io import join as join
from fastgraph.data.file_io import listdir as listdir
from fastgraph.data.file_io import makedirs as makedirs
from fastgraph.data.file_io import mkdir as mkdir
from fastgraph.data.file_io import remove as remove
from fastgraph.data.file_io import rename as rename
from fastgraph.data.file_io import rmtree as rmtree
from fastgraph.data.file_io import stat as stat
from fastgraph.data.file_io import walk as walk

