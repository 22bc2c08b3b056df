"""Graphs from elsewhere that hold nodes of our op: an ordinary error that names the node and the attribute.

Guards against: attributes that were taken for granted (`constant_inputs` of 5 or 1e8 wrote beside an array), an op
that handed out addresses, and both with TEKTITE unset.  Every program is a process of its own, so that a crash is
a failure here and nothing else."""

import pytest

# craft(**changes): a graph of one TektiteCluster node, which would be right without the changes.
CRAFT = """
import ctypes
from tensorflow.core.framework import attr_value_pb2, types_pb2
from tensorflow.python.framework import function_def_to_graph
tf1 = tf.compat.v1
F, I, R, S = types_pb2.DT_FLOAT, types_pb2.DT_INT32, types_pb2.DT_RESOURCE, types_pb2.DT_STRING

def makers_mark():
    from tektite import _hook
    hook = _hook.open_hook()
    if hook is None or not hasattr(hook, "tektite_hook_makers_mark"):
        return b"none"
    hook.tektite_hook_makers_mark.restype = ctypes.c_char_p
    return hook.tektite_hook_makers_mark()

@tf.function(input_signature=[tf.TensorSpec([4]), tf.TensorSpec([4])])
def fallback(x, y):
    return x * 2.0 + y

def body():
    # For the compiler, x + y, which tells its results from those of the fallback.
    graph = tf1.GraphDef()
    for i, name in enumerate("xy"):
        node = graph.node.add(name=name, op="_Arg")
        node.attr["T"].type, node.attr["index"].i = F, i
    node = graph.node.add(name="sum", op="AddV2", input=["x", "y"])
    node.attr["T"].type = F
    node = graph.node.add(name="result", op="_Retval", input=["sum"])
    node.attr["T"].type, node.attr["index"].i = F, 0
    return graph.SerializeToString()

def ints(*values):
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(i=values))

def types(*values):
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(type=values))

def text(value):
    return attr_value_pb2.AttrValue(s=value)

def function(name):
    return attr_value_pb2.AttrValue(func=attr_value_pb2.NameAttrList(name=name))

def craft(changes, feeds=("x", "y"), dtype=F):
    concrete = fallback.get_concrete_function()
    graph = tf1.GraphDef()
    graph.library.function.add().CopyFrom(concrete.function_def)
    graph.versions.producer = concrete.graph.as_graph_def().versions.producer
    for name in feeds:
        node = graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = dtype
    node = graph.node.add(name="crafted", op="TektiteCluster", input=list(feeds), device="/cpu:0")
    right = dict(Tin=types(*[dtype] * len(feeds)), Tout=types(F), maker=text(makers_mark()),
                 variable_types=types(*[R] * len(feeds)), constant_inputs=ints(), updated_inputs=ints(),
                 cluster_name=text(b"c"), body=text(body()), fallback=function(concrete.name))
    for name, value in {**right, **changes}.items():
        if value is None:
            continue
        node.attr[name].CopyFrom(value)
    return graph

def session_run(graph, fetch="crafted:0", feeds=("x", "y"), value=(1.0, 2.0, 3.0, 4.0)):
    with tf.Graph().as_default(), tf1.Session() as session:
        tf.import_graph_def(graph, name="")
        return session.run(fetch, {f"{name}:0": np.array(value, np.float32) for name in feeds}).tolist()

def message(call):
    try:
        return f"result {call()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def compile_something():
    # The op exists from the first compiled graph on.
    f = tf.function(lambda x: tf.nn.relu(x * 2.0 + 1.0))
    return [f(tf.constant(normal(4, 8))) for _ in range(2)]
"""

