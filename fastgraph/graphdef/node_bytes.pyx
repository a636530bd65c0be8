"""Operations as they are written, and many of them in the wire format, without a message for each.

Rule: knows names, types and bytes; what a node is written as the table says (`op_table`), how an attribute is written
`attribute_bytes`. The bytes are those of the messages that they are parsed as.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeASCII
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from fastgraph.core.tensor cimport EagerTensor, from_array

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.dtype import resource as RESOURCE
from fastgraph.graph.ir import Node, Value
from fastgraph.graph.structural_ops import CONST, PLACEHOLDER

cdef list _slots = []

#: Sets of attributes that a table of those already made keeps before it begins anew: programs have few.
cdef enum:
    MANY = 2000


cdef list output_slots(Py_ssize_t n):
    """The results of an operation that the signatures do not tell: `output:0` and so on, one list for all."""
    while len(_slots) <= n:
        _slots.append([f"output:{i}" for i in range(len(_slots))])
    return <list> _slots[n]


cdef class Definition:
    """One operation as it is written: its name, type, inputs and attributes there.

    `outputs` are the values it makes, `slots` their results in the signature, for references inside of functions.
    A name that is `free` is no other's only by chance: the graph makes it unique.
    """
    cdef public object node
    cdef public object name
    cdef public object type
    cdef public tuple inputs
    cdef public dict attrs
    cdef public tuple control
    cdef public tuple after             # what it waits for besides, wherever it stands
    cdef public object loop             # of a loop: the node whose test and body are written
    cdef public bint free
    cdef public bint is_foreign         # whether TensorFlow cannot run it
    cdef public object device
    cdef public tuple outputs
    cdef public list slots
    cdef list written                   # [the attributes in the wire format, once they were], one for many

    def __init__(self, node, op, inputs, dict attrs, *, name=None):
        self.node = self.loop = node
        self.name = name or node.name
        self.type = op
        self.inputs = tuple(inputs)
        self.attrs = attrs
        self.control = self.after = ()
        self.device = node.device
        self.outputs = node.outputs
        self.slots = output_slots(len(self.outputs))
        self.written = [None]


cpdef object remembered(dict known, key, found):
    """Enter what was found in a table that begins anew once it is large."""
    if len(known) >= MANY:
        known.clear()
    known[key] = found
    return found


def key_of(kind, inputs, tuple outputs, dict attrs, /):
    """The key of attributes of an operation: its type, the dtypes of its tensors, those that are said.

    None if one said may equal another and not be the same, or cannot be looked up.
    """
    cdef list parts = [kind]
    for value in inputs:
        parts.append(value.aval.dtype.code)
    parts.append(None)
    for value in outputs:
        parts.append(value.aval.dtype.code)
    for name, value in attrs.items():
        if type(value) is DType:
            value = value.code
        elif type(value) is not int and type(value) is not str and type(value) is not bool and value is not None:
            return None
        parts += [name, type(attrs[name]), value]
    return tuple(parts)


def defined_as(node, kind, inputs, tuple known, /):
    """An operation of (attributes, results in the signature, [these attributes in bytes or None]), as others are."""
    cdef Definition made = Definition.__new__(Definition)
    made.node = made.loop = node
    made.name, made.type, made.device = node.name, kind, node.device
    made.inputs, made.outputs = tuple(inputs), node.outputs
    made.attrs, made.slots, made.written = known
    made.control = made.after = ()
    return made


#: Small constants by their elements: shapes, axes, bounds come again and again. By the number of the tensor what it is
#: written as besides, which keeps the tensor.
cdef dict _by_elements = {}
cdef dict _as_written = {}


cpdef EagerTensor tensor_of(array, dtype=None):
    """A tensor of elements; the one made before where they are few, and the same."""
    cdef EagerTensor tensor
    array = np.asarray(array)
    if array.nbytes > 64 or array.dtype.kind not in "biuf":
        return from_array(array, dtype)
    key = array.dtype.char, array.shape, array.tobytes(), None if dtype is None else dtype.code
    found = _by_elements.get(key)
    if found is None:
        if len(_by_elements) >= MANY:
            _by_elements.clear()
            _as_written.clear()
        found = _by_elements[key] = tensor = from_array(array, dtype)
        _as_written[id(tensor)] = {"dtype": tensor.dtype, "value": tensor}, output_slots(1), [None]
    return found


#: Tensors by the numbers that they were made of, and their dtypes.
cdef dict _by_numbers = {}


def constant(array, node, argument, dtype=None):
    """A const node, of no graph, for an argument that is an attribute of `node`."""
    if dtype is None or (type(array) is not int and type(array) is not tuple):
        return constant_of(tensor_of(array, dtype), node, argument)
    key = array, dtype.code
    tensor = _by_numbers.get(key)
    if tensor is None:
        tensor = remembered(_by_numbers, key, tensor_of(np.array(array, dtype.numpy_dtype), dtype))
    return constant_of(tensor, node, argument)


cpdef constant_of(tensor, node, argument):
    """A const node, of no graph, of a tensor."""
    made = node_beside(node, tensor.aval, f"{node.name}/{argument}")
    made.op, made.attrs = CONST, {"value": tensor}
    return made


cpdef node_beside(node, aval, name):
    """A node of no graph, with one result and without inputs, that stands for an operation which `node` needs."""
    made, value = Node.__new__(Node), Value.__new__(Value)
    value.node, value.index, value.aval = made, 0, aval
    made.op, made.inputs, made.attrs, made.outputs = node.op, (), {}, (value,)
    made.name, made.source, made.device = name, node.source, None
    return made


cpdef Definition const_definition(node):
    """The definition of a const node."""
    cdef Definition made = _implied_constant(node)
    _settle_constant(made)
    return made


cdef Definition _implied_constant(node):
    """The definition of a const node that may turn out to be taken by none: it has no attributes yet."""
    cdef Definition made = Definition.__new__(Definition)
    made.node = made.loop = node
    made.name, made.type, made.device = node.name, "Const", node.device
    made.inputs = made.control = made.after = ()
    made.outputs, made.slots = node.outputs, output_slots(1)
    return made


cdef int _settle_constant(Definition made) except -1:
    """Give a constant its attributes."""
    value = made.node.attrs["value"]
    known = _as_written.get(id(value))
    if known is None:
        made.attrs, made.written = {"dtype": value.dtype, "value": value}, [None]
    else:
        made.attrs, _, made.written = <tuple> known
    return 0


cdef class Form:
    """The way in which nodes of a primitive with so many inputs and results are written.

    `types` are the operation's and what strings have in its place; `fixed` the defaults of attributes; `said` those
    that are attributes here: (name, name here, function of the value and the node or None, whether that looks at the
    value alone). `of_inputs` and `of_outputs` are attributes that are dtypes, each with the place of the operation's
    input or the output, or (first, how many) for lists of dtypes. `arguments` are the operation's inputs: which of the
    node's, or constants of attributes: (name, name here, function, the input before it that has its dtype or None).
    """
    cdef tuple types
    cdef list slots
    cdef dict fixed
    cdef tuple said, of_inputs, of_outputs, arguments
    cdef bint as_they_are               # whether the inputs are the node's own
    cdef dict known                     # dtypes and what is said -> (attributes, [these in bytes or None])
    cdef dict constants                 # (argument, value, dtype) -> tensor

    def __init__(self, tuple types, list slots, dict fixed, said, of_inputs, of_outputs, arguments=None):
        self.types, self.slots, self.fixed = types, slots, fixed
        self.said, self.of_inputs, self.of_outputs = tuple(said), tuple(of_inputs), tuple(of_outputs)
        self.as_they_are = arguments is None
        self.arguments = () if arguments is None else tuple(arguments)
        self.known = {}
        self.constants = {}

    cdef tuple attrs_of(self, node, tuple inputs, tuple outputs):
        """The attributes: one dict for all nodes of the same dtypes that say the same."""
        cdef tuple item
        cdef list parts
        key = None
        if len(self.of_inputs) == 1 and not self.of_outputs and not self.said:
            place = (<tuple> self.of_inputs[0])[1]
            if type(place) is int:
                key = inputs[<Py_ssize_t> place].aval.dtype.code
        if key is None:
            parts = []
            for item in self.of_inputs:
                _add_codes(parts, inputs, item[1])
            for item in self.of_outputs:
                _add_codes(parts, outputs, item[1])
            for item in self.said:
                value = node.attrs[item[1]]
                if (item[2] is not None and not item[3]) or isinstance(value, (float, list)):
                    return self.made(node, inputs, outputs), [None]  # two numbers may be equal and not the same
                parts += [type(value), value]
            key = tuple(parts)
        found = self.known.get(key)
        if found is None:
            found = remembered(self.known, key, (self.made(node, inputs, outputs), [None]))
        return <tuple> found

    cdef dict made(self, node, tuple inputs, tuple outputs):
        cdef dict found = dict(self.fixed)
        cdef tuple item
        for item in self.said:
            value = node.attrs[item[1]]
            found[item[0]] = value if item[2] is None else item[2](value, node)
        for item in self.of_inputs:
            found[item[0]] = _dtype_of(inputs, item[1])
        for item in self.of_outputs:
            found[item[0]] = _dtype_of(outputs, item[1])
        return found

    cdef Definition constant_for(self, node, tuple item, list inputs):
        """The constant that is an argument, whose value joins the `inputs`."""
        cdef Definition made
        value = node.attrs[item[1]]
        dtype = None if item[3] is None else inputs[<Py_ssize_t> item[3]].aval.dtype
        if type(value) is tuple or type(value) is int:
            key = item[0], value, None if dtype is None else dtype.code
            tensor = self.constants.get(key)
            if tensor is None:
                tensor = remembered(self.constants, key, tensor_of(item[2](value, node), dtype))
        else:
            tensor = tensor_of(item[2](value, node), dtype)
        made = const_definition(constant_of(tensor, node, item[0]))
        if value is None:  # all axes
            scope, slash, _ = node.name.rpartition("/")
            made.name, made.free = f"{scope}{slash}Const", True
        inputs.append((<tuple> made.outputs)[0])
        return made

    def definitions(self, node):
        """The definitions of a node: constants for what is an attribute here, then the operation."""
        cdef Definition made = Definition.__new__(Definition)
        cdef tuple inputs = node.inputs, outputs = node.outputs
        cdef list found = [], taken
        if not self.as_they_are:
            taken = []
            for item in self.arguments:
                if type(item) is tuple:
                    found.append(self.constant_for(node, <tuple> item, taken))
                else:
                    taken.append(inputs[<Py_ssize_t> item])
            inputs = tuple(taken)
        made.attrs, made.written = self.attrs_of(node, inputs, outputs)
        made.node = made.loop = node
        made.name, made.device = node.name, node.device
        made.type = self.types[0]
        if self.types[0] is not self.types[1] and outputs[0].aval.dtype.name == "string":
            made.type = self.types[1]
        made.slots = self.slots
        made.inputs, made.outputs = inputs, outputs
        made.control = made.after = ()
        found.append(made)
        return found


cdef int _add_codes(list parts, tuple values, place) except -1:
    """Add the numbers of the dtypes of values: of one, or of those from the first on."""
    if type(place) is int:
        parts.append(values[<Py_ssize_t> place].aval.dtype.code)
    else:
        for value in values[place[0]:place[0] + place[1]]:
            parts.append(value.aval.dtype.code)
    return 0


cdef object _dtype_of(tuple values, place):
    """The dtype of one value, or the list of those from the first on."""
    if type(place) is int:
        return values[<Py_ssize_t> place].aval.dtype
    return [value.aval.dtype for value in values[place[0]:place[0] + place[1]]]


cdef class Kind:
    """All that is to be known of a primitive before its nodes are written.

    `forms` are Forms by the numbers of inputs and results, None where there is more to its nodes; `effect` is whether
    they may do more than compute, `state` whether they are states that random numbers come from.
    """
    cdef object form_of
    cdef bint effect, state
    cdef Py_ssize_t n_inputs, n_outputs  # of the form found last
    cdef Form form

    def __init__(self, form_of, bint effect, bint state):
        self.form_of, self.effect, self.state = form_of, effect, state
        self.n_inputs = -1

    cdef Form form_for(self, node):
        """The Form of a node, None if there is none."""
        cdef tuple inputs, outputs
        if self.form_of is None:
            return None
        inputs, outputs = node.inputs, node.outputs
        if self.n_inputs != len(inputs) or self.n_outputs != len(outputs):
            self.n_inputs, self.n_outputs = len(inputs), len(outputs)
            self.form = self.form_of(len(inputs), len(outputs))
        return self.form


cdef list _after_constants(set implied, list found, list known):
    """The definitions of a node behind a constant that is implied: those that it takes stand before it, as it takes
    them."""
    cdef Definition last = known[len(known) - 1], each
    cdef dict order
    cdef list before
    cdef Py_ssize_t n
    if last.type == "OneHot":
        return known
    each = found[len(found) - 1]
    for value in last.inputs:
        if value.node is each.node:
            break
    else:
        return known
    order = {value.node: n for n, value in enumerate(last.inputs)}
    before = known[:len(known) - 1]
    for each in before:
        if each.node not in order:
            return known
    while found:
        each = found[len(found) - 1]
        if each.node not in implied or each.node not in order:
            break
        before.append(found.pop())
    before.sort(key=lambda each: order[(<Definition> each).node])
    before.append(last)
    return before


def settled(list found, node, graph, /):
    """Give operations that a node is written as besides names that are no other's in the graph."""
    cdef Definition each
    for each in found:
        if each.free:  # a name that the user may have taken already
            each.name = graph.unique_name(each.name)
        elif each.name != node.name and each.name.lower() in graph._names:
            each.name += "_of_graph"
        if each.node is not node:  # its tensors are called so as well
            each.node.name = each.name
    return found


