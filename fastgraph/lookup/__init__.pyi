# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.lookup import experimental as experimental
from fastgraph.state.lookup_tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from fastgraph.state.lookup_tables import StaticHashTable as StaticHashTable
from fastgraph.state.lookup_tables import StaticVocabularyTable as StaticVocabularyTable
from fastgraph.state.lookup_tables import TextFileIndex as TextFileIndex
from fastgraph.state.lookup_tables import TextFileInitializer as TextFileInitializer

