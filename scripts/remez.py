"""Minimax polynomials for jit/llvm/math, by Remez's second exchange algorithm in mpmath.

    python3 scripts/remez.py > jit/llvm/math/coefficients.h     (minutes)
    python3 scripts/remez.py exp_f32 log_f64 ...                (these alone)

A fit is a row of FITS: g on [a, b], the degree, and a weight w; the polynomial P of that degree that
makes max |P(x) - g(x)| w(x) smallest is printed with that maximum.  The weight turns the error of P
into the relative error of the function that is built from it.  Method: solve for P and the levelled
error on degree + 2 points, move the points to the extrema of the error, repeat until level
(Cheney, Introduction to Approximation Theory, chapter 3).
"""
import sys

from mpmath import mp, mpf

mp.dps = 60
pi, log, exp = mp.pi, mp.log, mp.exp
HALF_LN2 = log(2) / 2 * mpf("1.0001")


def remez(g, a, b, degree, w):
    n = degree + 2
    a, b = mpf(a), mpf(b)
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    for _ in range(30):
        m = mp.matrix(n, n)
        rhs = mp.matrix(n, 1)
        for i, x in enumerate(points):
            power = mpf(1)
            for j in range(degree + 1):
                m[i, j] = power
                power *= x
            m[i, degree + 1] = (-1) ** i / max(w(x), mpf("1e-9"))  # w may vanish at a first guess
            rhs[i] = g(x)
        solution = mp.lu_solve(m, rhs)
        coefficients = [solution[i] for i in range(degree + 1)]
        level = abs(solution[degree + 1])

        def error(x):
            return (mp.polyval(coefficients[::-1], x) - g(x)) * w(x)

        # The extrema: the largest error of each sign run on a fine grid, then a parabola's step.
        steps = 40 * n
        grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(pi * i / steps) for i in range(steps + 1)]
        errors = [error(x) for x in grid]
        runs = []
        for i, e in enumerate(errors):
            if runs and mp.sign(errors[runs[-1]]) == mp.sign(e):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        if len(runs) < n:
            break
        new = []
        for i in runs:
            x = grid[i]
            if 0 < i < steps:
                x0, x1, x2 = grid[i - 1], grid[i], grid[i + 1]
                e0, e1, e2 = errors[i - 1], errors[i], errors[i + 1]
                d = (x1 - x0) * (e1 - e2) - (x1 - x2) * (e1 - e0)
                if d != 0:
                    c = x1 - ((x1 - x0) ** 2 * (e1 - e2) - (x1 - x2) ** 2 * (e1 - e0)) / (2 * d)
                    x = c if x0 < c < x2 else x1
            new.append(x)
        points = new
        worst = max(abs(errors[i]) for i in runs)
        if worst < level * mpf("1.0005"):
            break
    worst = max(abs(error(x)) for x in grid)
    return coefficients, worst


def one(_):
    return mpf(1)


def small(f, series, limit="1e-6"):
    """f, or its power series (a list of coefficients) near zero, where f cancels."""
    return lambda x: mp.polyval(series[::-1], x) if abs(x) < mpf(limit) else f(x)


def log_tail(f):  # (log(1 + f) - f + f^2 / 2) / f^3
    return (mp.log1p(f) - f + f * f / 2) / f**3


def atanh_tail(z):  # log((1+s)/(1-s)) = 2 s + s z R(z), z = s^2
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def atanh_tail2(z):  # and after the cube: 2 atanh(s) = 2 s + 2/3 s z + s z^2 R(z)
    return (atanh_tail(z) - mpf(2) / 3) / z


def odd_tail_plain(f, z):  # f(s) / s - 1
    s = mp.sqrt(z)
    return f(s) / s - 1


def odd_tail(f, z):  # (f(s) / s - 1) / z
    s = mp.sqrt(z)
    return (f(s) / s - 1) / z


def erfcx_scaled(shift):
    """(1 + 2x) exp(x^2) erfc(x) at t = (x - shift) / (x + shift): smooth on all of [0, inf)."""
    def g(t):
        if t >= 1:
            return 2 / mp.sqrt(pi)
        x = shift * (1 + t) / (1 - t)
        if x < 50:
            return (1 + 2 * x) * exp(x * x) * mp.erfc(x)
        term = total = mpf(1)  # the asymptotic series: 14 terms leave 1e-36
        for k in range(1, 15):
            term *= -(2 * k - 1) / (2 * x * x)
            total += term
        return (1 + 2 * x) * total / (x * mp.sqrt(pi))
    return g


