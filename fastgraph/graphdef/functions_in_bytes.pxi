# Part of node_bytes.pyx: operations and functions in the wire format.


cdef int _write_nodes(
    Bytes whole, list found, dict names, int number, attributes, name_of, functions, frozenset apart
) except -1:
    """Append operations as NodeDefs: see nodes_in_bytes."""
    cdef Bytes one = Bytes()
    cdef Definition definition
    cdef bytes tail
    for definition in found:
        one.size = 0
        one.text(1, definition.name)
        one.text(2, definition.type)
        for value in definition.inputs:
            one.text(3, names[value])
        if definition.control or definition.after:
            for name in sorted((*definition.control, *definition.after)):
                one.text(3, f"^{name}")
        if definition.device:
            one.text(4, definition.device)
        tail = definition.written[0]
        if tail is None:
            if definition.type in apart:
                tail = functions(definition)
            else:
                tail = definition.written[0] = attributes(definition.attrs, name_of)
        one.put(PyBytes_AS_STRING(tail), PyBytes_GET_SIZE(tail))
        if number:
            whole.field(number, one.data, one.size)
        else:
            whole.add(one)
    return 0


def nodes_in_bytes(list found, dict names, int number, attributes, name_of, functions, frozenset apart, /):
    """Operations as NodeDefs, each as field `number` of a message; by 0 what one consists of.

    `names` are those of their inputs. `attributes(attrs, name_of)` is what bytes attributes are;
    `functions(definition)` those of the types `apart`, anew each time.
    """
    cdef Bytes whole = Bytes()
    _write_nodes(whole, found, names, number, attributes, name_of, functions, apart)
    return whole.whole()


cdef str _plain(Bytes room, name):
    """A name as arguments and results have it: small letters, digits and underscores, a letter first."""
    cdef Py_UCS4 letter
    cdef bint is_letter, led = True
    cdef str low = name.lower()
    room.size = 0
    for letter in low:
        is_letter = c"a" <= letter <= c"z"
        if not is_letter and not c"0" <= letter <= c"9":
            if not room.size:
                continue
            letter = c"_"
        if not room.size and not is_letter:
            led = False
            room.put("arg_", 4)
        room.reserve(1)
        room.data[room.size] = <char> letter
        room.size += 1
    if not room.size:
        return "arg"
    while not led and room.data[room.size - 1] == c"_":
        room.size -= 1
    return PyUnicode_DecodeASCII(room.data, room.size, NULL)


def unique_in(set taken, name, /):
    """The name, or the first of name_1, name_2, ... that is not `taken`, which it joins."""
    found = name
    cdef Py_ssize_t count = 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


#: The attributes of every function.
cdef bytes _CONTEXT = field(5, text_field(1, "_construction_context") + field(2, field(2, b"kEagerRuntime")))


def function_in_bytes(
    name, list parameters, list returned, passed, list found, list arguments, attributes, name_of, functions,
    frozenset apart, /,
):
    """A FunctionDef of these operations.

    `passed` are the parameters that are given back as they are; `arguments` says of each parameter what its ArgDef has
    besides name and dtype, and its attributes, in bytes; the others are as in nodes_in_bytes.
    """
    cdef Bytes whole = Bytes(), part = Bytes(), one = Bytes(), room = Bytes()
    cdef Definition definition
    cdef dict names = {}, called = {}, given = {}
    cdef set taken = set()
    cdef list effects = []
    cdef object each
    cdef bytes more
    cdef Py_ssize_t i
    part.text(1, name)
    for i, value in enumerate(parameters):
        each = _plain(room, value.node.name)
        each = names[value] = unique_in(taken, f"{each}_0" if passed and value in passed else each)
        more = (<tuple> arguments[i])[0]
        _argument(one, each, value.aval.dtype.code)
        one.put(PyBytes_AS_STRING(more), PyBytes_GET_SIZE(more))
        part.field(2, one.data, one.size)
    named(found, names, True)
    for definition in found:
        for value in definition.outputs:
            called[value] = definition.name
        if definition.type == "NoOp":
            effects.append(definition.name)
    taken = set()
    for value in returned:
        each = unique_in(taken, _plain(room, called[value] if value in called else value.node.name))
        given[each] = names[value]
        _argument(one, each, value.aval.dtype.code)
        part.field(3, one.data, one.size)
    for each in effects:
        part.text(20, each)
    whole.field(1, part.data, part.size)
    _write_nodes(whole, found, names, 3, attributes, name_of, functions, apart)
    for each in sorted(given):
        _pair(whole, one, 4, each, given[each])
    whole.put(PyBytes_AS_STRING(_CONTEXT), PyBytes_GET_SIZE(_CONTEXT))
    for each in sorted(set(effects)):
        _pair(whole, one, 6, each, each)
    for i in range(len(arguments)):
        more = (<tuple> arguments[i])[1]
        one.size = 0
        one.number(8)
        one.number(i)
        one.put(PyBytes_AS_STRING(more), PyBytes_GET_SIZE(more))
        whole.field(7, one.data, one.size)
    return whole.whole()


cdef int _argument(Bytes one, name, uint64_t dtype) except -1:
    """Begin an ArgDef anew: its name and dtype."""
    one.size = 0
    one.text(1, name)
    one.number(3 << 3)
    one.number(dtype)
    return 0


cdef int _pair(Bytes whole, Bytes one, uint64_t number, key, value) except -1:
    """Append an entry of a map of texts."""
    one.size = 0
    one.text(1, key)
    one.text(2, value)
    whole.field(number, one.data, one.size)
    return 0
