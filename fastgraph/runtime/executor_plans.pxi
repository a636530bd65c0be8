# Plans: a PlanSpec as C structs, and the call from Python. Part of executor.pyx.

_KINDS = {
    plan_module.KernelCall: KERNEL, plan_module.GemmCall: GEMM, plan_module.HostCall: HOST, plan_module.ReadCell: READ,
    plan_module.AssignCell: ASSIGN, plan_module.Branch: BRANCH, plan_module.Loop: LOOP,
    plan_module.Transfer: TRANSFER, plan_module.Rest: REST, plan_module.DrawCell: DRAW,
    plan_module.ListCall: LIST,
}


@cython.binding(False)
cdef class Plan:
    """A PlanSpec as C structs, ready to run from several threads at once.

    Raises UnimplementedError for a step or a slot that is not on the CPU: the place where CUDA plans will be launched.
    """

    def __cinit__(self, spec):
        self.spec = spec
        self._held = []
        self._chunks = NULL
        self._free = NULL
        self._n_free = 0

    def __init__(self, spec):
        cdef CPlan* p = &self.c
        cdef int32_t k, i
        global _all_plans
        self._held.append(list(spec.keep))
        p.plan = <void*>self
        p.n_slots = len(spec.slots)
        p.n_steps = len(spec.steps)
        p.arena_bytes = spec.arenas.get(plan_module.CPU, 0)
        for device in spec.arenas:
            if device != plan_module.CPU:
                raise errors.UnimplementedError(
                    None, None, f"Arenas of device {device} are not built yet: only the CPU's are"
                )
        p.cost = spec.cost
        p.parallel = spec.parallel
        p.pace.tried, p.pace.left = spec.cost < PACED_NS, 32
        p.slots = <CSlot*>self.take(p.n_slots * sizeof(CSlot))
        p.constants = <void**>self.take(p.n_slots * sizeof(void*))
        p.constant_data = <char**>self.take(p.n_slots * sizeof(char*))
        p.owned = <int32_t*>self.take(p.n_slots * sizeof(int32_t))
        for k, slot in enumerate(spec.slots):
            self.add_slot(k, slot)
        p.n_inputs = len(spec.inputs)
        p.inputs = self.values(spec.inputs)
        p.n_outputs = len(spec.outputs)
        p.outputs = self.values(spec.outputs)
        last = {p.outputs[k].slot: k for k in range(p.n_outputs)}
        for k in range(p.n_outputs):
            p.outputs[k].last = last[p.outputs[k].slot] == k
            if p.slots[p.outputs[k].slot].place in (ARENA, CELL):
                raise ValueError(f"Output {k} of {spec.name!r} has no Block of its own")
        p.steps = <CStep*>self.take(p.n_steps * sizeof(CStep))
        p.dependencies = <int32_t*>self.take(p.n_steps * sizeof(int32_t))
        p.order = <int32_t*>self.take(p.n_steps * sizeof(int32_t))
        p.quick = spec.cost < QUICK_NS and not spec.parallel
        for i, step in enumerate(spec.steps):
            self.add_step(i, step)
        self.link_steps()
        p.next = _all_plans
        if _all_plans != NULL:
            _all_plans.previous = p
        _all_plans = p
        self._linked = True

    def __dealloc__(self):
        global _all_plans
        cdef Frame* f
        cdef int32_t k
        cdef void** chunk
        cdef CPlan* p = &self.c
        if self._linked:
            if p.previous != NULL:
                p.previous.next = p.next
            else:
                _all_plans = p.next
            if p.next != NULL:
                p.next.previous = p.previous
        while p.idle != NULL:
            f = p.idle
            p.idle = f.next
            _frame_free(f)
        if p.constants != NULL:
            for k in range(p.n_slots):
                block_release(<Block*>p.constants[k])
        while self._chunks != NULL:
            chunk = self._chunks
            self._chunks = <void**>chunk[0]
            free(chunk)

    cdef void* take(self, int64_t nbytes) except NULL:
        """Zeroed memory that lives as long as the plan: a piece of a chunk, for most are a few numbers."""
        cdef void** chunk
        cdef char* found
        nbytes = (max(nbytes, 1) + ALIGNMENT - 1) & -ALIGNMENT
        if nbytes > self._n_free:
            self._n_free = max(nbytes, CHUNK)
            chunk = <void**>calloc(1, ALIGNMENT + self._n_free)
            if chunk == NULL:
                self._n_free = 0
                raise MemoryError()
            chunk[0] = self._chunks
            self._chunks = chunk
            self._free = <char*>chunk + ALIGNMENT
        found = self._free
        self._free += nbytes
        self._n_free -= nbytes
        return found

    cdef int32_t* slots_of(self, slots) except NULL:
        cdef int32_t* found = <int32_t*>self.take(len(slots) * sizeof(int32_t))
        for k, slot in enumerate(slots):
            if not 0 <= slot < self.c.n_slots:
                raise ValueError(f"There is no slot {slot}")
            found[k] = slot
        return found

    cdef int64_t* numbers(self, numbers) except NULL:
        cdef int64_t* found = <int64_t*>self.take(len(numbers) * sizeof(int64_t))
        for k, number in enumerate(numbers):
            found[k] = number
        return found

    cdef Value* values(self, operands) except NULL:
        cdef Value* found = <Value*>self.take(len(operands) * sizeof(Value))
        for k, operand in enumerate(operands):
            if not 0 <= operand.slot < self.c.n_slots:
                raise ValueError(f"There is no slot {operand.slot}")
            found[k].slot = operand.slot
            found[k].dtype_code = operand.dtype
            if operand.shape is None:
                if self.c.slots[operand.slot].dynamic < 0 and self.c.slots[operand.slot].place != CELL:
                    raise ValueError(f"Slot {operand.slot} has no run-time shape")
                continue
            if len(operand.shape) > MAX_RANK:
                raise ValueError(f"Slot {operand.slot} has more than {MAX_RANK} dimensions")
            found[k].dims.known = 1
            found[k].dims.ndim = len(operand.shape)
            for axis, size in enumerate(operand.shape):
                found[k].dims.size[axis] = size
        return found

    cdef Dims* extents(self, shapes) except NULL:
        cdef Dims* found = <Dims*>self.take(max(len(shapes), 1) * sizeof(Dims))
        for k, shape in enumerate(shapes):
            if len(shape) >= MAX_RANK:
                raise ValueError(f"Rows of {len(shape)} dimensions cannot be stacked")
            found[k].ndim = len(shape)
            for axis, size in enumerate(shape):
                found[k].size[axis] = size
        return found

    cdef int add_slot(self, int32_t k, slot) except -1:
        cdef CPlan* p = &self.c
        cdef CSlot* c = &p.slots[k]
        cdef EagerTensor tensor
        if slot.device != plan_module.CPU:
            raise errors.UnimplementedError(
                None, None, f"Plans for device {slot.device} are not built yet: only the CPU's are"
            )
        c.place = slot.place
        c.index = slot.index
        c.device = slot.device
        c.nbytes = slot.nbytes
        c.offset = slot.offset
        c.dynamic = -1
        if slot.dynamic:
            c.dynamic = p.n_dynamic
            p.n_dynamic += 1
        if c.place == CONSTANT:
            tensor = slot.tensor
            block_retain(tensor.block)
            p.constants[k] = tensor.block
            p.constant_data[k] = tensor.data
        elif c.place == BLOCK or c.place == GIVEN:
            p.owned[p.n_owned] = k
            p.n_owned += 1
        elif c.place == ARENA and c.offset + c.nbytes > p.arena_bytes:
            raise ValueError(f"Slot {k} ends behind the arena")
        return 0

    cdef int add_step(self, int32_t i, step) except -1:
        cdef CPlan* p = &self.c
        cdef CStep* s = &p.steps[i]
        cdef int32_t k
        s.kind = _KINDS[type(step)]
        if step.launch != plan_module.CPU or step.device != plan_module.CPU:
            raise errors.UnimplementedError(
                None, None, f"Step {step.name!r} is for device {step.device}: only the CPU's steps are built yet"
            )
        s.spec = <void*>step
        s.pinned = step.pinned or s.kind == HOST or s.kind == REST or s.kind == LIST
        s.cost = step.cost
        s.n_shards = 1
        s.n_allocate = len(step.allocate)
        s.allocate = self.slots_of(step.allocate)
        s.n_release = len(step.release)
        s.release = self.slots_of(step.release)
        s.n_operands = len(step.operands)
        s.operands = self.values(step.operands)
        s.n_copies = len(step.copies)
        s.copies = <CopySpec*>self.take(s.n_copies * sizeof(CopySpec))
        for k, copy in enumerate(step.copies):
            s.copies[k].origin, s.copies[k].target, s.copies[k].nbytes = copy
        for k in range(s.n_allocate):
            if p.slots[s.allocate[k]].place != BLOCK:
                raise ValueError(f"Step {i} would make a Block for slot {s.allocate[k]}")
        if s.kind == KERNEL:
            if not step.address:
                raise ValueError(f"Kernel step {i} has no address")
            s.fn = <kernel_fn><size_t>step.address
            self.set_buffers(s, step.buffers)
            s.sizes = self.numbers((*step.sizes, *[number for each in step.products for number in self.product(each)]))
            s.extent = step.extent
            s.chunk = max(1, step.chunk or step.extent)
            s.n_updates = len(step.updates)
            s.updates = <Update*>self.take(s.n_updates * sizeof(Update))
            for k, update in enumerate(step.updates):
                s.updates[k].cell, s.updates[k].read, s.updates[k].target = update
                if update[0] < 0:
                    fits = p.slots[update[1]].place == INPUT
                else:
                    fits = p.slots[update[0]].place == CELL and p.slots[update[1]].place == GIVEN
                if (not fits
                        or p.slots[s.updates[k].target].place != BLOCK or s.n_updates > 30):
                    raise ValueError(f"Step {i} cannot update in place: {update}")
            if step.counted is not None:
                self.set_counted(s, step)
        elif s.kind == GEMM:
            self.set_gemm(s, step)
        elif s.kind == HOST or s.kind == LIST:
            s.n_values = len(step.outputs)
            s.values = self.values(step.outputs)
            self.set_buffers(s, step.dropped)
            s.extent = step.unless
            s.native, s.state = <native_fn><size_t>step.native[0], <void*><size_t>step.native[1]
            if any(p.slots[slot].place != GIVEN for slot in step.dropped):
                raise ValueError(f"Step {i} lets go of what the plan does not hold")
            if s.kind == LIST:
                s.sizes = self.numbers(
                    (step.push, step.over, step.rows, step.row_bytes, step.wide_index, step.grow,
                     step.written))
                if p.slots[s.operands[0].slot].place == ARENA or p.slots[s.values[0].slot].place != GIVEN:
                    raise ValueError(f"Step {i} gives away a list that has no Block")
        elif s.kind == READ or s.kind == ASSIGN or s.kind == DRAW:
            if s.kind == ASSIGN and step.before >= 0:
                self.set_buffers(s, (step.cell, step.before))
                if p.slots[step.before].place == ARENA:
                    raise ValueError(f"Step {i} updates a value that has no Block")
            else:
                self.set_buffers(s, (step.cell, step.count) if s.kind == DRAW else (step.cell,))
            s.n_values = 1
            s.values = self.values((step.value if s.kind == ASSIGN else step.output,))
            if p.slots[step.cell].place != CELL:
                raise ValueError(f"Slot {step.cell} of step {i} is no Cell")
            if s.kind == ASSIGN and p.slots[s.values.slot].place == ARENA:
                raise ValueError(f"Step {i} assigns memory that the Variable cannot keep")
        elif s.kind == TRANSFER:
            self.set_buffers(s, (step.origin, step.target))
            s.extent = step.nbytes
        else:
            self.set_sub(s, step)
        if s.kind <= GEMM and s.extent > s.chunk:
            s.n_shards = <int32_t>((s.extent - 1) // s.chunk + 1)  # extents up to the largest int64 come here
        if s.kind > GEMM:
            p.quick = p.quick and s.kind in (READ, ASSIGN, TRANSFER, DRAW)
        return 0

    cdef int set_buffers(self, CStep* s, slots) except -1:
        s.n_buffers = len(slots)
        s.buffers = self.slots_of(slots)
        return 0

    cdef int set_gemm(self, CStep* s, step) except -1:
        self.set_buffers(s, (step.a, step.b, step.c))
        s.gemm = self.gemm_of(step)
        s.extent = s.gemm.batch * s.gemm.pieces
        s.chunk = max(1, step.chunk)
        return 0

    cdef tuple product(self, step):
        """Give a kernel what it needs to have a product computed: the addresses of the function and of its orders."""
        cdef Gemm* g = self.gemm_of(step)
        return <int64_t><size_t><void*>gemm_units, <int64_t><size_t>g

    cdef Gemm* gemm_of(self, step) except NULL:
        cdef Gemm* g = <Gemm*>self.take(sizeof(Gemm))
        g.kind = {
            "float32": SINGLE, "float64": DOUBLE, "int32": INTEGER, "bfloat16": BRAIN_PAIRS, "int16": SHORT_PAIRS
        }[step.dtype]
        g.transpose_a = step.transpose_a
        g.transpose_b = step.transpose_b
        g.along_n = step.along_n
        g.m = step.m
        g.n = step.n
        g.k = step.k
        g.batch = len(step.a_offsets)
        g.pieces = max(1, step.pieces)
        g.piece = ((g.n if g.along_n else g.m) + g.pieces - 1) // g.pieces
        g.a_offsets = self.numbers(step.a_offsets)
        g.b_offsets = self.numbers(step.b_offsets)
        choose_way(g)
        return g

    cdef int set_counted(self, CStep* s, step) except -1:
        cdef Counted* c = <Counted*>self.take(sizeof(Counted))
        c.output = self.values((step.counted,))[0]
        c.counts = step.counts
        c.n_counts = step.n_counts
        c.row.ndim = len(step.row)
        c.row_bytes = as_dtype(step.counted.dtype).size
        for axis, size in enumerate(step.row):
            c.row.size[axis] = size
            c.row_bytes *= size
        if self.c.slots[c.output.slot].place != GIVEN or not 0 <= c.counts < self.c.n_slots or c.row.ndim >= MAX_RANK:
            raise ValueError(f"Step {step.name!r} cannot count its results")
        s.counted = c
        return 0

    cdef int set_sub(self, CStep* s, step) except -1:
        cdef SubPlans* sub = <SubPlans*>self.take(sizeof(SubPlans))
        cdef Plan first
        cdef Plan second
        cdef Plan burst
        s.sub = sub
        sub.n_inputs = len(step.inputs)
        sub.inputs = self.slots_of(step.inputs)
        sub.n_outputs = len(step.outputs)
        sub.outputs = self.values(step.outputs)
        for slot in step.inputs:
            if self.c.slots[slot].place == ARENA:
                raise ValueError(f"Slot {slot} goes to a sub-plan and has no Block")
        if s.kind == REST:
            self.set_buffers(s, step.dropped)
            if any(self.c.slots[slot].place != GIVEN for slot in step.dropped):
                raise ValueError("A rest lets go of what the plan does not hold")
            return 0
        if s.kind == BRANCH:
            self.set_buffers(s, (step.predicate,))
            first, second = step.then_plan, step.else_plan
        else:
            first, second = step.cond_plan, step.body_plan
            sub.n_carried = step.n_carried
            sub.rows = self.extents(step.rows)
            if len(step.rows) != sub.n_outputs - sub.n_carried:
                raise ValueError(f"{sub.n_outputs - sub.n_carried} results are stacked, not {len(step.rows)}")
            sub.varying = step.again is not None
            for k in step.handed:
                if 0 <= k < 64:
                    sub.handed |= <uint64_t>1 << <int>k
            if step.burst_plan is not None:
                burst = step.burst_plan
                if burst.c.n_inputs != sub.n_inputs or burst.c.n_outputs != sub.n_outputs + 1:
                    raise ValueError("A burst takes what the body takes, and gives a count besides")
                self._held.append(burst)
                sub.burst = &burst.c
            s.pinned = s.pinned or sub.varying
        for plan in (first, second):
            if (<Plan>plan).c.n_inputs != sub.n_inputs:
                raise ValueError(f"A sub-plan takes {(<Plan>plan).c.n_inputs} inputs, {sub.n_inputs} are given")
            s.pinned = s.pinned or (<Plan>plan).needs_python
        self._held.append((first, second))
        sub.first = &first.c
        sub.second = &second.c
        return 0

    cdef int link_steps(self) except -1:
        """Dependencies, successors, and the order of urgency: the longest way to the end first."""
        cdef CPlan* p = &self.c
        cdef CStep* s
        cdef int32_t i, n = p.n_steps
        cdef double tail, alone
        cdef list after = [set(step.after) for step in self.spec.steps]
        cdef int32_t pinned = -1
        for i in range(n):
            if p.steps[i].pinned:  # Python runs in program order
                self.needs_python = True
                if pinned >= 0:
                    after[i].add(pinned)
                pinned = i
        successors = [[] for _ in range(n)]
        for i in range(n):
            p.dependencies[i] = len(after[i])
            for before in after[i]:
                if not 0 <= before < i:
                    raise ValueError(f"Step {i} comes after step {before}")
                successors[before].append(i)
        urgency = [0.0] * n
        for i in range(n - 1, -1, -1):
            s = &p.steps[i]
            s.n_successors = len(successors[i])
            s.successors = <int32_t*>self.take(s.n_successors * sizeof(int32_t))
            tail = alone = 0
            for k, target in enumerate(successors[i]):
                s.successors[k] = target
                tail = max(tail, <double>urgency[target])
                if p.dependencies[<int32_t>target] == 1:
                    alone = max(alone, p.steps[<int32_t>target].alone)
            urgency[i] = tail + s.cost / s.n_shards
            s.alone = alone + s.cost / s.n_shards
            s.long_enough = s.cost >= TURN_NS
            p.pace.tried = p.pace.tried and s.sub == NULL
            if p.parallel and s.long_enough:
                p.parallel = 2
        for rank, i in enumerate(sorted(range(n), key=lambda step: (-urgency[step], step))):
            p.order[rank] = i
            p.steps[i].rank = rank
        cells = [slot for slot in self.spec.slots if slot.place == plan_module.Place.CELL]
        p.n_cells = len(cells)
        return 0

    cpdef list run(self, list inputs):
        """Run the plan on EagerTensors (Cells for resources); gives EagerTensors.

        Raises ValueError or TypeError for inputs of another number, dtype or shape, and what the steps raise; of
        several that fail the first in program order.
        """
        return self.call(inputs, NULL)

    def profile(self, list inputs, int repeat=100) -> list[float]:
        """Run the plan `repeat` times on one thread; gives the least nanoseconds that each step took."""
        cdef int64_t* times = <int64_t*>calloc(max(self.c.n_steps, 1), sizeof(int64_t))
        cdef int32_t i
        if times == NULL:
            raise MemoryError()
        try:
            for _ in range(repeat):
                self.call(inputs, times)
            return [<double>times[i] for i in range(self.c.n_steps)]
        finally:
            free(times)

    cdef list call(self, list inputs, int64_t* times):
        cdef CPlan* p = &self.c
        cdef Call call
        cdef Frame* f
        cdef Value* value
        cdef Dims* dims
        cdef EagerTensor tensor
        cdef Block* block
        cdef char* data
        cdef int32_t j, k, n_cells = 0
        cdef int failed
        cdef list outputs
        if len(inputs) != p.n_inputs:
            raise ValueError(f"{self.spec.name!r} takes {p.n_inputs} inputs, got {len(inputs)}")
        cdef int64_t started = fg_now_ns() if recorder.on else 0
        cdef int64_t begun = _exchanges[0]
        fg_store32(&call.cancelled, 0)
        call.spent = 0
        call.checked = 0
        if started:
            _hold_recorded(self)
        f = _frame_take(p, &call)
        if f == NULL:
            _tell(self.spec, begun)
            raise _exhausted(p.arena_bytes)
        try:
            for j in range(p.n_inputs):
                value = &p.inputs[j]
                item = inputs[j]
                if p.slots[value.slot].place == CELL:
                    _bind_cell(f, n_cells, value.slot, <Cell?>item)
                    n_cells += 1
                    continue
                tensor = <EagerTensor?>item
                if tensor.dtype_code != value.dtype_code or tensor.ndim != value.dims.ndim:
                    raise self.mismatch(j, tensor)
                for k in range(tensor.ndim):
                    if tensor.dims[k] != value.dims.size[k]:
                        raise self.mismatch(j, tensor)
                f.data[value.slot] = tensor.data
                f.block[value.slot] = tensor.block
            if times != NULL:
                call.checked = fg_now_ns()
                with nogil:
                    failed = _run_timed(f, times)
            elif p.quick:
                failed = _run(f, True)
            else:
                call.checked = fg_now_ns()
                with nogil:
                    failed = _run(f, True)
            if failed:
                _tell(self.spec, begun)
                _raise_fault(f)
            outputs = []
            for k in range(p.n_outputs):
                value = &p.outputs[k]
                dims = _dims_of(f, value)
                block = _take_output(f, k, &data)
                outputs.append(wrap_slice(block, data, value.dtype_code, dims.ndim, &dims.size[0]))
            return outputs
        finally:
            if f.fault.code != FAULT_NONE:
                _drop_fault(f)
            if f.discarded != NULL:
                Py_DECREF(<object>f.discarded)
                f.discarded = NULL
            _frame_give(f)
            block_drain()
            if started:
                _note(p, -1, started, 0, 1)

    cdef object mismatch(self, int32_t j, EagerTensor tensor):
        return ValueError(
            f"Input {j} of {self.spec.name!r} must be {as_dtype(self.c.inputs[j].dtype_code).name}"
            f"{list(_shape_tuple(&self.c.inputs[j].dims))}, got {tensor.aval}"
        )

    @property
    def parallel(self) -> bool:
        return bool(self.c.parallel)

    @property
    def alone(self) -> bool:
        """True while one thread runs it, as runs on several took longer."""
        return bool(self.c.pace.alone)

    def shards(self) -> list[int]:
        """Into how many parts each step is cut."""
        return [self.c.steps[i].n_shards for i in range(self.c.n_steps)]
