# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.lookup_tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from fastgraph.composites.lookup_tables import StaticHashTable as StaticHashTable
from fastgraph.composites.lookup_tables import StaticVocabularyTable as StaticVocabularyTable
from fastgraph.composites.lookup_tables import TextFileIndex as TextFileIndex
from fastgraph.composites.lookup_tables import TextFileInitializer as TextFileInitializer
from fastgraph.lookup import experimental as experimental

