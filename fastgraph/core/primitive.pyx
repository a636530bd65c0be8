"""Primitive: everything the house knows about one op, in one record.

Rule: a Primitive is filled once, when its module is imported, and never changes; what it means is in its fields.
"""

cimport cython
from libc.string cimport memset

import numpy as np

cimport numpy as cnp

import fastgraph.core.base.dtype as _dtype

cdef extern from *:
    """
    #if defined(__has_include)
    #include <stdint.h>
    #if __has_include("eager_loops.h")
    #include "eager_loops.h"
    #endif
    #endif
    #ifndef FG_HAVE_LOOPS
    typedef int (*fg_loop)(char **, const int64_t *, char *, int64_t);
    typedef struct { void (*loop)(char **, const intptr_t *, const intptr_t *, void *); void *data; } fg_numpy_loop;
    typedef struct { const char *ufunc; const char *types; fg_numpy_loop *place; } fg_numpy_entry;
    typedef struct {
      const char *name; int code; int out; int limit; int heavy; fg_loop loop; fg_loop far; fg_numpy_loop *numpy;
    } fg_loop_entry;
    static const fg_loop_entry fg_loops[1] = {{0, 0, 0, 0, 0, 0, 0, 0}};
    static const fg_numpy_entry fg_numpy_loops[1] = {{0, 0, 0}};
    #define FG_N_LOOPS 0
    static int fg_level = 0;
    static int fg_cpu_level(void) { return 0; }
    #endif
    """
    ctypedef struct fg_numpy_loop:
        cnp.PyUFuncGenericFunction loop
        void* data
    ctypedef struct fg_numpy_entry:
        const char* ufunc
        const char* types       # NumPy's letters of the dtypes of inputs and output
        fg_numpy_loop* place
    const fg_numpy_entry* fg_numpy_loops
    ctypedef struct fg_loop_entry:
        const char* name
        int code
        int out
        int limit   # elements up to which the loop beats NumPy's; 0: always
        int heavy   # it computes for longer than it moves memory
        Loop loop
        Loop far    # from there on: NumPy's loop, without its call; NULL: none
        fg_numpy_loop* numpy
    const fg_loop_entry* fg_loops
    enum: FG_N_LOOPS

cdef enum:  # TensorFlow's codes
    FLOAT32 = 1
    BFLOAT16 = 14
    FLOAT16 = 19

cdef extern from "core/native/half_floats.h":
    int fg_widen_float16(char** operands, const int64_t* steps, char* result, int64_t n) noexcept nogil
    int fg_narrow_float16(char** operands, const int64_t* steps, char* result, int64_t n) noexcept nogil
    int fg_widen_bfloat16(char** operands, const int64_t* steps, char* result, int64_t n) noexcept nogil
    int fg_narrow_bfloat16(char** operands, const int64_t* steps, char* result, int64_t n) noexcept nogil

cdef object _EFFECTS = frozenset((None, "read", "write", "host"))
# Attributes are part of the key: an op of the same name that takes others is another op.
cdef dict _shortcuts = {
    ("cast", ("dtype",)): SHORT_CAST,
    ("reshape", ("shape",)): SHORT_RESHAPE,
    ("expand_dims", ("axes",)): SHORT_EXPAND,
    ("transpose", ("perm",)): SHORT_TRANSPOSE,
    ("matmul", ("transpose_a", "transpose_b")): SHORT_PRODUCT,
    ("sum_to_like", ()): SHORT_SUM_TO,
    ("broadcast_to", ("shape",)): SHORT_BROADCAST,
    ("concat", ("axis",)): SHORT_CONCAT,
    ("stack", ("axis",)): SHORT_STACK,
    ("gather", ("axis", "batch_dims")): SHORT_GATHER,
    ("select", ()): SHORT_SELECT,
    ("sum", ("axes", "keepdims")): SHORT_SUM,
    ("mean", ("axes", "keepdims")): SHORT_MEAN,
    ("max", ("axes", "keepdims")): SHORT_MAX,
    ("min", ("axes", "keepdims")): SHORT_MIN,
    ("argmax", ("axis", "output_type")): SHORT_ARGMAX,
    ("argmin", ("axis", "output_type")): SHORT_ARGMIN,
    ("softmax", ()): SHORT_SOFTMAX,
    ("squeeze", ("axes",)): SHORT_SQUEEZE,
    ("fill", ("shape",)): SHORT_FILL,
    ("zeros_like", ()): SHORT_LIKE,
    ("ones_like", ()): SHORT_LIKE,
    ("one_hot", ("depth", "axis")): SHORT_ONE_HOT,
}
cdef Loop[MAX_CODE][MAX_CODE] _cast_loops
memset(&_cast_loops[0][0], 0, sizeof(_cast_loops))
cdef Loop[MAX_CODE] _clip_loops
memset(&_clip_loops[0], 0, sizeof(_clip_loops))


