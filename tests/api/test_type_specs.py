"""TypeSpecs: which may be of one value, what takes in two of them, and how nests of composites are compared."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import fastgraph as fg


class Marked(fg.experimental.ExtensionType):
    values: fg.Tensor
    mark: str = "x"


class MarkedToo(fg.experimental.ExtensionType):
    values: fg.Tensor
    mark: str = "x"


class Parts(fg.TypeSpec):
    """A spec of whatever parts it is given."""

    value_type = property(lambda self: object)
    _component_specs = property(lambda self: ())

    def __init__(self, *parts):
        self.parts = parts

    def _serialize(self):
        return self.parts

    def _to_components(self, value):
        return ()

    def _from_components(self, components):
        return object()


TWO_OR_ANY = [
    (fg.RaggedTensorSpec([2, None]), fg.RaggedTensorSpec([None, None])),
    (fg.SparseTensorSpec([2, None]), fg.SparseTensorSpec([None, 3])),
    (fg.IndexedSlicesSpec([2]), fg.IndexedSlicesSpec([None])),
    (fg.TensorArraySpec([2]), fg.TensorArraySpec([None])),
    (fg.OptionalSpec(fg.TensorSpec([2])), fg.OptionalSpec(fg.TensorSpec([None]))),
    (fg.data.DatasetSpec(fg.TensorSpec([2])), fg.data.DatasetSpec(fg.TensorSpec([None]))),
    (Marked.Spec(fg.TensorSpec([2]), "x"), Marked.Spec(fg.TensorSpec([None]), "x")),
]


@pytest.mark.parametrize(("one", "other"), TWO_OR_ANY, ids=lambda spec: type(spec).__name__)
def test_specs_whose_shapes_do_not_exclude_each_other_are_compatible_both_ways(one, other):
    assert one.is_compatible_with(other) and other.is_compatible_with(one)


def test_specs_of_other_shapes_or_other_marks_are_not_compatible():
    assert not fg.RaggedTensorSpec([3, None]).is_compatible_with(fg.RaggedTensorSpec([2, None]))
    assert not Marked.Spec(fg.TensorSpec([2]), "x").is_compatible_with(Marked.Spec(fg.TensorSpec([2]), "y"))
    assert not Marked.Spec(fg.TensorSpec([2]), "x").is_compatible_with(Marked([1.0, 2.0, 3.0]))


def test_an_input_signature_takes_only_what_it_takes_in():
    function = fg.function(lambda x: x, input_signature=[fg.RaggedTensorSpec([2, None], fg.int32)])
    assert function(fg.ragged.constant([[1], [2]])).shape[0] == 2
    with pytest.raises(TypeError):
        function(fg.ragged.constant([[1], [2], [3]]))


def test_parts_that_are_arrays_are_compared_element_by_element():
    assert Parts(np.arange(4), 1) == Parts(np.arange(4), 1)
    assert Parts(np.arange(4), 1) != Parts(np.arange(4) + 1, 1)
    assert hash(Parts(np.arange(4))) == hash(Parts(np.arange(4)))


def test_named_tuples_of_one_name_and_fields_are_of_one_class():
    def spec(name, fields, shape):
        return Parts(collections.namedtuple(name, fields)(fg.TensorSpec(shape), fg.TensorSpec([])))

    one = spec("Pair", "a b", [2])
    assert one.is_compatible_with(spec("Pair", "a b", [None]))
    found = one.most_specific_compatible_type(spec("Pair", "a b", [3]))
    assert found.parts[0].a.shape.as_list() == [None]
    for other in (spec("Pair", "a c", [2]), spec("Two", "a b", [2]), Parts((fg.TensorSpec([2]), fg.TensorSpec([])))):
        assert not one.is_compatible_with(other)
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            one.most_specific_compatible_type(other)


def test_no_spec_takes_in_two_names():
    named = fg.TensorSpec([4], name="a")
    assert named.most_specific_common_supertype([fg.TensorSpec([5], name="a")]) == fg.TensorSpec([None], name="a")
    for other in (fg.TensorSpec([4], name="b"), fg.TensorSpec([4])):
        assert named.most_specific_common_supertype([other]) is None
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            named.most_specific_compatible_type(other)


@pytest.mark.parametrize("check_types", [True, False])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: Marked(1), lambda: Marked(1, "y")),
        (lambda: Marked(1), lambda: Marked(1.0)),
        (lambda: Marked(1), lambda: MarkedToo(1)),
        (lambda: fg.ragged.constant([[1]]), lambda: fg.ragged.constant([[1.0]])),
        (lambda: fg.ragged.constant([[1]]), lambda: fg.ragged.constant([[[1]]])),
        (lambda: fg.ragged.constant([[1]]), lambda: fg.sparse.from_dense([[1]])),
        (lambda: fg.RaggedTensorSpec([1, None]), lambda: fg.ragged.constant([[1]])),
    ],
)
def test_composites_that_no_spec_takes_in_are_of_different_structure(one, other, check_types):
    fg.nest.assert_same_structure([one()], [other()], check_types=check_types)
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
        fg.nest.assert_same_structure([one()], [other()], check_types=check_types, expand_composites=True)
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
        fg.nest.map_structure(lambda x, y: x, one(), other(), check_types=check_types, expand_composites=True)


def test_composites_of_other_extents_are_of_one_structure():
    fg.nest.assert_same_structure(Marked([1.0]), Marked([[2.0]]), expand_composites=True)
    fg.nest.assert_same_structure(
        fg.ragged.constant([[1], [2, 3]]), fg.RaggedTensorSpec([5, None], fg.int32), expand_composites=True
    )


def test_what_follows_a_named_field_of_an_extension_type_has_to_be_named():
    class Base(fg.experimental.ExtensionType):
        b: fg.Tensor
        needs: bool = True

    class Below(Base):
        w: fg.Tensor
        d: int = 4
        e: fg.Tensor

    made = Below(1.0, False, w=2.0, e=3.0)
    assert (made.needs, made.d, float(made.w)) == (False, 4, 2.0)
    with pytest.raises(TypeError):
        Below(1.0, False, 5, w=2.0, e=3.0)
    assert not hasattr(fg.experimental.ExtensionType, "Spec")
    assert not hasattr(fg.experimental.BatchableExtensionType, "Spec")


def test_a_kind_of_device_stays_as_it_was_written_and_comes_once():
    spec = fg.DeviceSpec.from_string("/job:a/task:1/device:MyKind:2")
    assert spec.to_string() == "/job:a/task:1/device:MyKind:2"
    assert fg.DeviceSpec(device_type="gpu").device_type == fg.DeviceSpec.from_string("/gpu:0").device_type == "GPU"
    for twice in ("/job:a/device:GPU:2/cpu:0", "/gpu:0/cpu:1", "/device:GPU:2/device:GPU:2"):
        with pytest.raises(ValueError, match="Multiple device types are not allowed"):
            fg.DeviceSpec.from_string(twice)
    with pytest.raises(ValueError, match="invalid literal for int"):
        fg.DeviceSpec.from_string("/task:x")


def test_dimensions_have_no_true_quotient():
    two = fg.compat.v1.Dimension(2)
    for quotient in (lambda: two / 1, lambda: 1 / two, lambda: two / two):
        with pytest.raises(TypeError, match="please use // instead"):
            quotient()


def test_targets_that_have_no_ones_have_no_gradient():
    text, x = fg.constant(["a"]), fg.constant(3.0)
    with fg.GradientTape(persistent=True) as tape:
        tape.watch([text, x])
        y = x * x
    assert tape.gradient(text, x) is None and tape.gradient(text, text) is None
    assert tape.gradient([y, text, x], [x, text])[0] == 7.0 and tape.gradient([y, text], [x, text])[1] is None


def test_ranks_alone():
    """What Keras 2 makes of the types of a generator's first element."""
    assert fg.TensorSpec([2, 3], fg.int32, "a")._with_tensor_ranks_only() == fg.TensorSpec([None, None], fg.int32, "a")
    assert fg.TensorSpec(None)._with_tensor_ranks_only() == fg.TensorSpec(None)
    assert fg.RaggedTensorSpec([2, None])._with_tensor_ranks_only() == fg.RaggedTensorSpec([None, None])
    assert fg.SparseTensorSpec([2, 3])._with_tensor_ranks_only() == fg.SparseTensorSpec([None, None])
