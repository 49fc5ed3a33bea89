"""Rules of the house: who may import whom, what an import may cost, how large a room may be.

Imports inside functions count like any other: what is loaded later is needed all the same.
"""

import ast
import pkgutil
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import qpwl_core
from tests.support.places import ROOT

ROOMS = ("common", "transport", "data", "models", "evaluation", "training", "desk", "study", "cli")
SHARED = ("visitors", "shell", "library")            # rooms of the app that all pages stand in and use
LINES, MODULES_OF_A_ROOM = 300, 15
# importing these means wanting the library they are for
OPTIONAL = {"qpwl_core.transport.metric_learning", "qpwl_core.training.estimator"}
MODULES = sorted(m.name for m in pkgutil.walk_packages(qpwl_core.__path__, "qpwl_core.") if "__main__" not in m.name)
HEAVY = ("mne", "wfdb", "plotly", "streamlit", "matplotlib", "sklearn", "pooch", "joblib", "pytorch_metric_learning",
         "sqlalchemy")


def module_of(path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(*folders):
    """Every Python file below some folders: dotted name -> path."""
    return {module_of(path): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


def imported(path, names) -> set[str]:
    """The modules of ours that a file imports, anywhere in it; ``names``: all modules there are."""
    here = module_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[:len(package) - node.level + 1], *filter(None, [node.module])]) \
                if node.level else node.module
            wanted = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in names else base for alias in node.names]
        else:
            continue
        found.update(wanted)
    return found


def room_of(module: str) -> str:
    return [*module.split("."), ""][1]


CORE = sources("qpwl_core")
APP = sources("ui", "pages") | {"app": ROOT / "app.py"}


def test_every_module_of_the_core_has_a_room():
    assert {room_of(module) for module in CORE} - {"", "__main__"} == set(ROOMS)


@pytest.mark.parametrize("module", CORE)
def test_the_core_imports_from_left_to_right_and_never_the_app(module):
    for other in imported(CORE[module], CORE):
        top = other.split(".")[0]
        assert top not in ("streamlit", "ui", "app", "pages", "tests", "benchmarks", "scripts"), f"{module}: {other}"
        if top == "qpwl_core" and room_of(module) in ROOMS and room_of(other):
            assert ROOMS.index(room_of(other)) <= ROOMS.index(room_of(module)), f"{module} looks up to {other}"


@pytest.mark.parametrize("module", [module for module in APP if module.startswith("ui")])
def test_no_page_looks_into_the_room_of_another(module):
    room = room_of(module)
    allowed = {"": (), "serve_class": (*SHARED, "serve"), "visitors": SHARED[:1], "shell": SHARED[:2],
               "library": SHARED}.get(room, (*SHARED, room))
    for other in imported(APP[module], APP):
        if other.split(".")[0] == "ui":
            assert room_of(other) in allowed, f"{module} imports {other}"
        assert other.split(".")[0] not in ("pages", "tests", "benchmarks", "scripts"), f"{module} imports {other}"


@pytest.mark.parametrize("page", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.stem)
def test_a_page_is_a_thin_script(page):
    """It imports one room and shows it; what it shows lives there."""
    rooms = {room_of(other) for other in imported(page, APP) if other.startswith("ui.")}
    assert len(rooms) == 1
    assert rooms.isdisjoint(SHARED)
    assert len(page.read_text().splitlines()) <= 10


