"""Dynamic time warping between sequences, by the library dtaidistance: what a signature engineer would use instead."""

import torch
from torch import Tensor

from qpwl_core.common.checks import check_finite, check_float
from qpwl_core.common.watch import has_values

WINDOW = 0.25            # how far the warp may lead or lag, as a share of the frames


def pairwise_dtw(a: Tensor, b: Tensor) -> Tensor:
    """DTW distance of every query with every reference, Euclidean between frames. (Q, D, T), (R, D, T) -> (Q, R)

    The root of the smallest sum of squared distances between frames along a warp within a quarter of the sequence.
    """
    from dtaidistance import dtw_ndim

    for name, x in (("a", a), ("b", b)):
        check_float(name, x, dims=3)
        check_finite(name, x)
    if a.shape[1:] != b.shape[1:]:
        raise ValueError(f"a and b must be (Q, D, T) and (R, D, T), got {tuple(a.shape)} and {tuple(b.shape)}")
    if not has_values(a):
        return a.new_empty(len(a), len(b))
    window, same = max(1, round(WINDOW * a.shape[2])), a is b or torch.equal(a, b)
    sequences = [x.T.contiguous().double().cpu().numpy() for x in ([*a] if same else [*a, *b])]
    block = None if same else ((0, len(a)), (len(a), len(sequences)))
    found = torch.from_numpy(dtw_ndim.distance_matrix_fast(sequences, a.shape[1], window=window, block=block))
    return (found if same else found[:len(a), len(a):]).to(a)
