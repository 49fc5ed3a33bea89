"""∫ |linear|^p over one segment in closed form, its gradient, and the W_p of one filter (Proposition 1).

The printed formula divides by the slope and cancels. Here a segment is its width w and the differences
d0, d1 at its two ends. Let h be the end of larger magnitude and ℓ the other one, signed so that ℓ > 0 means
"same sign as h"; s = (|h| − ℓ)/|h| in [0, 2], q = p + 1. Then, with no ā and no b̄,

    ∫ |linear|^p = w · f,   f = (|h|^q − ℓ·|ℓ|^p) / (q (|h| − ℓ))                      for q·s > 1,
                            f = |h|^p · g(s),  g(s) = Σ_k C(p, k) (−s)^k / (k + 1)     for q·s ≤ 1,

the second being the Taylor series of the first, of which a few terms reach float precision. Both hold for
every real p ≥ 1 and for crossing ends. Everything here works on plain tensors, on any device, without checks.
"""

import torch
from torch import Tensor

TERMS = {torch.float32: 12, torch.float64: 32}  # (q·s)^k / (k+1)! falls below half a unit in the last place


def series_coefficients(p: float, terms: int) -> tuple[float, ...]:
    """C(p, k)·(−1)^k / (k + 1) for k = 0 … terms − 1: the coefficients of g."""
    coefficients, binomial = [], 1.0
    for k in range(terms):
        coefficients.append(binomial / (k + 1))
        binomial *= -(p - k) / (k + 1)
    return tuple(coefficients)


def _horner(coefficients, s: Tensor) -> Tensor:
    value = torch.full_like(s, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * s + c
    return value


def _ends(d: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each segment: which end is larger, the sign of that end, |h|, and ℓ."""
    d0, d1 = d[..., :-1], d[..., 1:]
    second = d1.abs() > d0.abs()
    larger, other = torch.where(second, d1, d0), torch.where(second, d0, d1)
    sign = torch.where(larger < 0, -1.0, 1.0).to(d.dtype)
    return second, sign, larger.abs(), other * sign


def _safe(x: Tensor) -> Tensor:
    """A divisor: zero becomes one (its numerator is zero too)."""
    return torch.where(x == 0, 1.0, x)


def mean_power(d: Tensor, p: float) -> Tensor:
    """f of the module's docstring: the mean of |linear|^p over each segment. (..., L) -> (..., L−1)"""
    _, _, h, l = _ends(d)
    q, gap = p + 1, h - l
    direct = (h ** q - l * l.abs() ** p) / (q * _safe(gap))
    series = h ** p * _horner(series_coefficients(p, TERMS[d.dtype]), gap / _safe(h))
    return torch.where(q * gap > h, direct, series)


def mean_power_gradient(d: Tensor, p: float) -> tuple[Tensor, Tensor, Tensor]:
    """f and its derivatives by the left and the right end of each segment."""
    second, sign, h, l = _ends(d)
    q, gap = p + 1, h - l
    h_power, l_power, s = h ** p, l.abs() ** p, gap / _safe(h)
    coefficients = series_coefficients(p, TERMS[d.dtype])
    g = _horner(coefficients, s)
    slope = _horner([k * c for k, c in enumerate(coefficients)][1:], s)  # g'(s)
    direct = q * gap > h
    f = torch.where(direct, (h * h_power - l * l_power) / (q * _safe(gap)), h_power * g)
    by_h = torch.where(direct, (h_power - f) / _safe(gap), h_power / _safe(h) * (p * g + slope * (1 - s)))
    by_l = torch.where(direct, (f - l_power) / _safe(gap), -h_power / _safe(h) * slope)
    by_h, by_l = by_h * sign, by_l * sign
    return f, torch.where(second, by_l, by_h), torch.where(second, by_h, by_l)


def _scaled(d: Tensor) -> tuple[Tensor, Tensor]:
    """d over its largest magnitude, and that magnitude: keeps d**p within range whatever the scale of d."""
    scale = d.abs().amax(-1, keepdim=True)
    return d / _safe(scale), scale.squeeze(-1)


def filter_distance(d: Tensor, widths: Tensor, p: float) -> Tensor:
    """W_p of one filter from the differences d of two quantile functions at their knots. (..., L), (L−1,) -> (...)"""
    d, scale = _scaled(d)
    return scale * (mean_power(d, p) @ widths) ** (1 / p)


def filter_distance_gradient(d: Tensor, widths: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """Derivatives of `filter_distance` by the differences (..., L) and by the widths (..., L−1).

    Where the two functions are equal the distance has a kink; the zero subgradient is taken there.
    """
    d, scale = _scaled(d)
    f, left, right = mean_power_gradient(d, p)
    power = f @ widths
    outer = torch.where(power > 0, _safe(power) ** (1 / p - 1) / p, 0.0)[..., None]
    by_width = scale[..., None] * outer * f
    by_d = torch.zeros_like(d)
    by_d[..., :-1] = outer * widths * left
    by_d[..., 1:] += outer * widths * right
    return by_d, by_width


class FilterDistance(torch.autograd.Function):
    """`filter_distance` with its analytic gradient: finite everywhere, also at ties and at equal functions."""

    @staticmethod
    def forward(ctx, d: Tensor, widths: Tensor, p: float) -> Tensor:
        ctx.save_for_backward(d, widths)
        ctx.p = p
        return filter_distance(d, widths, p)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        d, widths = ctx.saved_tensors
        by_d, by_width = filter_distance_gradient(d, widths, ctx.p)
        outer = outer[..., None]
        by_widths = (outer * by_width).reshape(-1, len(widths)).sum(0) if ctx.needs_input_grad[1] else None
        return outer * by_d, by_widths, None
