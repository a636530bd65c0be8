"""Modified Bessel functions of kernels: I0 and I1 over e**|x|, by Chebyshev series of our own.

Rule: as in functions.py. Up to 8 the series are of e**-|x| I0(x) and e**-|x| I1(x) / x in x / 4 - 1, from 8 on of these
times sqrt(x) (I1 without the division) in 16 / x - 1; the coefficients were computed from the power series and the
asymptotic expansion with 90 digits.
"""

from __future__ import annotations

from typing import Any

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

_I0_NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071,
    -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385825,
    0.00018850288509584173, -5.75419501008211e-05, 1.644844807072906e-05, -4.416738358458796e-06,
    1.1173875391201837e-06, -2.670793853939426e-07, 6.046995022546457e-08, -1.300025009995842e-08,
    2.6598237248912646e-09, -5.189795603384667e-10, 9.675809072690577e-11, -1.7268263099827486e-11,
    2.955053047962522e-12, -4.856447573730813e-13, 7.676137286569129e-14, -1.1685457831402124e-14,
    1.7149178127909282e-15, -2.4341151923928937e-16, 3.3154902434606727e-17,
)  # fmt: skip
_I0_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916826e-05, 2.8913705208347283e-06, 2.0489185894692245e-07,
    2.26666899049677e-08, 3.3962320257312217e-09, 4.940602387910865e-10, 1.188914709547963e-11, -3.1499165281049635e-11,
    -1.321581177691133e-11, -1.7941785481357525e-12, 7.18012518744534e-13, 3.8527781903415285e-13,
    1.5400929229830718e-14, -4.15055685133725e-14, -9.554831155878657e-15, 3.8116347101171955e-15,
    1.7726122761470286e-15, -3.426824254047778e-16, -2.8256070443502534e-16, 3.4393603416671417e-17,
    4.4864285897450175e-17,
)  # fmt: skip
_I1_NEAR = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589677,
    4.781565107550057e-05, -1.3273163656039468e-05, 3.470251308137759e-06, -8.568720264695709e-07,
    2.0032947535524855e-07, -4.4450591287916006e-08, 9.381537386518785e-09, -1.8872497517701045e-09,
    3.6255902826541834e-10, -6.663489731512356e-11, 1.173618648282488e-11, -1.983974467459522e-12,
    3.223795227080481e-13, -5.0421898102094574e-14, 7.600464582788875e-15, -1.1056598887317082e-15,
    1.5512764683922597e-16, -2.1234777174486407e-17,
)  # fmt: skip
_I1_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.0001105889387626237, -3.882564808877702e-06, -2.512236237870092e-07,
    -2.631468846891116e-08, -3.8353803859462045e-09, -5.589743462517424e-10, -1.897495813631741e-11,
    3.2526035825212325e-11, 1.4125807496639681e-11, 2.0356285220283175e-12, -7.198551027183877e-13,
    -4.08355123261879e-13, -2.1015356338818793e-14, 4.2724524818623516e-14, 1.042029282955978e-14,
    -3.814453635765658e-15, -1.8803033674345825e-15, 3.306925046298037e-16, 2.9646424204443634e-16,
    -3.230922474006803e-17, -4.6288656501553005e-17,
)  # fmt: skip


def _chebyshev(t: Lane, coefficients: tuple[float, ...], least: float) -> Lane:
    """The Chebyshev series at t in [-1, 1], by Clenshaw's recurrence, without the coefficients below `least`."""
    count = max(k + 1 for k, c in enumerate(coefficients) if abs(c) > least)
    twice = t + t
    later, last = t.constant(0.0), t.constant(0.0)
    for c in reversed(coefficients[1:count]):
        later, last = twice.muladd(later, c - last), later
    return t.muladd(later, coefficients[0] - last)


def _both(x: Lane, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Lane, Lane, Lane]:
    """|x| and the two series, in float64: near 8 the first one cancels by a factor of 30."""
    least = 0.0 if x.dtype == "float64" else 1e-11
    size = x.to("float64").abs()
    beyond = _chebyshev(16.0 / size - 1.0, far, least) / size.sqrt()
    return size, _chebyshev(size * 0.25 - 1.0, near, least), beyond


def i0e(x: Lane) -> Lane:
    """I0(x) over e**|x|."""
    size, near, far = _both(x, _I0_NEAR, _I0_FAR)
    return (size <= 8.0).select(near, far).to(x.dtype)


def i1e(x: Lane) -> Lane:
    """I1(x) over e**|x|."""
    size, near, far = _both(x, _I1_NEAR, _I1_FAR)
    wide = x.to("float64")
    return (size <= 8.0).select(near * wide, far.copysign(wide)).to(x.dtype)
