# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.optimizers import Adadelta as Adadelta
from fastgraph.keras.optimizers import Adafactor as Adafactor
from fastgraph.keras.optimizers import Adagrad as Adagrad
from fastgraph.keras.optimizers import Adam as Adam
from fastgraph.keras.optimizers import AdamW as AdamW
from fastgraph.keras.optimizers import Adamax as Adamax
from fastgraph.keras.optimizers import Ftrl as Ftrl
from fastgraph.keras.optimizers import Nadam as Nadam
from fastgraph.keras.optimizers import Optimizer as Optimizer
from fastgraph.keras.optimizers import RMSprop as RMSprop
from fastgraph.keras.optimizers import SGD as SGD

