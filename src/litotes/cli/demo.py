"""``litotes demo``."""

from dataclasses import dataclass
from pathlib import Path

from litotes.config import require_numbers


@dataclass(frozen=True)
class Settings:
    """What the demo does, offline and on the CPU.

    output: folder that receives report.html and report.json; those of an earlier demo are replaced
    seed: of the adaptation
    pictures: held-out pictures to evaluate on, at least 10
    quadruplets: pictures to adapt on
    """

    output: Path = Path("demo-report")
    seed: int = 0
    pictures: int = 1000
    quadruplets: int = 6000

    def __post_init__(self) -> None:
        require_numbers(self, {"seed": 0})


def run(settings: Settings) -> None:
    """Run the demo, print its main figures and say where the report is."""
    import json

    from rich.console import Console

    from litotes.places import require_file_place, require_folder_place

    require_folder_place(settings.output)
    for name in ("report.json", "report.html"):
        require_file_place(settings.output / name)

    from litotes.demo.run import DemoConfig, print_summary, run_demo

    screen = Console()
    config = DemoConfig(settings.seed, settings.pictures, settings.quadruplets)
    page = run_demo(settings.output, config, lambda stage: screen.print(f"[bold]·[/bold] {stage}"))
    print_summary(json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["models"])
    screen.print(f"open {page.resolve()}", highlight=False, soft_wrap=True)