def walked(graph, dict cache, dict kinds, kind_of, other, dict held, /):
    """The definitions of a graph's nodes, in their order, those nodes that may have effects, and those that are states.

    `kinds`, which `kind_of(primitive)` fills, has a Kind for each primitive. `other(node, known)` is what a node is
    written as that has no Form or is `held`, by what was known of it; the constants that are implied stand before what
    takes them.
    """
    cdef list nodes = graph.nodes
    cdef set implied = graph.implied, listed = graph.listed
    cdef list found = [], touching = [], states = [], definitions
    cdef Kind kind
    cdef Form form
    for node in nodes:
        op = node.op
        kind = kinds.get(op)
        if kind is None:
            kind = kinds[op] = kind_of(op)
        if kind.effect:
            touching.append(node)
        definitions = cache.get(node)
        form = kind.form_for(node)
        if form is None or (held and node in held) or (listed and node in listed):
            definitions = other(node, definitions)
        elif definitions is None:
            if op is CONST:
                definitions = [_implied_constant(node) if implied and node in implied else const_definition(node)]
            else:
                try:
                    definitions = form.definitions(node)
                except ValueError:  # what has no equal
                    definitions = other(node, None)
                else:
                    if len(definitions) > 1:
                        settled(definitions, node, graph)
            cache[node] = definitions
        if kind.state and (not kind.effect or (<Definition> definitions[len(definitions) - 1]).is_foreign):
            states.append(node)
        if implied and found and (<Definition> found[len(found) - 1]).node in implied:
            definitions = _after_constants(implied, found, definitions)
        found.extend(definitions)
    return found, touching, states


