# Part of matmul.pyx: how many threads the BLAS libraries of NumPy and of SciPy use while fastgraph calls them.
#
# Rule: one, the calling one; threads of theirs wait for each other by spinning, and where other work has the cores that
# takes a hundred times the product's time. The limit holds while a call of ours is under way, whichever thread makes
# it; in between the libraries have the threads that they had, so a user's own NumPy is as it was. What is worth several
# threads is cut by shape and shared by the pool.

cdef extern from *:
    """
    #include <pthread.h>
    static pthread_mutex_t fg_limit = PTHREAD_MUTEX_INITIALIZER;
    static void fg_limit_lock(void) { pthread_mutex_lock(&fg_limit); }
    static void fg_limit_unlock(void) { pthread_mutex_unlock(&fg_limit); }
    static void fg_limit_again(void) { pthread_mutex_init(&fg_limit, 0); }
    """
    void fg_limit_lock() nogil
    void fg_limit_unlock() nogil
    void fg_limit_again() nogil

ctypedef int (*get_threads_t)() noexcept nogil
ctypedef void (*set_threads_t)(int) noexcept nogil

cdef enum:
    MAX_LIBRARIES = 8

cdef struct Library:
    get_threads_t get
    set_threads_t set
    int before                  # its threads when the first of the calls under way began

cdef Library[MAX_LIBRARIES] _libraries
cdef int _n_libraries = 0
cdef int _calls = 0             # under way, of all threads
cdef bint _looked = False       # whether the library that NumPy uses has been looked for
cdef bint _kept = False         # whether libraries keep their threads, as the flag said then
cdef set _places = set()        # of packages whose libraries are known
# The names of the two functions in the libraries that there are.
_LIMITS = (
    *((f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
      for prefix in ("scipy_", "") for suffix in ("64_", "")),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)


cdef void _limit(Library* library) noexcept nogil:
    library.before = library.get()
    if library.before > 1:
        library.set(1)


cdef void _let_be(Library* library) noexcept nogil:
    if library.before > 1:
        library.set(library.before)


cdef int blas_begin() except -1:
    """Keep BLAS to the thread that calls it, until `blas_end`. Calls nest, and overlap on several threads."""
    if not _looked:
        _look()
    blas_begin_again()
    return 0


cdef void blas_begin_again() noexcept nogil:
    """`blas_begin` where the libraries are known already."""
    global _calls
    cdef int k
    fg_limit_lock()
    _calls += 1
    if _calls == 1:
        for k in range(_n_libraries):
            _limit(&_libraries[k])
    fg_limit_unlock()


cdef void blas_end() noexcept nogil:
    global _calls
    cdef int k
    fg_limit_lock()
    _calls = max(_calls - 1, 0)  # of a child, to which the call is none that it counted
    if _calls == 0:
        for k in range(_n_libraries):
            _let_be(&_libraries[k])
    fg_limit_unlock()


cdef class OneThread:
    """A `with` block in which BLAS keeps to the thread that calls it, for NumPy's that no op's body calls."""

    def __enter__(self):
        blas_begin()
        return self

    def __exit__(self, *raised):
        blas_end()


def _look() -> None:
    """Find the library that NumPy uses, and SciPy's where products are its."""
    global _looked, _kept
    with _loading:
        _kept = flags.get("blas_threads") == "keep"
        _know("numpy")
        if _sgemm != NULL:
            _know("scipy")
        _looked = True


def _know(package: str) -> None:
    """Let the limit hold for the BLAS of "numpy" or "scipy", which is loaded."""
    if package in _places or _kept:
        return
    paths = _libraries_beside(package, "*openblas*")
    if not paths:  # built in another way: whatever the process has loaded
        import threadpoolctl

        found = threadpoolctl.ThreadpoolController().lib_controllers
        paths = [library.filepath for library in found if library.user_api == "blas" and library.filepath]
    for path in paths:
        try:
            _add(ctypes.CDLL(path))
        except OSError:
            continue
    _places.add(package)


def _libraries_beside(package: str, name: str, /) -> list[str]:
    """The libraries that a package's wheel brings, of a name with wildcards."""
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations if spec is not None else None) or ()
    # Beside the package on Linux, in it on macOS; names end in a number that differs between releases.
    folders = [os.path.join(os.path.dirname(place), f"{package}.libs") for place in places]
    folders += [os.path.join(place, ".dylibs") for place in places]
    return [path for folder in folders for path in glob.glob(os.path.join(glob.escape(folder), name))]


def _add(library: ctypes.CDLL) -> None:
    """Let the limit hold for a library too, at once where a call is under way."""
    global _n_libraries
    cdef size_t address
    cdef Library found
    cdef int k
    names = next((pair for pair in _LIMITS if hasattr(library, pair[0]) and hasattr(library, pair[1])), None)
    if names is None:
        return
    address = ctypes.cast(getattr(library, names[0]), ctypes.c_void_p).value
    found.get = <get_threads_t>address
    address = ctypes.cast(getattr(library, names[1]), ctypes.c_void_p).value
    found.set = <set_threads_t>address
    found.before = 0
    with nogil:
        fg_limit_lock()
        for k in range(_n_libraries):
            if _libraries[k].set == found.set:
                break
        else:
            if _n_libraries < MAX_LIBRARIES:
                if _calls:
                    _limit(&found)
                _libraries[_n_libraries] = found
                _n_libraries += 1
        fg_limit_unlock()


def scipy_functions(names: object, arrays: tuple, *, of: str = "lapack") -> object:
    """Functions of `scipy.linalg.lapack` (or `of` "blas") by name for the dtypes of the arrays, on one thread."""
    from scipy import linalg

    know_scipy()
    return linalg.get_lapack_funcs(names, arrays) if of == "lapack" else linalg.get_blas_funcs(names, arrays)


def know_scipy() -> None:
    """Let the limit hold for `scipy.linalg` too, which has been imported."""
    if not _looked:
        _look()
    with _loading:
        _know("scipy")


def _decide_anew() -> None:
    """Some flag has changed: if it is this one, what is limited is found out again."""
    global _looked, _n_libraries
    cdef int k
    if not _looked or (flags.get("blas_threads") == "keep") == _kept:
        return
    with _loading, nogil:
        fg_limit_lock()
        if _calls:
            for k in range(_n_libraries):
                _let_be(&_libraries[k])
        _n_libraries = 0
        fg_limit_unlock()
    _places.clear()
    _looked = False


cdef void _limits_of_child() noexcept:
    """The process forked: of the calls under way, none is this thread's."""
    global _calls
    cdef int k
    fg_limit_again()
    if _calls:
        for k in range(_n_libraries):
            _let_be(&_libraries[k])
    _calls = 0


flags.on_change(_decide_anew)
