"""The command line's options for targets and inputs that are no plain columns of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import split_names

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["category_options", "target_options", "weights_option"]

# fmt: off
_TARGETS: tuple[Callable[..., Any], ...] = (
    click.option("--target-kind", type=click.Choice(["numeric", "classes", "several"]),
                 help="What --target is; else numeric, classes for words, several for A,B."),
    click.option("--event", metavar="COL",
                 help="The target is a time until an event: 1 where it was met then, 0 where not yet."),
    click.option("--across", type=click.Choice(["mean", "worst"]), default="mean", show_default=True,
                 help="Order features by the mean of several targets, or by the worst."),
)
_CATEGORIES: tuple[Callable[..., Any], ...] = (
    click.option("--categorical", metavar="A,B", callback=split_names, default="",
                 help="Use these columns as categories."),
    click.option("--categorical-as", type=click.Choice(["gate", "onehot"]), default="gate",
                 show_default=True, help="A level lets inputs pass, x·1[c = level]; or is one, c = level."),
)
# fmt: on


def target_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb targets that are classes, several, or times until an event, and inputs of categories."""
    for option in reversed((*_TARGETS, *_CATEGORIES)):
        function = option(function)
    return function


def category_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb inputs of categories."""
    for option in reversed(_CATEGORIES):
        function = option(function)
    return function


def weights_option(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb weights of rows."""
    meaning = "What each row weighs: a column of numbers, of which the ratios count."
    return click.option("--weights", metavar="COL", help=meaning)(function)
