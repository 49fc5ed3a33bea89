"""Losses on the (N, N) matrix of a batch of N pairs: row i is anchor i against every positive.

``negatives`` (N, F) are more sequences that anchor i must be far from, such as forgeries of that very person,
infinitely far where there is none.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from qpwl_core.common.checks import check_square


def wasserstein_loss(distances: Tensor, multi_class: bool = False, negatives: Tensor | None = None,
                     shared: bool = False) -> Tensor:
    """The paper's loss (Equation 8): Σ_i Σ_{j≠i} softplus(d_ii − d_ij), one term per pair of pairs. (N, N) -> ()

    ``multi_class`` puts the negatives of an anchor into one logarithm, Σ_i log(1 + Σ_{j≠i} exp(d_ii − d_ij)), which
    attends to the hard ones. ``shared``: the negatives of all anchors are those of each, so that one threshold fits
    all: a genuine pair must be nearer than any two people of the batch, not only nearer than its anchor is to others.

    >>> wasserstein_loss(torch.tensor([[0.0, 200.0], [200.0, 0.0]]))
    tensor(0.)
    """
    check_square("distances", distances)
    if shared:
        rows = _shared(distances, negatives)
        if multi_class:
            return F.cross_entropy(-rows, torch.zeros_like(_diagonal(rows)), reduction="sum")
        return F.softplus(rows[:, :1] - rows[:, 1:]).sum()
    if multi_class:
        return F.cross_entropy(-_with(distances, negatives), _diagonal(distances), reduction="sum")
    loss = _off_diagonal(F.softplus(distances.diagonal()[:, None] - distances)).sum()
    return loss if negatives is None else loss + F.softplus(distances.diagonal()[:, None] - negatives).sum()


def n_pair_loss(similarities: Tensor, temperature: float = 1.0, negatives: Tensor | None = None,
                shared: bool = False) -> Tensor:
    """N-pair loss (Sohn 2016): mean_i log(1 + Σ_{j≠i} exp((s_ij − s_ii)/temperature)). (N, N) -> ()

    On cosines and without a temperature below 1 it cannot fall under log(1 + (N−1)e⁻²). ``shared``: as above.
    """
    check_square("similarities", similarities)
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be a positive number, got {temperature}")
    if shared:
        rows = _shared(similarities, negatives)
        return F.cross_entropy(rows / temperature, torch.zeros_like(_diagonal(rows)))
    return F.cross_entropy(_with(similarities, negatives) / temperature, _diagonal(similarities))


def multi_similarity_loss(similarities: Tensor, alpha: float = 2.0, beta: float = 50.0, base: float = 0.5,
                          negatives: Tensor | None = None) -> Tensor:
    """Multi-similarity loss (Wang et al. 2019), on cosines, with one positive per anchor. (N, N) -> ()

    mean_i [log(1 + exp(−alpha (s_ii − base)))/alpha + log(1 + Σ_{j≠i} exp(beta (s_ij − base)))/beta]
    """
    check_square("similarities", similarities)
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} must be a positive number, got {value}")
    diagonal = torch.eye(len(similarities), dtype=torch.bool, device=similarities.device)
    attract = F.softplus(-alpha * (similarities.diagonal() - base)) / alpha
    exponents = (beta * (similarities - base)).masked_fill(diagonal, 0)                    # exp(0) is the 1 in the sum
    if negatives is not None:
        exponents = torch.cat([exponents, beta * (negatives - base)], 1)
    return (attract + exponents.logsumexp(1) / beta).mean()


def _with(matrix: Tensor, negatives: Tensor | None) -> Tensor:
    return matrix if negatives is None else torch.cat([matrix, negatives], 1)


def _off_diagonal(matrix: Tensor) -> Tensor:
    """All but the diagonal, row after row; counting a mask would wait for the device. (N, N) -> (N·(N−1),)"""
    n = len(matrix)
    return matrix.flatten()[1:].view(n - 1, n + 1)[:, :-1].flatten()


def _shared(matrix: Tensor, negatives: Tensor | None) -> Tensor:
    """A row per anchor: its genuine pair first, then all that is not genuine, of all anchors. -> (N, 1 + N(N−1) + …)"""
    others = _off_diagonal(matrix)
    others = others if negatives is None else torch.cat([others, negatives.flatten()])
    return torch.cat([matrix.diagonal()[:, None], others.expand(len(matrix), -1)], 1)


def _diagonal(matrix: Tensor) -> Tensor:
    """The right column of each row. (N,)"""
    return torch.arange(len(matrix), device=matrix.device)