def without_unused(list found, set implied, list states, list outputs, /):
    """Leave out what no operation takes as it is written: constants of Python values, conditions, `states`, which
    random numbers come from, and what these alone take: placeholders of generators and constants."""
    cdef set taken = {value.node for value in outputs}, of_states = set(states)
    cdef list kept = []
    cdef Definition each
    for node in states:
        for value in node.inputs:
            if value.node.op is not PLACEHOLDER or value.aval.dtype is RESOURCE:
                of_states.add(value.node)
    for each in reversed(found):
        if each.node in taken or not (each.node in implied or each.node in of_states):
            kept.append(each)
            if each.attrs is None:
                _settle_constant(each)
            for value in each.inputs:
                taken.add(value.node)
    kept.reverse()
    return kept


def ancestors(list nodes):
    """The nodes and all that their inputs come from."""
    cdef set found = set(nodes)
    cdef list left = list(nodes)
    while left:
        for value in left.pop().inputs:
            if value.node not in found:
                found.add(value.node)
                left.append(value.node)
    return found


def waiting_for_none(list found):
    """Let no operation wait for any but its inputs; return by nodes those that have their names, or None."""
    cdef Definition each
    cdef dict by_node = {}
    for each in found:
        if each.name == each.node.name:
            each.control = ()
            by_node[each.node] = each
        else:
            by_node.setdefault(each.node)
    return by_node


