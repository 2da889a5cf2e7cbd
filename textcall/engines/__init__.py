"""Engines: messages in, text out."""
