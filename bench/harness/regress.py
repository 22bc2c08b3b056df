"""Tells a change between two builds from noise, without measuring anything.

    change = compare("mlp", base_ms=[4.41, 4.44, 4.40], new_ms=[4.72, 4.70, 4.75])
    change.ratio     # 1.07: the new build takes 1.07 times as long
    change.noise     # 0.02: a ratio within 1 ± 0.02 is what equal builds show
    change.outcome   # "slower", "faster" or "same"

Times of processes are compared by their logarithms.  The noise is that of the difference of two means: the spread
within each build, pooled, times Student's quantile for a chance of one in a hundred, so that few processes make it
large.
"""
import math
import statistics
from dataclasses import asdict, dataclass

# Two-sided, 99 %, by degrees of freedom; the last one serves all that are larger.
STUDENT = {2: 9.925, 4: 4.604, 6: 3.707, 8: 3.355, 10: 3.169, 12: 3.055, 14: 2.977, 16: 2.921, 18: 2.878}
# Equal processes of a build differ by as much now and then, however alike those of one run are.
LEAST_NOISE = 0.01


@dataclass(frozen=True)
class Change:
    row: str
    base_ms: float
    new_ms: float
    ratio: float
    noise: float
    outcome: str

    def cells(self) -> list[str]:
        return [self.row, f"{self.base_ms:.4g}", f"{self.new_ms:.4g}", f"{self.ratio:.3f}", f"±{self.noise:.3f}",
                self.outcome]

    def json(self) -> dict:
        return asdict(self)


def student(freedom: int) -> float:
    return STUDENT.get(freedom, STUDENT[max(STUDENT)])


def compare(row: str, base_ms: list[float], new_ms: list[float]) -> Change:
    """Both lists hold as many times, at least two, one of each process."""
    if len(base_ms) != len(new_ms) or len(base_ms) < 2:
        raise ValueError(f"{row}: two or more processes of each build, got {len(base_ms)} and {len(new_ms)}")
    base, new = ([math.log(ms) for ms in times] for times in (base_ms, new_ms))
    count = len(base)
    pooled = (statistics.variance(base) + statistics.variance(new)) / 2
    difference = statistics.fmean(new) - statistics.fmean(base)
    noise = max(LEAST_NOISE, student(2 * (count - 1)) * math.sqrt(2 * pooled / count))
    outcome = "same" if abs(difference) <= noise else "slower" if difference > 0 else "faster"
    return Change(row, math.exp(statistics.fmean(base)), math.exp(statistics.fmean(new)), math.exp(difference),
                  math.expm1(noise), outcome)