def named(list found, dict names, bint by_slots):
    """Enter what others call the results of operations: `name` and `name:1`, or by slots, as inside of functions."""
    cdef Definition definition
    cdef Py_ssize_t i
    for definition in found:
        if by_slots:
            for slot, value in zip(definition.slots, definition.outputs):
                names[value] = f"{definition.name}:{slot}"
        else:
            i = 0
            for value in definition.outputs:
                names[value] = f"{definition.name}:{i}" if i else definition.name
                i += 1


# ---------------------------------------------------------------------------------------------------------------------
# The wire format


cdef class Bytes:
    """Bytes that grow."""

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t room = self.size + more
        cdef char* data
        if room > self.room:
            room = 2 * room + 256
            data = <char*> realloc(self.data, room)
            if data == NULL:
                raise MemoryError
            self.data, self.room = data, room
        return 0

    cdef int put(self, const char* data, Py_ssize_t n) except -1:
        self.reserve(n)
        memcpy(self.data + self.size, data, n)
        self.size += n
        return 0

    cdef int add(self, Bytes other) except -1:
        return self.put(other.data, other.size)

    cdef bytes whole(self):
        return PyBytes_FromStringAndSize(self.data, self.size)

    cdef int number(self, uint64_t number) except -1:
        self.reserve(10)
        while number > 127:
            self.data[self.size] = <char> (number & 127 | 128)
            number >>= 7
            self.size += 1
        self.data[self.size] = <char> number
        self.size += 1
        return 0

    cdef int field(self, uint64_t number, const char* data, Py_ssize_t n) except -1:
        self.number(number << 3 | 2)
        self.number(n)
        return self.put(data, n)

    cdef int put_text(self, text) except -1:
        cdef Py_ssize_t n
        cdef const char* data = PyUnicode_AsUTF8AndSize(text, &n)
        return self.put(data, n)

    cdef int text(self, uint64_t number, text) except -1:
        cdef Py_ssize_t n
        cdef const char* data = PyUnicode_AsUTF8AndSize(text, &n)
        return self.field(number, data, n)


