# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.files import GFile as GFile
from fastgraph.data.files import copy as copy
from fastgraph.data.files import exists as exists
from fastgraph.data.files import get_registered_schemes as get_registered_schemes
from fastgraph.data.files import glob as glob
from fastgraph.data.files import isdir as isdir
from fastgraph.data.files import join as join
from fastgraph.data.files import listdir as listdir
from fastgraph.data.files import makedirs as makedirs
from fastgraph.data.files import mkdir as mkdir
from fastgraph.data.files import remove as remove
from fastgraph.data.files import rename as rename
from fastgraph.data.files import rmtree as rmtree
from fastgraph.data.files import stat as stat
from fastgraph.data.files import walk as walk

