from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from helpers.requirements import require

from symscreen.errors import OptionError, OutputError
from symscreen.evaluation.precision_recall import average_precision, compute_precision_recall_curve
from symscreen.evaluation.selection import average_curves
from symscreen.report.figures.precision_recall_curves import (
    check_picture,
    draw_curves,
    encode_figure,
    encode_png,
)

matplotlib = require("matplotlib")
LOSS, CORRECT = np.arange(8.0), np.array([1, 0, 1, 1, 0, 0, 1, 0]) > 0


def drawn(count=3, **options):
    curves = {
        f"screener {i}": compute_precision_recall_curve(np.roll(LOSS, i), CORRECT) for i in range(count)
    }
    return draw_curves(curves, 0.5, **options)


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_legend_has_every_area_with_its_error_and_the_share():
    figure = drawn(2, errors={"screener 0": 0.0123})
    first, second = (average_precision(np.roll(LOSS, i), CORRECT) for i in range(2))
    assert legend_of(figure) == [
        f"screener 0: AP {first:.3f} ± 0.012",
        f"screener 1: AP {second:.3f}",
        "share of correct features: 0.5",
    ]


@pytest.mark.parametrize("tied", [False, True])
def test_the_area_under_the_line_is_the_average_precision(tied):
    loss = LOSS // 3 if tied else LOSS
    (axes,) = draw_curves({"t0": compute_precision_recall_curve(loss, CORRECT)}, 0.5).axes
    line, share = axes.lines
    x, y = line.get_data()
    assert line.get_drawstyle() == "steps-pre"
    assert (np.diff(x) * y[1:]).sum() == pytest.approx(average_precision(loss, CORRECT))
    assert x[0] == 0.0
    assert x[-1] == 1.0
    assert list(share.get_ydata()) == [0.5, 0.5]


def test_a_mean_of_curves_is_drawn_as_a_curve_is():
    curves = [compute_precision_recall_curve(np.roll(LOSS, i), CORRECT) for i in range(3)]
    figure = draw_curves({"mean": average_curves(curves)}, 0.5)
    mean = np.mean([average_precision(np.roll(LOSS, i), CORRECT) for i in range(3)])
    assert legend_of(figure)[0] == f"mean: AP {mean:.3f}"


def test_eleven_curves_are_told_apart_without_colour():
    (axes,) = drawn(11).axes
    looks = {(str(line.get_linestyle()), str(line._dash_pattern), line.get_marker()) for line in axes.lines}
    assert len(looks) == 12


def test_what_cannot_be_drawn_is_said():
    none = compute_precision_recall_curve(LOSS, np.zeros(8, bool))
    assert legend_of(draw_curves({"t0": none}, 0.0))[0] == "t0: no correct feature"
    assert encode_png(draw_curves({"t0": none}, 0.0))
    assert encode_png(draw_curves({}, 0.5))


def test_a_long_curve_is_thinned_and_keeps_its_area(rng):
    loss, correct = rng.uniform(size=60_000), rng.uniform(size=60_000) < 0.4
    curve = compute_precision_recall_curve(loss - 0.2 * correct, correct)
    figure = draw_curves({"t0": curve}, 0.4)
    x, y = figure.axes[0].lines[0].get_data()
    exact = average_precision(loss - 0.2 * correct, correct)
    assert 1000 < x.size <= 2001
    assert (np.diff(x) * y[1:]).sum() == pytest.approx(exact, abs=1e-3)
    assert legend_of(figure)[0] == f"t0: AP {exact:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_picture_has_the_same_bytes(ending):
    one, other = (drawn(3, title="n = 100") for _ in range(2))
    content = encode_figure(one, f"a.{ending}")
    assert content == encode_figure(one, f"b.{ending.upper()}") == encode_figure(other, f"a.{ending}")
    assert len(content) > 5000
    assert content != encode_figure(drawn(2, title="n = 100"), f"a.{ending}")


@pytest.mark.slow
def test_neither_another_process_nor_a_user_s_settings_change_the_bytes():
    script = (
        "import sys\n"
        "import symscreen.report.figures.precision_recall_curves as pictures\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import matplotlib\n"
        "matplotlib.rcParams.update({'axes.facecolor': 'red', 'font.size': 20, 'savefig.dpi': 40,"
        " 'svg.hashsalt': None, 'lines.linewidth': 9})\n"
        "import numpy as np\n"
        "from types import SimpleNamespace\n"
        "curve = SimpleNamespace(recall=np.array([0.5, 1.0]), precision=np.array([1.0, 0.75]))\n"
        "figure = pictures.draw_curves({'t0': curve}, 0.5)\n"
        "for name in ('a.png', 'a.svg'):\n"
        "    sys.stdout.buffer.write(pictures.encode_figure(figure, name))\n"
        "assert matplotlib.rcParams['font.size'] == 20 and 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    curve = SimpleNamespace(recall=np.array([0.5, 1.0]), precision=np.array([1.0, 0.75]))
    here = draw_curves({"t0": curve}, 0.5)
    assert done.stdout == encode_png(here) + encode_figure(here, "a.svg")


def test_the_bytes_hold_no_date_and_are_what_their_ending_says():
    svg, png = encode_figure(drawn(), "a.svg"), encode_png(drawn())
    assert png.startswith(b"\x89PNG")
    assert b"tEXt" not in png
    assert b"dc:date" not in svg
    assert b"Matplotlib v" not in svg
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314  our own text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$x_1$", "_hidden", "$\\frac$", "two\nlines", "λ & <b>", ""])
def test_a_name_is_drawn_as_it_is_written(name):
    figure = draw_curves({name: compute_precision_recall_curve(LOSS, CORRECT)}, 0.5, title=f"{name} $")
    shown = name.replace("\n", "\\n")
    assert legend_of(figure)[0].startswith(f"{shown}: AP ")
    assert ET.fromstring(encode_figure(figure, "a.svg")) is not None  # noqa: S314  our own text


@pytest.mark.parametrize("path", ["a.jpg", "a", "a.pdf", ".png"])
def test_another_ending_is_refused(path):
    for ask in (check_picture, lambda path: encode_figure(SimpleNamespace(), path)):
        with pytest.raises(OutputError, match=r"use one of \.png, \.svg"):
            ask(path)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    curve = compute_precision_recall_curve(LOSS, CORRECT)
    for ask in (lambda: check_picture("a.png"), lambda: draw_curves({"t0": curve}, 0.5)):
        with pytest.raises(OptionError, match=r"pip install 'symscreen\[plot\]'"):
            ask()