# The change, and a word of the error: the attribute's name.  None removes the attribute.
ABSURD = {
    "maker missing": ("maker=None", "maker"),
    "maker wrong": ("maker=text(b'')", "maker"),
    "maker guessed": ("maker=text(b'0' * 32)", "maker"),
    "constant 5": ("constant_inputs=ints(5)", "constant_inputs"),
    "constant 1e8": ("constant_inputs=ints(100000000)", "constant_inputs"),
    "constant -1": ("constant_inputs=ints(-1)", "constant_inputs"),
    "constant 2^40": ("constant_inputs=ints(1 << 40)", "constant_inputs"),
    "constant INT64_MIN": ("constant_inputs=ints(-(1 << 63))", "constant_inputs"),
    "constant twice": ("constant_inputs=ints(1, 1)", "constant_inputs"),
    "constants disordered": ("constant_inputs=ints(1, 0)", "constant_inputs"),
    "updated, but no variable": ("updated_inputs=ints(0)", "updated_inputs"),
    "updated 1e8": ("updated_inputs=ints(100000000)", "updated_inputs"),
    "updated -1": ("updated_inputs=ints(-1)", "updated_inputs"),
    "no variable types": ("variable_types=types()", "variable_types"),
    "too many variable types": ("variable_types=types(*[R] * 1000)", "variable_types"),
    "a variable type of a tensor": ("variable_types=types(F, R)", "variable_types"),
    "a variable type that is none": ("variable_types=types(R, 777)", "variable_types"),
    "no name": ("cluster_name=text(b'')", "cluster_name"),
    "a zero in the name": ("cluster_name=text(b'a' + bytes(1) + b'b')", "cluster_name"),
    "a long name": ("cluster_name=text(b'a' * 100000)", "cluster_name"),
    "no fallback": ("fallback=function('gone')", "fallback"),
    "a fallback without a name": ("fallback=function('')", "fallback"),
    "one input": ("Tin=types(F), variable_types=types(R)", "TektiteCluster"),
    "inputs of another type": ("Tin=types(I, I)", ""),
    "references": ("Tin=types(F + 100, F + 100)", ""),
    "two outputs": ("Tout=types(F, F)", "fallback"),
    "no output": ("Tout=types()", ""),
    "an output of another type": ("Tout=types(I)", "fallback"),
    "a resource as output": ("Tout=types(R)", "fallback"),
    "too few whole arguments": ("_whole_function=text(b'f'), _whole_args=ints(0), _whole_results=ints(0)",
                                "_whole_args"),
    "whole arguments of -2": ("_whole_function=text(b'f'), _whole_args=ints(0, -2), _whole_results=ints(0)",
                              "_whole_args"),
    "whole results of 1e9": ("_whole_function=text(b'f'), _whole_args=ints(0, 1), _whole_results=ints(1000000000)",
                             "_whole_results"),
    "no whole results": ("_whole_function=text(b'f'), _whole_args=ints(0, 1)", "_whole_results"),
}

# Bodies that are no graphs, or none that fit: TensorFlow's kernels answer, x * 2 + y.
BODIES = {
    "empty": "b''", "no graph": "b'nonsense'", "zeros": "bytes(1000)", "cut": "body()[:-7]",
    "ones": "b'\\xff' * 500", "another number of arguments": "body()[:40]",
    "long": "body() * 50",
}

REPORT = "report(**{name: message(call) for name, call in cases.items()})\n"


def test_every_attribute_absurd(run_program):
    cases = "".join(f"    {name!r}: lambda: session_run(craft(dict({changes}))),\n"
                    for name, (changes, _) in ABSURD.items())
    result = run_program(CRAFT + "compile_something()\nright = session_run(craft({}))\n"
                         "cases = {\n" + cases + "    'right': lambda: right,\n}\n" + REPORT, tektite="1")
    assert result.values.pop("right").startswith("result [2.0, 4.0")
    for name, (_, word) in ABSURD.items():
        outcome = result.values[name]
        assert not outcome.startswith("result"), (name, outcome)
        assert "InvalidArgument" in outcome or "ValueError" in outcome or "TypeError" in outcome, (name, outcome)
        assert word in outcome, (name, outcome)
        if word and "InvalidArgument" in outcome:
            assert "crafted" in outcome, (name, outcome)


def test_bodies_that_are_none(run_program):
    cases = "".join(f"    {name!r}: lambda: session_run(craft(dict(body=text({body})))),\n"
                    for name, body in BODIES.items())
    result = run_program(CRAFT + "compile_something()\ncases = {\n" + cases + "}\n" + REPORT, tektite="1")
    for name, outcome in result.values.items():
        assert outcome.startswith("result [3.0, 6.0"), (name, outcome)


