"""Prompting: tools and results as text, messages as a prompt."""
