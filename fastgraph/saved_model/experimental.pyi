# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.saving.saved_model_files import Fingerprint as Fingerprint
from fastgraph.saving.saved_model_files import read_fingerprint as read_fingerprint
from fastgraph.saving.saved_model_options import VariablePolicy as VariablePolicy
from fastgraph.state.tracking import TrackableResource as TrackableResource

