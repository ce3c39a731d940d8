"""Which module may import which, and what a quick look at the command line loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import litotes
from litotes.cli import COMMANDS

ROOT = Path(litotes.__file__).parent
LAYERS = [
    ("errors", "types", "config", "places"),
    ("geometry", "metrics"),
    ("objectives", "data"),
    ("backbones",),
    ("models",),
    ("train", "evaluate"),
    ("search", "export", "demo"),
    ("cli",),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
# A third-party name -> the one module that may import it.
ONLY_IN = {"peft": "models/lora.py", "CLIPModel": "models/clip.py"}


def imports(path):
    """Dotted names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(dotted):
    """The package or top module of a dotted name of ours: "litotes.models.clip" -> "models"."""
    names = dotted.split(".")
    return names[1] if names[0] == "litotes" and len(names) > 1 else None


def test_every_module_has_a_layer():
    parts = {path.parts[0].removesuffix(".py") for path in MODULES} - {"__init__", "__main__"}
    assert parts <= set(LEVEL)
    assert {"models", "train", "evaluate", "cli"} <= parts


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_from_lower_layers_and_its_own_package_only(path):
    own = path.parts[0].removesuffix(".py")
    for dotted in imports(path):
        other = part(dotted)
        if other not in LEVEL or other == own:  # the package itself holds its version alone
            continue
        same_floor = LEVEL[other] == LEVEL.get(own) == 0
        assert LEVEL[other] < LEVEL.get(own, len(LAYERS)) or same_floor, f"{path} imports {dotted}"


@pytest.mark.parametrize("name", ONLY_IN)
def test_what_wraps_a_library_is_written_once(name):
    users = {path.as_posix() for path in MODULES for dotted in imports(path) if name in dotted.split(".")}
    assert users == {ONLY_IN[name]}


def test_the_package_itself_imports_nothing():
    assert list(imports(Path("__init__.py"))) == []


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


HEAVY = {"torch", "transformers", "numpy", "peft", "accelerate", "matplotlib", "PIL", "pyarrow"}


def test_importing_the_package_or_asking_for_help_loads_nothing_heavy():
    code = (
        "import sys, contextlib, io\n"
        "import litotes\n"
        "from litotes.cli import COMMANDS, main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    codes = {main(['--help']), main([]), main(['--version'])}\n"
        "    codes |= {main([*name.split(), '--help']) for name in COMMANDS}\n"
        "print(codes, sorted(set(sys.modules)))"
    )
    codes, _, modules = in_a_new_process(code).partition("}")
    assert codes == "{0"
    assert not HEAVY & set(ast.literal_eval(modules.strip()))


def test_every_command_is_a_module_with_settings_and_run():
    for command in COMMANDS.values():
        file = ROOT / (command.module.removeprefix("litotes.").replace(".", "/") + ".py")
        assert file.is_file(), command.module
