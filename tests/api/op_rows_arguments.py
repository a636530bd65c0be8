"""What TensorFlow 2.21 gives for arguments in the less usual of their forms, in the form of op_rows.py."""

from math import nan

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
]
