"""Names that pass between modules.

``Features``: embeddings, ``n`` images or texts of ``d`` dimensions. ``Column``: anything with a length and an item
by number, a list or something that makes its items when asked. Annotations are checked in the tests by a pytest hook
and cost nothing in production.
"""

from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float
from torch import Tensor

Features = Float[Tensor, "n d"]
Item_co = TypeVar("Item_co", covariant=True)


@runtime_checkable
class Column(Protocol[Item_co]):
    """One item a row."""

    def __len__(self) -> int:
        """Number of rows."""

    def __getitem__(self, index: int, /) -> Item_co:
        """The item of a row."""