def varint(number):
    """An integer seven bits a byte; a negative one as 64 bits."""
    cdef Bytes found = Bytes()
    found.number(<uint64_t> (number & 0xffffffffffffffff))
    return found.whole()


def field(int number, bytes content not None, /):
    """A field that holds bytes."""
    cdef char head[20]
    cdef Py_ssize_t size = PyBytes_GET_SIZE(content)
    cdef Py_ssize_t n = _head(head, <uint64_t> number << 3 | 2)
    n += _head(head + n, size)
    cdef bytes found = PyBytes_FromStringAndSize(NULL, n + size)
    cdef char* data = PyBytes_AS_STRING(found)
    memcpy(data, head, n)
    memcpy(data + n, PyBytes_AS_STRING(content), size)
    return found


cdef Py_ssize_t _head(char* at, uint64_t number) noexcept:
    cdef Py_ssize_t n = 0
    while number > 127:
        at[n] = <char> (number & 127 | 128)
        number >>= 7
        n += 1
    at[n] = <char> number
    return n + 1


def text_field(int number, text not None, /):
    """A field that holds a text."""
    return field(number, text.encode())


cdef uint64_t _read(const unsigned char* data, Py_ssize_t* at, Py_ssize_t end) except? 0:
    """A number of seven bits a byte."""
    cdef uint64_t found = 0
    cdef int shift = 0
    while at[0] < end and shift < 64:
        found |= <uint64_t> (data[at[0]] & 127) << shift
        shift += 7
        at[0] += 1
        if data[at[0] - 1] < 128:
            return found
    raise ValueError("a number is cut off")


