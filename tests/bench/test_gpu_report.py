"""bench/report: figures beside their bars, and what is named as missed."""
import copy

from bench.harness.gpu_report import report

SAID = {
    "commit": "abc", "machine": {"card": "H200", "torch": "2.11", "jax": "0.11"},
    "checks": {"add": {"ok": True, "error": 1e-7}},
    "conformance": {"passed": 700, "failed": [], "exit": 0, "said": ""},
    "measures": {"add": {"microseconds": 100.0, "gb_per_s": 3900.0, "tflop_per_s": 0.0},
                 "softmax_1k": {"microseconds": 50.0, "gb_per_s": 3700.0, "tflop_per_s": 0.0},
                 "product_bf16": {"microseconds": 190.0, "gb_per_s": 500.0, "tflop_per_s": 720.0,
                                  "routes": ["cublaslt"]},
                 "product_bf16_own": {"microseconds": 220.0, "gb_per_s": 500.0, "tflop_per_s": 620.0},
                 "dense_gelu_bf16": {"microseconds": 194.0, "gb_per_s": 500.0, "tflop_per_s": 710.0}},
    "models": {"bert_base_bs32": {"ok": True, "error": 1e-6, "median_ms": 30.0, "kernel_microseconds": 29000.0,
                                  "stock": {"milliseconds": 3000.0, "threads": 2, "processor": "x"}},
               "dlrm": {"ok": True, "error": 1e-6, "median_ms": 0.1, "kernel_microseconds": 60.0},
               "dlrm_bs2048": {"ok": True, "error": 1e-6, "median_ms": 1.0, "kernel_microseconds": 900.0}},
    "rivals": {"copy": {"gb_per_s": 4200.0}, "softmax_1k torch": {"microseconds": 51.0},
               "dlrm torch": {"microseconds": 140.0}, "dlrm jax": {"microseconds": 120.0},
               "dlrm_bs2048 torch": {"microseconds": 1010.0}, "dlrm jax2": {"failed": "no"}},
    "sanitizer": {"memcheck": {"exit": 0, "passed": 700}},
}


def changed(*path_and_value):
    *path, value = path_and_value
    said = inner = copy.deepcopy(SAID)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return said


def row(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"| {name} "))


def test_all_is_well():
    text, missed = report(SAID)
    assert missed == [] and "nothing that was measured" in text
    assert "93% (92%)" in row(text.split("copy:")[1], "add") and "!" not in text
    assert "1.02 (1.00)" in row(text, "softmax_1k")
    assert "| cublaslt " in row(text, "product_bf16")
    assert "620 (600)" in row(text, "product_bf16_own") and "1.021 times product_bf16 (at most 1.03)" in text
    assert "100.0 (10.0)" in row(text, "bert_base_bs32")
    assert "1.20 (1.10)" in row(text, "dlrm") and "1.01 (1.00)" in row(text, "dlrm_bs2048")


def test_what_is_below_its_bar_is_marked_and_named():
    for said, name in [(changed("measures", "add", "gb_per_s", 3700.0), "add of copy"),
                       (changed("measures", "product_bf16_own", "tflop_per_s", 590.0), "product_bf16_own TFLOP/s"),
                       (changed("measures", "dense_gelu_bf16", "microseconds", 200.0), "dense_gelu_bf16 / product_bf16"),
                       (changed("models", "bert_base_bs32", "median_ms", 400.0), "bert_base_bs32 / stock"),
                       (changed("rivals", "softmax_1k torch", "microseconds", 49.0), "softmax_1k / torch"),
                       (changed("rivals", "dlrm jax", "microseconds", 105.0), "dlrm / best rival"),
                       (changed("rivals", "dlrm_bs2048 torch", "microseconds", 990.0), "dlrm_bs2048 / best rival")]:
        text, missed = report(said)
        assert missed == [name] and " !" in text and text.endswith(f"missed: {name}")


def test_what_is_wrong_is_named():
    for said, name in [(changed("checks", "add", {"ok": False, "said": "no kernel"}), "add"),
                       (changed("models", "dlrm", {"ok": False, "said": "gpu:0: no memory"}), "dlrm"),
                       (changed("conformance", "failed", ["Products.x"]), "Products.x"),
                       (changed("sanitizer", "memcheck", {"exit": 9, "passed": 3}), "memcheck")]:
        assert report(said)[1] == [name]


def test_a_run_that_was_cut_off_is_shown_as_far_as_it_is():
    for step in ("machine", "checks", "conformance", "measures", "models", "rivals", "sanitizer"):
        said = {key: value for key, value in SAID.items() if key != step}
        text, missed = report(said)
        assert missed == [] and text.startswith("commit abc")
    assert report({"commit": "abc"})[1] == []