cdef Loop cast_loop(int source, int target) noexcept:
    """The loop that casts elements of one dtype code to another, or NULL."""
    if 0 <= source < MAX_CODE and 0 <= target < MAX_CODE:
        return _cast_loops[source][target]
    return NULL


cdef Loop clip_loop(int code) noexcept:
    """The loop that limits elements of a dtype to at most its second operand and at least its third, or NULL."""
    return _clip_loops[code] if 0 <= code < MAX_CODE else NULL


cdef void _find_numpy_loop(const fg_numpy_entry* entry):
    """Fill in one loop of a ufunc: they need neither the GIL nor anything of the call around them."""
    cdef object found = getattr(np, (<bytes>entry.ufunc).decode())
    cdef cnp.ufunc ufunc = found
    cdef list signatures = [signature.replace("->", "") for signature in found.types]
    cdef int k
    if (<bytes>entry.types).decode() in signatures:
        k = signatures.index((<bytes>entry.types).decode())
        entry.place.loop = ufunc.functions[k]
        entry.place.data = ufunc.data[k]


cdef int _numpy_i = 0
while fg_numpy_loops[_numpy_i].ufunc != NULL:
    _find_numpy_loop(&fg_numpy_loops[_numpy_i])
    _numpy_i += 1

cdef dict _loops_of = {}
for _i in range(FG_N_LOOPS):
    if (<bytes>fg_loops[_i].name) == b"cast":
        _cast_loops[fg_loops[_i].code][fg_loops[_i].out] = fg_loops[_i].loop
    elif (<bytes>fg_loops[_i].name) == b"clip":
        _clip_loops[fg_loops[_i].code] = fg_loops[_i].loop
    else:
        _loops_of.setdefault((<bytes>fg_loops[_i].name).decode(), []).append(_i)
_cast_loops[FLOAT16][FLOAT32] = fg_widen_float16
_cast_loops[FLOAT32][FLOAT16] = fg_narrow_float16
_cast_loops[BFLOAT16][FLOAT32] = fg_widen_bfloat16
_cast_loops[FLOAT32][BFLOAT16] = fg_narrow_bfloat16


cdef object _ufunc_of(body):
    """The unary ufunc f of a body that reads `return np.f(x)` and does nothing else; None for any other body."""
    code = getattr(body, "__code__", None)
    if code is None or _unary_code is None or code.co_code != _unary_code or body.__globals__.get("np") is not np:
        return None
    found = getattr(np, code.co_names[1], None) if code.co_names[0] == "np" else None
    return found if isinstance(found, np.ufunc) and found.nin == 1 and found.nout == 1 else None


cdef dict _namespace = {"np": np}
exec("def body(x):\n    return np.exp(x)", _namespace)
cdef object _unary_code = _namespace["body"].__code__.co_code