cdef bytes _part(const unsigned char* data, Py_ssize_t* at, Py_ssize_t end):
    """The bytes behind a number that says how many they are."""
    cdef uint64_t size = _read(data, at, end)
    if size > <uint64_t> (end - at[0]):
        raise ValueError("the last field is cut off")
    at[0] += <Py_ssize_t> size
    return PyBytes_FromStringAndSize(<const char*> data + at[0] - <Py_ssize_t> size, <Py_ssize_t> size)


def opened(bytes content not None, dict table, message, take, number, /):
    """The fields of a message by their names, in which messages are `message(bytes, kind)`.

    `table` has by a field's number (field, 1 for a text, 2 for a message, 3 for a map of texts to messages, else 0).
    `take(fields, field, bytes)` enters the others, `number(kind, wire type, content, place)` reads a number.
    """
    cdef const unsigned char* data = <const unsigned char*> PyBytes_AS_STRING(content)
    cdef Py_ssize_t at = 0, inner, end = PyBytes_GET_SIZE(content)
    cdef uint64_t tag
    cdef dict fields = {}
    cdef bytes part, said
    cdef int code
    while at < end:
        tag = _read(data, &at, end)
        item = table.get(tag >> 3)
        if tag & 7 != 2:
            value, at = number("" if item is None else item[0][2], <int> (tag & 7), content, at)
            if item is not None and item[0][3]:
                fields.setdefault(item[0][0], []).append(value)
            elif item is not None:
                fields[item[0][0]] = value
            continue
        part = _part(data, &at, end)
        if item is None:
            continue
        found, code = <tuple> item
        name, _, kind, repeated = (<tuple> found)[:4]
        if code == 0 or (code == 2 and not repeated and name in fields):
            take(fields, found, part)
        elif code == 3:
            entry, said = "", b""
            inner = 0
            while inner < PyBytes_GET_SIZE(part):
                tag = _read(<const unsigned char*> PyBytes_AS_STRING(part), &inner, PyBytes_GET_SIZE(part))
                if tag & 7 != 2:
                    raise ValueError(f"the map {name} has wire type {tag & 7}")
                value = _part(<const unsigned char*> PyBytes_AS_STRING(part), &inner, PyBytes_GET_SIZE(part))
                if tag >> 3 == 1:
                    entry = (<bytes> value).decode()
                else:
                    said = value
            fields.setdefault(name, {})[entry] = message(said, kind)
        else:
            value = part.decode() if code == 1 else message(part, kind)
            if repeated:
                fields.setdefault(name, []).append(value)
            else:
                fields[name] = value
    return fields


include "functions_in_bytes.pxi"
