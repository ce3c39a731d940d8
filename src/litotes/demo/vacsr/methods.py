"""What is compared: VACSR, and other losses on a model as large without a distribution, each with its own rate."""

from dataclasses import dataclass, replace

from litotes.models.variational import AdapterConfig
from litotes.objectives.vacsr import VacsrConfig
from litotes.train.loop import LoopConfig
from litotes.train.pair_objectives import PairMethod

ADAPTER = AdapterConfig(features=128, hidden=64, latent=32, input_scale="sqrt_d")
"""Of all methods: small, for the demo's time. With 16 latent numbers sigma finds fewer of the wrong pairs."""
LOOP = LoopConfig(batch_size=64, steps=400, lr=1e-2, weight_decay=1e-4, warmup=50, clip_norm=2.0, save_every=0)


@dataclass(frozen=True)
class Rival:
    """A row of the comparison: what the page calls it, its method, and its rate.

    lr: the better of 0.003 and 0.01 on the validation part.
    """

    label: str
    method: PairMethod
    lr: float = LOOP.lr

    def seeded(self, seed: int) -> PairMethod:
        """The method with the seed of its weights and draws."""
        return replace(self.method, seed=seed)

    def loop(self, steps: int, seed: int) -> LoopConfig:
        """The loop with its own rate; a short run has a short warm-up."""
        return replace(LOOP, steps=steps, lr=self.lr, seed=seed, warmup=min(LOOP.warmup, steps // 16))


_VACSR = VacsrConfig(recon_reduction="per_image")
"""As a mean over all pairs the reconstruction is small beside L_sigma, and is learned more slowly."""
_WITHOUT_SIGMA = replace(_VACSR, sigma_positive_weight=0.0, sigma_negative_weight=0.0)

RIVALS: dict[str, Rival] = {
    "vacsr": Rival("VACSR", PairMethod("vacsr", "variational", ADAPTER, vacsr=_VACSR)),
    "no_sigma": Rival("VACSR without L_sigma", PairMethod("vacsr", "variational", ADAPTER, vacsr=_WITHOUT_SIGMA)),
    "deterministic": Rival("no distribution", PairMethod("sigmoid", "deterministic", ADAPTER, reduction="mean")),
    "sigmoid": Rival("sigmoid", PairMethod("sigmoid", "deterministic", ADAPTER)),
    "infonce": Rival("InfoNCE", PairMethod("infonce", "deterministic", ADAPTER), lr=3e-3),
}
COSINE = "cosine"
LABELS = {**{name: rival.label for name, rival in RIVALS.items()}, COSINE: "frozen cosine"}
"""What the methods are called, in the order of the tables."""
