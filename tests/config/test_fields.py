"""Options are defined once: what is derived from a definition follows it."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from helpers.keyword_types import PATH, format_keyword_types

import symscreen
from symscreen.cli.command import command
from symscreen.cli.options import GroupedCommand, add_options
from symscreen.config.fields import (
    describe_options,
    find_group,
    get_option,
    list_options,
    make_options,
    option,
)
from symscreen.config.fit_options import FitOptions, RegressorOptions, make_fit_options
from symscreen.config.screen_options import ScreenerOptions, ScreenOptions, make_screen_options
from symscreen.errors import OptionError

FRONT_ENDS = {
    symscreen.screen: list_options(ScreenOptions),
    symscreen.plan: list_options(ScreenOptions),
    symscreen.why: list_options(ScreenOptions),
    symscreen.power: list_options(ScreenOptions),
    symscreen.fit: list_options(FitOptions, verb="fit"),
    symscreen.SymbolicScreener: list_options(ScreenerOptions, estimator=True),
    symscreen.SymbolicRegressor: list_options(RegressorOptions, verb="fit", estimator=True),
}


@dataclass(frozen=True, kw_only=True)
class MoreOptions(ScreenOptions):
    group = "More"

    sharpness: int = option(3, metavar="N", help="How sharp.", doc="How sharp the result is.", estimator=True)


def test_types_for_type_checkers_are_up_to_date():
    assert PATH.read_text(encoding="utf-8") == format_keyword_types()


@pytest.mark.parametrize("front_end", FRONT_ENDS, ids=lambda front_end: front_end.__name__)
def test_signatures_and_docstrings_show_every_option(front_end):
    parameters = inspect.signature(front_end).parameters
    for field in FRONT_ENDS[front_end]:
        assert parameters[field.name].default is field.default
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    if front_end in {symscreen.plan, symscreen.why, symscreen.power}:
        return  # their docstrings refer to that of `screen`
    documented = re.findall(
        r"^    (\w+) : ", inspect.cleandoc(front_end.__doc__).replace("\n", "\n    "), re.MULTILINE
    )
    assert {field.name for field in FRONT_ENDS[front_end]} <= set(documented)
    assert all(len(line) <= 110 for line in front_end.__doc__.splitlines())


@pytest.mark.parametrize("verb", ["screen", "plan", "why", "power", "fit"])
def test_the_command_line_has_the_options_of_a_verb(verb):
    names = {parameter.name: parameter for parameter in command.get_command(None, verb).params}
    options_class = FitOptions if verb == "fit" else ScreenOptions
    for field in list_options(options_class, verb=verb):
        found = names[field.name]
        assert (found.callback is None) == (field.type in {"bool", "bool | None"})
        assert found.help
    text = CliRunner().invoke(command, [verb, "--help-all"]).output
    assert "\nData:\n" in text
    assert "\nFormulas:\n" in text


def test_every_option_of_the_command_line_is_described_in_one_sentence():
    for field in fields(FitOptions):
        known = get_option(field)
        assert known.help[0].isalnum() or known.help[0] == "'", field.name
        assert known.help.endswith("."), field.name
        assert (known.doc or known.help).endswith("."), field.name
        assert "--" not in known.doc, field.name  # Python has no such options
        assert find_group(FitOptions, field.name)


def test_a_new_option_needs_its_definition_only():
    known = list_options(MoreOptions)
    assert [field.name for field in known] == [
        *(field.name for field in list_options(ScreenOptions)),
        "sharpness",
    ]
    assert make_options(MoreOptions, {"sharpness": 5}, known, "screen").sharpness == 5
    assert find_group(MoreOptions, "sharpness") == "More"

    @click.command(cls=GroupedCommand)
    @add_options("screen", MoreOptions)
    def verb(**options):
        click.echo(make_options(MoreOptions, options, known, "screen").sharpness)

    @describe_options(list_options(MoreOptions))
    def screen(**options):
        """Screen.

        Parameters
        ----------
        **options
            All of them: …
        """
        return options

    assert CliRunner().invoke(verb, ["--sharpness", "7"]).output == "7\n"
    assert CliRunner().invoke(verb, []).output == "3\n"
    assert (
        "More:\n  --sharpness N  How sharp.  [default: 3]\n"
        in CliRunner().invoke(verb, ["--help-all"]).output
    )
    assert inspect.signature(screen).parameters["sharpness"].default == 3
    assert "        sharpness : int\n            How sharp the result is.\n" in screen.__doc__


FORWARDED = (
    *("target_units", "pool", "prescreen", "fdr_method"),
    *("on_progress", "backend", "scheduler", "chunk_size", "folds", "max_terms", "split", "level"),
)
PACKAGE = Path(symscreen.__file__).parent
OWN_OPTIONS = {  # they define options of their own, `max_terms`, `folds` and `level`, and use them
    PACKAGE / f"{name}.py"
    for name in (
        "config/ode_options",
        "config/classifier_options",
        "estimators/classifier",
        "estimators/sparse_logistic",
    )
}
PASSING = (  # the files through which options pass on their way from users to where they are used
    *sorted(set(PACKAGE.glob("config/*.py")) - {PATH, PACKAGE / "config/option_hints.py", *OWN_OPTIONS}),
    *sorted(set(PACKAGE.glob("estimators/*.py")) - OWN_OPTIONS),
    *(PACKAGE / f"cli/{name}.py" for name in ("screen", "fit", "options", "power")),
    *(PACKAGE / f"screening/{name}.py" for name in ("screen", "plan", "power", "preparation")),
    *(PACKAGE / name for name in ("screening/stored_screens.py", "explain/explain.py", "fitting/fit.py")),
)


def _names_option(node, name):
    """Say whether a node of a syntax tree is the option: a field, an attribute, a key or a parameter."""
    users = ("options", "given", "encoded")
    return (
        (isinstance(node, ast.AnnAssign) and getattr(node.target, "id", None) == name)
        or (isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) in users)
        or (isinstance(node, ast.Constant) and node.value == name)
        or (isinstance(node, ast.arg) and node.arg == name)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FORWARDED)
def test_an_option_that_is_only_passed_on_stands_where_it_is_defined_and_where_it_is_used(name):
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PASSING
        if any(_names_option(node, name) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    definitions = {"config/data_options.py", "config/screen_options.py", "config/fit_options.py"}
    assert definitions & set(found)
    uses = {
        "screening/preparation.py",
        "screening/screen.py",
        "fitting/fit.py",
        "config/conflicts.py",
        "config/option_record.py",
        "config/study_tables.py",
        "screening/stored_screens.py",
    }
    assert set(found) - definitions <= uses, found
    assert len(set(found) - definitions) <= 2, found


def test_unknown_options_are_refused_with_the_most_similar_one():
    with pytest.raises(OptionError, match="why has no option 'layer'; did you mean 'layers'"):
        make_screen_options({"layer": "ub"}, verb="why")
    with pytest.raises(OptionError, match="fit has no option 'ranking'"):
        make_fit_options({"ranking": "r"})
    with pytest.raises(OptionError, match="SymbolicScreener has no parameter 'layer'; did you mean 'layers'"):
        symscreen.SymbolicScreener(layer="u")
    with pytest.raises(OptionError, match=r"no parameter 'target': fit takes y$"):
        symscreen.SymbolicRegressor(target="y")


def test_an_option_is_a_field():
    made = make_dataclass("Made", [("x", int, option(1, help="X."))])
    assert made().x == 1
    assert get_option(fields(made)[0]).help == "X."
