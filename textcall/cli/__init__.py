"""The command line. One file a command; this one puts them together and turns errors into lines and exit codes."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
import typer.core

import textcall
from textcall.cli import models, tools
from textcall.cli.demo import demo_command
from textcall.cli.parse import parse_command
from textcall.cli.prompt import grammar_command, prompt_command
from textcall.cli.replay import reparse_command, replay_command
from textcall.cli.report import report_command
from textcall.cli.run import run_command
from textcall.errors import TextcallError

INTERRUPTED, FAULT, SYSTEM = 130, 70, 74


class Commands(typer.core.TyperGroup):
    """The commands, with what they raise turned into a line on stderr and an exit code (see `textcall.errors`)."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TextcallError as error:
            raise _failed(str(error), error.exit_code) from error
        except KeyboardInterrupt as error:
            raise _failed("interrupted", INTERRUPTED) from error
        except BrokenPipeError as error:  # `textcall … | head`: whoever reads has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from error
        except OSError as error:  # a full disk, a closed stream
            raise _failed(f"the system refused: {error}", SYSTEM) from error
        except Exception as error:
            if isinstance(error, typer.Exit | typer.Abort) or _is_usage(error) or _debugging():
                raise
            raise _fault(error) from error


app = typer.Typer(
    cls=Commands,
    name="textcall",
    help="Tool calling for any local model: the model only writes text, code does the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"textcall {textcall.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Nothing to do: the option acts by itself."""


app.command("run")(run_command)
app.command("demo")(demo_command)
app.command("prompt")(prompt_command)
app.command("grammar")(grammar_command)
app.command("parse")(parse_command)
app.command("replay")(replay_command)
app.command("reparse")(reparse_command)
app.command("report")(report_command)
app.add_typer(models.app)
app.add_typer(tools.app)


def main() -> None:
    """The program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what the terminal's encoding lacks is shown as an escape, never lost
            stream.reconfigure(errors="backslashreplace")
    app()


def _failed(message: str, code: int) -> typer.Exit:
    typer.echo(f"textcall: {message}", err=True)
    return typer.Exit(code)


def _fault(error: Exception) -> typer.Exit:
    """The last line of defence: a fault of ours, said in one line."""
    return _failed(f"a fault in textcall: {type(error).__name__}: {error} (TEXTCALL_DEBUG=1 shows where)", FAULT)


def _debugging() -> bool:
    return bool(os.environ.get("TEXTCALL_DEBUG"))


def _is_usage(error: Exception) -> bool:
    """Whether typer itself shows this one: a wrong option, with the usage line."""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")
