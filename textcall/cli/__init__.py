"""The command line. One file a command; this one puts them together and turns errors into lines and exit codes."""

from __future__ import annotations

import os
import sys

import typer

from textcall.cli import models
from textcall.cli.demo import demo_command
from textcall.cli.parse import parse_command
from textcall.cli.prompt import grammar_command, prompt_command
from textcall.cli.run import run_command
from textcall.errors import TextcallError

INTERRUPTED, FAULT = 130, 70

app = typer.Typer(
    name="textcall",
    help="Tool calling for any local model: the model only writes text, code does the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command)
app.command("demo")(demo_command)
app.command("prompt")(prompt_command)
app.command("grammar")(grammar_command)
app.command("parse")(parse_command)
app.add_typer(models.app)


def main() -> None:
    """The program. Exit codes: see `textcall.errors`."""
    try:
        app()
    except TextcallError as error:
        sys.exit(_failed(str(error), error.exit_code))
    except KeyboardInterrupt:
        sys.exit(_failed("interrupted", INTERRUPTED))
    except BrokenPipeError:  # `textcall … | head`: whoever reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("TEXTCALL_DEBUG"):
            raise
        sys.exit(_failed(f"a fault in textcall: {type(error).__name__}: {error} (TEXTCALL_DEBUG=1 shows where)", FAULT))


def _failed(message: str, code: int) -> int:
    typer.echo(f"textcall: {message}", err=True)
    return code
