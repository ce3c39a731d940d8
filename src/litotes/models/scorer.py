"""Ranking by the variational adapter: the mean of each pair alone, in blocks, without a matrix of all scores."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from litotes.errors import UserError
from litotes.geometry.numerics import at_least_float32, full_precision, widen
from litotes.metrics.cosine import cosine_rows
from litotes.metrics.streaming import best as best_by_rows
from litotes.models.variational import (
    VariationalAdapter,
    at_largest,
    require_features,
    similarity_vectors,
    uncertainty,
)
from litotes.objectives.space import require_choice

MeanPath = Literal["merged", "literal"]


class Ranked(NamedTuple):
    """The best K of a gallery for each query, best first: ``items`` and their ``logits``, [queries, K] both."""

    items: Int[Tensor, "queries k"]
    logits: Float[Tensor, "queries k"]


class BothWays(NamedTuple):
    """``texts`` of each image and ``images`` of each text."""

    texts: Ranked
    images: Ranked


class PairUncertainty(NamedTuple):
    """Three numbers for each pair of a `Ranked`, [queries, K] each, larger is less sure.

    ``mean_std``: mean_d sqrt(sum_k alpha_k exp(lv_kd)); ``total_variance``: mean_d of the variance of the mixture, the
    spread between its components included; ``one_minus_p``: 1 - sigmoid(logit).
    """

    mean_std: Float[Tensor, "queries k"]
    total_variance: Float[Tensor, "queries k"]
    one_minus_p: Float[Tensor, "queries k"]


class Shortlisted(NamedTuple):
    """``ranked`` from a shortlist, and how much of the exact best K it holds.

    ``recall``: share of the exact best K of ``sampled`` queries that stands in their shortlists, 0 to 1.
    """

    ranked: Ranked
    recall: float
    sampled: int


class MergedMean:
    """The mean path of an adapter with its mean heads and the decoder's first layer as one matrix.

    ``W (sum_k alpha_k (M_k h + m_k)) + b = (sum_k alpha_k W M_k) h + (sum_k alpha_k W m_k + b)``: nothing non-linear
    lies between them, so that the result is that of ``VariationalAdapter.logits`` to rounding, for d x hidden instead
    of 3 x d x hidden products a pair (K = 2). Folded in float64. With a trunk for each component the matrix has a part
    for each; with mixture weights of each pair, the K products ``W M_k`` stand below each other and are weighted after.
    The matrix is a copy: an adapter that learns on has to be merged again. Of the other readings of the mean
    (``AdapterConfig.decoded``) the likeliest component has the weight 1; where each component is decoded by itself,
    there is a matrix for each.

    Source: the algebra above; VACSR (arXiv 2605.30968) decodes the mean at inference.
    """

    def __init__(self, adapter: VariationalAdapter) -> None:
        self.config = config = adapter.config
        first, heads = _linear(adapter.decoder[0]), [_linear(head) for head in adapter.mean_heads]
        outer = widen(first.weight)
        weights = [outer @ widen(head.weight) for head in heads]
        biases = [outer @ widen(head.bias) for head in heads]
        shared = config.layout == "shared"
        self.trunks = adapter.trunks[:1] if shared else adapter.trunks[: config.components]
        self.rest = adapter.decoder[1:]
        self.mixture = adapter.mixture if isinstance(adapter.mixture, nn.Linear) else None
        self.apart = config.decoded == "mean_of_decoded"
        like = at_least_float32(first.weight)
        if not isinstance(adapter.mixture, nn.Linear):
            alpha = widen(adapter.mixture).softmax(-1)
            alpha = at_largest(alpha) if config.decoded == "argmax" else alpha
            self.alpha = alpha.to(like)
            if not self.apart:
                weights = [share * weight for share, weight in zip(alpha, weights, strict=True)]
                biases = [torch.stack([share * bias for share, bias in zip(alpha, biases, strict=True)]).sum(0)]
                if shared:
                    weights = [torch.stack(weights).sum(0)]
        # The parts side by side for trunks side by side; below each other where each pair weights them itself.
        self.parts = [weight.to(like) for weight in weights]
        self.weight = torch.cat(self.parts, dim=0 if self.mixture is not None or (self.apart and shared) else 1)
        self.inner_bias = torch.cat(biases).to(like)
        self.bias = first.bias.to(like)

    def logits(
        self, image: Float[Tensor, "bi _"], text: Float[Tensor, "bt _"], *, paired: bool = False
    ) -> Float[Tensor, "bi _"]:
        """As `VariationalAdapter.logits`, by the configured mean: float32 at least, also under autocast."""
        with full_precision(image):
            vectors = similarity_vectors(image, text, self.config, paired=paired)
            vectors = vectors.to(next(self.trunks.parameters()).dtype)
            hidden = [trunk(vectors) for trunk in self.trunks]
            if self.mixture is None and not self.apart:
                units = functional.linear(at_least_float32(torch.cat(hidden, -1)), self.weight, self.inner_bias)
                return self._decode(units, vectors.dtype)
            share, units = self._weights(hidden[0]), self._of_components(hidden)
            if self.apart:
                return (share * self._decode(units, vectors.dtype)).sum(-1)
            return self._decode((share.unsqueeze(-1) * units).sum(-2), vectors.dtype)

    def _weights(self, hidden: Tensor) -> Tensor:
        """The weights of the components, [K] or [bi, bt, K]."""
        if self.mixture is None:
            return self.alpha
        share = at_least_float32(self.mixture(hidden)).softmax(-1)
        return at_largest(share) if self.config.decoded == "argmax" else share

    def _of_components(self, hidden: list[Tensor]) -> Tensor:
        """The decoder's first units at the mean of each component, without its bias: [bi, bt, K, units]."""
        wide, shape = [at_least_float32(part) for part in hidden], (self.config.components, -1)
        if len(wide) == 1:
            return functional.linear(wide[0], self.weight, self.inner_bias).unflatten(-1, shape)
        biases = self.inner_bias.unflatten(0, shape)
        each = zip(wide, self.parts, biases, strict=True)
        return torch.stack([functional.linear(part, weight, bias) for part, weight, bias in each], -2)

    def _decode(self, units: Tensor, dtype: torch.dtype) -> Tensor:
        return at_least_float32(self.rest((units + self.bias).to(dtype)).squeeze(-1))


