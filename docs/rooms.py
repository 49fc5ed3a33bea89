"""Pages of the reference, made when the documentation is built: one per room of the house, all its modules on it."""

import ast
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("common", "transport", "data", "models", "evaluation", "training", "desk", "study", "cli")    # in order


def modules(room: str) -> list[str]:
    """The dotted names of the modules of a room, those of its inner rooms too."""
    paths = sorted((ROOT / "qpwl_core" / room).rglob("*.py"))
    names = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    return [".".join(parts).removesuffix(".__init__") for parts in names if parts[2:] != ("__init__",)]


def summary(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]


def page(room: str) -> str:
    blocks = "\n\n".join(f"::: {module}" for module in modules(room))
    return f"# {room}\n\n{summary(ROOT / 'qpwl_core' / room / '__init__.py')}\n\n{blocks}\n"


def index() -> str:
    rooms = "\n".join(f"| [{room}]({room}.md) | {summary(ROOT / 'qpwl_core' / room / '__init__.py')} |"
                      for room in ROOMS)
    return ("# Reference\n\nThe public names come from the top: `from qpwl_core import wasserstein, load_model`. "
            "Everything lives in a room; a room imports only those above it here.\n\n| room | what it is about |\n"
            f"|---|---|\n{rooms}\n\n## Public names\n\n| name | module |\n|---|---|\n{public()}\n")


def public() -> str:
    from qpwl_core import PUBLIC

    return "\n".join(f"| [`{name}`][qpwl_core.{module}.{name}] | `qpwl_core.{module}` |"
                     for module, names in PUBLIC.items() for name in names)


def on_files(files, config):
    """A hook of mkdocs: add the pages."""
    files.append(File.generated(config, "reference/index.md", content=index()))
    for room in ROOMS:
        files.append(File.generated(config, f"reference/{room}.md", content=page(room)))
    return files
