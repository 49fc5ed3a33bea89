"""Batches: N different people, two sequences each, the same whenever asked for."""

import itertools
import threading

import numpy as np
import pytest
import torch

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.batching import by_length, collate
from qpwl_core.models.embedder import build_embedder
from qpwl_core.models.methods import METHODS
from qpwl_core.training.run import Run
from qpwl_core.training.sampling import PairSampler
from tests.support.tiny import tiny_config, tiny_recordings


def numbered(people=6, each=4, samples=20):
    """Sequence i holds i in its first channel and the sample's number in its second, so that one sees what came."""
    n = people * each
    sequences = [np.stack([np.full(samples + i, i), np.arange(samples + i)], axis=1) for i in range(n)]
    return Recordings(sequences, [f"p{i // each}" for i in range(n)], ("which", "when"), 10.0)


def same(a, b):
    return all(torch.equal(x, y) for x, y in ((a.x, b.x), (a.lengths, b.lengths), (a.labels, b.labels)))


def test_pairs_are_of_different_people_and_two_sequences():
    sampler = PairSampler(numbered(), pairs=4)
    drawn = set()
    for step in range(50):
        batch = sampler.batch(step)
        assert batch.x.shape[:2] == (8, 2)
        anchors, positives = batch.labels.chunk(2)
        assert torch.equal(anchors, positives)
        assert len(set(anchors.tolist())) == 4
        which = batch.x[:, 0, 0].long()
        assert torch.equal(which // 4, batch.labels)                   # the values are those of that person
        assert len(set(which.tolist())) == 8                           # and no sequence meets itself
        drawn |= set(which.tolist())
    assert drawn == set(range(24))                                     # everything is used


def test_all_people_where_there_are_fewer_than_asked_for():
    sampler = PairSampler(numbered(people=3), pairs=50)
    assert sampler.pairs == 3
    assert sorted(sampler.batch(0).labels[:3].tolist()) == [0, 1, 2]


def test_people_with_one_sequence_are_not_drawn_but_keep_their_number():
    recordings = numbered().select(index=[0, 4, 5, 8, 9, 10, 12, 13])
    sampler = PairSampler(recordings, pairs=9)
    assert sampler.classes == 4
    assert sorted(sampler.batch(0).labels[:3].tolist()) == [1, 2, 3]


@pytest.mark.parametrize("keep", [[0, 4, 8], [0, 1, 4, 8], [0, 1]])
def test_too_few(keep):
    with pytest.raises(RecordingsError, match="at least two people with two sequences each, and there are [01] such"):
        PairSampler(numbered().select(index=keep), pairs=2)


def test_a_batch_depends_on_seed_and_step_alone():
    sampler, again, other = (PairSampler(numbered(), 4, crop=7, seed=s) for s in (1, 1, 2))
    assert same(sampler.batch(5), sampler.batch(5))
    assert same(sampler.batch(3), again.batch(3))
    assert not same(sampler.batch(3), other.batch(3))
    assert not same(sampler.batch(3), sampler.batch(4))


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_prefetching_changes_nothing(ahead):
    sampler = PairSampler(numbered(), 4, crop=7)
    batches = list(sampler.batches(3, 9, ahead))
    assert len(batches) == 6
    assert all(same(batch, sampler.batch(step)) for step, batch in enumerate(batches, start=3))
    assert list(sampler.batches(4, 4)) == []


def test_an_error_in_the_thread_arrives_and_the_thread_ends():
    sampler = PairSampler(numbered(), 4)
    sampler.sequences = None
    with pytest.raises(TypeError):
        next(sampler.batches(0, 5))
    assert not [t for t in threading.enumerate() if t.name.startswith("batches")]


def test_crops_are_stretches_of_the_sequence_at_random_places():
    sampler, starts = PairSampler(numbered(), 4, crop=21), set()
    for step in range(150):
        batch = sampler.batch(step)
        assert batch.x.shape[2] <= 21
        for x, length in zip(batch.x, batch.lengths.tolist(), strict=True):
            whole = 20 + int(x[0, 0])
            assert length == min(21, whole)
            start = int(x[1, 0])
            assert torch.equal(x[1, :length], torch.arange(start, start + length, dtype=torch.float32))
            starts.add((whole, start))
    assert {start for whole, start in starts if whole == 43} > {0, 22}      # both ends are reached
    assert {start for whole, start in starts if whole <= 21} == {0}


def test_pieces_of_a_crop_come_from_all_over_and_never_twice():
    sampler, seen, apart = PairSampler(numbered(), 4, crop=11, pieces=3), set(), 0
    for step in range(150):
        batch = sampler.batch(step)
        assert (batch.lengths == 11).all(), "shorter ones than 20 there are none"
        for x in batch.x:
            assert (x[0] == x[0, 0]).all(), "of one sequence"
            steps = x[1].diff()
            assert (steps >= 1).all(), "in their order, no sample twice"
            jumps = (steps > 1).nonzero().flatten()
            assert set((jumps + 1).tolist()) <= {3, 6}, "three, three and the five that are left"
            apart += len(jumps)
            seen |= {(20 + int(x[0, 0]), int(when)) for when in x[1]}
    assert apart > 2000
    assert {when for whole, when in seen if whole == 43} == set(range(43))


def test_one_piece_is_the_crop_that_it_was():
    plain, many = (PairSampler(numbered(), 4, crop=7, pieces=pieces) for pieces in (1, 50))
    assert same(plain.batch(3), PairSampler(numbered(), 4, crop=7).batch(3)), "which is what nobody asks for"
    random = np.random.default_rng(5)
    start = np.random.default_rng(5).integers(21 - 7 + 1)
    np.testing.assert_array_equal(plain._cropped(plain.sequences[1], random)[:, 1], np.arange(start, start + 7))
    assert (many.batch(0).lengths == 7).all(), "no more pieces than samples"
    assert same(PairSampler(numbered(), 4, pieces=4).batch(1), PairSampler(numbered(), 4).batch(1)), "no crop, none"


def test_a_run_cuts_its_crops_into_pieces():
    plain, many = (Run(tiny_config(crop=0.5, pieces=pieces), tiny_recordings()) for pieces in (1, 4))
    assert (plain.sampler.pieces, many.sampler.pieces) == (1, 4)
    assert plain.sampler.crop == many.sampler.crop == 10
    assert not torch.equal(plain.sampler.batch(0).x, many.sampler.batch(0).x)
    assert "pieces" not in plain.config.to_dict(), "a file of before stays what it was"
    assert many.config.to_dict()["pieces"] == 4


def test_a_fraction_of_the_channels_is_hidden_whole():
    whole, some = (PairSampler(numbered(), 4, crop=7, channel_dropout=share) for share in (0.0, 0.25))
    hidden = []
    for step in range(200):
        before, after = whole.batch(step), some.batch(step)
        gone = (after.x != before.x).any(2)                    # (2N, D); the first sequence's first channel is zeros
        assert torch.equal(after.x, before.x.masked_fill(gone[:, :, None], 0))
        assert torch.equal(after.lengths, before.lengths)
        hidden.append(gone[:, 1])
    assert torch.stack(hidden).float().mean().item() == pytest.approx(0.25, abs=0.04)
    assert same(some.batch(5), some.batch(5))


def test_pairs_are_from_different_recordings_where_a_person_has_two():
    sources = np.array([i // 3 for i in range(20)] + [9] * 4)              # of the last person there is one only
    apart, mixed = PairSampler(numbered(), 6, sources=sources), PairSampler(numbered(), 6)
    equal = []
    for step in range(30):
        for first, second in apart.batch(step).x[:, 0, 0].long().reshape(2, -1).T.tolist():
            assert (sources[first] != sources[second]) == (first < 20)
        equal += [sources[i] == sources[j]
                  for i, j in mixed.batch(step).x[:, 0, 0].long().reshape(2, -1).T.tolist() if i < 20]
    assert any(equal)


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.loss != "none"])
def test_nothing_leaks_through_padding(method):
    """A batch of the sampler, its padding filled with rubbish, gives the same embeddings and gradients."""
    torch.manual_seed(0)
    batch = PairSampler(tiny_recordings(), 4).batch(0)
    assert batch.lengths.min() < batch.lengths.max()
    embedder = build_embedder(method, 2, filters=4, layers=2, kernel=3, points=4, classes=8, length=20, width=0.05)
    rubbish = batch.x.clone()
    for x, length in zip(rubbish, batch.lengths.tolist(), strict=True):
        assert (x[:, length:] == 0).all()
        x[:, length:] = 1e6
    gradients = []
    for x in (batch.x, rubbish):
        embedder.zero_grad()
        anchors, positives = embedder(x, batch.lengths).chunk(2)
        embedder.loss(anchors, positives, batch.labels[:4]).backward()
        gradients.append([p.grad.clone() for p in embedder.parameters() if p.grad is not None])
    assert gradients[0]
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_collate():
    batch = collate([np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([[5, 6]], dtype=np.float32)])
    assert batch.x.tolist() == [[[1, 3], [2, 4]], [[5, 0], [6, 0]]]
    assert (batch.lengths.tolist(), batch.labels.tolist()) == ([2, 1], [0, 0])


@pytest.mark.parametrize("budget", [1, 50, 1000, 10**9])
def test_groups_by_length_keep_the_budget(budget):
    lengths = np.random.default_rng(0).integers(1, 100, 200)
    groups = list(by_length(lengths, budget))
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    assert all(len(group) == 1 or len(group) * lengths[group].max() <= budget for group in groups)
    longest = [lengths[group].max() for group in groups]
    assert longest == sorted(longest, reverse=True)
    for group, following in itertools.pairwise(groups):                    # no group could have taken one more
        assert (len(group) + 1) * lengths[group].max() > budget
        assert lengths[group].min() >= lengths[following].max()
    assert list(by_length(np.array([], dtype=int), budget)) == []
