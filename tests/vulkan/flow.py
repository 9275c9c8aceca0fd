# SPDX-License-Identifier: Apache-2.0
"""flow.py MODULE.spv ...: what compiled shaders must not have, since drivers go wrong there (docs/adding-a-shader.md):

- where shaders shuffle or vote in subgroups: a barrier, of a workgroup or of a subgroup, in control flow that may differ
  between a workgroup's invocations;
- GLSL's functions from doubles to whole numbers.

What differs between invocations: their numbers, what subgroups compute, what atomic operations return, what is loaded from
places that differ, and all that follows from these. A struct's members count separately. In a construct whose condition
differs, and in a loop that is left or continued from there, everything does; behind it invocations are together again."""
import struct
import sys

DIFFERS = frozenset([()])  # a value as a whole; other values: the paths of the members that differ
NOTHING = frozenset()
# Inputs that are the same for a workgroup: NumWorkgroups, WorkgroupSize, WorkgroupId, SubgroupSize, NumSubgroups.
SAME_INPUTS = {24, 25, 26, 36, 38}
DEPTH = 6  # of paths; what is deeper counts as a whole
ROUNDINGS = {1, 2, 3, 8, 9, 10}  # Round, RoundEven, Trunc, Floor, Ceil, Fract
FUNCTION, FUNCTION_END, CALL, VARIABLE, LOAD, STORE = 54, 56, 57, 59, 61, 62
ACCESS, IN_BOUNDS, CONTROL_BARRIER, LOOP_MERGE, SELECTION_MERGE, LABEL = 65, 66, 224, 246, 247, 248
BRANCH, CONDITIONAL, SWITCH, RETURN, RETURN_VALUE, PARAMETER = 249, 250, 251, 253, 254, 55
CONSTRUCT, EXTRACT, INSERT, COPY, PHI, UNREACHABLE, EXTENDED, SHUFFLE = 80, 81, 82, 83, 245, 255, 12, 79
NO_RESULT = {STORE, 63, 64, CONTROL_BARRIER, 225, LOOP_MERGE, SELECTION_MERGE, BRANCH, CONDITIONAL, SWITCH, RETURN, RETURN_VALUE,
             UNREACHABLE, 228, 252, 8, 317}
OWN_MEMORY = {6, 7}  # Private, Function
LOADS_UNASKED = 18  # a specialization constant of one driver, for which all addresses differ (core/memory.glsl): false here


