"""How training on several processes scales: all-reduce beside bare mpi4py, steps beside TensorFlow and PyTorch."""
