"""The four walks of CONTRIBUTING.md, done with the files that stand there: a method, a data set, a page, a lesson."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.support.places import ROOT
from tests.support.shown import SHOWN
from tests.support.tiny import tiny_recordings
from ui.lessons.lesson import PAGES, LessonError, lessons, read_lesson


def qpwl(folder, *arguments, **environment):
    return subprocess.run([sys.executable, "-m", "qpwl_core", *map(str, arguments)], cwd=folder, text=True,
                          capture_output=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)} | environment)


def test_a_method(tmp_path):
    (tmp_path / "my_method.py").write_text(SHOWN["my_method.py"])
    tiny_recordings().save(tmp_path / "people.npz")
    listed = qpwl(tmp_path, "--plugin", "my_method.py", "methods")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "range-npl" in listed.stdout
    small = ("--iterations", 4, "--filters", 4, "--layers", 2, "--pairs", 3)
    done = qpwl(tmp_path, "--plugin", "my_method.py", "train", "--data", "people.npz", "--domain", "generic",
                "--method", "range-npl", "--out", "run", *small)
    assert (done.returncode, done.stderr) == (0, "")
    without = qpwl(tmp_path, "embed", "run", "--data", "people.npz", "--out", "seen.npz")
    assert without.returncode == 2
    assert "range-npl" in without.stderr, "the sentence names the method that is not there"
    named = qpwl(tmp_path, "embed", "run", "--data", "people.npz", "--out", "seen.npz",
                 QPWL_PLUGINS=str(tmp_path / "my_method.py"))
    assert (named.returncode, named.stderr) == (0, "")


@pytest.mark.parametrize(("text", "said"), [
    ("1 / 0", "ZeroDivisionError"), ("not  a python", "SyntaxError"), ("raise SystemError('no')", "SystemError"),
    ("from qpwl_core.models.methods import METHODS, add_method\nfrom dataclasses import replace\n"
     "add_method(replace(METHODS['qp-wl'], title='Mine'))", "there is a method 'qp-wl' already")])
def test_a_plugin_that_cannot_be_used_is_named_in_one_sentence(tmp_path, text, said):
    (tmp_path / "bad.py").write_text(text)
    done = qpwl(tmp_path, "--plugin", "bad.py", "methods")
    assert done.returncode == 2
    assert "bad.py cannot be used" in done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_plugin_that_is_not_there(tmp_path):
    done = qpwl(tmp_path, "--plugin", "nothing.py", "methods")
    assert done.returncode == 2
    assert "must name a Python file" in done.stderr


def test_a_data_set(tmp_path):
    (tmp_path / "my_data.py").write_text(SHOWN["my_data.py"])
    official = tmp_path / "official"
    official.mkdir()
    for name in ("ada-1", "ada-2", "bob-1"):
        np.savetxt(official / f"{name}.txt", np.random.default_rng(0).normal(size=(60, 3)))
    (tmp_path / "read.py").write_text(
        "from qpwl_core import load_dataset\n"
        "found = load_dataset('my-walks', 'official')\n"
        "print(len(found), found.people, found.stimuli.tolist(), found.rate)\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "QPWL_PLUGINS": str(tmp_path / "my_data.py")}
    done = subprocess.run([sys.executable, "read.py"], cwd=tmp_path, text=True, capture_output=True, check=False,
                          env=environment)
    assert done.stderr == ""
    assert done.stdout.split("\n")[0].startswith("3 ")
    assert "'ada', 'bob'" in done.stdout
    assert "my-walks" in qpwl(tmp_path, "--plugin", "my_data.py", "datasets").stdout


@pytest.mark.filterwarnings("ignore")
def test_a_page(tmp_path):
    """In a copy of the app, so that this one keeps its pages."""
    for name in ("ui", "pages", "lessons", ".streamlit"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", tmp_path)
    for name in ("models", "sample_data", "qpwl_core", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "ui/hello").mkdir()
    (tmp_path / "ui/hello/__init__.py").touch()
    for name in ("ui/hello/page.py", "pages/hello.py"):
        (tmp_path / name).write_text(SHOWN[name])
    story = tmp_path / "ui/shell/navigation.py"
    row = '"Understand": {"hello": ("Hello", "waving_hand"), '
    story.write_text(story.read_text().replace('"Understand": {', row, 1))
    script = ("from streamlit.testing.v1 import AppTest\n"
              "page = AppTest.from_file('app.py', default_timeout=60).run().switch_page('pages/hello.py').run()\n"
              "assert not page.exception, page.exception\n"
              "print(page.title[0].value, page.metric[0].value)\n")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=tmp_path, text=True, capture_output=True,
                          check=False,
                          env=os.environ | {"QPWL_RUNS": str(tmp_path / "runs"), "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["Hello", str(len(list((ROOT / "models").glob("*/card.json"))))]


def test_a_lesson(tmp_path):
    (tmp_path / "90-hello.toml").write_text(SHOWN["lessons/90-hello.toml"])
    (lesson,) = lessons(tmp_path)
    assert (lesson.title, lesson.minutes, len(lesson.steps)) == ("How many levels are enough?", 3, 2)
    assert lesson.steps[0].settings == (("M", "1"),)
    assert lesson.questions == [1]


@pytest.mark.parametrize(("old", "new", "said"), [
    ("title = ", "titel = ", "title is missing"), ('page = "quantile_layer"', 'page = "nowhere"', "no page 'nowhere'"),
    ("right = 3", "right = 4", "counts them from 1"), ("minutes = 3", 'minutes = "x"', "whole minutes"),
    ("title = ", "title == ", "no lesson"), ('because = ', 'why = ', "unexpected keyword")])
def test_a_file_that_is_no_lesson(tmp_path, old, new, said):
    path = tmp_path / "90-hello.toml"
    path.write_text(SHOWN["lessons/90-hello.toml"].replace(old, new))
    with pytest.raises(LessonError, match=said):
        read_lesson(path)


def test_lessons_that_ship_lead_to_views_that_exist():
    from tests.support.views import PAGES as VIEWS

    for lesson in lessons():
        assert lesson.questions, f"{lesson.name} asks nothing"
        for step in lesson.steps:
            assert step.page is None or step.page in PAGES
            for key, value in step.settings:
                if key in VIEWS.get(step.page, {}):
                    assert value in VIEWS[step.page][key], f"{lesson.name}: {value}"


@pytest.mark.filterwarnings("ignore")
def test_the_page_tells_whether_an_answer_is_right_and_keeps_it():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run().switch_page("pages/lessons.py").run()
    assert not page.exception
    first = lessons()[0]
    step = first.steps[first.questions[0]]
    question = next(radio for radio in page.radio if radio.label == step.ask)
    question.set_value(step.right % len(step.answers) + 1).run()
    assert "Not quite" in page.warning[0].value
    next(radio for radio in page.radio if radio.label == step.ask).set_value(step.right).run()
    assert page.success[0].value == f"Yes. {step.because}"
    page.switch_page("pages/data.py").run()
    page.switch_page("pages/lessons.py").run()
    assert page.success[0].value == f"Yes. {step.because}", "kept while another page was looked at"
