"""Rules of the house: who may import whom, and what an import may cost."""

import ast
import pkgutil
import subprocess
import sys

import pytest
from conftest import ROOT

import qpwl_core

# importing these means wanting the library they are for
OPTIONAL = {"qpwl_core.metric_learning", "qpwl_core.estimator"}
MODULES = sorted(m.name for m in pkgutil.walk_packages(qpwl_core.__path__, "qpwl_core.") if "__main__" not in m.name)
HEAVY = ("mne", "wfdb", "plotly", "streamlit", "matplotlib", "sklearn", "pooch", "joblib", "pytorch_metric_learning")


def test_the_core_never_imports_streamlit_or_ui():
    for path in (ROOT / "qpwl_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(node.module)
            assert not {n.split(".")[0] for n in names} & {"streamlit", "ui", "app", "pages"}, path


def test_importing_loads_nothing_heavy_and_compiles_nothing():
    """All rooms in one process: what none of them loads at import, each loads when first used."""
    wanted = ", ".join(m for m in MODULES if m not in OPTIONAL)
    code = f"import sys, {wanted}; print([m for m in {HEAVY!r} if m in sys.modules], qpwl_core.kernels._loaded)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[] []"


@pytest.mark.parametrize("module", ["qpwl_core", "qpwl_core.recordings"])
def test_data_rooms_do_not_need_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_no_file_unpickles():
    for folder in ("qpwl_core", "ui", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            assert "allow_pickle=True" not in text, path
            assert "import pickle" not in text, path


def test_no_fragment_inside_a_fragment():
    """Where the outer one runs again before all was sent, Streamlit keeps what the inner one said, without its place.

    Pages and what they import are read: a function that is a fragment, or starts one, is called by no other fragment.
    """
    named = {}
    for path in [*(ROOT / "ui").glob("*.py"), *(ROOT / "pages").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                named.setdefault(node.name, []).append(node)

    def is_fragment(node):
        return any("fragment" in ast.unparse(mark) for mark in node.decorator_list)

    def calls(node):
        return {getattr(call.func, "id", getattr(call.func, "attr", None)) for call in ast.walk(node)
                if isinstance(call, ast.Call)} - {node.name}

    fragments = {name for name, nodes in named.items() if any(map(is_fragment, nodes))}
    assert fragments, "or this test sees nothing"
    for name in fragments:
        seen, todo = set(), [node for node in named[name] if is_fragment(node)]
        while todo:
            for called in calls(todo.pop()) - seen:
                seen.add(called)
                todo += named.get(called, [])
        assert not seen & fragments - {name}, f"{name} starts another fragment"
