"""Highest memory while a file of weights is loaded, as a multiple of the file's size.

    python benchmarks/load_memory.py

The file: random weights of ViT-L/14's sizes in OpenAI's naming, float32, 1.7 GB, in each form that is read. Every row
is a process of its own, which imports everything first. Peak: the highest resident memory, pages mapped from the file
among it, less what the process had after its imports (VmHWM, set back to the present with /proc/self/clear_refs). Own:
the part that is not backed by a file and cannot be dropped by the system (RssAnon, sampled every 2 ms). Kept: resident
memory when all is done. ``load``: ``load_backbone``, with a vocabulary. ``load, hashed``: and the model's fingerprint,
which every result carries. ``round``: ``load`` with weights rounded like the reference's. ``convert``: to a folder,
which is read again to compare. ``folder``: ``load`` of such a folder. Linux alone says these numbers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from safetensors.torch import save_file
from torch import Tensor, nn

from litotes.backbones.layout import ClipSizes, layout
from litotes.backbones.vocabulary import BOS, EOS, WORD_END, Vocabulary, byte_alphabet, write_vocabulary
from litotes.models.conversion import convert
from litotes.models.loading import load_backbone

VIT_L_14 = ClipSizes(1024, 24, 4096, 224, 14, 768, 12, 3072, 77, 49408, 768)
SMOKE = ClipSizes(64, 2, 256, 32, 16, 64, 2, 256, 77, 514, 32)
FORMS = ("safetensors", "torch.save", "TorchScript")
ACTIONS = ("load", "load, hashed", "round", "convert", "folder")
STATUS = Path("/proc/self/status")
LIMIT = 1.3


def weights(sizes: ClipSizes) -> dict[str, Tensor]:
    """Random tensors in OpenAI's naming."""
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator).mul_(0.02) for name, shape in layout(sizes, "openai").items()}


def vocabulary_of(size: int) -> Vocabulary:
    """CLIP's bytes, pieces that no text has, the specials: as many ids as the model's."""
    alphabet = byte_alphabet()
    pieces = [*alphabet, *(byte + WORD_END for byte in alphabet)]
    pieces += [f"{BOS}{i}" for i in range(size - len(pieces) - 2)]
    return Vocabulary({piece: i for i, piece in enumerate([*pieces, BOS, EOS])}, [])


def module_of(tensors: dict[str, Tensor]) -> nn.Module:
    """A tree of modules whose parameters have these dotted names."""
    root = nn.Module()
    for name, tensor in tensors.items():
        *path, last = name.split(".")
        node = root
        for part in path:
            if part not in node._modules:
                node.add_module(part, nn.Module())
            node = node._modules[part]
        node.register_parameter(last, nn.Parameter(tensor, requires_grad=False))
    return root


def write(form: str, tensors: dict[str, Tensor], path: Path) -> None:
    """The tensors as a file of this form."""
    if form == "safetensors":
        save_file(tensors, path)
    elif form == "torch.save":
        torch.save(tensors, path)
    else:
        torch.jit.save(torch.jit.script(module_of(tensors)), path)


def memory(field: str) -> int:
    """A field of the process's status in bytes; 0 where the system does not say."""
    lines = STATUS.read_text().splitlines() if STATUS.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def measured_here(action: str, path: Path, vocabulary: Path) -> dict[str, int]:
    """Measure one action in this process: bytes above those before it."""
    done, anonymous = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.002):
            anonymous.append(memory("RssAnon"))

    before, own = memory("VmRSS"), memory("RssAnon")
    if STATUS.is_file():
        Path("/proc/self/clear_refs").write_text("5")
    watcher = threading.Thread(target=watch)
    watcher.start()
    if action == "convert":
        kept: object = convert(path, vocabulary, path.parent / "converted", activation="quick_gelu")
    elif action == "folder":
        kept = load_backbone(path.parent / "converted")
    else:
        rounded = action == "round"
        kept = load_backbone(path, vocabulary=vocabulary, activation="quick_gelu", round_like_reference=rounded)
        if action == "load, hashed":
            _ = kept.fingerprint
    peak, now = memory("VmHWM"), memory("VmRSS")
    done.set()
    watcher.join()
    del kept
    return {"peak": peak - before, "own": max(anonymous) - own, "kept": now - before}


def measured(action: str, path: Path, vocabulary: Path) -> dict[str, int]:
    """A row by a process of its own."""
    command = [sys.executable, __file__, "--child", action, str(path), str(vocabulary)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{action} {path}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str] | None = None) -> None:
    """Print the table, or measure one row for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--actions", nargs="+", choices=ACTIONS, help="these alone")
    parser.add_argument("--child", nargs=3, help="measure this row alone, as the parent process does")
    chosen = parser.parse_args(arguments)
    if chosen.child:
        action, path, vocabulary = chosen.child
        print(json.dumps(measured_here(action, Path(path), Path(vocabulary))))
        return
    measure = measured_here if chosen.smoke else measured
    sizes = SMOKE if chosen.smoke else VIT_L_14
    actions = chosen.actions or (ACTIONS[:1] if chosen.smoke else ACTIONS)
    table = Table(title="memory above that after the imports, as multiples of the file")
    for head in ("file", "GB", "action", "peak", "own", "kept", f"peak under {LIMIT}"):
        table.add_column(head, justify="left" if head in ("file", "action") else "right")
    with tempfile.TemporaryDirectory() as name:
        vocabulary = Path(name) / "vocabulary"
        write_vocabulary(vocabulary, vocabulary_of(sizes.vocabulary))
        tensors = weights(sizes)
        for form in FORMS:
            for action in actions:
                if action == "folder" and form != FORMS[0]:
                    continue  # the same folder comes of every form
                with tempfile.TemporaryDirectory(dir=name) as folder:
                    path = Path(folder) / "model"
                    write(form, tensors, path)
                    size = path.stat().st_size
                    if action == "folder":
                        measure("convert", path, vocabulary)
                    row = {key: value / size for key, value in measure(action, path, vocabulary).items()}
                    verdict = "yes" if row["peak"] < LIMIT else "no"
                    numbers = (f"{row[key]:.2f}" for key in ("peak", "own", "kept"))
                    table.add_row(form, f"{size / 1e9:.2f}", action, *numbers, verdict)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