ERFCX_F32_MIDDLE = mpf(121) / 256


def erfcx_f32(t):
    """(1 + x / 2) exp(x^2) erfc(x) at t = x / (x + 2) - 121/256.

    Of the middles k/256 this one's coefficients lose least when rounded to f32.
    """
    v = t + ERFCX_F32_MIDDLE
    x = 2 * v / (1 - v)
    return (1 + x / 2) * exp(x * x) * mp.erfc(x)


def erfcx(x):
    return exp(x * x) * mp.erfc(x)


def erfcx_piece(j):
    """erfcx(v - 1) on the j-th quarter of a power of two that v goes through from 1 on, as a polynomial of what v's
    mantissa has above the quarter's first; exactly 1 at zero."""
    def g(r):
        return erfcx(mpf(2) ** (j // 4) * (1 + mpf(j % 4) / 4 + r) - 1)

    if j > 0:
        return remez(g, 0, "0.25", 6, lambda r: 1 / g(r))
    slope = small(lambda r: (g(r) - 1) / r, [-2 / mp.sqrt(pi), mpf(1), -4 / (3 * mp.sqrt(pi))])
    coefficients, worst = remez(slope, 0, "0.25", 5, lambda r: r / g(r))
    return [mpf(1), *coefficients], worst


SERIES_EXP2 = [1 / mp.factorial(k + 2) for k in range(8)]
SERIES_LOG3 = [(-1) ** k / mpf(k + 3) for k in range(8)]
SERIES_ATANH = [2 / mpf(2 * k + 3) for k in range(8)]
exp_tail = small(lambda r: (exp(r) - 1 - r) / r**2, SERIES_EXP2)
SIN = [(-1) ** (k + 1) / mp.factorial(2 * k + 3) for k in range(8)]
COS = [(-1) ** k / mp.factorial(2 * k + 4) for k in range(8)]
ATAN = [(-1) ** (k + 1) / mpf(2 * k + 3) for k in range(8)]
ASIN = [mpf(1) / 6, mpf(3) / 40, mpf(15) / 336, mpf(105) / 3456]
TANH = [-mpf(1) / 3, mpf(2) / 15, -mpf(17) / 315, mpf(62) / 2835]
ERF = [2 / mp.sqrt(pi) * (-1) ** k / (mp.factorial(k) * (2 * k + 1)) for k in range(8)]
SQRT2 = mp.sqrt(2)
LOW, HIGH = 1 / SQRT2 - 1, SQRT2 - 1
LOG_Z = (HIGH / (2 + HIGH)) ** 2 * mpf("1.0001")
Q = (pi / 4 * mpf("1.0001")) ** 2
ATAN_Z = mp.tan(pi / 8 * mpf("1.0001")) ** 2

exp_w = lambda r: r * r / exp(r)
exp1_w = lambda r: r * r if abs(r) < mpf("1e-9") else abs(r * r / mp.expm1(r))
log_w = lambda f: abs(f**3 / mp.log1p(f)) if abs(f) > mpf("1e-9") else f * f
sin_g = small(lambda z: odd_tail(mp.sin, z), SIN)
cos_g = small(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, COS)
atan_g = small(lambda z: odd_tail(mp.atan, z), ATAN)
asin_g = small(lambda z: odd_tail(mp.asin, z), ASIN)
tanh_g = small(lambda z: odd_tail(mp.tanh, z), TANH)
sinh_g = small(lambda z: odd_tail(mp.sinh, z), [1 / mp.factorial(2 * k + 3) for k in range(8)])
erf_g = small(lambda z: odd_tail_plain(mp.erf, z), [ERF[0] - 1] + ERF[1:])


def linear(z):  # the weight of an odd function's tail, relative
    return z


FITS = {
    "exp_f32": (exp_tail, -HALF_LN2, HALF_LN2, 4, exp_w),
    "exp_f64": (exp_tail, -HALF_LN2, HALF_LN2, 9, exp_w),
    "exp_sixteenth_f32": (exp_tail, -HALF_LN2 / 16, HALF_LN2 / 16, 1, exp_w),
    "exp_eighth_f64": (exp_tail, -HALF_LN2 / 8, HALF_LN2 / 8, 5, exp_w),
    "exp_mid": (exp_tail, -HALF_LN2, HALF_LN2, 6, exp_w),
    "expm1_f32": (exp_tail, -HALF_LN2, HALF_LN2, 5, exp1_w),
    "expm1_f64": (exp_tail, -HALF_LN2, HALF_LN2, 10, exp1_w),
    "log_f32": (small(log_tail, SERIES_LOG3), LOW, HIGH, 8, log_w),
    "log_f64": (small(atanh_tail, SERIES_ATANH), 0, LOG_Z, 6, one),
    "atanh_tail": (small(atanh_tail2, SERIES_ATANH[1:]), 0, LOG_Z, 7, one),
    "sin_f64": (sin_g, 0, Q, 5, linear),
    "cos_f64": (cos_g, 0, Q, 5, lambda z: z * z),
    "sin_mid": (sin_g, 0, Q, 3, linear),
    "cos_mid": (cos_g, 0, Q, 3, lambda z: z * z),
    "atan_f64": (atan_g, 0, ATAN_Z, 10, linear),
    "atan_f32": (atan_g, 0, ATAN_Z, 4, linear),
    "asin_f64": (asin_g, 0, "0.2501", 11, linear),
    "asin_f32": (asin_g, 0, "0.2501", 4, linear),
    "sinh_f64": (sinh_g, 0, "1.0001", 7, linear),
    "sinh_f32": (sinh_g, 0, "1.0001", 3, linear),
    "tanh_f32": (tanh_g, 0, "0.3907", 4, linear),
    "erf_f64": (erf_g, 0, "1.0001", 11, one),
    "erf_f32": (erf_g, 0, "1.0001", 6, one),
    "erfcx_f64": (erfcx_scaled(mpf(2)), "-0.6001", 1, 23, one),
    "erfcx_f32": (erfcx_f32, -ERFCX_F32_MIDDLE, mpf("10.2") / mpf("12.2") - ERFCX_F32_MIDDLE, 10,
                  lambda t: 1 / erfcx_f32(t)),
    "erf_tail_f32": (lambda a: log(mp.erfc(a), 2), 1, "4.0001", 7, mp.erfc),
    "exp2_f32": (lambda r: mpf(2)**r, "-0.5001", "0.5001", 5, lambda r: mpf(2)**-r),
}


HEADER = """// Made by scripts/remez.py: minimax polynomials, lowest power first, each with the largest
// weighted error on its interval.
#ifndef TEKTITE_JIT_LLVM_MATH_COEFFICIENTS_H_
#define TEKTITE_JIT_LLVM_MATH_COEFFICIENTS_H_

namespace tektite::loop::math {
"""
FOOTER = """
}  // namespace tektite::loop::math

#endif  // TEKTITE_JIT_LLVM_MATH_COEFFICIENTS_H_"""


def constant_name(fit):
    return "k" + "".join(part.capitalize() for part in fit.split("_"))


def print_powers():
    print("// 2^(j/16)")
    print("inline constexpr double kExp2Sixteenths[] = {")
    for j in range(16):
        print(f"    {mp.nstr(mpf(2) ** (mpf(j) / 16), 17)},")
    print("};")


def print_erfcx_pieces():
    pieces = [erfcx_piece(j) for j in range(16)]
    print(f"// erfcx in 16 pieces, by the power: 2^{mp.nstr(log(max(worst for _, worst in pieces), 2), 4)}")
    print("inline constexpr double kErfcxPiecesF32[][16] = {")
    for power in range(7):
        print("    {" + ", ".join(mp.nstr(c[power], 9, min_fixed=0, max_fixed=0) for c, _ in pieces) + "},")
    print("};")


def main():
    print(HEADER)
    if not sys.argv[1:]:
        print_powers()
        print_erfcx_pieces()
    for name in sys.argv[1:] or FITS:
        coefficients, worst = remez(*FITS[name])
        digits = 9 if name.endswith("f32") else 17
        print(f"// 2^{mp.nstr(log(worst, 2), 4)}")
        print(f"inline constexpr double {constant_name(name)}[] = {{")
        for c in coefficients:
            print(f"    {mp.nstr(c, digits, min_fixed=0, max_fixed=0)},")
        print("};", flush=True)
    print(FOOTER)


if __name__ == "__main__":
    main()
