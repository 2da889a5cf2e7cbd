"""The program, as `textcall` and as `python -m textcall`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Its modules take a second to import, and Ctrl-C may come during that too."""
    try:
        from textcall.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("textcall: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
