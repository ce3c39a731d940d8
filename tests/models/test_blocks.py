"""Which weights are trained when some blocks are."""

import pytest

from litotes.errors import UserError
from litotes.models.blocks import train_blocks
from tiny import tiny_matcher


@pytest.mark.parametrize(
    ("said", "vision", "text"),
    [({}, (0, 1), (0, 1, 2)), ({"vision": "top2", "text": "top3"}, (2, 3), (1, 2, 3)), ({"text": "3"}, (0, 1), (3,))],
)
def test_the_named_blocks_are_trained_whole_and_nothing_else(said, vision, text, tmp_path):
    encoder = tiny_matcher(tmp_path, ["a"], layers=4).encoder
    names = train_blocks(encoder, **said)
    wanted = [
        name for name, _ in encoder.named_parameters()
        for tower, blocks in (("vision", vision), ("text", text))
        if any(f".{tower}_model.encoder.layers.{block}." in name for block in blocks)
    ]  # fmt: skip
    assert names == wanted
    assert names == [name for name, p in encoder.named_parameters() if p.requires_grad]
    assert len(names) == 16 * (len(vision) + len(text))


def test_blocks_that_are_not_there_are_refused_and_change_nothing(tmp_path):
    encoder = tiny_matcher(tmp_path, ["a"], layers=2).encoder
    with pytest.raises(UserError, match="layers 0-2 of a tower of 2 blocks"):
        train_blocks(encoder)
    assert all(p.requires_grad for p in encoder.parameters())
