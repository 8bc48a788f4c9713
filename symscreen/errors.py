"""The exceptions and warnings of symscreen.

A message says what came, why it is wrong, and how to fix it. The user can fix an `InputError`: the command
line prints it as one line and exits with status 2. Any other exception is a bug in symscreen.
"""

from __future__ import annotations

from symscreen.messages import (
    KEYWORD,
    OptionStyle,
    find_options,
    render_message,
    truncate_message,
)


class SymscreenError(Exception):
    """The base class of all errors that symscreen raises on purpose.

    Its message is short, even if it quotes long values.

    Examples
    --------
    >>> text = str(SymscreenError(f"there is no column {'x' * 10**6}; give another one"))
    >>> len(text), text[-24:]
    (96, 'xxxxxx; give another one')
    >>> from symscreen.messages import COMMAND_LINE, name_option
    >>> error = OptionError(f"{name_option('jobs', 0)} starts no worker; give at least 1")
    >>> error.options, str(error)
    (('jobs',), 'jobs=0 starts no worker; give at least 1')
    >>> error.render(COMMAND_LINE)
    '--jobs 0 starts no worker; give at least 1'
    """

    option_style: OptionStyle = KEYWORD

    @property
    def template(self) -> str:
        """The message with its references to options, for the message of another error."""
        return super().__str__()

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the message refers to."""
        return find_options(self.template)

    def render(self, style: OptionStyle) -> str:
        """Write the message for a front end, in at most 280 characters."""
        return truncate_message(render_message(self.template, style))

    def __str__(self) -> str:
        return self.render(self.option_style)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class ExtrapolationWarning(UserWarning):
    """Rows to predict are outside the range of the rows that a formula was fitted to."""


class InputError(SymscreenError, ValueError):
    """An input of the user cannot be used."""


class DataError(InputError):
    """The data: a file that cannot be read, a column that is missing, values that cannot be ranked."""


class GrammarError(InputError):
    """A grammar or an operator: an unknown name, a bad rule, a definition that does not parse."""


class FormulaError(InputError):
    """A formula that the one notation cannot read."""


class OptionError(InputError):
    """An option whose value has no meaning."""


class OutputError(InputError):
    """A result that cannot be written where it was asked for."""


class BackendError(InputError):
    """Workers that were lost, or that cannot do what they are asked to."""


class MemoryLimitError(InputError):
    """A space of formulas that does not fit into the memory allowed."""