def instructions(path):
    with open(path, "rb") as file:
        data = file.read()
    words = struct.unpack("<%dI" % (len(data) // 4), data)
    at = 5
    while at < len(words):
        yield words[at] & 0xffff, words[at + 1:at + (words[at] >> 16)]
        at += words[at] >> 16


def selected(value, path):
    """The member of a value."""
    found = set()
    for differs in value:
        same = 0
        while same < min(len(differs), len(path)) and (differs[same] == path[same] or "*" in (differs[same], path[same])):
            same += 1
        if same == len(differs):
            found.add(())
        elif same == len(path):
            found.add(differs[same:])
    return DIFFERS if () in found else frozenset(found)


def under(prefix, value):
    return frozenset((prefix + path)[:DEPTH] for path in value)


class Module:
    def __init__(self, path):
        self.names, self.builtins, self.constants, self.doubles = {}, {}, {}, set()
        self.types, self.storage, self.functions, self.roundings = {}, {}, {}, []
        self.values, self.cells, self.pointers, self.results = {}, {}, {}, {}
        self.apart, self.called_apart, self.uses_subgroups = set(), set(), False
        imports, function, unasked = set(), None, None
        for op, a in instructions(path):
            if op == 11:
                imports.add(a[0])
            elif op == 12 and a[2] in imports and a[3] in ROUNDINGS and a[0] in self.doubles:
                self.roundings.append(a[1])
            if op == 17:
                self.uses_subgroups |= a[0] in (64, 65)  # GroupNonUniformBallot, GroupNonUniformShuffle
            if op == 22 and a[1] == 64 or op == 23 and a[1] in self.doubles:
                self.doubles.add(a[0])
            elif op == 5:
                self.names[a[0]] = struct.pack("<%dI" % (len(a) - 1), *a[1:]).split(b"\0")[0].decode()
            elif op == 71 and a[1] == 11:
                self.builtins[a[0]] = a[2]
            elif op == 71 and a[1:3] == (1, LOADS_UNASKED):
                unasked = a[0]
            elif op == 43:
                self.constants[a[1]] = a[2]
            elif op == FUNCTION:
                function = self.functions[a[1]] = {"id": a[1], "parameters": [], "blocks": {}, "order": [], "own": set()}
            elif op == FUNCTION_END:
                function = None
            elif function and op == PARAMETER:
                function["parameters"].append(a[1])
            elif function and op == LABEL:
                block = function["blocks"][a[0]] = []
                function["order"].append(a[0])
            elif function and op == CONDITIONAL and a[0] == unasked:
                block.append((BRANCH, a[2:3]))
            elif function:
                block.append((op, a))
            if op == VARIABLE:
                self.storage[a[1]] = a[2]
                if function:
                    function["own"].add(a[1])
                self.pointers[a[1]] = (frozenset([a[1]]), (), NOTHING)
                if a[2] == 1 and self.builtins.get(a[1]) not in SAME_INPUTS:
                    self.cells[a[1]] = DIFFERS
        for function in self.functions.values():
            left = reached(function, function["order"][:1], ())
            function["order"] = [label for label in function["order"] if label in left]
            find_constructs(function)

    def add(self, table, key, value):
        old = table.get(key, NOTHING)
        new = old | value
        if () in new:
            new = DIFFERS
        if new != old:
            table[key] = new
            self.changed = True

    def point(self, key, roots, path, index):
        old = self.pointers.get(key)
        if old:
            roots, index, path = roots | old[0], index | old[2], path if path == old[1] else ("*",)
        if (roots, path, index) != old:
            self.pointers[key] = (roots, path, index)
            self.changed = True

    def value(self, key):
        return self.values.get(key, NOTHING)

    def whole(self, keys):
        return DIFFERS if any(self.value(key) for key in keys) else NOTHING

    def loaded(self, pointer):
        if pointer not in self.pointers:  # an address
            return self.whole([pointer])
        roots, path, found = self.pointers[pointer]
        for root in roots:
            if self.storage.get(root) in OWN_MEMORY or self.storage.get(root) == 1:
                found |= selected(self.cells.get(root, NOTHING), path)
        return DIFFERS if () in found else found

    def store(self, function, apart, pointer, value):
        roots, path, index = self.pointers.get(pointer, (NOTHING, (), NOTHING))
        for root in roots:
            if self.storage.get(root) in OWN_MEMORY:
                by_call = root not in function["own"] and function["id"] in self.called_apart
                self.add(self.cells, root, under(path, DIFFERS if apart or by_call else value | index))

    def step(self, function, label, op, a):
        apart = (function["id"], label) in self.apart  # within the function, however it is called
        if op == STORE:
            self.store(function, apart, a[0], self.value(a[1]))
        elif op == 63:
            self.store(function, apart, a[0], self.loaded(a[1]))
        elif op in (ACCESS, IN_BOUNDS):
            index, path = self.whole(a[3:]), tuple(self.constants.get(i, "*") for i in a[3:])
            if a[2] in self.pointers:
                roots, before, more = self.pointers[a[2]]
                self.point(a[1], roots, before + path, index | more)
            else:
                self.add(self.values, a[1], index | self.whole([a[2]]))
        elif op == LOAD:
            self.add(self.values, a[1], self.loaded(a[2]))
        elif op == CALL:
            self.call(function["id"], a, apart)
        elif op == RETURN_VALUE:
            self.add(self.results, function["id"], self.value(a[0]) | (DIFFERS if apart else NOTHING))
        elif op == CONSTRUCT:
            for i, part in enumerate(a[2:]):
                self.add(self.values, a[1], under((i,), self.value(part)))
        elif op == EXTRACT:
            self.add(self.values, a[1], selected(self.value(a[2]), tuple(a[3:])))
        elif op == INSERT:
            self.add(self.values, a[1], self.value(a[3]) | under(tuple(a[4:]), self.value(a[2])))
        elif op == COPY:
            self.add(self.values, a[1], self.value(a[2]))
        elif op == PHI:
            came_apart = any((function["id"], parent) in self.apart for parent in a[3::2])
            self.add(self.values, a[1], self.whole(a[2::2]) | (DIFFERS if came_apart else NOTHING))
        elif 227 <= op <= 242 or 333 <= op <= 366:
            if len(a) > 2:
                self.add(self.values, a[1], DIFFERS)
        elif op not in NO_RESULT and op != VARIABLE and len(a) > 1:
            self.add(self.values, a[1], self.whole(a[4:] if op == EXTENDED else a[2:4] if op == SHUFFLE else a[2:]))

    def call(self, caller, a, apart):
        callee = self.functions[a[2]]
        for parameter, argument in zip(callee["parameters"], a[3:]):
            if argument in self.pointers:
                self.point(parameter, *self.pointers[argument])
            else:
                self.add(self.values, parameter, self.value(argument))
        self.add(self.values, a[1], self.results.get(a[2], NOTHING))
        if (apart or caller in self.called_apart) and a[2] not in self.called_apart:
            self.called_apart.add(a[2])
            self.changed = True

    def separate(self, function, labels):
        new = {(function["id"], label) for label in labels} - self.apart
        self.apart |= new
        self.changed |= bool(new)

    def run(self):
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.functions.values():
                for label in function["order"]:
                    for op, a in function["blocks"][label]:
                        self.step(function, label, op, a)
                    op, a = function["blocks"][label][-1]
                    if op in (CONDITIONAL, SWITCH) and self.value(a[0]):
                        self.separate(function, parted_at(function, label))
        # Barriers that invocations may reach apart, by the names of the functions.
        return [self.names.get(function["id"], "?").split("(")[0]
                for function in self.functions.values() for label in function["order"]
                for op, _ in function["blocks"][label]
                if op == CONTROL_BARRIER and
                (function["id"] in self.called_apart or (function["id"], label) in self.apart)]


def targets(block):
    op, a = block[-1]
    return [a[0]] if op == BRANCH else list(a[1:3]) if op == CONDITIONAL else [a[1], *a[3::2]] if op == SWITCH else []


def reached(function, first, stop):
    found, left = set(), [label for label in first if label not in stop]
    while left:
        label = left.pop()
        if label not in found:
            found.add(label)
            left += [to for to in targets(function["blocks"][label]) if to not in stop]
    return found


def find_constructs(function):
    """Of each header its merge block, and all loops: header, merge block, place to continue at, blocks."""
    function["merges"], function["loops"] = {}, []
    for label in function["order"]:
        for op, a in function["blocks"][label]:
            if op in (SELECTION_MERGE, LOOP_MERGE):
                function["merges"][label] = a[0]
            if op == LOOP_MERGE:
                function["loops"].append((label, a[0], a[1], reached(function, [label], {a[0]})))


def parted_at(function, label):
    """The blocks where invocations are apart when the branch of a block takes them to different ones."""
    around = [loop for loop in function["loops"] if label in loop[3]]
    ends = {end for loop in around for end in loop[1:3]}
    merge, parted = function["merges"].get(label), set()
    if merge is not None:
        parted = reached(function, targets(function["blocks"][label]), ends | {merge})
    leaves = set(targets(function["blocks"][label]))
    returns = False
    for block in parted:
        leaves |= set(targets(function["blocks"][block]))
        returns |= function["blocks"][block][-1][0] in (RETURN, RETURN_VALUE)
    for _, end, place, blocks in around:
        if end in leaves or (place in leaves and place != merge):
            parted |= blocks
    return parted | reached(function, targets(function["blocks"][label]), set()) if returns else parted


def main(paths):
    failed = checked = 0
    for path in paths:
        module = Module(path)
        for name in module.roundings:
            print("%s: a double becomes whole by one of GLSL's functions" % path)
        barriers = module.run() if module.uses_subgroups else []
        for name in barriers:
            print("%s: a barrier in %s() that not all invocations of a workgroup may reach together" % (path, name))
        checked += module.uses_subgroups
        failed += len(module.roundings) + len(barriers)
    print("%u modules, %u of them with subgroups" % (len(paths), checked))
    return failed > 0 or not checked


sys.exit(main(sys.argv[1:]))