@cython.binding(False)
cdef class Primitive:
    """One op: names, kernel, inference, differentiation, lowering, tests.

    `groups` has one entry per input: inputs with the same letter ("T", "Tindices": a capital first) share a dtype; "-"
    is unconstrained; a dtype's name pins it; "resource" is a Cell, which is never converted. `dtypes` maps a letter to
    the DTypes it may be, in the order in which messages list them.
    `family` "elementwise" says that inputs broadcast together, one element at a time.
    """

    def __init__(self, str name, *, str op_type=None, public=(), body=None, infer=None, n_outputs=1, inputs=(),
                 attrs=(), groups=None, dtypes=None, vjp=None, vjp_all=None, effect=None, lower=None, expr=None,
                 decompose=None, shape_inputs=(), step=None, str family="", **extra):
        cdef int i
        cdef object letter
        if effect not in _EFFECTS:
            raise ValueError(f"Primitive {name}: effect {effect!r} is not one of None, 'read', 'write', 'host'")
        self.name = name
        self.op_type = op_type or "".join(part.capitalize() for part in name.split("_"))
        self.public = tuple(public)
        self.body = body
        self.infer = infer
        self.n_outputs = n_outputs
        self.inputs = tuple(inputs)
        self.attrs = tuple(attrs)
        self.variadic = bool(self.inputs) and self.inputs[len(self.inputs) - 1].startswith("*")
        self.n_inputs = len(self.inputs) - (1 if self.variadic else 0)
        self.groups = tuple(groups) if groups is not None else ("T",) * len(self.inputs)
        if len(self.groups) != len(self.inputs):
            raise ValueError(f"Primitive {name}: {len(self.inputs)} inputs, {len(self.groups)} groups")
        self.dtypes = {letter: tuple(allowed) for letter, allowed in (dtypes or {}).items()}
        self.vjp = dict(vjp or {})
        self.vjp_all = vjp_all
        self.effect = effect
        self.lower = lower
        self.expr = expr
        self.decompose = decompose
        self.shape_inputs = tuple(shape_inputs)
        self.step = step
        self.family = family
        self.of_parts = bool(extra.pop("of_parts", False))
        self.extra = extra
        self.plan = None
        self.shortcut = _shortcuts.get((name, self.attrs), 0)
        self.elementwise = family == "elementwise"
        self.same_dtype = bool(self.inputs) and self.groups[0][0].isupper() and (
            all(letter == self.groups[0] for letter in self.groups))
        self.cuts_quotient = expr is not None and "//" in expr
        self.returns_many = self.n_outputs is None or <int>self.n_outputs != 1
        self.masks = {letter: sum(1 << dtype.code for dtype in allowed) for letter, allowed in self.dtypes.items()}
        self.code_mask = self.masks.get(self.groups[0], -1) if self.same_dtype else -1
        self.n_plain = 0
        if not self.variadic and 0 < self.n_inputs <= MAX_PLAIN and "resource" not in self.groups:
            self.n_plain = self.n_inputs
            for i in range(self.n_inputs):
                letter = self.groups[i]
                own = letter == "-" or not letter[0].isupper()
                self.letter_of[i] = -1 if own else self.groups.index(letter)
                self.mask_of[i] = (-1 if letter == "-" else 1 << <int>_dtype.as_dtype(letter).code if own
                                   else self.masks.get(letter, -1))
        self.ufunc = _ufunc_of(body) if self.n_inputs == 1 and not self.attrs else None
        memset(&self.ufunc_out[0], 0, sizeof(self.ufunc_out))
        memset(&self.loops[0], 0, sizeof(self.loops))
        memset(&self.far_loops[0], 0, sizeof(self.far_loops))
        if name == "softmax" or (
                self.elementwise and self.same_dtype and not self.variadic and self.n_inputs <= MAX_LOOP_INPUTS):
            for i in _loops_of.get(name, ()):
                self.loops[fg_loops[i].code] = fg_loops[i].loop
                self.loop_out[fg_loops[i].code] = fg_loops[i].out
                if fg_loops[i].numpy != NULL and fg_loops[i].numpy.loop != NULL:
                    self.far_loops[fg_loops[i].code] = fg_loops[i].far
                self.loop_limit[fg_loops[i].code] = fg_loops[i].limit if fg_loops[i].limit else <int64_t>1 << 62
                self.loop_share[fg_loops[i].code] = SHARE_HEAVY if fg_loops[i].heavy else SHARE_LIGHT

    def __getattr__(self, str name):
        try:
            return self.extra[name]
        except KeyError:
            raise AttributeError(f"Primitive {self.name!r} has no {name!r}") from None

    @property
    def is_variadic(self) -> bool:
        return self.variadic

    def __repr__(self) -> str:
        return f"<Primitive {self.name}>"
