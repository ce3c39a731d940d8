"""The journal: one JSON line a step, never with a step twice."""

import json
from pathlib import Path


class Journal:
    """Appends one line of JSON per training step; on resume, lines after the restored step are dropped first."""

    def __init__(self, path: Path, steps_done: int = 0) -> None:
        self.path = path
        kept = [line for line in read_journal(path) if line["step"] <= steps_done]
        partial = path.with_name(path.name + ".partial")
        partial.write_text("".join(json.dumps(line) + "\n" for line in kept))
        partial.replace(path)
        self._file = path.open("a")

    def write(self, line: dict[str, object]) -> None:
        """Append a line; it reaches the file before the next step."""
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_journal(path: Path) -> list[dict]:
    """The whole lines of a journal; a last line cut by a kill is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def mean_loss(lines: list[dict], key: str = "loss") -> float:
    """Mean over items, not over batches: a short last batch weighs as much as its items."""
    items = sum(line["items"] for line in lines)
    return sum(line[key] * line["items"] for line in lines) / items
