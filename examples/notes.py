"""Tools over a folder of notes: `textcall run "Which of my notes mention Rome?" --tools examples/notes.py`."""

from __future__ import annotations

from pathlib import Path

from textcall import tool

FOLDER = Path(__file__).parent / "notes"


@tool
def search_notes(word: str) -> dict[str, str]:
    """Find the notes that hold a word.

    Args:
        word: A single word, in any case.
    """
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
    lines = {
        name: next((x for x in text.splitlines() if word.lower() in x.lower()), "") for name, text in texts.items()
    }
    return {name: line for name, line in lines.items() if line}


@tool
def read_note(name: str) -> str:
    """The whole text of one note.

    Args:
        name: As search_notes gives it.
    """
    names = {path.stem: path for path in FOLDER.glob("*.md")}
    if name not in names:
        raise LookupError(f"there is no note {name!r}; there are {', '.join(sorted(names))}")
    return names[name].read_text(encoding="utf-8")
