"""Modified Bessel functions of kernels and the exponential integral, by Chebyshev series of our own.

Rule: as in functions.py. Up to 8 the series are of e**-|x| I0(x) and e**-|x| I1(x) / x in x / 4 - 1, from 8 on of these
times sqrt(x) (I1 without the division) in 16 / x - 1; the coefficients were computed from the power series and the
asymptotic expansion with 90 digits. K0 and K1 are their power series up to 2 (Abramowitz and Stegun, 9.6.11, 9.6.13),
then series of e**x K(x) sqrt(x) in 4 / x - 1. Ei is log(x), Euler's constant and x times a series in x / 3 - 1 up to 6,
then e**x / x times series in 1 / x; their coefficients were computed with 60 digits.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from fastgraph.compiler.vecmath.exponentials import exp, log
from fastgraph.compiler.vecmath.float_formats import polynomial

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

_K0_FAR = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802, 1.39498137188765e-05,
    -1.8317555227191195e-06, 2.766813639445015e-07, -4.660489897687948e-08, 8.574034017414225e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13, 8.032890775068375e-14,
    -2.2275133267462965e-14, 6.340076476276646e-15, -1.848593377920907e-15, 5.5120559994043335e-16,
    -1.6782311257549006e-16, 5.2103917776435543e-17, -1.6475805939842632e-17,
)  # fmt: skip
_K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162, -1.936197974166083e-05,
    2.406484947837217e-06, -3.5019606030878126e-07, 5.7410841254500495e-08, -1.0345762465678097e-08,
    2.0150497551970347e-09, -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13, -8.976705182010146e-14,
    2.4771544242195988e-14, -7.0198370892147685e-15, 2.038703166239861e-15, -6.057047270643018e-16,
    1.8380935752430455e-16, -5.689462849193648e-17, 1.7940510478863572e-17,
)  # fmt: skip
_EI_NEAR = (
    4.9111058843464575, 5.666113598608016, 2.3492626676137034, 0.7563543093844007, 0.19920229382356897,
    0.04442875265306707, 0.008598716638276844, 0.0014705025963922846, 0.00022533301939463562, 3.1284662784803325e-05,
    3.9711039220839795e-06, 4.643268488593228e-07, 5.032918336954619e-08, 5.084550545442788e-09,
    4.810144028835289e-10, 4.278742020424449e-11, 3.5916634036991113e-12, 2.8542399260415613e-13,
    2.1535115484481425e-14, 1.5466334313866187e-15, 1.0598041657122702e-16,
)  # fmt: skip
#: From where on, and the series in 1 / x, which is from 0 or from the next one's beginning to it.
_EI_FAR = (
    (6.0, (
        1.186519731605943, 0.08867277799156566, 0.004538849615854891, -0.0007360917133533506, -0.0001311802094421383,
        1.860281858277769e-05, 1.7610424153850599e-06, -6.410426692376372e-07, 4.3431190977401596e-08,
        9.457713014017885e-09, -2.804867660824966e-09, 2.9077513809389464e-10, 1.5005396668585005e-11,
        -1.1038674953026538e-11, 2.0752769575841014e-12, -1.824894014255641e-13, -1.3060424323093775e-14,
        8.22817443438954e-15, -1.7064640854405607e-15, 2.0895115006185691e-16,
    )),
    (12.0, (
        1.0733284937260361, 0.028589376984320986, 0.0009877354599019657, 6.535142674684368e-05, 4.080867437625506e-06,
        -3.589926611838061e-07, -1.3445734356897559e-07, -3.096554001036047e-09, 2.9939580378560676e-09,
        6.636901195446687e-11, -7.580298873512545e-11, 2.91093271006445e-12, 1.6949183480316525e-12,
        -2.4843531143767757e-13, -1.4921371160913075e-14, 8.569592517547666e-15, -8.552327771250706e-16,
        -9.567382338710219e-17, 3.92278471915959e-17,
    )),
    (24.0, (
        1.0312479700934523, 0.014201765996440817, 0.00021076265873676078, 5.118581810533216e-06, 1.8443386587345898e-07,
        9.568458170226951e-09, 7.138408304767019e-10, 7.120142052103175e-11, 7.150455388093134e-12,
        2.1931472302483114e-13, -1.5808933095596214e-13, -4.297666250058306e-14, -2.867229105954016e-15,
        1.0504167558908474e-15, 2.342936862015753e-16, -1.643781293879767e-17,
    )),
    (60.0, (
        1.008550895478903, 0.008625012151393526, 7.509827844839355e-05, 9.99275604688936e-07, 1.8075241930593914e-08,
        4.1700217388813844e-10, 1.1789464297443193e-11, 3.974955884231352e-13, 1.5673345157089824e-14,
        7.12302228311803e-16, 3.690096203239981e-17,
    )),
)  # fmt: skip
_EULER = 0.5772156649015329
_FACTORIALS = [math.factorial(k) for k in range(16)]
#: digamma(k + 1)
_PSI = [sum(1.0 / j for j in range(1, k + 1)) - _EULER for k in range(16)]
#: The series of I0, of I1 / x, and of what K0 and K1 have beside them, in (x / 2)**2.
_I0 = tuple(1.0 / f**2 for f in _FACTORIALS[:14])
_I1 = tuple(0.5 / (a * b) for a, b in pairwise(_FACTORIALS[:14]))
_K0 = tuple(c * psi for c, psi in zip(_I0, _PSI, strict=False))
_K1 = tuple(-0.5 * c * (a + b) for c, a, b in zip(_I1, _PSI, _PSI[1:], strict=False))


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


def _second(x: Lane, far: tuple[float, ...], order: int, scaled: bool) -> Lane:
    """K0 or K1, perhaps times e**x; infinite at 0 and below."""
    least = 0.0 if x.dtype == "float64" else 1e-11
    wide = x.to("float64")
    y = wide * wide * 0.25
    if order:
        near = (log(wide * 0.5) * polynomial(y, _I1) + polynomial(y, _K1)) * wide + 1.0 / wide
    else:
        near = polynomial(y, _K0) - log(wide * 0.5) * polynomial(y, _I0)
    beyond = _chebyshev(4.0 / wide - 1.0, far, least) / wide.sqrt()
    close = wide <= 2.0
    power = exp((close if scaled else ~close).select(wide if scaled else -wide, 0.0))
    return (wide <= 0.0).select(math.inf, close.select(near, beyond) * power).to(x.dtype)


def k0(x: Lane) -> Lane:
    """K0(x)."""
    return _second(x, _K0_FAR, 0, False)


def k0e(x: Lane) -> Lane:
    """K0(x) times e**x."""
    return _second(x, _K0_FAR, 0, True)


def k1(x: Lane) -> Lane:
    """K1(x)."""
    return _second(x, _K1_FAR, 1, False)


def k1e(x: Lane) -> Lane:
    """K1(x) times e**x."""
    return _second(x, _K1_FAR, 1, True)


def expint(x: Lane) -> Lane:
    """The exponential integral Ei(x), x >= 0; NaN below and of infinity."""
    least = 0.0 if x.dtype == "float64" else 1e-11
    wide = x.to("float64")
    value = wide * _chebyshev(wide * (1.0 / 3.0) - 1.0, _EI_NEAR, least) + (log(wide) + _EULER)
    inverse = 1.0 / wide
    growth = exp(wide) * inverse
    ends = [1.0 / begin for begin, _ in _EI_FAR[1:]] + [0.0]
    for (begin, series), end in zip(_EI_FAR, ends, strict=True):
        t = (inverse - end) * (2.0 / (1.0 / begin - end)) - 1.0
        value = (wide > begin).select(_chebyshev(t, series, least) * growth, value)
    return ((wide < 0.0) | (wide >= math.inf)).select(math.nan, value).to(x.dtype)