@pytest.mark.parametrize("modules", [CORE, APP], ids=["core", "app"])
def test_nothing_imports_itself_in_a_circle(modules):
    graph = {module: {other for other in imported(path, modules) if other in modules and other != module}
             for module, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_rooms_and_modules_stay_small():
    for module, path in (CORE | APP).items():
        assert len(path.read_text().splitlines()) <= LINES, module
    folders = {path.parent for path in (CORE | APP).values()} - {ROOT}
    for folder in folders:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= MODULES_OF_A_ROOM, folder


def test_no_test_imports_a_benchmark_and_helpers_come_from_support():
    for module, path in sources("tests").items():
        for other in imported(path, {}):
            top = other.split(".")
            assert top[0] not in ("benchmarks", "scripts", "conftest"), module
            assert top[0] != "tests" or top[:2] == ["tests", "support"], f"{module} imports {other}"


def test_tests_mirror_the_rooms():
    """A test of the core stands in the folder of its room, under the name of a module there or of what it is about."""
    for path in (ROOT / "tests" / "core").rglob("test_*.py"):
        assert path.relative_to(ROOT / "tests" / "core").parts[0] in ROOMS, path


def test_importing_loads_nothing_heavy_and_compiles_nothing():
    """All rooms in one process: what none of them loads at import, each loads when first used."""
    wanted = ", ".join(m for m in MODULES if m not in OPTIONAL)
    code = f"""import sys, {wanted}
print([m for m in {HEAVY!r} if m in sys.modules], qpwl_core.transport.kernels._loaded)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[] []"


@pytest.mark.parametrize("module", ["qpwl_core", "qpwl_core.data.recordings", "qpwl_core.data.loading"])
def test_data_rooms_do_not_need_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_public_names_come_from_the_top_and_are_loaded_when_asked_for():
    code = """import sys, qpwl_core
assert not {"numpy", "torch", "pandas"} & set(sys.modules), "importing costs nothing"
assert set(qpwl_core.__all__) <= set(dir(qpwl_core))
for name in qpwl_core.__all__:
    assert getattr(qpwl_core, name) is not None, name
from qpwl_core import *
try:
    qpwl_core.nothing_of_that_name
except AttributeError as error:
    assert "nothing_of_that_name" in str(error)"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_public_names_are_those_of_the_contract():
    wanted = ("QuantileLayer empirical_quantiles wasserstein pairwise_wasserstein pairwise_cosine wasserstein_loss "
              "n_pair_loss Recordings load_recordings load_dataset split recipe_for Config preset METHODS train Model "
              "load_model load_gallery evaluate_model DistributionalEmbedding")
    assert set(qpwl_core.__all__) == {"__version__", *wanted.split()}


def test_no_file_unpickles():
    for folder in ("qpwl_core", "ui", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            assert "allow_pickle=True" not in text, path
            assert "import pickle" not in text, path


def test_no_fragment_inside_a_fragment():
    """Where the outer one runs again before all was sent, Streamlit keeps what the inner one said, without its place.

    Pages and what they import are read: a function that is a fragment, or starts one, is called by no other fragment of
    its room.
    """
    rooms = {room_of(module) for module in APP if module.startswith("ui.")} - {"", *SHARED}
    seen_any = False
    for room in sorted(rooms):
        named = {}
        for module, path in APP.items():
            if room_of(module) in (room, *SHARED):
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.FunctionDef):
                        named.setdefault(node.name, []).append(node)

        def is_fragment(node):
            return any("fragment" in ast.unparse(mark) for mark in node.decorator_list)

        def calls(node):
            return {getattr(call.func, "id", getattr(call.func, "attr", None)) for call in ast.walk(node)
                    if isinstance(call, ast.Call)} - {node.name}

        fragments = {name for name, nodes in named.items() if any(map(is_fragment, nodes))}
        seen_any |= bool(fragments)
        for name in fragments:
            seen, todo = set(), [node for node in named[name] if is_fragment(node)]
            while todo:
                for called in calls(todo.pop()) - seen:
                    seen.add(called)
                    todo += named.get(called, [])
            assert not seen & fragments - {name}, f"{name} starts another fragment"
    assert seen_any, "or this test sees nothing"


def test_every_exception_to_a_check_has_its_reason_beside_it():
    for folder in ("qpwl_core", "ui", "pages", "scripts", "benchmarks", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                if re.search(r"#\s*(noqa|type: ignore)", line) and path != Path(__file__):
                    told = re.search(r"(noqa: [A-Z0-9, ]+|type: ignore\[[\w, -]+\])\s+[(#] ?\w", line)
                    assert told, f"{path}:{number}"


def test_text_is_read_and_written_as_utf_8_whatever_the_system():
    """Windows has another default."""
    for folder in ("qpwl_core", "ui"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for call in re.findall(r"\b(?:read|write)_text\(.*", path.read_text(encoding="utf-8")):
                assert "encoding=" in call, f"{path}: {call}"

