"""The Primitive record. See primitive.pyx."""

from libc.stdint cimport int64_t

cdef enum:
    MAX_CODE = 34      # one more than the largest dtype code
    MAX_LOOP_INPUTS = 3
    MAX_PLAIN = 6      # inputs of ops whose dtypes are compared without Python
    # Elements from which a loop is shared among threads: waking one takes 5 to 10 us, in which a loop that only moves
    # memory passes about 60,000 elements, one of mathematics 20,000. SHARE_RUN elements are taken at a time.
    SHARE_LIGHT = 65536
    SHARE_HEAVY = 16384
    SHARE_RUN = 8192

# One C loop: out[k] = f(in[0][k * step[0]], ...), steps 0 or 1 in elements. Not 0: an operand is invalid (a divisor of
# 0), which the body then says in words.
ctypedef int (*Loop)(char** operands, const int64_t* steps, char* out, int64_t n) noexcept nogil

cdef enum:                              # ops that eager mode has a way in C for, by name
    SHORT_CAST = 1
    SHORT_RESHAPE = 2
    SHORT_EXPAND = 3
    SHORT_TRANSPOSE = 4
    SHORT_PRODUCT = 5
    SHORT_SUM_TO = 6
    SHORT_SUM = 7
    SHORT_MEAN = 8
    SHORT_MAX = 9
    SHORT_MIN = 10
    SHORT_BROADCAST = 11
    SHORT_CONCAT = 12
    SHORT_STACK = 13
    SHORT_GATHER = 14
    SHORT_SELECT = 15
    SHORT_ARGMAX = 16
    SHORT_ARGMIN = 17
    SHORT_SOFTMAX = 18
    SHORT_SQUEEZE = 19
    SHORT_FILL = 20
    SHORT_LIKE = 21
    SHORT_ONE_HOT = 22

# The instructions that loops of mathematics use: 0 (any CPU's), 1 (AVX2), 2 (AVX-512); -1 until one of them asks.
# With 1 and 2 they give the same bits.
cdef int _level "fg_level"

cdef Loop cast_loop(int source, int target) noexcept
cdef Loop clip_loop(int code) noexcept

cdef class Primitive:
    cdef readonly str name              # the primitive's own name: "add"
    cdef readonly str op_type           # TensorFlow's op type: "AddV2"
    cdef readonly tuple public          # public names: ("add", "math.add")
    cdef readonly object body           # body(*ndarrays, **attrs) -> ndarray or tuple: the NumPy kernel
    cdef readonly object infer          # infer(*avals, **attrs) -> Aval or tuple of them
    cdef readonly object n_outputs      # int, or None: as infer says
    cdef readonly tuple inputs          # names; the last may be "*values"
    cdef readonly tuple attrs           # names
    cdef readonly tuple groups          # a type letter for each input
    cdef readonly dict dtypes           # letter -> tuple of the DTypes allowed
    cdef readonly dict masks            # letter -> bits of their codes
    cdef readonly dict vjp              # input name -> rule
    cdef readonly object vjp_all
    cdef readonly object effect         # None, "read", "write", "host"
    cdef readonly object lower
    cdef readonly object expr           # text or None
    cdef readonly object decompose
    cdef readonly tuple shape_inputs
    cdef readonly object step
    cdef readonly str family
    cdef readonly bint of_parts         # gives what it is given: of a composite, made of what its parts give
    cdef readonly dict extra            # samples, error_samples, domain, reason, ...
    cdef public object plan             # the tape's own: what it worked out about this op's rules
    # worked out from the above, for bind:
    cdef object ufunc                   # the NumPy ufunc that the body is nothing but a call of, or None
    cdef signed char[MAX_CODE] ufunc_out    # dtype code of what it gives; 0: not asked yet, -1: not to be used
    cdef int n_inputs                   # fixed inputs; a variadic one not counted
    cdef bint variadic
    cdef int shortcut                   # which of tensor_fast_ops.pxi's ways it is, 0: none
    cdef bint elementwise
    cdef bint same_dtype                # every input has the one letter that every input has
    cdef bint cuts_quotient             # it rounds a rounded quotient down: in a wider float it would be another one
    cdef bint returns_many              # outputs come as a tuple
    cdef int n_plain                    # inputs, where all are tensors and few; else 0
    cdef int[MAX_PLAIN] letter_of       # which letter each has, by the place of its first; -1: its own
    cdef int64_t[MAX_PLAIN] mask_of     # bits of the codes that each may have
    cdef int64_t code_mask              # bit c: dtype code c is allowed where same_dtype
    cdef Loop[MAX_CODE] loops           # C loop by the inputs' dtype code, or NULL
    cdef signed char[MAX_CODE] loop_out  # dtype code of the loop's output
    cdef int64_t[MAX_CODE] loop_limit   # elements up to which the loop is used
    cdef Loop[MAX_CODE] far_loops       # the loop beyond that, or NULL: the body serves
    cdef int64_t[MAX_CODE] loop_share   # elements from which threads share the loop
