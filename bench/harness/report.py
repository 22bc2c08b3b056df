"""The tables of bench/compare: for the terminal, and the Markdown of bench/RESULTS.md."""
from bench.harness.engines import ENGINES, STOCK, TEKTITE, Engine
from bench.harness.figures import geometric_mean, short, table
from bench.harness.summary import best_rival, find

# One function of many small ops gains far more than models do, so means stand there with it and without it.
CARRIES_MEANS = "seed_case"


def threads_of(lines: list[dict]) -> list[int]:
    return sorted({line["threads"] for line in lines})


def models_of(lines: list[dict]) -> list[str]:
    return list(dict.fromkeys(line["model"] for line in lines))


def title(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def details(lines: list[dict], threads: int) -> str:
    """Everything about each engine, a line each."""
    header = ["workload", "engine", "ms", "ratio", "first call s", "peak MB", "difference", "ops", "clusters"]
    return table(header, [detail_cells(line) for line in lines if line["threads"] == threads])


def detail_cells(line: dict) -> list[str]:
    ops = f"{line['clustered_ops']}/{line['ops']}" if "clustered_ops" in line and "ops" in line else "-"
    return [line["model"], line["engine"], milliseconds(line), short(line.get("ratio")),
            short(line.get("first_s")), short(line.get("rss_mb")),
            difference_cell(line), ops, str(line.get("clusters", "-"))]


def difference_cell(line: dict) -> str:
    """In brackets where TensorFlow's kernels answered all the same, since they are faster."""
    if "difference" not in line:
        return "failed" if line["failed"] else "-"
    text = f"{line['difference']:.0e}"
    return f"({text})" if line.get("left_to_host") else text


def milliseconds(line: dict | None) -> str:
    """~ where no process was left alone by the rest of the machine."""
    if line is None or "ms" not in line:
        return "failed" if line and line["failed"] else "-"
    return short(line["ms"]) + "~" * line["disturbed"]


def ratio_cell(line: dict | None) -> str:
    """Speed against stock TensorFlow's; in brackets where the results are not the same program's."""
    if line is None or "ratio" not in line:
        return "-"
    text = short(line["ratio"]) + "~" * line["disturbed"]
    return f"({text})" if line.get("wrong") else text


def against_rivals(lines: list[dict], threads: int, engines: list[Engine]) -> str:
    """A line per workload, a column per engine: stock's time, each engine's speed-up, Tektite's lead."""
    others = [e for e in engines if e.name != STOCK]
    rows, models = [], models_of(lines)
    for model in models:
        found = {e.name: find(lines, model, e.name, threads) for e in engines}
        best = best_rival(lines, model, threads)
        rows.append([model, milliseconds(found.get(STOCK)), *(ratio_cell(found[e.name]) for e in others),
                     ENGINES[best["engine"]].name if best else "-", short(lead_of(lines, model, threads))])

    def mean_row(name: str, chosen: list[str]) -> list[str]:
        return [name, "", *(short(geometric_mean(gains_of(lines, chosen, e.name, threads))) for e in others), "",
                short(geometric_mean(leads_of(lines, chosen, threads)))]

    rows.append(mean_row("geometric mean", models))
    if CARRIES_MEANS in models:
        rows.append(mean_row(f"without {CARRIES_MEANS}", [m for m in models if m != CARRIES_MEANS]))
    rows.append(["over workloads", "", *(str(len(gains_of(lines, models, e.name, threads))) for e in others), "",
                 str(len(leads_of(lines, models, threads)))])
    rows.append(["tektite / it, mean", "",
                 *(short(geometric_mean(duels_of(lines, models, e.name, threads))) for e in others), "", ""])
    return table(["workload", "stock ms", *(e.name for e in others), "best rival", "tektite / best"], rows)


def gains_of(lines: list[dict], models: list[str], engine: str, threads: int) -> list[float]:
    """Speed-ups of an engine over stock TensorFlow, where its results are right."""
    found = [find(lines, model, engine, threads) for model in models]
    return [line["ratio"] for line in found if line and "ratio" in line and not line.get("wrong")]


def duels_of(lines: list[dict], models: list[str], engine: str, threads: int) -> list[float]:
    """Tektite's speed over an engine's."""
    pairs = [(find(lines, model, engine, threads), find(lines, model, TEKTITE, threads)) for model in models]
    return [line["ms"] / ours["ms"] for line, ours in pairs
            if line and "ratio" in line and not line.get("wrong") and ours and "ms" in ours]


def lead_of(lines: list[dict], model: str, threads: int) -> float | None:
    """Tektite's speed over that of the best rival."""
    best, ours = best_rival(lines, model, threads), find(lines, model, TEKTITE, threads)
    return best["ms"] / ours["ms"] if best and ours and "ms" in ours else None


def leads_of(lines: list[dict], models: list[str], threads: int) -> list[float]:
    leads = (lead_of(lines, model, threads) for model in models)
    return [lead for lead in leads if lead is not None]


def figure_table(lines: list[dict], threads: int, engines: list[Engine], figure: str) -> str:
    def cell(line: dict | None) -> str:
        if line is None or figure not in line:
            return "-"
        return f"{line[figure]:.0e}" if figure == "difference" else short(line[figure])
    return table(["workload", *(e.name for e in engines)],
                 [[model, *(cell(find(lines, model, e.name, threads)) for e in engines)]
                  for model in models_of(lines)])


def memory_table(lines: list[dict], threads: int, engines: list[Engine]) -> str:
    """Peaks, and how much more than stock TensorFlow Tektite needs, counted in the model's weights."""
    rows = []
    for model in models_of(lines):
        found = {e.name: find(lines, model, e.name, threads) or {} for e in engines}
        stock, ours = found.get(STOCK, {}), found.get(TEKTITE, {})
        extra = None
        if "rss_mb" in stock and "rss_mb" in ours and "weights_mb" in ours:
            extra = (ours["rss_mb"] - stock["rss_mb"]) / ours["weights_mb"]
        rows.append([model, short(ours.get("weights_mb")), *(short(found[e.name].get("rss_mb")) for e in engines),
                     "-" if extra is None else f"{extra:.2f}"])
    return table(["workload", "weights", *(e.name for e in engines), "(tektite - stock) / weights"], rows)


def failures(lines: list[dict]) -> list[str]:
    """A line per reason, with all the cells it explains."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line["failed"]:
            reasons.setdefault((line["engine"], line["error"]), []).append(
                f"{line['model']} on {title(line['threads'])}")
        if line.get("wrong"):
            reasons.setdefault((line["engine"], f"results differ by {line['difference']:.0e}"), []).append(
                f"{line['model']} on {title(line['threads'])}")
    return [f"{engine}: {why} ({', '.join(where)})" for (engine, why), where in reasons.items()]


def markdown(lines: list[dict], engines: list[Engine], machine: dict, versions: dict[str, str],
             command: str) -> str:
    text = ["## Against rivals", "", f"`{command}`", "",
            "Machine: " + "; ".join(f"{key} {value}" for key, value in machine.items()) + ".",
            "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".", "",
            "Engines are speed-ups over stock TensorFlow in the same run, medians over processes; above 1 "
            "is faster.", "~: other programs used the machine, or its CPUs were far apart, in every repetition.  "
            "(…): the results are not those of the", "workload, and do not count.  First calls hold reading and "
            "compiling the model.", ""]
    for threads in threads_of(lines):
        text += [f"### {title(threads).capitalize()}", "", against_rivals(lines, threads, engines), ""]
    for threads in threads_of(lines):
        text += [f"#### Peak resident memory, MiB, {title(threads)}", "", memory_table(lines, threads, engines), ""]
    figures = {"first_s": "First call, seconds",
               "difference": "Largest difference from stock TensorFlow, of the largest output"}
    for figure, heading in figures.items():
        for threads in threads_of(lines):
            text += [f"#### {heading}, {title(threads)}", "", figure_table(lines, threads, engines, figure), ""]
    found = failures(lines)
    if found:
        text += ["#### Cells without a figure", "", *(f"- {line}" for line in found), ""]
    return "\n".join(text)


def terminal(lines: list[dict], engines: list[Engine]) -> str:
    text = []
    rivals = any(e.rival for e in engines)
    for threads in threads_of(lines):
        text += [f"\n{title(threads)}: medians; the ratio is stock / engine, above 1 is faster\n",
                 details(lines, threads)]
        for engine in engines if not rivals else ():
            ratios = [line["ratio"] for line in lines if line["engine"] == engine.name
                      and line["threads"] == threads and "ratio" in line]
            if ratios and engine.name != STOCK:
                text.append(f"\ngeometric mean of {engine.label} over {len(ratios)}: "
                            f"{geometric_mean(ratios):.2f}x")
        if rivals:
            text += ["\nspeed-ups over stock TensorFlow:\n", against_rivals(lines, threads, engines)]
    return "\n".join([*text, *([""] + failures(lines) if failures(lines) else [])])
