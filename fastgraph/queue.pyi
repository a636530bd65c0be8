# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.queues import FIFOQueue as FIFOQueue
from fastgraph.data.queues import PaddingFIFOQueue as PaddingFIFOQueue
from fastgraph.data.queues import PriorityQueue as PriorityQueue
from fastgraph.data.queues import QueueBase as QueueBase
from fastgraph.data.queues import RandomShuffleQueue as RandomShuffleQueue

