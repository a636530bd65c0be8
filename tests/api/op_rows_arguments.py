"""What TensorFlow 2.21 gives for arguments in the less usual of their forms, in the form of op_rows.py."""

from math import inf, nan

VALUES = [
    ("tf.zeros([tf.constant(2.0), 3])", ("float32", [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])),
    ("tf.ones(np.array([2.5, 1.0]))", ("float32", [[1.0], [1.0]])),
    ("tf.fill([tf.constant(2.9), tf.constant(1.0)], 7)", ("int32", [[7], [7]])),
    ("tf.reshape(tf.range(6), np.array([-1.0, 3.0], np.float32))", ("int32", [[0, 1, 2], [3, 4, 5]])),
    ("tf.reshape(tf.range(6), [tf.constant(2), np.float32(3)])", ("int32", [[0, 1, 2], [3, 4, 5]])),
    ("tf.broadcast_to(1, [tf.sqrt(4.0), 3])", ("int32", [[1, 1, 1], [1, 1, 1]])),
    ("tf.tile([[1]], np.array([True, True]))", ("int32", [[1]])),
    ("tf.tile([[1]], [tf.constant(2.0), 1])", ("int32", [[1], [1]])),
    ("tf.eye(tf.constant(2.0))", ("float32", [[1.0, 0.0], [0.0, 1.0]])),
    ("tf.transpose([[1, 2]], np.array([1.0, 0.0]))", ("int32", [[1], [2]])),
    ("tf.transpose([[1, 2]], [tf.constant(1.0), 0])", ("int32", [[1], [2]])),
    ("tf.reduce_sum([[1, 2]], np.float64(1))", ("int32", [3])),
    ("tf.reduce_sum([[1, 2]], [tf.constant(1.0)])", ("int32", [3])),
    ("tf.concat([[1], [2]], np.float64(0))", ("int32", [1, 2])),
    ("tf.split([1, 2], 2, np.float64(0))", [("int32", [1]), ("int32", [2])]),
    ("tf.expand_dims([1], np.float32(0.5))", ("int32", [[1]])),
    ("tf.one_hot([0], np.array(2.0))", ("float32", [[1.0, 0.0]])),
    ("tf.math.top_k([1.0, 2.0], np.float64(1)).values", ("float32", [2.0])),
    ("tf.linspace(0.0, 1.0, np.float32(3))", ("float32", [0.0, 0.5, 1.0])),
    ("tf.pad([1, 2], np.array([[1.0, 0.0]]))", ("int32", [0, 1, 2])),
    ("tf.pad([1], [[tf.constant(1.0), 0]])", ("int32", [0, 1])),
    ("tf.repeat([1, 2], [tf.constant(1.0), 2])", ("int32", [1, 2, 2])),
    ("tf.repeat([1, 2], np.array([1, 2], np.uint64))", ("int32", [1, 2, 2])),
    ("tf.broadcast_dynamic_shape([tf.constant(2.0), 3], [2, 3])", ("int32", [2, 3])),
    ("tf.broadcast_dynamic_shape(np.array([2, 3], np.int16), [1, 3])", ("int32", [2, 3])),
    ("tf.broadcast_dynamic_shape([tf.constant(2, tf.int64), 3], [1, 3])", ("int64", [2, 3])),
    ("tf.SparseTensor([[0, 0]], [1.0], [tf.constant(2.0), tf.constant(3.0)]).dense_shape", ("int64", [2, 3])),
    ("tf.convert_to_tensor([tf.constant(2.5), 3], dtype_hint=tf.int32)", ("int32", [2, 3])),
    (
        "tf.random.stateless_uniform([2], np.array([1, 2], np.uint64))",
        ("float32", [0.8440604209899902, 0.19204533100128174]),
    ),
    (
        "tf.random.stateless_uniform([2], np.array([1, 2], np.int16))",
        ("float32", [0.8440604209899902, 0.19204533100128174]),
    ),
    ("tf.random.stateless_normal([2], np.array([1.0, 2.0]))", ("float32", [0.544110119342804, 0.20738030970096588])),
    (
        "tf.random.stateless_uniform([2], np.array([2**64 - 1, 2**63], np.uint64))",
        ("float32", [0.08034026622772217, 0.15467596054077148]),
    ),
    (
        "tf.random.stateless_uniform([2], [tf.constant(1, tf.uint64), 2])",
        ("float32", [0.8440604209899902, 0.19204533100128174]),
    ),
    ("tf.random.experimental.stateless_shuffle([1, 2, 3, 4], np.array([1, 2], np.uint32))", ("int32", [1, 4, 3, 2])),
    (
        "tf.linalg.cholesky([[[4.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]], [[9.0, 0.0], [0.0, 1.0]]])",
        ("float32", [[[2.0, 0.0], [1.0, 1.4142135381698608]], [[nan, 0.0], [nan, nan]], [[3.0, 0.0], [0.0, 1.0]]]),
    ),
    ("tf.linalg.cholesky(-np.eye(2))", ("float64", [[nan, 0.0], [nan, nan]])),
    ("tf.linalg.logdet([[1.0, 2.0], [2.0, 1.0]])", ("float32", nan)),
    (
        "tf.linalg.cholesky_solve(tf.linalg.cholesky([[1.0, 2.0], [2.0, 1.0]]), [[1.0], [1.0]])",
        ("float32", [[nan], [nan]]),
    ),
    ("tf.linalg.lstsq([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]])", ("float32", [[nan], [nan]])),
    ("tf.math.bincount(tf.sparse.from_dense([[1, 0, 2], [0, 3, 3]]))", ("int32", [0, 1, 1, 2])),
    (
        "tf.math.bincount(tf.sparse.from_dense([[1, 0, 2], [0, 3, 3]]), axis=-1, minlength=6)",
        ("int32", [[0, 1, 1, 0, 0, 0], [0, 0, 0, 2, 0, 0]]),
    ),
    (
        "tf.math.bincount(tf.sparse.from_dense([[1, 0, 2], [0, 3, 3]]), weights=tf.sparse.from_dense([[1.0, 0, 2], [0, 3, 3]]), axis=-1, maxlength=3)",
        ("float32", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]),
    ),
    ("tf.math.bincount(tf.ragged.constant([[1, 2], [], [3, 3, 1]]), axis=0, dtype=tf.int64)", ("int64", [0, 2, 1, 2])),
    (
        "tf.math.bincount(tf.ragged.constant([[1, 2], [], [3, 3, 1]]), axis=-1, binary_output=True)",
        ("int32", [[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1]]),
    ),
    (
        "tf.math.bincount(tf.ragged.constant([[1, 2], [], [3, 3, 1]]), weights=tf.ragged.constant([[1, 2], [], [3, 3, 1]]), axis=-1)",
        ("int32", [[0, 1, 2, 0], [0, 0, 0, 0], [0, 1, 0, 6]]),
    ),
    (
        "tf.math.bincount(tf.ragged.constant([[], []], dtype=tf.int32), axis=-1, minlength=2)",
        ("int32", [[0, 0], [0, 0]]),
    ),
    (
        "tf.sparse.sampled_addmm([[[0, 1], [1, 0]], [[0, 0], [1, 2]]], [[1.0, 2.0], [3.0, 4.0]], [2, 3], np.arange(8.0, dtype='f').reshape(2, 2, 2), np.arange(12.0, dtype='f').reshape(2, 2, 3), 0.5, 2.0)",
        [
            ("int32", [[[0, 1], [1, 0]], [[0, 0], [1, 2]]]),
            ("float32", [[8.5, 19.0], [139.5, 252.0]]),
            ("int32", [2, 3]),
        ],
    ),
    (
        'tf.debugging.assert_shapes([(1.0, ("N",)), (2.0, ()), ([1], "N"), ([1, 2], None), (3.0, (1,)), (4.0, ".")])',
        None,
    ),
    ("tf.debugging.assert_near(tf.constant([1 + 1j], tf.complex64), [1 + 1.00001j], rtol=1e-3, atol=1e-3)", None),
    ("tf.debugging.assert_near(1 + 1j, 1 + 1j)", None),
    ("tf.debugging.assert_near(tf.constant([1.0], tf.float16), tf.constant([1.001], tf.float16))", None),
    ("tf.debugging.assert_near(tf.constant(1 + 1j), tf.constant(1 + 1j), rtol=tf.constant(1e-3, tf.float64))", None),
    (
        "tf.linalg.matmul(tf.constant([[100, -128]], tf.int8), tf.constant([[100], [-128]], tf.int8), output_type=tf.int32)",
        ("int32", [[26384]]),
    ),
    (
        "tf.linalg.matmul(tf.constant([[100, 2]], tf.int8), tf.constant([[200, 255]], tf.uint8), transpose_b=True, output_type=tf.int32)",
        ("int32", [[20510]]),
    ),
    (
        "tf.linalg.matmul(tf.ones([2, 1, 2], tf.uint8), tf.fill([2, 2, 1], tf.constant(200, tf.uint8)), output_type=tf.int32)",
        ("int32", [[[400]], [[400]]]),
    ),
    (
        "tf.linalg.matmul(tf.constant([[1.5, 2]], tf.bfloat16), tf.constant([[1.00390625], [2]], tf.float32))",
        ("float32", [[5.505859375]]),
    ),
    (
        "tf.linalg.matmul(tf.constant([[3, 2]], tf.int8), tf.constant([[1.5], [2]], tf.bfloat16), output_type=tf.bfloat16)",
        ("bfloat16", [[8.5]]),
    ),
    ("tf.constant(tf.TensorShape([3, 2]), tf.float32)", ("float32", [3.0, 2.0])),
    ("tf.constant(tf.TensorShape([]), tf.int16)", ("int16", [])),
    (
        "tf.math.squared_difference(tf.constant([1 + 1j, 2], tf.complex64), tf.constant([2j, 1], tf.complex64))",
        ("complex64", [(2 + 0j), (1 + 0j)]),
    ),
    (
        "tf.math.l2_normalize(tf.constant([3 + 4j, 1j], tf.complex64))",
        ("complex64", [(0.588348388671875 + 0.7844645380973816j), 0.1961161345243454j]),
    ),
    (
        "tf.math.l2_normalize(tf.constant([[3 + 4j, 1j], [0, 0]]), axis=1, epsilon=1e-3)",
        ("complex128", [[(0.5883484054145521 + 0.7844645405527362j), 0.19611613513818404j], [0j, 0j]]),
    ),
    ("tf.nn.moments(tf.constant([3 + 4j, 1j]), [0])", [("complex128", (1.5 + 2.5j)), ("complex128", (4.5 + 0j))]),
    (
        "tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 2.0, use_norm=tf.constant(10.0, tf.float64))",
        [[("float32", [0.6000000238418579, 0.800000011920929])], ("float64", 10.0)],
    ),
    ("tf.clip_by_global_norm([tf.constant([3.0, inf])], 2.0)", [[("float32", [nan, nan])], ("float32", inf)]),
    ('tf.scatter_nd([[1], [1], [0]], tf.constant(["a", "b", "c"]), [3])', ("string", [b"c", b"ab", b""])),
    (
        'tf.scatter_nd([[0], [1]], tf.constant([["x", "y"], ["z", "w"]]), [3, 2])',
        ("string", [[b"x", b"y"], [b"z", b"w"], [b"", b""]]),
    ),
    ("tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.zeros([0], tf.string), [3])", ("string", [b"", b"", b""])),
    (
        "tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.zeros([0, 2]), [3, 2])",
        ("float32", [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    ),
    ("tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.zeros([0]), [0])", ("float32", [])),
    ("tf.add_n(tf.constant(i) for i in range(3))", ("int32", 3)),
    ('tf.add_n({"a": 1.0, "b": 2.0}.values())', ("float32", 3.0)),
    ("tf.add_n(np.array([1.0, 2.0]))", ("float64", 3.0)),
    (
        'tf.nn.conv2d(np.arange(16, dtype="f").reshape(1, 4, 4, 1), np.ones((2, 2, 1, 1), "f"), np.array([2, 1]), "VALID")',
        ("float32", [[[[10.0], [14.0], [18.0]], [[42.0], [46.0], [50.0]]]]),
    ),
    (
        'tf.nn.conv2d(np.arange(16, dtype="f").reshape(1, 4, 4, 1), np.ones((2, 2, 1, 1), "f"), tf.TensorShape([1, 2, 2, 1]), "VALID", dilations=tf.TensorShape([1, 1]))',
        ("float32", [[[[10.0], [18.0]], [[42.0], [50.0]]]]),
    ),
    (
        'tf.nn.depthwise_conv2d(np.arange(16, dtype="f").reshape(1, 4, 4, 1), np.ones((2, 2, 1, 1), "f"), [1] * 4, "VALID", dilations=tf.TensorShape([2, 2]))',
        ("float32", [[[[20.0], [24.0]], [[36.0], [40.0]]]]),
    ),
]

ERRORS = [
    (
        "tf.math.bincount(tf.sparse.from_dense([[1, 0, 2], [0, 3, 3]]), weights=[1.0], axis=-1)",
        "ValueError",
        "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. Received weights=[1.0] of type: list",
    ),
    (
        "tf.sparse.sampled_addmm([[[0, 1]]], [[1.0]], [2, 2], np.ones((1, 2, 2), 'f'), np.ones((1, 2, 3), 'f'))[1]",
        "ValueError",
        "Dense shape: [2 2] does not match output shape: [2 3]",
    ),
    (
        'tf.debugging.assert_shapes([([1.0, 2.0], ("...", "N"))])',
        "ValueError",
        "Tensor  must have rank 2.  Received rank 1, shape (2,)",
    ),
    (
        "tf.linalg.global_norm([tf.constant([1 + 2j])])",
        "InvalidArgumentError",
        "Value for attr 'T' of complex128 is not in the list of allowed values: bfloat16, half, float, double",
    ),
    (
        "tf.matmul(tf.ones([1, 1]), tf.ones([1, 1]), output_type=tf.int8)",
        "InvalidArgumentError",
        "Value for attr 'Tout' of int8 is not in the list of allowed values: bfloat16, half, float, double, int16, int32, "
        "int64, complex64, complex128",
    ),
    (
        "tf.debugging.assert_shapes([([1, 2], ())])",
        "ValueError",
        "Specified explicitly.  Tensor shape=(2,) dtype=int32 dimension 0 must have size 1.  Received size 2, shape (2,)",
    ),
    (
        "tf.add_n(i for i in ())",
        "ValueError",
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.",
    ),
]