class VariationalScorer:
    """Ranks images and texts by the adapter's logit of the mean, and tells how sure it is of the best K alone.

    adapter: read anew at every call, so that it may learn between two. path: ``merged`` (`MergedMean`) or ``literal``
    (`VariationalAdapter.logits`), the same to rounding. block: images and texts at once; it sets the memory,
    block^2 x (d + hidden) numbers, and changes no result but by rounding.

    Features are [n, d] of any float type, un-normalised ones too; one device for them and the adapter. Nothing is
    drawn and no gradient kept. Logits rank, since sigmoids tie where they saturate. Of equal logits the earlier item of
    the gallery comes first.
    Errors, before any score: no image or no text; another width; NaN or infinite features; K below 1 or above the
    gallery; an unknown path or a block below 1. Source: VACSR (arXiv 2605.30968), section 3.2 and appendix D.
    """

    def __init__(self, adapter: VariationalAdapter, *, path: MeanPath = "merged", block: int = 128) -> None:
        require_choice("path", path, get_args(MeanPath))
        _require_count("block", block)
        self.adapter, self.path, self.block = adapter, path, block

    @torch.no_grad()
    def scores(self, image: Float[Tensor, "ni _"], text: Float[Tensor, "nt _"]) -> Float[Tensor, "ni nt"]:
        """The logits of all pairs as one matrix, for galleries whose matrix fits; `best` needs none."""
        self._require(image, text)
        model = self._model()
        rows = [torch.cat([model.logits(part, other) for _, other in self._parts(text)], 1)
                for _, part in self._parts(image)]  # fmt: skip
        return torch.cat(rows)

    @torch.no_grad()
    def best(self, image: Float[Tensor, "ni _"], text: Float[Tensor, "nt _"], k: int) -> BothWays:
        """The best K texts of each image and the best K images of each text, every pair scored once.

        Beside one block it holds O(K (ni + nt)) numbers. K is cut to neither gallery: it must fit both.
        """
        self._require(image, text)
        _require_within("K", k, min(len(image), len(text)))
        model = self._model()
        of_text: list[Ranked | None] = [None] * -(-len(text) // self.block)
        of_image = []
        for top, images in self._parts(image):
            running: Ranked | None = None
            for number, (left, texts) in enumerate(self._parts(text)):
                scores = model.logits(images, texts)
                running = _merged(running, scores, left, k)
                of_text[number] = _merged(of_text[number], scores.T, top, k)
            of_image.append(running)
        return BothWays(_joined(of_image), _joined(of_text))

    @torch.no_grad()
    def uncertainty(
        self, queries: Float[Tensor, "q _"], gallery: Float[Tensor, "n _"], ranked: Ranked
    ) -> PairUncertainty:
        """How unsure the adapter is of the pairs in ``ranked``, with all heads on these pairs only.

        queries, gallery: the features that ``ranked`` was made from (images and texts, or texts and images: what the
        adapter sees is a product, the same both ways). Errors also: items outside the gallery.
        """
        self._require(queries, gallery)
        items = ranked.items
        if len(items) != len(queries) or (
            items.numel() and not 0 <= int(items.min()) <= int(items.max()) < len(gallery)
        ):
            raise UserError(
                got=f"lists of {len(items)} queries for {len(queries)}, or items outside a gallery of {len(gallery)}",
                expected="the lists that were made from these features",
                do="give the queries' features first, then the gallery's",
            )
        std, variance = torch.empty_like(ranked.logits), torch.empty_like(ranked.logits)
        for row, listed in enumerate(items):
            for start in range(0, len(listed), self.block):
                part = slice(start, start + self.block)
                pairs = self.adapter.distribution(queries[row : row + 1], gallery[listed[part]])
                std[row, part] = uncertainty(pairs)[0]
                variance[row, part] = uncertainty(pairs, "total", "mean_variance")[0]
        return PairUncertainty(std, variance, torch.sigmoid(-ranked.logits))

    @torch.no_grad()
    def shortlist(
        self,
        queries: Float[Tensor, "q _"],
        gallery: Float[Tensor, "n _"],
        k: int,
        candidates: int = 256,
        sample: int = 64,
        seed: int = 0,
    ) -> Shortlisted:
        """The best K among the ``candidates`` of highest cosine, and the recall of that against exact scoring.

        queries, gallery: images and texts, or texts and images. ``sample`` queries, drawn by ``seed`` (all where there
        are fewer), are scored against the whole gallery for the recall. With all of the gallery as candidates the
        result is exact. Beside a block of cosines it holds O(candidates x queries) numbers.
        Errors also: candidates below K or above the gallery; a sample below 1.
        """
        self._require(queries, gallery)
        _require_within("candidates", candidates, len(gallery))
        _require_within("K", k, candidates)
        _require_count("sample", sample)
        model = self._model()
        wide = [at_least_float32(features) for features in (queries, gallery)]
        _, near = best_by_rows(cosine_rows(*wide)[0], len(queries), candidates, self.block)
        near = near.to(queries.device).sort(dim=1).values  # earlier items first, as ties are kept
        lists = []
        for row, listed in enumerate(near):
            query = queries[row : row + 1]
            scores = torch.cat([model.logits(query, gallery[part]) for part in listed.split(self.block)], 1)
            found = _merged(None, scores, 0, k)
            lists.append(Ranked(listed[found.items], found.logits))
        ranked = _joined(lists)
        drawn = torch.randperm(len(queries), generator=torch.Generator().manual_seed(seed))[:sample].to(queries.device)
        exact = self._exact(model, queries[drawn], gallery, k)
        held = (exact.items.unsqueeze(-1) == near[drawn].unsqueeze(1)).any(-1)
        return Shortlisted(ranked, held.double().mean().item(), len(drawn))

    def _exact(self, model: "MergedMean | VariationalAdapter", queries: Tensor, gallery: Tensor, k: int) -> Ranked:
        lists = []
        for _, part in self._parts(queries):
            running: Ranked | None = None
            for left, items in self._parts(gallery):
                running = _merged(running, model.logits(part, items), left, k)
            lists.append(running)
        return _joined(lists)

    def _model(self) -> "MergedMean | VariationalAdapter":
        return MergedMean(self.adapter) if self.path == "merged" else self.adapter

    def _parts(self, features: Tensor) -> Iterator[tuple[int, Tensor]]:
        return ((start, features[start : start + self.block]) for start in range(0, len(features), self.block))

    def _require(self, first: Tensor, second: Tensor) -> None:
        require_features(first, second, self.adapter.config)
        if not (len(first) and len(second)):
            raise UserError(
                got=f"features of shapes {tuple(first.shape)} and {tuple(second.shape)}",
                expected="at least one image and one text",
                do="check that both were encoded",
            )


def _linear(module: nn.Module) -> nn.Linear:
    assert isinstance(module, nn.Linear)
    return module


def _merged(running: Ranked | None, scores: Tensor, offset: int, k: int) -> Ranked:
    """The best K of what was best so far and of a block whose items begin at ``offset``, later than all before."""
    items = torch.arange(offset, offset + scores.shape[1], device=scores.device).expand(scores.shape)
    if running is not None:
        scores, items = torch.cat([running.logits, scores], 1), torch.cat([running.items, items], 1)
    # Stable: of equal logits the earlier item stays in front, whatever the blocks.
    values, order = scores.sort(dim=1, descending=True, stable=True)
    return Ranked(items.gather(1, order[:, :k]), values[:, :k].clone())


def _joined(lists: "list[Ranked] | list[Ranked | None]") -> Ranked:
    done = [ranked for ranked in lists if ranked is not None]
    return Ranked(torch.cat([ranked.items for ranked in done]), torch.cat([ranked.logits for ranked in done]))


def _require_count(name: str, number: int) -> None:
    if number < 1:
        raise UserError(got=f"{name} = {number}", expected="a whole number from 1 on", do=f"correct {name}")


def _require_within(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise UserError(got=f"{name} = {number}", expected=f"1 to {most}", do=f"choose another {name}")
