# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.layers import CategoryEncoding as CategoryEncoding
from fastgraph.keras.layers import CenterCrop as CenterCrop
from fastgraph.keras.layers import Discretization as Discretization
from fastgraph.keras.layers import HashedCrossing as HashedCrossing
from fastgraph.keras.layers import Hashing as Hashing
from fastgraph.keras.layers import IntegerLookup as IntegerLookup
from fastgraph.keras.layers import Normalization as Normalization
from fastgraph.keras.layers import RandomContrast as RandomContrast
from fastgraph.keras.layers import RandomFlip as RandomFlip
from fastgraph.keras.layers import RandomRotation as RandomRotation
from fastgraph.keras.layers import RandomZoom as RandomZoom
from fastgraph.keras.layers import Rescaling as Rescaling
from fastgraph.keras.layers import Resizing as Resizing
from fastgraph.keras.layers import StringLookup as StringLookup
from fastgraph.keras.layers import TextVectorization as TextVectorization

