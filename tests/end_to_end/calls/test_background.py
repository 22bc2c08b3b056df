"""Compiling behind the first calls: --compile=async, what users get."""

# Without a disk cache: what an earlier test compiled would be loaded by the first call.
ASYNC = "--compile=async --cache_dir=off"

MODEL = """
w = [tf.Variable(normal(64, 64) * 0.1) for _ in range(3)]
@tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32)])
def f(x):
    for v in w:
        x = tf.nn.softmax(tf.nn.relu(tf.matmul(x, v)) + 1.0)
    return x
x = tf.constant(normal(16, 64))
"""


def test_first_calls_are_tensorflows_and_the_later_ones_compiled(run_pair):
    text = MODEL + """
def not_compiled():
    return tektite.stats().get("fallbacks", {}).get("NOT_COMPILED", 0)
y = [f(x)]
first = not_compiled()
for _ in range(2):  # code for any size may be refused, and code for these made at the next call
    tektite.wait_until_compiled()
    f(x)
tektite.wait_until_compiled()
before = not_compiled()
y.append(f(x))
report(y=y, first=first, last=not_compiled() - before)
"""
    plain, compiled = run_pair(text, TEKTITE_FLAGS=ASYNC)
    assert (compiled.values["first"], compiled.values["last"]) == (1, 0)
    assert compiled.stats["request_compiles"] == 0
    for ours, theirs in zip(compiled.values["y"], plain.values["y"]):
        assert abs(sum(map(sum, ours)) - sum(map(sum, theirs))) < 1e-3


def test_training_steps_are_compiled_at_the_priority_of_the_program(run_program):
    """Below it, a step that fills a core would leave the compiler a quarter of that core."""
    text = MODEL + """
def below():
    threads = [int(t) for t in os.listdir("/proc/self/task")]
    compiling = [t for t in threads if open("/proc/self/task/%d/comm" % t).read().strip() == "tektite-compile"]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return sorted(os.getpriority(os.PRIO_PROCESS, t) > own for t in compiling)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f(x))
    for v, g in zip(w, tape.gradient(loss, w)):
        v.assign_sub(0.1 * g)
    return loss
f(x)
tektite.wait_until_compiled()
answered = below()
step(x)
tektite.wait_until_compiled()
report(answered=answered, trained=below())
"""
    values = run_program(text, tektite="1", TEKTITE_FLAGS=ASYNC).values
    assert values["answered"] == [True]
    assert values["trained"] == [False, True]


def test_process_ends_while_it_compiles(run_program):
    result = run_program(MODEL + "report(y=list(f(x).shape))", tektite="1", TEKTITE_FLAGS=ASYNC)
    assert result.values["y"] == [16, 64]
    assert result.lines() == []


def test_process_ends_in_the_middle_of_a_kernel(run_program):
    """LLVM's static objects were destroyed while a thread still used them, which then crashed.  Memory that is freed is
    overwritten here, and there are seconds to compile."""
    text = """
w = [tf.Variable(normal(n, n + 1)) for n in range(40, 70)]
@tf.function
def f(x):
    for v in w:
        x = tf.nn.softmax(tf.nn.gelu(tf.matmul(x, v)) + 1.0)
    return x
report(y=list(f(tf.constant(normal(40, 40))).shape))
"""
    result = run_program(text, tektite="1", TEKTITE_FLAGS=ASYNC, MALLOC_PERTURB_="165")
    assert result.values["y"] == [40, 70]
    assert result.lines() == []


def test_fork_while_it_compiles(run_program):
    # A side that hangs says where, and ends.
    text = "import faulthandler\n" + MODEL + """
f(x)
child = os.fork()
faulthandler.dump_traceback_later(120, exit=True)
if child == 0:
    tektite.wait_until_compiled()
    os._exit(0)
tektite.wait_until_compiled()
f(x)
report(code=os.waitpid(child, 0)[1])
"""
    result = run_program(text, tektite="1", TEKTITE_FLAGS=ASYNC)
    assert result.values["code"] == 0
    assert result.stats["compiles"] == 1


def test_a_cluster_over_its_budget_is_left_to_tensorflow(run_pair):
    text = MODEL + "report(y=[f(x) for _ in range(3)])"
    plain, compiled = run_pair(text, TEKTITE_FLAGS="--compile_budget_ms=1 --cache_dir=off")
    assert compiled.stats["fallbacks"] == {"OVER_BUDGET": 3}
    assert "--compile_budget_ms=1" in compiled.stats["fallback_examples"]["OVER_BUDGET"]
    assert compiled.values["y"] == plain.values["y"]



def test_the_first_call_of_a_later_process_is_compiled(run_pair, run_program, tmp_path):
    """The call that needs code of an earlier process loads it."""
    text = MODEL + """
y = [f(x)]
fallbacks = tektite.stats().get("fallbacks", {})
tektite.wait_until_compiled()
y.append(f(x)); y.append(f(x[:5]))
tektite.wait_until_compiled()
y.append(f(x[:5]))
report(y=y, fallbacks=fallbacks)
"""
    flags = f"--compile=async --hot_calls=0 --compare=false --load_ms=1000 --cache_dir={tmp_path}/cache"
    plain, first = run_pair(text, TEKTITE_FLAGS=flags)
    assert first.values["fallbacks"] == {"NOT_COMPILED": 1}
    second = run_program(text, tektite="1", TEKTITE_FLAGS=flags)
    assert second.values["fallbacks"] == {}
    assert second.stats["compiles"] == second.stats["kernels"] == second.stats["disk"]["misses"] == 0
    assert second.stats["loaded_modules"] >= 1 and second.stats["request_compiles"] == 0
    for ours, theirs in zip(second.values["y"], plain.values["y"]):
        assert abs(sum(map(sum, ours)) - sum(map(sum, theirs))) < 1e-3
