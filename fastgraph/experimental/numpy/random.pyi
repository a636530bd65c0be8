# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.numpy_api.random import poisson as poisson
from fastgraph.numpy_api.random import rand as rand
from fastgraph.numpy_api.random import randint as randint
from fastgraph.numpy_api.random import randn as randn
from fastgraph.numpy_api.random import random as random
from fastgraph.numpy_api.random import seed as seed
from fastgraph.numpy_api.random import standard_normal as standard_normal
from fastgraph.numpy_api.random import uniform as uniform

