# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.datasets import boston_housing as boston_housing
from fastgraph.keras.datasets import cifar10 as cifar10
from fastgraph.keras.datasets import fashion_mnist as fashion_mnist
from fastgraph.keras.datasets import imdb as imdb
from fastgraph.keras.datasets import mnist as mnist
from fastgraph.keras.datasets import reuters as reuters

