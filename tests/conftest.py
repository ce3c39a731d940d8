"""What tests of several folders stand on."""

import pytest
import torch


@pytest.fixture
def one_thread():
    """torch on one thread while a test runs, so that its sums are the same to the bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
