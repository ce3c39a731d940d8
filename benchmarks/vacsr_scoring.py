"""Scoring by VACSR's adapter: all heads as the paper has them, folded into one matrix, and by a shortlist.

    python benchmarks/vacsr_scoring.py

Random features and weights at d = 1024 (5,264,419 parameters), every image against every text. Pairs/s counts all pairs
that a ranking covers, the shortlist's too, although it scores only the candidates of highest cosine; its agreement is
the share of the exact best 10 that are among them, which for random features is no more than chance allows. The
last column is the rate of the products in trunk, mean heads and decoder over that of one large matrix product.
"""

import torch
from rich.console import Console
from rich.table import Table

from common import is_smoke, median_seconds
from litotes.models.scorer import VariationalScorer
from litotes.models.variational import AdapterConfig, VariationalAdapter

WIDTH, IMAGES, TEXTS, K, CANDIDATES, REPEATS = 1024, 64, 256, 10, 32, 3


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    smoke = is_smoke(arguments, __doc__)
    width, images, texts, repeats = (16, 12, 40, 1) if smoke else (WIDTH, IMAGES, TEXTS, REPEATS)
    torch.manual_seed(0)
    config = AdapterConfig(features=width)
    adapter = VariationalAdapter(config).eval()
    image, text = torch.randn(images, width), torch.randn(texts, width)
    literal, merged = (VariationalScorer(adapter, path=path) for path in ("literal", "merged"))
    pairs, small = images * texts, config.decoder_hidden
    products = {"literal": (1 + config.components) * width**2 + width * small + small}
    products["merged"] = width**2 + width * small + small
    matrix = torch.randn(images * texts if smoke else 2048, width)
    weight = torch.randn(width, width)
    top = 2 * len(matrix) * width**2 / median_seconds(lambda: matrix @ weight, repeats)
    scores = {"literal": literal.scores(image, text), "merged": merged.scores(image, text)}
    apart = float((scores["literal"] - scores["merged"]).abs().max())
    seconds = {
        "literal": median_seconds(lambda: literal.scores(image, text), repeats),
        "merged": median_seconds(lambda: merged.scores(image, text), repeats),
        "shortlist": median_seconds(lambda: merged.shortlist(image, text, K, CANDIDATES, sample=1), repeats),
    }
    held = merged.shortlist(image, text, K, CANDIDATES, sample=images).recall
    agreement = {
        "literal": "",
        "merged": f"difference {apart:.0e}",
        "shortlist": f"{100 * held:.0f} % of the best {K} in {CANDIDATES} of {texts}",
    }
    table = Table(title=f"{images} x {texts} pairs, d = {width}, {torch.get_num_threads()} threads")
    for head in ("path", "pairs/s", "ratio", "agreement", "of a matrix product's rate"):
        table.add_column(head, justify="left" if head in ("path", "agreement") else "right")
    for path, time in seconds.items():
        rate = f"{100 * 2 * pairs * products[path] / time / top:.0f} %" if path in products else ""
        table.add_row(path, f"{pairs / time:,.0f}", f"{seconds['literal'] / time:.1f}", agreement[path], rate)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
