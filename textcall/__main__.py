"""`python -m textcall`."""

from __future__ import annotations

from textcall.cli import main

main()
