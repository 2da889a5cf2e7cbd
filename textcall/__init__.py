"""Tool calling for any local model, by prompt convention."""

from __future__ import annotations

__version__ = "0.1.0"