def test_a_resource_is_no_tensor(run_program):
    """A float input that is said to be a variable must not be read as a handle; and the other way round."""
    text = """
changes = dict(Tin=types(R, R), variable_types=types(F, F))
def with_handles(**more):
    graph = craft({**changes, **more}, feeds=(), dtype=R)
    node = [n for n in graph.node if n.name == "crafted"][0]
    for name in ("v", "w"):
        handle = graph.node.add(name=name, op="VarHandleOp")
        handle.attr["dtype"].type = F
        handle.attr["shape"].shape.dim.add(size=4)
        handle.attr["shared_name"].s = name.encode()
        node.input.append(name)
    return session_run(graph, feeds=())
cases = {
    "variables": lambda: with_handles(fallback=function("gone")),
    "constants": lambda: with_handles(constant_inputs=ints(0)),
    "updated": lambda: with_handles(updated_inputs=ints(1, 0)),
    "types": lambda: with_handles(variable_types=types(S, F)),
    "fallback": lambda: with_handles(),
}
"""
    result = run_program(CRAFT + "compile_something()\n" + text + REPORT, tektite="1")
    words = {"variables": "fallback", "constants": "constant_inputs", "updated": "updated_inputs",
             "types": "variable_types", "fallback": "fallback"}
    for name, word in words.items():
        assert "InvalidArgument" in result.values[name] and word in result.values[name], result.values[name]


# By the process's switch, whether the op exists before anything was compiled.
@pytest.mark.parametrize("switch", [None, "0", "scoped", "1"])
def test_ops_that_no_graph_needs_do_not_exist(run_program, switch):
    text = """
def import_op(op, attributes=()):
    graph = tf1.GraphDef()
    node = graph.node.add(name="crafted", op=op)
    for name, value in dict(attributes).items():
        node.attr[name].CopyFrom(value)
    return session_run(graph, feeds=())
cases = {
    "device": lambda: import_op("TektiteDevice"),
    "bind": lambda: import_op("TektiteBind", dict(Tin=types(), function=text(b"f"))),
    "call": lambda: import_op("TektiteCall", dict(Tin=types(), Tout=types(F))),
    "cluster": lambda: session_run(craft({})),
    "constant 5": lambda: session_run(craft(dict(constant_inputs=ints(5)))),
    "constant 1e8": lambda: session_run(craft(dict(constant_inputs=ints(100000000)))),
}
"""
    result = run_program(CRAFT + text + REPORT, tektite=switch)
    for name, outcome in result.values.items():
        assert not outcome.startswith("result") and "not registered" in outcome, (name, outcome)


def test_a_saved_model_with_a_crafted_node(run_program, tmp_path):
    text = f"""
folder = {str(tmp_path / "model")!r}
module = tf.Module()
module.f = tf.function(lambda x: tf.nn.relu(x * 2.0) + 1.0, input_signature=[tf.TensorSpec([4])])
tf.saved_model.save(module, folder, signatures=module.f.get_concrete_function())
from tensorflow.core.protobuf import saved_model_pb2
path = folder + "/saved_model.pb"
model = saved_model_pb2.SavedModel()
model.ParseFromString(open(path, "rb").read())
compile_something()
changed = 0
library = model.meta_graphs[0].graph_def.library.function
functions = list(library)
fallback_def = library.add()
fallback_def.CopyFrom(next(f for f in functions if any(n.op == "Relu" for n in f.node_def)))
fallback_def.signature.name = "crafted_fallback"
for function_def in functions:
    for node in function_def.node_def:
        if node.op == "Relu":
            node.op = "TektiteCluster"
            node.attr.clear()
            for name, value in dict(Tin=types(F), Tout=types(F), maker=text(b"0" * 32), variable_types=types(R),
                                    constant_inputs=ints(100000000), updated_inputs=ints(7),
                                    cluster_name=text(b"c"), body=text(b""), fallback=function("crafted_fallback")).items():
                node.attr[name].CopyFrom(value)
            changed += 1
            for other in function_def.node_def:
                for i, name in enumerate(other.input):
                    other.input[i] = name.replace(node.name + ":activations:0", node.name + ":outputs:0")
open(path, "wb").write(model.SerializeToString())
def load_and_run():
    loaded = tf.saved_model.load(folder)
    return loaded.signatures["serving_default"](tf.ones([4]))
report(outcome=message(load_and_run), changed=changed)
"""
    result = run_program(CRAFT + text, tektite="1")
    assert result.values["changed"] > 0
    assert "InvalidArgument" in result.values["outcome"] and "maker" in result.values["outcome"]
