"""``litotes demo vacsr``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What the demo of pairs does, offline and on the CPU.

    output: folder that receives report.html and report.json; a stopped demo in it goes on where it was
    noise: shares of wrong training pairs
    seeds: trainings of each method and noise
    steps: of each training
    pictures: to train on, each with one caption
    held: pictures to measure on
    workers: trainings at once, one thread each; 0 does all in one process
    """

    output: Path = Path("vacsr-report")
    noise: tuple[float, ...] = (0.0, 0.2, 0.5)
    seeds: int = 3
    steps: int = 400
    pictures: int = 6000
    held: int = 1000
    workers: int = 2


def run(settings: Settings) -> None:
    """Run the demo, or what is left of it, print its tables and say where the page is."""
    import json
    from dataclasses import fields
    from typing import Any

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from litotes.places import require_file_place, require_folder_place

    require_folder_place(settings.output)
    for name in ("report.json", "report.html"):
        require_file_place(settings.output / name)

    from litotes.demo.vacsr.run import PairDemo, run_pair_demo
    from litotes.demo.vacsr.terminal import print_overview

    demo = PairDemo(**{field.name: getattr(settings, field.name) for field in fields(PairDemo)})
    screen = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:
        bar = bars.add_task("trainings", total=None)

        def tell(figures: dict[str, Any], done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total, description=f"trained {figures['row']}")

        try:
            page = run_pair_demo(settings.output, demo, lambda stage: screen.print(f"[bold]·[/bold] {stage}"), tell)
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt("the trainings that are done are kept; the same command goes on there") from stop
    print_overview(json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["rows"], screen)
    screen.print(f"open {page.resolve()}", highlight=False, soft_wrap=True)
