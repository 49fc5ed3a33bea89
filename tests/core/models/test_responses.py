"""Where a filter fires: the receptive field by trying, the network by itself."""

from collections import deque

import numpy as np
import pytest
import torch

from qpwl_core.data.recordings import Recordings
from qpwl_core.models.networks import ConvStack
from qpwl_core.models.responses import LONGEST, Response, receptive_field, respond, shortened
from qpwl_core.training.loop import train
from tests.support.tiny import tiny_config, tiny_recordings


def trained(domain="generic", method="qp-wl", **changes):
    return deque(train(tiny_config(domain=domain, method=method, **changes), tiny_recordings(domain=domain)),
                 maxlen=1).pop().model


@pytest.mark.parametrize(("layers", "kernel", "dilation", "stride"), [(1, 3, 1, 1), (3, 5, 1, 2), (3, 3, 2, (2, 1, 3))])
def test_the_receptive_field_is_what_a_frame_sees(layers, kernel, dilation, stride):
    network = ConvStack(1, filters=2, layers=layers, kernel=kernel, dilation=dilation, stride=stride).eval()
    for convolution in network.convolutions:
        torch.nn.init.constant_(convolution.weight, 0.1)
    x = torch.zeros(1, 1, 240, requires_grad=True)
    y, _ = network(x, torch.tensor([240]))
    field, step = receptive_field(network)
    frame = y.shape[2] // 2
    y[0, 0, frame].backward()
    touched = x.grad[0, 0].nonzero()[:, 0]
    assert touched.max() - touched.min() + 1 == field
    assert (touched.max() + touched.min()) // 2 == frame * step       # the middle of what it sees
    assert y.shape[2] == -(-240 // step)


def test_a_response_is_the_networks_own():
    model, others = trained(), tiny_recordings(seed=3)
    one = others.select(index=[4])
    response = respond(model, one)
    seen = model.recipe.apply(one)
    x = torch.from_numpy(seen.sequences[0].T.copy())[None]
    wanted, _ = model.embedder.network(x, torch.tensor([x.shape[2]]))
    np.testing.assert_allclose(response.values, wanted[0].detach().numpy(), rtol=1e-5, atol=1e-6)
    assert (response.step, response.field) == (1 / 20, 5 / 20)        # two layers of kernel 3


def test_gait_is_looked_at_whole():
    model = trained("gait", recipe={"seconds": 0.5, "keep": 1}, stride=2)
    one = tiny_recordings(domain="gait", seed=3).select(index=[0])
    assert len(model.recipe.apply(one).sequences[0]) == 10
    response = respond(model, one)
    assert response.values.shape == (4, -(-one.lengths[0] // 2))
    assert response.seconds[-1] <= one.lengths[0] / one.rate


def test_above_is_the_share_that_was_asked_for():
    response = Response(np.arange(20, dtype=np.float32)[None], step=0.5, field=1.0)
    assert response.above(0, 0.5, response.seconds).sum() == 10
    assert response.above(0, 0.0, response.seconds).all()
    assert response.above(0, 1.0, response.seconds).sum() == 1
    np.testing.assert_array_equal(response.above(0, 0.5, np.array([4.7, 4.8, 99.0])), [False, True, True])


def test_what_cannot_be_looked_at_is_one_sentence():
    model = trained()
    with pytest.raises(ValueError, match="one sequence"):
        respond(model, tiny_recordings())
    jaeger = trained("eye", "jaeger-2019")
    with pytest.raises(ValueError, match="at no place"):
        respond(jaeger, tiny_recordings(domain="eye").select(index=[0]))


def test_a_long_recording_is_shortened():
    long = Recordings([np.zeros((LONGEST + 5, 1))], ["a"], ("x",), 10)
    assert shortened(long).lengths.tolist() == [LONGEST]
